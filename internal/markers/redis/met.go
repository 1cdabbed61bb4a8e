package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
)

const (
	// metSample is how many processing markers are looked at, the oldest first, and metAge how old each must be: a claim that is
	// younger is at work as a rule.
	metSample = 200
	metAge    = 15 * time.Second
	// metStep is the time between two looks, and metIdle the idle time that shows a touch since the one before: Redis counts idle
	// time in whole seconds on a clock that it moves once a second.
	metStep = 3 * time.Second
	metIdle = time.Second
	// metLooks are the looks. A touch before each but the first takes more than one reader: a person, or the pass of another dashboard,
	// asks once.
	metLooks = 3
	// metEvery is the least time between the ends of two rounds of looks.
	metEvery = 20 * time.Second
)

// met is what is looked at on one server.
type met struct {
	conn  *redis.Conn
	batch *expiryBatch
	info  client.Info
	asked []dedup.Marker
}

// meet looks several times at the old processing markers of a pass and tells which of them were asked for again and again, as the
// deliveries of a message that loops do. It reads no value. It returns nil where nothing can be told now: there was nothing to ask, idle
// times tell nothing, or we read values ourselves meanwhile.
func (s *store) meet(ctx context.Context, pass *dedup.Pass) (*dedup.Met, error) {
	asked := metMarkers(pass)
	if !meets(s.layout.Config) || len(asked) == 0 {
		return nil, nil
	}
	reads := s.own.Count()
	all, err := s.holders(ctx, asked)
	defer func() {
		for _, m := range all {
			_ = m.conn.Close()
		}
	}()
	if err != nil || slices.ContainsFunc(all, func(m *met) bool { return (&touch{}).refusal(m.info) != "" }) {
		return nil, err
	}
	found := &dedup.Met{Expires: make(map[string]time.Time), From: time.Now()}
	for i := range metLooks {
		if i > 0 {
			if err := pace.Sleep(ctx, metStep); err != nil {
				return nil, err
			}
		}
		for _, m := range all {
			if m.asked, err = stillMet(ctx, m.conn, m.batch, m.asked, i > 0); err != nil {
				return nil, err
			}
		}
		found.To = time.Now()
	}
	for _, m := range all {
		after, err := readInfo(ctx, m.conn)
		if err != nil || m.info.Identity().Change(after.Identity()) != "" || s.own.Count() != reads {
			return nil, err
		}
		for _, marker := range m.asked {
			found.Expires[marker.Key] = marker.Expires
		}
	}
	return found, nil
}

// holders returns the servers that hold the markers, each with those that it holds.
func (s *store) holders(ctx context.Context, asked []dedup.Marker) (all []*met, err error) {
	m, err := s.servers.Map(ctx)
	if err != nil {
		return nil, err
	}
	at := map[*client.Node]*met{}
	for _, marker := range asked {
		n, err := m.For(marker.Key)
		if err != nil {
			return all, err
		}
		if at[n] == nil {
			at[n] = &met{conn: n.Conn(), batch: newExpiryBatch(s.servers.Cluster())}
			all = append(all, at[n])
			if at[n].info, err = readInfo(ctx, at[n].conn); err != nil {
				return all, s.servers.Missed(n, err)
			}
		}
		at[n].asked = append(at[n].asked, marker)
	}
	return all, nil
}

// meets reports whether consumers of the scheme touch a marker that they find in flight, and its owner does not while it works.
func meets(c markers.Config) bool {
	return c.OnInFlight == "nack" && (c.Preset == "redis-json-status" || c.Preset == "redis-text-status")
}

// metMarkers are the markers of a pass to look at: old ones with a time to live.
func metMarkers(pass *dedup.Pass) []dedup.Marker {
	var all []dedup.Marker
	for _, m := range pass.OldestProcessing {
		age := dedup.AgeOf(m, pass.Ended, pass.ClockOffset)
		if m.Key != "" && !m.Expires.IsZero() && age.Known && age.Span >= metAge {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b dedup.Marker) int { return cmp.Or(a.Since.Compare(b.Since), a.FirstSeen.Compare(b.FirstSeen)) })
	return all[:min(len(all), metSample)]
}

// stillMet keeps the markers that are the ones of the pass, and, if touched is set, were asked for since the look before.
func stillMet(ctx context.Context, conn *redis.Conn, b *expiryBatch, asked []dedup.Marker, touched bool) ([]dedup.Marker, error) {
	keys, idle, refs := make([]string, len(asked)), make([]*redis.IntCmd, len(asked)), make([]*redis.IntCmd, len(asked))
	pipe := conn.Pipeline()
	for i, m := range asked {
		keys[i], idle[i], refs[i] = m.Key, redis.NewIntCmd(ctx, "object", "idletime", m.Key), redis.NewIntCmd(ctx, "object", "refcount", m.Key)
		_, _ = pipe.Process(ctx, idle[i]), pipe.Process(ctx, refs[i])
	}
	if _, err := pipe.Exec(ctx); err != nil && !client.IsAnswer(err, "") && err != redis.Nil {
		return nil, err
	}
	ends, err := b.ask(ctx, conn, keys) // behind the idle times: a marker that is written in between goes with the later expiry
	if err != nil {
		return nil, err
	}
	var kept []dedup.Marker
	for i, m := range asked {
		const tolerance = 20 // milliseconds: the remaining life of servers before 7.0 is added to a clock
		same := ends[i].at > 0 && max(ends[i].at-m.Expires.UnixMilli(), m.Expires.UnixMilli()-ends[i].at) <= tolerance
		if !same || idle[i].Err() != nil || refs[i].Err() != nil || refs[i].Val() == sharedRefs {
			continue
		}
		if !touched || time.Duration(idle[i].Val())*time.Second <= metIdle {
			kept = append(kept, m)
		}
	}
	return kept, nil
}
