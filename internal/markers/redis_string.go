package markers

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
	"dedup-dashboard/internal/markers/pace"
)

// redisStore is a store of kind redis-string or redis-lock: one key for each marker on one server.
type redisStore struct {
	layout  *layout
	rdb     *redis.Client
	log     *slog.Logger
	explain explainer
	pings   pace.Latencies
	own     *ownReads
	// events follows the store's notifications; nil where nobody asked for them.
	events *listener
	cpu    cpuMeter

	mu       sync.Mutex
	last     *dedup.Pass
	runID    string // of the server that last was walked over
	met      *dedup.Met
	progress dedup.Progress
	// fault is why the walk stands still, nil while it walks; note is what happened to the store since the last pass.
	fault error
	note  string
}

func openRedis(c Config, log *slog.Logger) (Store, error) {
	l, err := newLayout(c)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", c.Name, err)
	}
	rdb, err := newClient(c.Redis)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", c.Name, err)
	}
	e := explainer{addr: rdb.Options().Addr, user: rdb.Options().Username, tls: rdb.Options().TLSConfig != nil}
	for _, p := range claimsOf(c) {
		e.patterns = append(e.patterns, aclPattern(p.raw.Text))
	}
	e.patterns = append(e.patterns, aclPattern(reportedPrefix+"*"))
	s := &redisStore{layout: l, rdb: rdb, log: log, explain: e, own: newOwnReads(max(c.TTL.Done, time.Hour))}
	if c.Events {
		s.events = newListener(l, rdb, log, e)
		rdb.AddHook(s.events.missed)
	}
	return s, nil
}

func (s *redisStore) Name() string         { return s.layout.cfg.Name }
func (s *redisStore) Place() string        { return database(s.layout.cfg) }
func (s *redisStore) Scheme() dedup.Scheme { return s.layout.cfg.Scheme() }
func (s *redisStore) Close() error         { return s.rdb.Close() }

// Pass walks over the store once.
func (s *redisStore) Pass(ctx context.Context) (dedup.Pass, error) {
	w := newWalk(s.layout, &s.pings)
	w.touch.own = s.own
	if err := w.run(ctx, s.rdb); err != nil {
		return dedup.Pass{}, s.explain.explain(err)
	}
	return w.tally.pass, nil
}

// Run walks over the store, and follows its notifications where that is configured, until ctx ends.
func (s *redisStore) Run(ctx context.Context) {
	if s.events == nil {
		s.walkOn(ctx)
		return
	}
	var listening sync.WaitGroup
	listening.Go(func() { s.events.run(ctx) })
	s.walkOn(ctx)
	listening.Wait()
}

// Stirred receives when there is something in Stats that should be seen before the next reading in turn; nil where that
// never happens.
func (s *redisStore) Stirred() <-chan struct{} {
	if s.events == nil {
		return nil
	}
	return s.events.stir
}

// walkOn walks over the store until ctx ends. A walk that loses its connection goes on where it stood.
func (s *redisStore) walkOn(ctx context.Context) {
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
			wait = max(0, s.layout.cfg.Sweep.Every-time.Since(w.tally.pass.Started))
			w = nil
		case errors.Is(err, pace.ErrChanged):
			s.changed(err)
			w = nil
		default:
			s.failed(s.explain.explain(err))
			if brokenAt.IsZero() {
				brokenAt = time.Now()
			}
			wait, retry = retry, min(2*retry, pace.MostRetry)
		}
		_ = pace.Sleep(ctx, wait)
	}
}

func (s *redisStore) walking(p dedup.Progress) {
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

func (s *redisStore) completed(w *walk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layout.puzzled(s.last, &w.tally.pass)
	carry(s.last, &w.tally.pass, s.layout.cfg.Kind == kindRedisLock)
	pass := w.tally.pass // a pointer into the tally would keep all of it for as long as anybody has the pass
	s.last, s.runID, s.note = &pass, w.info["run_id"], ""
	s.progress.Waiting = ""
}

// findMet looks between two passes, which read values, for markers that are asked for again and again. What fails is left to the
// next pass to tell.
func (s *redisStore) findMet(ctx context.Context) {
	s.mu.Lock()
	pass, before := s.last, s.met
	s.mu.Unlock()
	if before != nil && time.Since(before.To) < metEvery {
		return
	}
	met, err := s.meet(ctx, pass)
	if err != nil {
		s.log.Debug("processing markers could not be looked at", "err", s.explain.explain(err))
	}
	if met != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.met = met
	}
}

// changed drops what was known: the last pass describes a store that is no more.
func (s *redisStore) changed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := strings.TrimPrefix(err.Error(), pace.ErrChanged.Error()+": ")
	s.log.Warn("the pass over the store begins again", "because", what)
	s.last, s.met, s.note = nil, nil, what+": the pass began again"
	s.progress = dedup.Progress{Waiting: s.note}
}

func (s *redisStore) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil || s.fault.Error() != err.Error() {
		s.log.Warn("the walk over the store stopped", "err", err)
	}
	s.fault = err
	s.progress.Waiting = dedup.PublicText(err)
}

// Stats returns what is known of the store, with its health read now.
func (s *redisStore) Stats(ctx context.Context) (dedup.StoreStats, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	health, err := s.health(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := dedup.StoreStats{Pass: s.last, Met: s.met, Progress: s.progress, Health: health}
	if s.events != nil {
		stats.Events = s.events.figures()
	}
	if err != nil {
		return stats, s.explain.explain(err)
	}
	if s.runID != "" && health.RunID != s.runID {
		// The walk has not noticed yet that this is another server.
		stats.Pass, stats.Met = nil, nil
	}
	if stats.Events != nil {
		stats.Pass = withBorn(stats.Pass, stats.Events.NoExpiry)
	}
	// The server answers, so a lost connection or a timeout of the walk is past. What it refuses, it still refuses.
	var known *dedup.Error
	var answer redis.Error
	if errors.As(s.fault, &known) && (known.Err == nil || errors.As(known.Err, &answer)) {
		return stats, s.fault
	}
	return stats, nil
}

func (s *redisStore) health(ctx context.Context) (dedup.StoreHealth, error) {
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
	said := parseInfo(text.Val())
	h := said.health()
	h.CPU = s.cpu.since(h.RunID, said.processorTime(), started)
	keys := size.Val()
	h.At, h.Keys, h.LatencyP99 = started, &keys, s.pings.P99()
	return h, nil
}
