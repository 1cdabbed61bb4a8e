package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/known"
	"dedup-dashboard/internal/markers/redis/layout"
)

// findAtOnce is how many ids one pipeline of a Find asks for: with at most four commands each, of which Redis takes some 16 KiB at a time, other clients wait for
// less than a millisecond.
const findAtOnce = 250

// Find returns the markers of the messages with these ids as they are now. The beginning of each value is read, of done
// markers too: what is left of a life tells the state only as long as consumers keep to the configured times, and here a
// message is discarded or sent again on the strength of it. Servers from 7.2 on do not count it as use. No value is kept.
func (s *store) Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error) {
	if !s.layout.Findable() {
		return nil, s.unsearchable()
	}
	f, err := pace.NewFinding(s.Name(), ids)
	if err != nil || len(f.IDs) == 0 {
		return pace.SightingsOf(f, err)
	}
	ctx, cancel := context.WithTimeout(ctx, pace.LookTimeout)
	defer cancel()
	r := s.seeker()
	defer r.close()
	for part := range slices.Chunk(f.IDs, findAtOnce) {
		if err := r.part(ctx, part, f); err != nil {
			return nil, s.explain.Explain(err)
		}
	}
	return f.Sightings(), nil
}

func (s *store) unsearchable() error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("store %s cannot be searched by id: its setting id (%s) does not tell which key an id has", s.Name(), s.layout.Config.ID)}
}

// A seeker reads single markers over one connection to each server that holds some, so that what is said of a server is one's.
type seeker struct {
	layout  *layout.Layout
	servers *client.Servers
	own     *known.Reads
	lines   map[*client.Server]*line
}

// A line is a connection of a seeker. Server is who answers; empty before the first answer.
type line struct {
	conn   *redis.Conn
	expiry *expiryBatch
	server string
}

func (s *store) seeker() *seeker {
	return &seeker{layout: s.layout, servers: s.servers, own: s.own, lines: map[*client.Server]*line{}}
}

func (s *seeker) close() {
	for _, l := range s.lines {
		_ = l.conn.Close()
	}
}

// sought is a marker that is asked for, and its retry counter; each only where the store can have one.
type sought struct {
	id, key, retryKey string
	hasKey, hasRetry  bool
	// isCounter says that the key is that of a retry counter.
	isCounter bool
}

// seen is what stands where it was sought; gone where nothing can. The server is that of the marker, or of the counter where there is no marker.
type seen struct {
	marker, counter layout.Fetched
	moment
	server string
}

// read asks for a few markers, with the questions for their values.
func (s *seeker) read(ctx context.Context, all []sought, value func(*sought) layout.Question) ([]seen, error) {
	var asks []ask
	for i := range all {
		if k := &all[i]; k.hasKey {
			asks = append(asks, ask{key: k.key, question: value(k)})
		}
		if k := &all[i]; k.hasRetry {
			asks = append(asks, ask{key: k.retryKey, question: layout.CounterOf(k.retryKey)})
		}
	}
	found, err := s.answers(ctx, asks)
	if err != nil {
		return nil, err
	}
	next := func(asked bool) answer {
		if !asked {
			return answer{Fetched: layout.Fetched{Expiry: layout.Gone}}
		}
		f := found[0]
		found = found[1:]
		return f
	}
	answers := make([]seen, len(all))
	for i, k := range all {
		marker, counter := next(k.hasKey), next(k.hasRetry)
		from := marker
		if marker.Expiry == layout.Gone && k.hasRetry {
			from = counter
		}
		answers[i] = seen{marker.Fetched, counter.Fetched, from.moment, from.server}
	}
	return answers, nil
}

// part looks for a few ids.
func (r *seeker) part(ctx context.Context, ids []string, f *pace.Finding) error {
	all := make([]sought, len(ids))
	for i, id := range ids {
		s := &all[i]
		s.id = id
		s.retryKey, s.hasRetry = r.layout.RetryKeyOf(id)
		if s.key, s.hasKey = r.layout.KeyOf(id); s.hasKey {
			r.own.Add(s.key)
		}
	}
	seen, err := r.read(ctx, all, func(s *sought) layout.Question { return r.layout.Form.Ask(s.key) })
	if err != nil {
		return err
	}
	for i, s := range seen {
		if found := r.found(&all[i], s); found != nil {
			found.At, found.Clock, found.Server = s.at, s.clock, s.server
			f.Found(all[i].id, found)
		}
	}
	return nil
}

// found makes a sighting of what was seen; nil where there is neither a marker nor a counter.
func (r *seeker) found(s *sought, seen seen) *dedup.Sighting {
	counter := r.counter(s, seen)
	f, now := seen.marker, seen.clock.UnixMilli()
	if f.Expiry == layout.Gone {
		return counter
	}
	found := &dedup.Sighting{Marker: r.layout.Marker(s.key, r.layout.Decode(f), f.Expiry, now), ExpiresMillis: f.Expiry}
	found.ID, found.Sample = s.id, ""
	if counter != nil {
		found.Attempts = counter.Attempts
		if counter.Key != "" {
			found.Retry = counter.Retry
		}
	}
	return found
}

// counter returns the retry counter as a sighting of its own, nil where there is none.
func (r *seeker) counter(s *sought, seen seen) *dedup.Sighting {
	f := seen.counter
	if f.Expiry == layout.Gone || f.Value == "" && f.Problem == "" {
		return nil
	}
	c := &dedup.Sighting{Marker: r.layout.Counter(s.retryKey, s.id, f, seen.clock.UnixMilli()), ExpiresMillis: f.Expiry}
	if len(s.retryKey) > layout.LongestNamed {
		c.Key = ""
	}
	c.Retry = &dedup.RetryCounter{Key: c.Key, ExpiresMillis: f.Expiry}
	if c.Attempts != nil {
		c.Retry.Value = strconv.FormatInt(*c.Attempts, 10)
	}
	return c
}

// mostRounds is how often keys are looked for where their cluster says that they are.
const mostRounds = 3

// An answer is what stands at a key, when, and at which server.
type answer struct {
	layout.Fetched
	moment
	server string
}

// answers puts questions to the servers that hold their keys, in one pipeline for each. A slot that has moved is followed, and so is a key that
// is on its way: reading it elsewhere does no harm.
func (s *seeker) answers(ctx context.Context, asks []ask) ([]answer, error) {
	all := make([]answer, len(asks))
	rest := make([]int, len(asks))
	for i := range rest {
		rest[i] = i
	}
	sent := map[int]*client.Node{} // where an answer ASK sends us
	for round := 1; len(rest) > 0; round++ {
		m, err := s.servers.Map(ctx)
		if err != nil {
			return nil, err
		}
		nodes, shares, err := share(m, asks, rest, sent)
		if err != nil {
			return nil, err
		}
		rest, sent = nil, map[int]*client.Node{}
		for _, n := range nodes {
			away, err := s.put(ctx, n, asks, shares[n], all)
			for i, moved := range away {
				rest, err = append(rest, i), n.At(moved)
				sent[i] = m.AskedAt(n, moved)
				if sent[i] == nil {
					s.servers.Outdated()
				}
			}
			if err != nil && (len(away) == 0 || round == mostRounds) {
				return nil, s.servers.Missed(n, err)
			}
		}
	}
	return all, nil
}

// share says which node to ask for which of the rest.
func share(m *client.Map, asks []ask, rest []int, sent map[int]*client.Node) (nodes []*client.Node, shares map[*client.Node][]int, err error) {
	shares = map[*client.Node][]int{}
	for _, i := range rest {
		n := sent[i]
		if asks[i].asking = n != nil; n == nil {
			if n, err = m.For(asks[i].key); err != nil {
				return nil, nil, err
			}
		}
		if shares[n] == nil {
			nodes = append(nodes, n)
		}
		shares[n] = append(shares[n], i)
	}
	return nodes, shares, nil
}

// put asks one server for some keys, and before the first of them for its name. Away are those that it refers to another node.
func (s *seeker) put(ctx context.Context, n *client.Node, asks []ask, share []int, all []answer) (away map[int]error, err error) {
	l := s.lines[n.Server]
	if l == nil {
		l = &line{conn: n.Conn(), expiry: newExpiryBatch(s.servers.Cluster())}
		s.lines[n.Server] = l
	}
	pipe := l.conn.Pipeline()
	var info *redis.StringCmd
	if l.server == "" {
		info = pipe.Info(ctx, "server")
	}
	own := make([]ask, len(share))
	for at, i := range share {
		own[at] = asks[i]
	}
	found, m, err := l.expiry.read(ctx, pipe, own)
	if err == nil && info != nil {
		l.server, err = client.ParseInfo(info.Val())["run_id"], info.Err()
	}
	if err != nil {
		return nil, err
	}
	for at, f := range found {
		all[share[at]] = answer{f, m, l.server}
	}
	away = map[int]error{}
	for at, moved := range l.expiry.away {
		away[share[at]] = moved
	}
	return away, nil
}
