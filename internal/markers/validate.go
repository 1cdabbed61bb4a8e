package markers

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

// A FieldError is one problem of a configuration. Path is relative to the store: "ttl.done".
type FieldError struct {
	Path string
	Text string
}

// Error returns the path and what to do.
func (e *FieldError) Error() string { return e.Path + ": " + e.Text }

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// Validate returns every problem of the store's description, joined; each is a *FieldError.
func (c Config) Validate() error {
	c = c.withDefaults()
	var problems problems
	if !namePattern.MatchString(c.Name) {
		problems.add("name", "%q is not a name: use lower-case letters, digits, dot, dash and underscore", c.Name)
	}
	if text := c.misnamed(); text != nil {
		// What such a store consists of is not known, so that nothing else can be asked of it.
		return errors.Join(append(problems, text)...)
	}
	switch c.Kind {
	case kindRedisString, kindRedisLock:
		problems.redisKind(c)
	case kindSQLTable:
		problems.sqlTable(c)
		problems.events(c)
		return errors.Join(problems...)
	}
	problems.rules(c)
	problems.events(c)
	problems.sweep(c.Sweep)
	return errors.Join(problems...)
}

// misnamed says that the preset or the kind is one that we do not know; nil when both are known.
func (c Config) misnamed() error {
	_, known := Preset(c.Preset)
	switch {
	case c.Preset != "" && !known:
		return &FieldError{Path: "preset", Text: fmt.Sprintf("%q is not known: use one of %s", c.Preset, strings.Join(PresetNames(), ", "))}
	case c.Kind == "":
		return &FieldError{Path: "preset", Text: "is missing: use one of " + strings.Join(PresetNames(), ", ") + "; or write a kind (" + strings.Join(kindNames(), ", ") + ") and all of its fields"}
	case !slices.Contains(kindNames(), c.Kind):
		return &FieldError{Path: "kind", Text: fmt.Sprintf("%q is not known: use one of %s, or a preset and no kind", c.Kind, strings.Join(kindNames(), ", "))}
	}
	return nil
}

// redisKind checks what the kinds of Redis have in common.
func (p *problems) redisKind(c Config) {
	p.redis("redis", c.Redis)
	if !c.Act.Redis.URL.IsZero() {
		p.redis("act.redis", c.Act.Redis)
	}
	p.oneOf("key.codec", c.Key.Codec, codec.Raw, codec.Java)
	for _, f := range []struct{ path, value string }{{"rows", c.Rows}, {"retakes", c.Retakes}} {
		if f.value != "" {
			p.add(f.path, "is for kind %s: leave it out", kindSQLTable)
		}
	}
	p.keys(c)
	p.retry(c)
	if c.Kind == kindRedisLock {
		p.lock(c)
		return
	}
	p.values(c)
	p.states(c)
}

type problems []error

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, &FieldError{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (p *problems) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.add(path, "%q: use %s", value, strings.Join(allowed, " or "))
	}
}

func (p *problems) redis(path string, r Redis) {
	options, err := parseURL(r)
	switch {
	case r.URL.Err() != nil:
		p.add(path+".url", "%v", r.URL.Err())
	case r.URL.IsZero():
		p.add(path+".url", "is missing: write redis://user:password@host:6379/0, {env: NAME} or {file: PATH}")
	case err != nil:
		p.add(path+".url", "%v", err)
	case options.TLSConfig == nil && (r.CAFile != "" || r.CertFile != "" || r.ServerName != ""):
		p.add(path+".url", "has certificate settings beside it but no TLS: write rediss://")
	}
	if (r.CertFile == "") != (r.KeyFile == "") {
		p.add(path+".cert_file", "needs key_file beside it, and key_file needs cert_file")
	}
}

func (p *problems) keys(c Config) {
	if c.Match == "" {
		p.add("match", "is missing: write the Redis key pattern of the markers, such as msg:*")
	}
	for i, pattern := range c.Exclude {
		if pattern == "" {
			p.add(fmt.Sprintf("exclude[%d]", i), "is empty: write a Redis key pattern, such as msg:dedup:*")
		} else if codec.ParseGlob(pattern).Covers(codec.ParseGlob(c.Match)) {
			p.add(fmt.Sprintf("exclude[%d]", i), "%q excludes everything that match (%q) finds", pattern, c.Match)
		}
	}
	if c.Underived && c.Match != "" {
		p.add("id", "is missing: it does not follow from match %q, which is more than text and a star at its end; write the expression whose one group is the message id, such as ^msg:(.+)$", c.Match)
	}
	if c.ID != "" {
		re, err := regexp.Compile(c.ID)
		if err != nil {
			p.add("id", "%v", err)
		} else if re.NumSubexp() != 1 {
			p.add("id", "%q has %d groups: mark the message id with exactly one, such as ^msg:(.+)$", c.ID, re.NumSubexp())
		}
	}
}

func (p *problems) retry(c Config) {
	if c.Retry.Match == "" {
		return
	}
	if c.Retry.GiveUp < 1 {
		p.add("retry.give_up", "is %d: write the number of failures after which a message is given up", c.Retry.GiveUp)
	}
	p.positive("retry.ttl", c.Retry.TTL)
	if codec.ParseGlob(c.Retry.Match).Overlaps(codec.ParseGlob(c.Match)) {
		p.add("retry.match", "%q and match %q find the same keys: a key is either a marker or a retry counter", c.Retry.Match, c.Match)
	}
}

func (p *problems) positive(path string, d time.Duration) {
	if d <= 0 {
		p.add(path, "is %s: write a time above zero, such as 300s", d)
	}
}

func (p *problems) values(c Config) {
	p.oneOf("value.codec", c.Value.Codec, codec.Raw, codec.JSON, codec.Java, codec.Quoted)
	paths := c.Value.Codec == codec.JSON || c.Value.Codec == codec.Java
	switch _, err := codec.ParsePath(c.Value.Path); {
	case c.Value.Path == "" && c.Value.Codec != codec.JSON:
	case !paths:
		p.add("value.path", "is of no use to codec %s: leave it out, or write codec: json", c.Value.Codec)
	case err != nil:
		p.add("value.path", "%v", err)
	}
	if c.Value.Time == "" {
		return
	}
	p.oneOf("value.time_unit", c.Value.TimeUnit, codec.Seconds, codec.Millis)
	if _, err := codec.ParsePath(c.Value.Time); c.Value.Time != codec.WholeValue && (!paths || err != nil) {
		p.add("value.time", "%q is no place: write $ where the whole value is the time, or the path of a member of a JSON value, such as $.time", c.Value.Time)
	}
}

func (p *problems) states(c Config) {
	owner := map[string]dedup.State{}
	for _, state := range dedup.States() {
		for _, value := range c.States[state] {
			if other, taken := owner[value]; taken {
				p.add("states."+string(state), "%q is also a value of %s", value, other)
			}
			owner[value] = state
		}
	}
	for state := range c.States {
		if !slices.Contains(dedup.States(), state) || state == dedup.StateUnknown {
			p.add("states", "%q is not a state: use processing, done, failed or present", state)
		}
	}
	if len(owner) == 0 {
		p.add("states", "is empty: list the values of each state, such as done: [done]")
	}
}

// lock checks what is different in a lock: its value is an owner and its one state is to be held.
func (p *problems) lock(c Config) {
	p.oneOf("value.codec", c.Value.Codec, codec.Redisson, codec.Token)
	if c.Value.Path != "" || c.Value.Time != "" {
		p.add("value", "path and time are of no use to a lock: leave them out")
	}
	if len(c.States) > 0 {
		p.add("states", "are of no use to a lock, which is processing while it is held: leave them out")
	}
	if c.TTL.Done != 0 {
		p.add("ttl.done", "is of no use to a lock: write its lease in ttl.processing")
	}
	p.positive("ttl.processing", c.TTL.Processing)
}

func (p *problems) rules(c Config) {
	p.oneOf("mark", c.Mark, "before", "after")
	// A scheme that marks after the work has nothing in flight that could be hit.
	if c.OnInFlight != "" || c.Mark != "after" || len(c.States[dedup.Processing]) > 0 {
		p.oneOf("on_inflight", c.OnInFlight, "ack", "nack", inFlightWait)
	}
	p.oneOf("on_fail", c.OnFail, "delete", "keep", "ack")
	p.onFailed(c)
	p.acks(c)
	if len(c.States[dedup.Processing]) > 0 {
		p.positive("ttl.processing", c.TTL.Processing)
	}
	if c.TTL.Done < 0 {
		p.add("ttl.done", "is %s: write a time, or 0 for markers that never expire", c.TTL.Done)
	}
	if c.TTL.Done > 0 && c.TTL.Done <= c.TTL.Processing {
		p.add("ttl.done", "is %s and not above ttl.processing (%s): done markers are told apart by their longer life", c.TTL.Done, c.TTL.Processing)
	}
}

// events checks what following a store's notifications needs.
func (p *problems) events(c Config) {
	if c.Ask != "" && c.Kind != kindRedisString {
		p.add("ask", "is for kind %s: leave it out", kindRedisString)
	} else if c.Ask != "" {
		p.oneOf("ask", c.Ask, askCommands...)
	}
	if !c.Events {
		return
	}
	switch {
	case c.Kind == kindRedisLock:
		p.add("events", "say nothing of a lock: one that ends after its work and one that ends after a crash give the same notifications; leave it out")
	case c.Kind != kindRedisString:
		p.add("events", "are notifications of Redis, for kind %s: leave it out", kindRedisString)
	case len(c.States[dedup.Processing]) > 0 && len(c.States[dedup.Failed]) > 0:
		p.add("events", "cannot tell a failure from a completion where both write a value over the claim: leave it out")
	case len(c.States[dedup.Failed]) > 0:
		p.add("events", "cannot tell a failure from a completion where both write a value: leave events out, and let consumers report (docs/consumers.md)")
	case len(c.States[dedup.Processing]) > 0 && len(c.States[dedup.Done]) == 0:
		p.add("events", "cannot tell a failure from a completion where both delete the claim: leave it out")
	}
}

func (p *problems) sweep(s pace.Sweep) {
	if math.IsNaN(float64(s.Duty)) {
		p.add("sweep.duty", "is not a percentage: write a share of the server's time such as 5%%")
	} else if s.Duty < 0.001 || s.Duty > 1 {
		p.add("sweep.duty", "is %s: write a share of the server's time from 0.1%% to 100%%", s.Duty)
	}
	if s.Count < 10 || s.Count > 1000 {
		p.add("sweep.count", "is %d: write 10 to 1000; one call blocks the server while it examines so many keys", s.Count)
	}
	if s.Every < time.Second {
		p.add("sweep.every", "is %s: write 1s or more", s.Every)
	}
	if s.MaxKeysPerSecond < 0 || s.MaxBytesPerSecond < 0 {
		p.add("sweep", "max_keys_per_second and max_bytes_per_second cannot be below 0")
	}
}

// server names the database that the store is in; empty when the URL cannot be read.
func (c Config) server() string {
	o, err := parseURL(c.Redis)
	if err != nil {
		return ""
	}
	addr := strings.ToLower(o.Addr)
	for _, loopback := range []string{"127.0.0.1:", "[::1]:"} {
		if port, ok := strings.CutPrefix(addr, loopback); ok {
			addr = "localhost:" + port
		}
	}
	return fmt.Sprintf("%s/%d", addr, o.DB)
}

// onFailedRun is the value of Config.OnFailed that says that consumers take a failed marker again.
const onFailedRun = "run"

// onFailed checks what consumers do with a failed marker; it may be left out.
func (p *problems) acks(c Config) {
	if c.Acks != "" {
		p.oneOf("acks", c.Acks, acksEach, acksBatch)
	}
}

func (p *problems) onFailed(c Config) {
	if c.OnFailed == "" {
		return
	}
	p.oneOf("on_failed", c.OnFailed, "ack", "nack", onFailedRun)
	if c.OnFailed == onFailedRun && c.Retakes == retakesNever {
		p.add("on_failed", "run says that consumers take a failed row again, and retakes: never that they do not: leave one of them out")
	}
}
