package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/events"
	"dedup-dashboard/internal/markers/redis/known"
	"dedup-dashboard/internal/markers/redis/layout"
)

// store is a store of a Kind: one key for each marker, on one server or spread over the primaries of a cluster.
type store struct {
	layout  *layout.Layout
	servers *client.Servers
	explain client.Explainer
	own     *known.Reads
	// events follows the store's notifications; nil where nobody asked for them.
	events *events.Listener

	rounds pace.Rounds       // guards what follows
	served dedup.StoreHealth // says which servers hold what the last pass found
	met    *dedup.Met
}

// Open returns the store that the configuration describes, whose fields all must be filled. It does not connect.
func (k Kind) Open(c markers.Config, log *slog.Logger) (markers.Store, error) {
	l, err := layout.New(c, k.Form)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", c.Name, err)
	}
	options, err := client.Options(c.Redis)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", c.Name, err)
	}
	e := client.ExplainerOf(c.Redis, options)
	for _, p := range layout.Claims(c) {
		e.Patterns = append(e.Patterns, client.ACLPattern(p.Raw.Text))
	}
	e.Patterns = append(e.Patterns, client.ACLPattern(reportedPrefix+"*"))
	s := &store{layout: l, servers: client.Open(c.Redis, options), rounds: pace.Rounds{Log: log}, explain: e, own: known.NewReads(max(c.TTL.Done, time.Hour))}
	if c.Events {
		s.events = events.NewListener(l, s.servers.One(), log, e)
		s.servers.One().AddHook(s.events.Missed)
	}
	return s, nil
}

func (s *store) Name() string         { return s.layout.Config.Name }
func (s *store) Place() string        { return Database(s.layout.Config) }
func (s *store) Scheme() dedup.Scheme { return s.layout.Config.Scheme() }
func (s *store) Close() error         { return s.servers.Close() }

// Pass walks over the store once.
func (s *store) Pass(ctx context.Context) (dedup.Pass, error) {
	w := newWalk(s.layout, s.servers)
	w.touch.own = s.own
	if err := w.run(ctx); err != nil {
		return dedup.Pass{}, s.explain.Explain(err)
	}
	return w.tally.pass, nil
}

// Run walks over the store, and follows its notifications where that is configured, until ctx ends.
func (s *store) Run(ctx context.Context) {
	if s.events == nil {
		s.walkOn(ctx)
		return
	}
	var listening sync.WaitGroup
	listening.Go(func() { s.events.Run(ctx) })
	s.walkOn(ctx)
	listening.Wait()
}

// Stirred receives when there is something in Stats that should be seen before the next reading in turn; nil where that
// never happens.
func (s *store) Stirred() <-chan struct{} {
	if s.events == nil {
		return nil
	}
	return s.events.Stir
}

func (s *store) walkOn(ctx context.Context) {
	s.rounds.Walk(ctx, s.layout.Config.Sweep.Every, func(progressed func(dedup.Progress)) pace.Walk {
		w := newWalk(s.layout, s.servers)
		w.progressed, w.touch.own = progressed, s.own
		return pace.Walk{
			Run: func(ctx context.Context) error { return w.run(ctx) },
			Ended: func(ctx context.Context) time.Time {
				s.completed(w)
				s.findMet(ctx)
				return w.tally.pass.Started
			},
		}
	}, s.explain.Explain)
}

func (s *store) completed(w *walk) {
	s.rounds.Lock()
	defer s.rounds.Unlock()
	last := s.rounds.Last
	if last == nil {
		s.met = nil // of a store that is no more
	}
	s.layout.Puzzled(last, &w.tally.pass)
	carry(last, &w.tally.pass, s.layout.Config.Kind == markers.RedisLock)
	s.served = w.served()
	s.rounds.Completed(w.tally.pass)
}

// findMet looks between two passes, which read values, for markers that are asked for again and again. What fails is left to the
// next pass to tell.
func (s *store) findMet(ctx context.Context) {
	s.rounds.Lock()
	pass, before := s.rounds.Last, s.met
	s.rounds.Unlock()
	if before != nil && time.Since(before.To) < metEvery {
		return
	}
	met, err := s.meet(ctx, pass)
	if err != nil {
		s.rounds.Log.Debug("processing markers could not be looked at", "err", s.explain.Explain(err))
	}
	if met != nil {
		s.rounds.Lock()
		defer s.rounds.Unlock()
		s.met = met
	}
}

// Stats returns what is known of the store, with its health read now.
func (s *store) Stats(ctx context.Context) (dedup.StoreStats, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	health, err := s.health(ctx)
	s.rounds.Lock()
	defer s.rounds.Unlock()
	stats := dedup.StoreStats{Pass: s.rounds.Last, Progress: s.rounds.Progress, Health: health}
	if stats.Pass != nil {
		stats.Met = s.met
	}
	if s.events != nil {
		stats.Events = s.events.Figures()
	}
	if err != nil {
		return stats, s.explain.Explain(err)
	}
	if health.Restarted(s.served) {
		// The walk has not noticed yet that this is another server, or one of others.
		stats.Pass, stats.Met = nil, nil
	} else if stats.Pass != nil {
		s.served = health
	}
	if stats.Events != nil {
		stats.Pass = events.WithBorn(stats.Pass, stats.Events.NoExpiry)
	}
	// The server answers, so a lost connection or a timeout of the walk is past. What it refuses, it still refuses.
	var known *dedup.Error
	var answer redis.Error
	if errors.As(s.rounds.Fault, &known) && (known.Err == nil || errors.As(known.Err, &answer)) {
		return stats, s.rounds.Fault
	}
	return stats, nil
}
