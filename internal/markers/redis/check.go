package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/events"
	"dedup-dashboard/internal/markers/redis/layout"
)

// Check tries every command first: with one of them refused there is nothing to count, and the report says so.
func (s *store) Check(ctx context.Context, n int) (markers.Report, error) {
	r := markers.Report{Blind: s.Scheme().Blind}
	missing, err := s.missing(ctx)
	if err != nil {
		return r, s.explain.Explain(err)
	}
	if s.events != nil {
		var denied *events.DeniedError
		if r.Events, err = s.events.Check(ctx); errors.As(err, &denied) {
			missing, r.Untried = append(missing, denied.Missing...), denied.Untried
		} else if err != nil {
			return r, s.explain.Explain(err)
		}
	}
	if r.Missing = missing; len(missing) > 0 {
		return r, nil
	}
	w := newWalk(s.layout, s.servers)
	w.limit, w.sampleSize = pace.CheckKeys, n
	if err := w.run(ctx); err != nil {
		return r, s.explain.Explain(err)
	}
	name := "redis "
	if w.info.Version() != w.info["redis_version"] {
		name = ""
	}
	r.Server = name + w.info.Version() + ", " + w.info["role"]
	if s.servers.Cluster() {
		r.Server = fmt.Sprintf("%s%s, cluster of %d primaries", name, w.info.Version(), len(w.before.Primaries))
	}
	for _, p := range w.parts {
		r.Keys += p.keys
	}
	r.Pass, r.Coverage = w.tally.pass, w.coverage()
	r.ByLife, r.LifeState = w.tally.lived, s.layout.LongLived
	if r.Samples, err = s.decodeSamples(ctx, w); err != nil {
		return r, s.explain.Explain(err)
	}
	if err = s.suggest(ctx, &r, n); err != nil {
		return r, s.explain.Explain(err)
	}
	r.Findings = findings(s.layout.Config, w, r.Samples)
	return r, nil
}

// A grantTry is a command that watching needs, with the ACL rule of its key; the rule is empty where there is no key.
type grantTry struct {
	command redis.Cmder
	key     string
}

// grantTries are the commands that watching needs, on keys that need not exist.
func (s *store) grantTries(ctx context.Context) []grantTry {
	const probe = "dashboard-check"
	c, key := s.layout.Config, s.layout.KeyLike(s.layout.Match, probe)
	tries := []grantTry{{command: redis.NewStatusCmd(ctx, "ping")}, {command: redis.NewStringCmd(ctx, "info")}, {command: redis.NewTimeCmd(ctx, "time")},
		{command: redis.NewIntCmd(ctx, "dbsize")}, {command: redis.NewScanCmd(ctx, nil, "scan", 0, "match", s.layout.Scan, "count", 10)}}
	add := func(rule string, commands ...redis.Cmder) {
		for _, c := range commands {
			tries = append(tries, grantTry{c, rule})
		}
	}
	marker := client.ACLPattern(layout.RawPattern(c, c.Match))
	add(marker, redis.NewIntCmd(ctx, client.AbsoluteExpiry, key), redis.NewCmd(ctx, s.layout.Form.Ask(key).Command...), redis.NewCmd(ctx, s.layout.Whole(key, 1).Command...))
	if s.servers.Cluster() {
		add("", redis.NewClusterSlotsCmd(ctx, "cluster", "slots"), redis.NewStringCmd(ctx, "cluster", "nodes"), redis.NewStatusCmd(ctx, "asking"))
	}
	if s.events != nil {
		add(marker, redis.NewIntCmd(ctx, client.RemainingExpiry, key))
	}
	if s.layout.HasRetry {
		counter := s.layout.KeyLike(s.layout.Retry, probe)
		add(client.ACLPattern(layout.RawPattern(c, c.Retry.Match)), redis.NewIntCmd(ctx, client.AbsoluteExpiry, counter), redis.NewCmd(ctx, layout.CounterOf(counter).Command...))
	}
	add(client.ACLPattern(reportedPrefix+"*"), redis.NewIntCmd(ctx, "hlen", reportedPrefix+"check"), redis.NewSliceCmd(ctx, "hmget", reportedPrefix+"check", "processed"))
	return tries
}

// missing tries each server, and of a cluster the replicas too: one that takes the place of its primary has rules of its own.
func (s *store) missing(ctx context.Context) ([]string, error) {
	m, err := s.servers.Learn(ctx)
	var missing []string
	if client.IsAnswer(err, "NOPERM") {
		for _, denied := range client.DeniedCommand.FindAllStringSubmatch(err.Error(), -1) {
			if grant := "+" + denied[1]; !slices.Contains(missing, grant) {
				missing = append(missing, grant)
			}
		}
		return missing, nil
	}
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, n := range slices.Concat(m.Primaries, m.Replicas) {
		err := n.Ping(ctx).Err()
		if err == nil || client.IsAnswer(err, "NOPERM") {
			missing, err = s.missingGrants(ctx, n, missing)
		}
		if err != nil {
			failed = append(failed, s.explain.Explain(n.At(err)))
		}
	}
	if len(failed) == 1 {
		return missing, failed[0]
	}
	if len(failed) > 0 {
		return missing, &dedup.Error{Kind: dedup.Unavailable, Err: errors.Join(failed...), Public: strings.ReplaceAll(errors.Join(failed...).Error(), "\n", "; ")}
	}
	return missing, nil
}

// missingGrants adds the rules that the account lacks: each try fails for its command first, and for its key only with the command granted. A node of a
// cluster refers the key to another behind that.
func (s *store) missingGrants(ctx context.Context, n *client.Node, missing []string) ([]string, error) {
	tries := s.grantTries(ctx)
	for i := 0; i < len(tries); i++ {
		err := n.Process(ctx, tries[i].command)
		switch {
		case client.IsAnswer(err, "ERR unknown command") && tries[i].command.Name() == client.AbsoluteExpiry:
			tries = append(tries, grantTry{redis.NewIntCmd(ctx, client.RemainingExpiry, tries[i].command.Args()[1]), tries[i].key})
		case err == nil:
		case client.IsAnswer(err, "NOPERM"):
			grant := tries[i].key
			if m := client.DeniedCommand.FindStringSubmatch(err.Error()); m != nil {
				grant = "+" + m[1]
			}
			if !slices.Contains(missing, grant) {
				missing = append(missing, grant)
			}
		case !client.IsAnswer(err, ""):
			return nil, err
		}
	}
	return missing, nil
}

// decodeSamples reads the sampled markers, done or not. This touches their idle time; it is a handful.
func (s *store) decodeSamples(ctx context.Context, w *walk) ([]dedup.Marker, error) {
	var samples []dedup.Marker
	err := s.fetchAll(ctx, w.sample, func(key string, f layout.Fetched, now int64) {
		if f.Expiry != layout.Gone {
			samples = append(samples, s.layout.Marker(key, s.layout.Decode(f), f.Expiry, now))
		}
	})
	return samples, err
}

// fetchAll reads the values of a few markers.
func (s *store) fetchAll(ctx context.Context, keys []string, take func(key string, f layout.Fetched, now int64)) error {
	m, err := s.servers.Map(ctx)
	if err != nil {
		return err
	}
	at := map[*client.Node][]item{}
	for _, key := range keys {
		n, err := m.For(key)
		if err != nil {
			return err
		}
		at[n] = append(at[n], item{key: key})
	}
	for _, n := range m.Primaries {
		if err := s.fetchAt(ctx, n, at[n], take); err != nil {
			return s.servers.Missed(n, err)
		}
	}
	return nil
}

func (s *store) fetchAt(ctx context.Context, n *client.Node, items []item, take func(key string, f layout.Fetched, now int64)) error {
	conn, expiries := n.Conn(), newExpiryBatch(s.servers.Cluster())
	defer conn.Close()
	for part := range slices.Chunk(items, maxPipeline/2) {
		found, now, err := expiries.fetch(ctx, conn, part, s.layout.Form)
		if err != nil {
			return err
		}
		for i, f := range found {
			take(part[i].key, f, now)
		}
	}
	return nil
}

// outliving counts processing markers with an expiry that does not tell when they were written.
func outliving(samples []dedup.Marker) int {
	n := 0
	for _, m := range samples {
		if m.State == dedup.Processing && !m.Expires.IsZero() && m.Since.IsZero() {
			n++
		}
	}
	return n
}

// evicts reports whether the server may evict keys.
func (p *part) evicts() bool {
	limit := p.info["maxmemory"]
	return limit != "" && limit != "0" && p.info["maxmemory_policy"] != "noeviction"
}

func findings(c markers.Config, w *walk, samples []dedup.Marker) []dedup.Finding {
	var all []dedup.Finding
	add := func(kind string, tier dedup.Tier, text, evidence, remedy string) {
		all = append(all, dedup.Finding{Kind: kind, Tier: tier, Text: text, Evidence: evidence, Remedy: remedy})
	}
	pass := w.tally.pass
	if i := slices.IndexFunc(w.parts, (*part).evicts); i >= 0 {
		add("store_evicts", dedup.Severe, "The server may evict markers, and then work is done twice.",
			"maxmemory-policy "+w.parts[i].info["maxmemory_policy"], "Set maxmemory-policy noeviction, or keep markers on a server of their own.")
	}
	if pass.Matched == 0 {
		add("no_markers", dedup.Warning, "No key looks like a marker of this store.",
			fmt.Sprintf("%d keys examined, match %q", pass.Examined, c.Match), "Check match, exclude, and the database number at the end of redis.url.")
	}
	if unknown := pass.States[dedup.StateUnknown]; unknown > 0 {
		add("markers_undecodable", dedup.Warning, "Some markers could not be decoded.",
			fmt.Sprintf("%d of %d", unknown, pass.Matched), "Check value and states against the samples.")
	}
	if undated := pass.UndatedCompletions; undated > 0 && c.TTL.Done > 0 {
		add("completions_undated", dedup.Warning, "Some done markers never expire, or live longer than ttl.done: their completion cannot be dated.",
			fmt.Sprintf("%d of %d done", undated, pass.States[dedup.Done]), "Set ttl.done to the time to live that the consumers use.")
	}
	if n := outliving(samples); n > 0 && c.TTL.Done > 0 {
		add("processing_outlives_ttl", dedup.Severe, "Some processing markers live longer than ttl.processing, by which done markers are recognised: they count as done.",
			fmt.Sprintf("%d of %d samples", n, len(samples)), "Set ttl.processing to the time to live that the consumers use.")
	}
	if n := pass.NoExpiry[dedup.Processing]; n > 0 {
		add("marker_without_expiry", dedup.Severe, "Some processing markers never expire: their messages are blocked for ever.",
			fmt.Sprintf("%d markers", n), "Set value and expiry in one command: SET key processing NX EX 300.")
	}
	return all
}
