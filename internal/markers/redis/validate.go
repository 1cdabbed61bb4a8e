package redis

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/events"
	"dedup-dashboard/internal/markers/redis/layout"
)

// A Kind is a kind of stores whose markers are Redis keys.
type Kind struct {
	// Problems notes what is wrong with a description of this kind, beside what all kinds of Redis have.
	Problems func(*markers.Problems, markers.Config)
	// Form returns how its markers are kept.
	Form func(markers.Config) (layout.Form, error)
}

// Strings is the kind whose markers are strings.
func Strings() Kind { return Kind{stringProblems, layout.Text} }

// Check notes every problem of a description.
func (k Kind) Check(p *markers.Problems, c markers.Config) {
	serverProblems(p, "redis", c.Redis)
	if !c.Act.Redis.URL.IsZero() {
		serverProblems(p, "act.redis", c.Act.Redis)
		if (len(c.Redis.Cluster) == 0) != (len(c.Act.Redis.Cluster) == 0) {
			p.Add("act.redis.cluster", "and redis.cluster must both name nodes of one Redis Cluster, or neither: markers would be sought where they are not")
		}
	}
	if c.Events && len(c.Redis.Cluster) > 0 {
		p.Add("events", "are not followed on a Redis Cluster yet: leave it out")
	}
	p.OneOf("key.codec", c.Key.Codec, codec.Raw, codec.Java)
	p.OnlyFor(markers.SQLTable, "rows", c.Rows != "")
	p.OnlyFor(markers.SQLTable, "retakes", c.Retakes != "")
	keyProblems(p, c)
	retryProblems(p, c)
	k.Problems(p, c)
	p.Rules(c)
	p.Sweep(c.Sweep)
}

// sound reports whether a description of strings has no problem.
func sound(c markers.Config) bool {
	var p markers.Problems
	Strings().Check(&p, c.WithDefaults())
	return len(p) == 0
}

func serverProblems(p *markers.Problems, path string, r markers.Redis) {
	options, err := client.ParseURL(r)
	switch {
	case r.URL.Err() != nil:
		p.Add(path+".url", "%v", r.URL.Err())
	case r.URL.IsZero():
		p.Add(path+".url", "is missing: write redis://user:password@host:6379/0, {env: NAME} or {file: PATH}")
	case err != nil:
		p.Add(path+".url", "%v", err)
	case options.TLSConfig == nil && (r.CAFile != "" || r.CertFile != "" || r.ServerName != ""):
		p.Add(path+".url", "has certificate settings beside it but no TLS: write rediss://")
	}
	sentinelProblems(p, path+".sentinel", r)
	if len(r.Cluster) > 0 {
		clusterProblems(p, path, r)
	}
	if (r.CertFile == "") != (r.KeyFile == "") {
		p.Add(path+".cert_file", "needs key_file beside it, and key_file needs cert_file")
	}
}

func sentinelProblems(p *markers.Problems, path string, r markers.Redis) {
	s := r.Sentinel
	if s.IsZero() {
		return
	}
	if s.Master == "" {
		p.Add(path+".master", "is missing: write the name that the Sentinels monitor the primary by, such as mymaster")
	}
	if len(s.Addresses) == 0 {
		p.Add(path+".addresses", "is missing: write host:port of each Sentinel")
	}
	addressProblems(p, path+".addresses", s.Addresses, "sentinel-1:26379")
	if err := s.Password.Err(); err != nil {
		p.Add(path+".password", "%v", err)
	}
}

func clusterProblems(p *markers.Problems, path string, r markers.Redis) {
	addressProblems(p, path+".cluster", r.Cluster, "redis-1:6379")
	if !r.Sentinel.IsZero() {
		p.Add(path+".cluster", "stands beside sentinel: a Redis Cluster fails over by itself; leave one of them out")
	}
	if options, err := client.ParseURL(r); err == nil && options.DB != 0 {
		p.Add(path+".url", "names database %d: a Redis Cluster has database 0 alone", options.DB)
	}
}

func addressProblems(p *markers.Problems, path string, addresses []string, such string) {
	for i, address := range addresses {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
			p.Add(fmt.Sprintf("%s[%d]", path, i), "is no host:port, such as %s", such)
		}
	}
}

func keyProblems(p *markers.Problems, c markers.Config) {
	if c.Match == "" {
		p.Add("match", "is missing: write the Redis key pattern of the markers, such as msg:*")
	}
	for i, pattern := range c.Exclude {
		if pattern == "" {
			p.Add(fmt.Sprintf("exclude[%d]", i), "is empty: write a Redis key pattern, such as msg:dedup:*")
		} else if codec.ParseGlob(pattern).Covers(codec.ParseGlob(c.Match)) {
			p.Add(fmt.Sprintf("exclude[%d]", i), "%q excludes everything that match (%q) finds", pattern, c.Match)
		}
	}
	if c.Underived && c.Match != "" {
		p.Add("id", "is missing: it does not follow from match %q, which is more than text and a star at its end; write the expression whose one group is the message id, such as ^msg:(.+)$", c.Match)
	}
	if c.ID != "" {
		re, err := regexp.Compile(c.ID)
		if err != nil {
			p.Add("id", "%v", err)
		} else if re.NumSubexp() != 1 {
			p.Add("id", "%q has %d groups: mark the message id with exactly one, such as ^msg:(.+)$", c.ID, re.NumSubexp())
		}
	}
}

func retryProblems(p *markers.Problems, c markers.Config) {
	if c.Retry.Match == "" {
		return
	}
	if c.Retry.GiveUp < 1 {
		p.Add("retry.give_up", "is %d: write the number of failures after which a message is given up", c.Retry.GiveUp)
	}
	p.Positive("retry.ttl", c.Retry.TTL)
	if codec.ParseGlob(c.Retry.Match).Overlaps(codec.ParseGlob(c.Match)) {
		p.Add("retry.match", "%q and match %q find the same keys: a key is either a marker or a retry counter", c.Retry.Match, c.Match)
	}
}

func stringProblems(p *markers.Problems, c markers.Config) {
	valueProblems(p, c)
	p.States(c)
	eventProblems(p, c)
}

func valueProblems(p *markers.Problems, c markers.Config) {
	p.OneOf("value.codec", c.Value.Codec, codec.Raw, codec.JSON, codec.Java, codec.Quoted)
	paths := c.Value.Codec == codec.JSON || c.Value.Codec == codec.Java
	switch _, err := codec.ParsePath(c.Value.Path); {
	case c.Value.Path == "" && c.Value.Codec != codec.JSON:
	case !paths:
		p.Add("value.path", "is of no use to codec %s: leave it out, or write codec: json", c.Value.Codec)
	case err != nil:
		p.Add("value.path", "%v", err)
	}
	if c.Value.Time == "" {
		return
	}
	p.OneOf("value.time_unit", c.Value.TimeUnit, codec.Seconds, codec.Millis)
	if _, err := codec.ParsePath(c.Value.Time); c.Value.Time != codec.WholeValue && (!paths || err != nil) {
		p.Add("value.time", "%q is no place: write $ where the whole value is the time, or the path of a member of a JSON value, such as $.time", c.Value.Time)
	}
}

// eventProblems checks what following a store's notifications needs.
func eventProblems(p *markers.Problems, c markers.Config) {
	if c.Ask != "" {
		p.OneOf("ask", c.Ask, events.AskCommands...)
	}
	processing, failed := len(c.States[dedup.Processing]) > 0, len(c.States[dedup.Failed]) > 0
	switch {
	case !c.Events:
	case processing && failed:
		p.Add("events", "cannot tell a failure from a completion where both write a value over the claim: leave it out")
	case failed:
		p.Add("events", "cannot tell a failure from a completion where both write a value: leave events out, and let consumers report (docs/consumers.md)")
	case processing && len(c.States[dedup.Done]) == 0:
		p.Add("events", "cannot tell a failure from a completion where both delete the claim: leave it out")
	}
}

// Database names the database that the store is in; empty when the URL cannot be read.
func Database(c markers.Config) string {
	o, err := client.ParseURL(c.Redis)
	if err != nil {
		return ""
	}
	if s := c.Redis.Sentinel; !s.IsZero() {
		return fmt.Sprintf("%s of %s/%d", s.Master, strings.Join(slices.Sorted(slices.Values(s.Addresses)), ","), o.DB)
	}
	if nodes := c.Redis.Cluster; len(nodes) > 0 {
		return fmt.Sprintf("cluster of %s/%d", strings.Join(slices.Sorted(slices.Values(nodes)), ","), o.DB)
	}
	return fmt.Sprintf("%s/%d", address(o.Addr), o.DB)
}

// address is host and port in one spelling.
func address(hostPort string) string {
	addr := strings.ToLower(hostPort)
	for _, loopback := range []string{"127.0.0.1:", "[::1]:"} {
		if port, ok := strings.CutPrefix(addr, loopback); ok {
			addr = "localhost:" + port
		}
	}
	return addr
}

// Databases names the database of each store as Database does, and by one name where the Sentinels of one group or the nodes of one cluster say where
// it is: a list may leave out some that another has. Lists that have none in common are not known to be of one.
func Databases(stores []markers.Config) []string {
	names, group := make([]string, len(stores)), make([]int, len(stores)) // group is the first store of those of one group
	for i := range stores {
		names[i], group[i] = Database(stores[i]), i
		for j := range i {
			if names[i] != "" && names[j] != "" && oneGroup(stores[i].Redis, stores[j].Redis) {
				join(group[:i+1], group[i], group[j])
			}
		}
	}
	for i, name := range names {
		if first := group[i]; first != i {
			server := names[first]
			names[i] = server[:strings.LastIndexByte(server, '/')] + name[strings.LastIndexByte(name, '/'):]
		}
	}
	return names
}

// join makes two groups one.
func join(group []int, a, b int) {
	for i, g := range group {
		if g == max(a, b) {
			group[i] = min(a, b)
		}
	}
}

func oneGroup(a, b markers.Redis) bool {
	meet := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(x string) bool {
			return slices.ContainsFunc(b, func(y string) bool { return address(x) == address(y) })
		})
	}
	return a.Sentinel.Master == b.Sentinel.Master && meet(a.Sentinel.Addresses, b.Sentinel.Addresses) || meet(a.Cluster, b.Cluster)
}
