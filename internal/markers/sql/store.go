package sql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/sql/dialect"
)

const (
	// sqlConnections bounds our connections to one database: a walk holds one, stats and readers take the others for moments.
	sqlConnections = 4
	// twoIDsFor is how long it is said that a message found the row of another.
	twoIDsFor = 24 * time.Hour
)

// store is a store of kind sql-table.
type store struct {
	table   *table
	log     *slog.Logger
	pings   pace.Latencies
	inserts *insertReader
	// statements counts those on the table; nil for business rows.
	statements *statementReader

	mu       sync.Mutex
	last     *dedup.Pass
	nullIDs  int64
	lastID   string // of the server that last was walked over
	progress dedup.Progress
	// fault is why the walk stands still, nil while it walks; lasting says that the server answered so. note is what
	// happened to the store since the last pass.
	fault   error
	lasting bool
	note    string
	// twoIDs is the newest message that found the row of another; nil for none.
	twoIDs *dedup.TwoIDs
	// spare are the tables of the last walk, for the next one; nil while a walk of Run has them.
	spare       *repeats
	waitsHidden bool
	// started is when the server's process began, by its clock; uptime is how long it said last that it has been running.
	started time.Time
	uptime  dialect.Uptime
}

// Open returns the store that the configuration describes, whose fields all must be filled. It does not connect.
func Open(c markers.Config, log *slog.Logger) (markers.Store, error) {
	d := dialect.ByDriver[c.SQL.Driver]
	at, err := d.Parse(c.SQL.DSN.Reveal())
	if err != nil {
		return nil, fmt.Errorf("open store %s: sql.dsn %w", c.Name, err)
	}
	db, err := d.Open(c.SQL.DSN.Reveal(), sqlConnections)
	if err != nil {
		return nil, fmt.Errorf("open store %s: sql.dsn: %w", c.Name, err)
	}
	t := &table{cfg: c, dialect: d, db: db, explain: dialect.Explainer{Dialect: d, At: at}}
	return &store{table: t, log: log, inserts: newInsertReader(t), statements: newStatementReader(t)}, nil
}

func (s *store) Name() string         { return s.table.cfg.Name }
func (s *store) Place() string        { return Place(s.table.cfg) }
func (s *store) Scheme() dedup.Scheme { return s.table.cfg.Scheme() }
func (s *store) Close() error         { return s.table.db.Close() }

// Reported says that nobody reports: tables hold no counters.
func (s *store) Reported(context.Context, string) (dedup.Reported, error) {
	return dedup.Reported{At: time.Now()}, nil
}

// Pass walks over the table once.
func (s *store) Pass(ctx context.Context) (dedup.Pass, error) {
	w := s.newWalk(nil)
	if err := w.run(ctx); err != nil {
		return dedup.Pass{}, s.table.explain.Explain(err)
	}
	return w.tally.pass, nil
}

// Run walks over the table until ctx ends. A walk that loses its connection goes on where it stood.
func (s *store) Run(ctx context.Context) {
	var w *walk
	retry, brokenAt := pace.LeastRetry, time.Time{}
	walking := func(p dedup.Progress) {
		retry, brokenAt = pace.LeastRetry, time.Time{}
		s.walking(p)
	}
	for ctx.Err() == nil {
		if w == nil || !brokenAt.IsZero() && time.Since(brokenAt) > pace.StaleWalk {
			w = s.newWalk(s.lastPass())
			w.progressed = walking
			brokenAt = time.Time{}
		}
		err := w.run(ctx)
		var wait time.Duration
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			s.completed(w)
			wait = max(0, s.table.cfg.Sweep.Every-time.Since(w.tally.pass.Started))
			w = nil
		case errors.Is(err, pace.ErrChanged):
			s.changed(err)
			w = nil
		default:
			s.failed(err)
			if brokenAt.IsZero() {
				brokenAt = time.Now()
			}
			wait, retry = retry, min(2*retry, pace.MostRetry)
		}
		_ = pace.Sleep(ctx, wait)
	}
}

func (s *store) lastPass() *dedup.Pass {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
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
	pass := w.tally.pass // a pointer into the tally would keep all of it for as long as anybody has the pass
	s.spare = w.tally.repeats
	s.last, s.nullIDs, s.lastID, s.note = &pass, w.tally.nullIDs, w.layout.Server.ID, ""
	s.progress.Waiting = ""
}

// takeSpare gives away the tables of the last walk.
func (s *store) takeSpare() *repeats {
	s.mu.Lock()
	defer s.mu.Unlock()
	spare := s.spare
	s.spare = nil
	return spare
}

// changed drops what was known: the last pass describes a store that is no more.
func (s *store) changed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := strings.TrimPrefix(err.Error(), pace.ErrChanged.Error()+": ")
	s.log.Warn("the pass over the store begins again", "because", what)
	s.last, s.note = nil, what+": the pass began again"
	s.progress = dedup.Progress{Waiting: s.note}
}

func (s *store) failed(err error) {
	explained := s.table.explain.Explain(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil || s.fault.Error() != explained.Error() {
		s.log.Warn("the walk over the store stopped", "err", explained)
	}
	r := s.table.dialect.Refusal(err)
	var known *dedup.Error
	s.fault, s.lasting = explained, r.Answered() && !r.Passing || errors.As(err, &known)
	s.progress.Waiting = dedup.PublicText(explained)
}

// Stats returns what is known of the store, with its health and its lock waits read now.
func (s *store) Stats(ctx context.Context) (dedup.StoreStats, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	health, server, err := s.health(ctx)
	var waits *dedup.LockWaits
	if err == nil {
		waits, err = s.lockWaits(ctx)
	}
	if err == nil {
		s.inserts.update(ctx, health.RunID, server.Replica)
		s.statements.update(ctx, health.RunID, server.Replica)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := dedup.StoreStats{Pass: s.last, Progress: s.progress, Health: health, Facts: s.facts(), Inserts: s.inserts.latest(), Statements: s.statements.latest(), Waits: waits}
	if err != nil {
		return stats, s.table.explain.Explain(err)
	}
	if s.lastID != "" && server.ID != s.lastID {
		// The walk has not noticed yet that this is another server.
		stats.Pass = nil
	}
	// The server answers, so a lost connection is past. What it refuses, it still refuses.
	if s.fault != nil && s.lasting {
		return stats, s.fault
	}
	return stats, nil
}

// facts says what the table's layout tells; nil before it was read. It needs the lock.
func (s *store) facts() *dedup.StoreFacts {
	layout := s.table.known()
	if layout == nil {
		return nil
	}
	f := &dedup.StoreFacts{}
	nullable := false
	for _, c := range layout.IDs {
		if len(c.Ignores) > len(f.IDIgnores) || f.Collation == "" {
			f.IDIgnores, f.Collation = c.Ignores, c.Collation
		}
		nullable = nullable || c.Nullable
	}
	if two := s.twoIDs; two != nil && time.Since(two.At) < twoIDsFor {
		f.TwoIDs = two
	}
	if len(layout.IDs) == 1 {
		f.IDLength = layout.IDs[0].Length
	}
	switch {
	case !nullable:
		f.NullIDs = new(int64)
	case s.last != nil:
		n := s.nullIDs
		f.NullIDs = &n
	}
	return f
}

func (s *store) health(ctx context.Context) (dedup.StoreHealth, dialect.Server, error) {
	h := dedup.StoreHealth{At: time.Now()}
	conn, err := s.table.db.Conn(ctx)
	if err != nil {
		return h, dialect.Server{}, err
	}
	defer conn.Close()
	started, one := time.Now(), 0
	if err := conn.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return h, dialect.Server{}, err
	}
	s.pings.Add(time.Since(started))
	server, err := s.table.dialect.Server(ctx, conn)
	if err != nil {
		return h, server, err
	}
	h.Version, h.Role, h.LatencyP99 = server.Version, server.Role(), s.pings.P99()
	h.RunID = server.ID + "@" + s.processStarted(server).UTC().Format(time.RFC3339Nano) + server.Recovered
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		rows := s.last.Examined
		h.Keys = &rows
	} else if layout := s.table.known(); layout != nil {
		h.Keys = layout.Table.Estimate
	}
	return h, server, nil
}

// processStarted returns when the server's process began. Where the server tells only its uptime, that is in whole seconds, and
// readings of one start differ by a moment: the first one stands until the uptime falls behind our own clock.
func (s *store) processStarted(server dialect.Server) time.Time {
	if !server.Started.IsZero() {
		return server.Started
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started.IsZero() || server.Uptime.RestartedSince(s.uptime) {
		s.started = server.Clock.Add(server.Uptime.Asked.Sub(server.At) - server.Uptime.Lasted)
	}
	s.uptime = server.Uptime
	return s.started
}

// lockWaits reads the lock waits on the table; nil when they cannot be seen, which is no error.
func (s *store) lockWaits(ctx context.Context) (*dedup.LockWaits, error) {
	s.mu.Lock()
	hidden := s.waitsHidden
	s.mu.Unlock()
	layout := s.table.known()
	if layout == nil || hidden {
		return nil, nil
	}
	at := time.Now()
	w, err := s.table.dialect.Waits(ctx, s.table.db, layout.Table, layout.Server)
	if errors.Is(err, dialect.ErrHidden) || s.table.dialect.Refusal(err).Answered() {
		// A statement that fails inside the server is no reason to call the store down.
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waitsHidden = errors.Is(err, dialect.ErrHidden); s.waitsHidden {
			s.log.Info("lock waits are not shown: the account may not see them", "grant", s.table.dialect.WaitsGrant(layout.Server.Account))
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &dedup.LockWaits{At: at, Waiters: w.Waiters, Longest: w.Longest, LongestTransaction: w.LongestTransaction, Holders: w.Holders}, nil
}
