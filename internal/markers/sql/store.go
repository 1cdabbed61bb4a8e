package sql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	pings   pace.Latencies
	inserts *insertReader
	// statements counts those on the table; nil for business rows.
	statements *statementReader

	rounds  pace.Rounds // guards what follows
	nullIDs int64
	lastID  string // of the server that last was walked over
	// lasting says that the server answered with the fault.
	lasting bool
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
	return &store{table: t, rounds: pace.Rounds{Log: log}, inserts: newInsertReader(t), statements: newStatementReader(t)}, nil
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
	s.rounds.Walk(ctx, s.table.cfg.Sweep.Every, func(progressed func(dedup.Progress)) pace.Walk {
		s.rounds.Lock()
		last := s.rounds.Last
		s.rounds.Unlock()
		w := s.newWalk(last)
		w.progressed = progressed
		return pace.Walk{Run: w.run, Ended: func(context.Context) time.Time {
			s.completed(w)
			return w.tally.pass.Started
		}}
	}, s.failed)
}

func (s *store) completed(w *walk) {
	s.rounds.Lock()
	defer s.rounds.Unlock()
	s.spare = w.tally.repeats
	s.nullIDs, s.lastID = w.tally.nullIDs, w.layout.Server.ID
	s.rounds.Completed(w.tally.pass)
}

// takeSpare gives away the tables of the last walk.
func (s *store) takeSpare() *repeats {
	s.rounds.Lock()
	defer s.rounds.Unlock()
	spare := s.spare
	s.spare = nil
	return spare
}

// failed words what ended a walk, and notes whether the server will answer so again. It needs the lock.
func (s *store) failed(err error) error {
	r := s.table.dialect.Refusal(err)
	var known *dedup.Error
	s.lasting = r.Answered() && !r.Passing || errors.As(err, &known)
	return s.table.explain.Explain(err)
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
	s.rounds.Lock()
	defer s.rounds.Unlock()
	stats := dedup.StoreStats{Pass: s.rounds.Last, Progress: s.rounds.Progress, Health: health, Facts: s.facts(), Inserts: s.inserts.latest(), Statements: s.statements.latest(), Waits: waits}
	if err != nil {
		return stats, s.table.explain.Explain(err)
	}
	if s.lastID != "" && server.ID != s.lastID {
		// The walk has not noticed yet that this is another server.
		stats.Pass = nil
	}
	// The server answers, so a lost connection is past. What it refuses, it still refuses.
	if s.rounds.Fault != nil && s.lasting {
		return stats, s.rounds.Fault
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
	case s.rounds.Last != nil:
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
	s.rounds.Lock()
	defer s.rounds.Unlock()
	if s.rounds.Last != nil {
		rows := s.rounds.Last.Examined
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
	s.rounds.Lock()
	defer s.rounds.Unlock()
	if s.started.IsZero() || server.Uptime.RestartedSince(s.uptime) {
		s.started = server.Clock.Add(server.Uptime.Asked.Sub(server.At) - server.Uptime.Lasted)
	}
	s.uptime = server.Uptime
	return s.started
}

// lockWaits reads the lock waits on the table; nil when they cannot be seen, which is no error.
func (s *store) lockWaits(ctx context.Context) (*dedup.LockWaits, error) {
	s.rounds.Lock()
	hidden := s.waitsHidden
	s.rounds.Unlock()
	layout := s.table.known()
	if layout == nil || hidden {
		return nil, nil
	}
	at := time.Now()
	w, err := s.table.dialect.Waits(ctx, s.table.db, layout.Table, layout.Server)
	if errors.Is(err, dialect.ErrHidden) || s.table.dialect.Refusal(err).Answered() {
		// A statement that fails inside the server is no reason to call the store down.
		s.rounds.Lock()
		defer s.rounds.Unlock()
		if s.waitsHidden = errors.Is(err, dialect.ErrHidden); s.waitsHidden {
			s.rounds.Log.Info("lock waits are not shown: the account may not see them", "grant", s.table.dialect.WaitsGrant(layout.Server.Account))
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &dedup.LockWaits{At: at, Waiters: w.Waiters, Longest: w.Longest, LongestTransaction: w.LongestTransaction, Holders: w.Holders}, nil
}
