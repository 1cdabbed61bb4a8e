package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/events"
	"dedup-dashboard/internal/markers/redis/layout"
)

// store is a store of a Kind: one key for each marker on one server.
type store struct {
	layout  *layout.Layout
	rdb     *redis.Client
	log     *slog.Logger
	explain client.Explainer
	pings   pace.Latencies
	own     *ownReads
	// events follows the store's notifications; nil where nobody asked for them.
	events *events.Listener
	cpu    client.CpuMeter

	mu       sync.Mutex
	last     *dedup.Pass
	runID    string // of the server that last was walked over
	met      *dedup.Met
	progress dedup.Progress
	// fault is why the walk stands still, nil while it walks; note is what happened to the store since the last pass.
	fault error
	note  string
}

// Open returns the store that the configuration describes, whose fields all must be filled. It does not connect.
func (k Kind) Open(c markers.Config, log *slog.Logger) (markers.Store, error) {
	l, err := layout.New(c, k.Form)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", c.Name, err)
	}
	rdb, err := client.New(c.Redis)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", c.Name, err)
	}
	e := client.Explainer{Addr: rdb.Options().Addr, User: rdb.Options().Username, Tls: rdb.Options().TLSConfig != nil}
	for _, p := range layout.Claims(c) {
		e.Patterns = append(e.Patterns, client.ACLPattern(p.Raw.Text))
	}
	e.Patterns = append(e.Patterns, client.ACLPattern(reportedPrefix+"*"))
	s := &store{layout: l, rdb: rdb, log: log, explain: e, own: newOwnReads(max(c.TTL.Done, time.Hour))}
	if c.Events {
		s.events = events.NewListener(l, rdb, log, e)
		rdb.AddHook(s.events.Missed)
	}
	return s, nil
}

func (s *store) Name() string         { return s.layout.Config.Name }
func (s *store) Place() string        { return Database(s.layout.Config) }
func (s *store) Scheme() dedup.Scheme { return s.layout.Config.Scheme() }
func (s *store) Close() error         { return s.rdb.Close() }

// Pass walks over the store once.
func (s *store) Pass(ctx context.Context) (dedup.Pass, error) {
	w := newWalk(s.layout, &s.pings)
	w.touch.own = s.own
	if err := w.run(ctx, s.rdb); err != nil {
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

// walkOn walks over the store until ctx ends. A walk that loses its connection goes on where it stood.
func (s *store) walkOn(ctx context.Context) {
	var w *walk
	retry := pace.LeastRetry
	brokenAt := time.Time{}
	walking := func(p dedup.Progress) {
		retry, brokenAt = pace.LeastRetry, time.Time{}
		s.walking(p)
	}
	for ctx.Err() == nil {
		if w == nil || !brokenAt.IsZero() && time.Since(brokenAt) > pace.StaleWalk {
			w = newWalk(s.layout, &s.pings)
			w.progressed, w.touch.own = walking, s.own
			brokenAt = time.Time{}
		}
		err := w.run(ctx, s.rdb)
		var wait time.Duration
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			s.completed(w)
			s.findMet(ctx)
			wait = max(0, s.layout.Config.Sweep.Every-time.Since(w.tally.pass.Started))
			w = nil
		case errors.Is(err, pace.ErrChanged):
			s.changed(err)
			w = nil
		default:
			s.failed(s.explain.Explain(err))
			if brokenAt.IsZero() {
				brokenAt = time.Now()
			}
			wait, retry = retry, min(2*retry, pace.MostRetry)
		}
		_ = pace.Sleep(ctx, wait)
	}
}

func (s *store) walking(p dedup.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		s.log.Info("the walk over the store goes on")
		s.fault = nil
	}
	if s.note != "" {
		p.Waiting = s.note
	}
	s.progress = p
}

func (s *store) completed(w *walk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layout.Puzzled(s.last, &w.tally.pass)
	carry(s.last, &w.tally.pass, s.layout.Config.Kind == markers.RedisLock)
	pass := w.tally.pass // a pointer into the tally would keep all of it for as long as anybody has the pass
	s.last, s.runID, s.note = &pass, w.info["run_id"], ""
	s.progress.Waiting = ""
}

// findMet looks between two passes, which read values, for markers that are asked for again and again. What fails is left to the
// next pass to tell.
func (s *store) findMet(ctx context.Context) {
	s.mu.Lock()
	pass, before := s.last, s.met
	s.mu.Unlock()
	if before != nil && time.Since(before.To) < metEvery {
		return
	}
	met, err := s.meet(ctx, pass)
	if err != nil {
		s.log.Debug("processing markers could not be looked at", "err", s.explain.Explain(err))
	}
	if met != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.met = met
	}
}

// changed drops what was known: the last pass describes a store that is no more.
func (s *store) changed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := strings.TrimPrefix(err.Error(), pace.ErrChanged.Error()+": ")
	s.log.Warn("the pass over the store begins again", "because", what)
	s.last, s.met, s.note = nil, nil, what+": the pass began again"
	s.progress = dedup.Progress{Waiting: s.note}
}

func (s *store) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil || s.fault.Error() != err.Error() {
		s.log.Warn("the walk over the store stopped", "err", err)
	}
	s.fault = err
	s.progress.Waiting = dedup.PublicText(err)
}

// Stats returns what is known of the store, with its health read now.
func (s *store) Stats(ctx context.Context) (dedup.StoreStats, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	health, err := s.health(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := dedup.StoreStats{Pass: s.last, Met: s.met, Progress: s.progress, Health: health}
	if s.events != nil {
		stats.Events = s.events.Figures()
	}
	if err != nil {
		return stats, s.explain.Explain(err)
	}
	if s.runID != "" && health.RunID != s.runID {
		// The walk has not noticed yet that this is another server.
		stats.Pass, stats.Met = nil, nil
	}
	if stats.Events != nil {
		stats.Pass = events.WithBorn(stats.Pass, stats.Events.NoExpiry)
	}
	// The server answers, so a lost connection or a timeout of the walk is past. What it refuses, it still refuses.
	var known *dedup.Error
	var answer redis.Error
	if errors.As(s.fault, &known) && (known.Err == nil || errors.As(known.Err, &answer)) {
		return stats, s.fault
	}
	return stats, nil
}

func (s *store) health(ctx context.Context) (dedup.StoreHealth, error) {
	started := time.Now()
	if err := s.rdb.Ping(ctx).Err(); err != nil {
		return dedup.StoreHealth{At: started}, err
	}
	s.pings.Add(time.Since(started))
	pipe := s.rdb.Pipeline()
	text, size := pipe.Info(ctx), pipe.DBSize(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return dedup.StoreHealth{At: started}, err
	}
	said := client.ParseInfo(text.Val())
	h := said.Health()
	h.CPU = s.cpu.Since(h.RunID, said.ProcessorTime(), started)
	keys := size.Val()
	h.At, h.Keys, h.LatencyP99 = started, &keys, s.pings.P99()
	return h, nil
}
