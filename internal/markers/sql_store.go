package markers

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

const (
	// sqlConnections bounds our connections to one database: a walk holds one, stats and readers take the others for moments.
	sqlConnections = 4
	// layoutFor is how long readers trust the layout of the table.
	layoutFor = time.Minute
	// twoIDsFor is how long it is said that a message found the row of another.
	twoIDsFor = 24 * time.Hour
)

// sqlStore is a store of kind sql-table.
type sqlStore struct {
	cfg     Config
	dialect dialect
	db      *sql.DB
	log     *slog.Logger
	explain sqlExplainer
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
	// layout is the table as it last was described.
	layout   *sqlLayout
	layoutAt time.Time
	// twoIDs is the newest message that found the row of another; nil for none.
	twoIDs *dedup.TwoIDs
	// spare are the tables of the last walk, for the next one; nil while a walk of Run has them.
	spare       *repeats
	waitsHidden bool
	// started is when the server's process began, by its clock; uptime is how long it said last that it has been running.
	started time.Time
	uptime  uptime
}

func OpenSQL(c Config, log *slog.Logger) (Store, error) {
	d := dialects[c.SQL.Driver]
	at, err := d.parse(c.SQL.DSN.Reveal())
	if err != nil {
		return nil, fmt.Errorf("open store %s: sql.dsn %w", c.Name, err)
	}
	db, err := d.open(c.SQL.DSN.Reveal(), sqlConnections)
	if err != nil {
		return nil, fmt.Errorf("open store %s: sql.dsn: %w", c.Name, err)
	}
	return &sqlStore{cfg: c, dialect: d, db: db, log: log, explain: sqlExplainer{d, at}, inserts: newInsertReader(c), statements: newStatementReader(c)}, nil
}

func (s *sqlStore) Name() string         { return s.cfg.Name }
func (s *sqlStore) Place() string        { return s.cfg.SQLPlace() }
func (s *sqlStore) Scheme() dedup.Scheme { return s.cfg.Scheme() }
func (s *sqlStore) Close() error         { return s.db.Close() }

// Reported says that nobody reports: tables hold no counters.
func (s *sqlStore) Reported(context.Context, string) (dedup.Reported, error) {
	return dedup.Reported{At: time.Now()}, nil
}

// server asks who answers, over a connection of this store.
func (s *sqlStore) server(ctx context.Context, q querier) (sqlServer, error) {
	server, err := s.dialect.server(ctx, q)
	server.zone = cmp.Or(s.explain.at.zone, server.zone)
	if err == nil && !zonePattern.MatchString(server.zone) {
		err = s.badZone(server.zone)
	}
	return server, err
}

func (s *sqlStore) badZone(zone string) error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("%s at %s does not know the time zone %s: load its time zone tables, or set an offset in sql.dsn, such as time_zone=%%27%%2B08%%3A00%%27",
		s.dialect.name(), s.explain.at.addr, codec.Printable(zone))}
}

// prepare asks who the server is and how the table looks.
func (s *sqlStore) prepare(ctx context.Context, q querier) (*sqlLayout, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	server, err := s.server(ctx, q)
	if err != nil {
		return nil, err
	}
	if known, err := s.dialect.knowsZone(ctx, q, server.zone); err != nil {
		return nil, err
	} else if !known {
		return nil, s.badZone(server.zone)
	}
	table, err := s.dialect.describe(ctx, q, s.cfg.Table)
	if errors.Is(err, errNoTable) {
		return nil, s.noTable()
	}
	if err != nil {
		return nil, err
	}
	layout, err := newSQLLayout(s.cfg, s.dialect, server, table)
	if err != nil {
		return nil, err
	}
	if err := layout.readIgnores(ctx, q); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layout, s.layoutAt = layout, time.Now()
	return layout, nil
}

func (s *sqlStore) noTable() error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("%s at %s shows no table %s to this account: check table and the database in sql.dsn, or grant SELECT on it",
		s.dialect.name(), s.explain.at.addr, codec.Printable(s.cfg.Table)), Err: errNoTable}
}

// ready returns the layout of the table, read anew if it is old.
func (s *sqlStore) ready(ctx context.Context) (*sqlLayout, error) {
	s.mu.Lock()
	layout, at := s.layout, s.layoutAt
	s.mu.Unlock()
	if layout != nil && time.Since(at) < layoutFor {
		return layout, nil
	}
	return s.prepare(ctx, s.db)
}

// Pass walks over the table once.
func (s *sqlStore) Pass(ctx context.Context) (dedup.Pass, error) {
	w := s.newWalk(nil)
	if err := w.run(ctx); err != nil {
		return dedup.Pass{}, s.explain.explain(err)
	}
	return w.tally.pass, nil
}

// Run walks over the table until ctx ends. A walk that loses its connection goes on where it stood.
func (s *sqlStore) Run(ctx context.Context) {
	var w *sqlWalk
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
			wait = max(0, s.cfg.Sweep.Every-time.Since(w.tally.pass.Started))
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

func (s *sqlStore) lastPass() *dedup.Pass {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *sqlStore) walking(p dedup.Progress) {
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

func (s *sqlStore) completed(w *sqlWalk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pass := w.tally.pass // a pointer into the tally would keep all of it for as long as anybody has the pass
	s.spare = w.tally.repeats
	s.last, s.nullIDs, s.lastID, s.note = &pass, w.tally.nullIDs, w.layout.server.id, ""
	s.progress.Waiting = ""
}

// takeSpare gives away the tables of the last walk.
func (s *sqlStore) takeSpare() *repeats {
	s.mu.Lock()
	defer s.mu.Unlock()
	spare := s.spare
	s.spare = nil
	return spare
}

// changed drops what was known: the last pass describes a store that is no more.
func (s *sqlStore) changed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := strings.TrimPrefix(err.Error(), pace.ErrChanged.Error()+": ")
	s.log.Warn("the pass over the store begins again", "because", what)
	s.last, s.note = nil, what+": the pass began again"
	s.progress = dedup.Progress{Waiting: s.note}
}

func (s *sqlStore) failed(err error) {
	told := s.explain.explain(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil || s.fault.Error() != told.Error() {
		s.log.Warn("the walk over the store stopped", "err", told)
	}
	r := s.dialect.refusal(err)
	var known *dedup.Error
	s.fault, s.lasting = told, r.answered() && !r.passing || errors.As(err, &known)
	s.progress.Waiting = dedup.PublicText(told)
}

// Stats returns what is known of the store, with its health and its lock waits read now.
func (s *sqlStore) Stats(ctx context.Context) (dedup.StoreStats, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	health, server, err := s.health(ctx)
	var waits *dedup.LockWaits
	if err == nil {
		waits, err = s.lockWaits(ctx)
	}
	if err == nil {
		s.readInserts(ctx, health.RunID, server.replica)
		s.readStatements(ctx, health.RunID, server.replica)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := dedup.StoreStats{Pass: s.last, Progress: s.progress, Health: health, Facts: s.facts(), Inserts: s.inserts.latest(), Statements: s.statements.latest(), Waits: waits}
	if err != nil {
		return stats, s.explain.explain(err)
	}
	if s.lastID != "" && server.id != s.lastID {
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
func (s *sqlStore) facts() *dedup.StoreFacts {
	if s.layout == nil {
		return nil
	}
	f := &dedup.StoreFacts{}
	nullable := false
	for _, c := range s.layout.ids {
		if len(c.ignores) > len(f.IDIgnores) || f.Collation == "" {
			f.IDIgnores, f.Collation = c.ignores, c.collation
		}
		nullable = nullable || c.nullable
	}
	if two := s.twoIDs; two != nil && time.Since(two.At) < twoIDsFor {
		f.TwoIDs = two
	}
	if len(s.layout.ids) == 1 {
		f.IDLength = s.layout.ids[0].length
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

func (s *sqlStore) health(ctx context.Context) (dedup.StoreHealth, sqlServer, error) {
	h := dedup.StoreHealth{At: time.Now()}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return h, sqlServer{}, err
	}
	defer conn.Close()
	started, one := time.Now(), 0
	if err := conn.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return h, sqlServer{}, err
	}
	s.pings.Add(time.Since(started))
	server, err := s.dialect.server(ctx, conn)
	if err != nil {
		return h, server, err
	}
	h.Version, h.Role, h.LatencyP99 = server.version, server.role(), s.pings.P99()
	h.RunID = server.id + "@" + s.processStarted(server).UTC().Format(time.RFC3339Nano)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.last != nil:
		rows := s.last.Examined
		h.Keys = &rows
	case s.layout != nil:
		h.Keys = s.layout.table.estimate
	}
	return h, server, nil
}

// processStarted returns when the server's process began. Where the server tells only its uptime, that is in whole seconds, and
// readings of one start differ by a moment: the first one stands until the uptime falls behind our own clock.
func (s *sqlStore) processStarted(server sqlServer) time.Time {
	if !server.started.IsZero() {
		return server.started
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started.IsZero() || server.uptime.restartedSince(s.uptime) {
		s.started = server.clock.Add(server.uptime.asked.Sub(server.at) - server.uptime.lasted)
	}
	s.uptime = server.uptime
	return s.started
}
