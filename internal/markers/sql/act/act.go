package act

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	sqlstore "dedup-dashboard/internal/markers/sql"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// Bounds of an action on a row.
const (
	// actConns is the most connections that acting holds of a server.
	actConns = 4
	// statementLimit is how long we wait for one statement: the server ends it by itself after QueryLimit.
	statementLimit = dialect.QueryLimit + time.Second
	// actLimit is how long one action may take altogether; a row is locked for less.
	actLimit = 15 * time.Second
)

// actor changes single rows of a table, each in a transaction of its own, with the acting credentials.
type actor struct {
	cfg markers.Config
	d   dialects
	db  *sql.DB
	at  dialect.Address
	// watch is a connection of the watching account, which is asked what it reads before an undo. zone is the time zone
	// that its DSN sets for times without a zone; empty for the server's.
	watch *sql.DB
	zone  string
	log   *slog.Logger
	// turns has a place for each connection: who waits for one does not use up the time of its statements.
	turns chan struct{}

	mu sync.Mutex
	// known is the table as it last was described; nil before.
	known *knownTable
	// sessions are the ids of our own sessions, the latest last.
	sessions []string
}

// mostSessions is how many of our own sessions are remembered.
const mostSessions = 16 * actConns

// opened remembers a session as our own.
func (a *actor) opened(session string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.Contains(a.sessions, session) {
		return
	}
	if len(a.sessions) == mostSessions {
		a.sessions = slices.Delete(a.sessions, 0, 1)
	}
	a.sessions = append(a.sessions, session)
}

// own says whether a session is, or was, one of ours.
func (a *actor) own(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.sessions, session)
}

// Open returns nil without an error when the configuration has no account to act with.
func Open(c markers.Config, log *slog.Logger) (markers.Actor, error) {
	if c.Act.SQL.DSN.IsZero() {
		return nil, nil
	}
	d, ok := byDriver[c.SQL.Driver]
	if !ok {
		return nil, fmt.Errorf("open store %q for acting: sql.driver is %q: use mysql or postgres", c.Name, c.SQL.Driver)
	}
	dsn := c.Act.SQL.DSN.Reveal()
	at, err := d.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("open store %q for acting: act.sql.dsn %w", c.Name, err)
	}
	watching, err := d.Parse(c.SQL.DSN.Reveal())
	if err != nil {
		return nil, fmt.Errorf("open store %q for acting: sql.dsn %w", c.Name, err)
	}
	db, err := d.Open(dsn, actConns)
	if err != nil {
		return nil, fmt.Errorf("open store %q for acting: act.sql.dsn: %w", c.Name, err)
	}
	watch, err := d.Open(c.SQL.DSN.Reveal(), 1)
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open store %q for acting: sql.dsn: %w", c.Name, err)
	}
	return &actor{cfg: c, d: d, db: db, at: at, watch: watch, zone: watching.Zone, log: log, turns: make(chan struct{}, actConns)}, nil
}

// Name returns the configured name of the store.
func (a *actor) Name() string { return a.cfg.Name }

// Close ends all connections.
func (a *actor) Close() error { return errors.Join(a.db.Close(), a.watch.Close()) }

// Clear deletes the row if every column that was seen still has the same text. It locks the row first and does not wait
// for it: a transaction that holds it is alive. A row has no retry counter of its own, so alsoRetry changes nothing.
func (a *actor) Clear(ctx context.Context, seen dedup.Sighting, _ bool, keep func(image dedup.Sighting) error) dedup.Outcome {
	if why := a.unclearable(seen); why != "" {
		return rowRefused(why)
	}
	return a.act(ctx, &rowAct{seen: seen}, func(r *rowAct, ctx context.Context) error { return r.clear(ctx, keep) })
}

// Expire sets the column of the expiry in a row that has none. Times without a zone are written in the zone of the
// watching sessions, and a column that the server would set at every update keeps its value.
func (a *actor) Expire(ctx context.Context, seen dedup.Sighting, ttl time.Duration) dedup.Outcome {
	switch why := a.unclearable(seen); {
	case why != "":
		return rowRefused(why)
	case a.cfg.Columns.Expires == "":
		return rowRefused("the rows have no column for an expiry (columns.expires)")
	case seen.ExpiresMillis != dedup.NoExpiry:
		return rowRefused("the marker has an expiry")
	case ttl < time.Second:
		return rowRefused(fmt.Sprintf("a time to live of %s would end the marker at once", ttl))
	}
	return a.act(ctx, &rowAct{seen: seen}, func(r *rowAct, ctx context.Context) error { return r.expire(ctx, ttl) })
}

// Restore inserts the whole row again, with the primary key that it had. The server may be another one than that of the
// image: an undo outlives failovers.
func (a *actor) Restore(ctx context.Context, image dedup.Sighting) dedup.Outcome {
	if why := a.unclearable(image); why != "" {
		return rowRefused(why)
	}
	return a.act(ctx, &rowAct{seen: image, undo: true}, (*rowAct).restore)
}

// unclearable says why a row of this store is never deleted, or this sighting cannot be acted on.
func (a *actor) unclearable(seen dedup.Sighting) string {
	business := a.cfg.Machine() || a.cfg.Preset == markers.PresetStateMachine || a.cfg.Preset == markers.PresetUniqueRow ||
		a.cfg.Transactional && a.cfg.Columns.Status == ""
	switch {
	case business:
		return "a business row, not a marker: fix it where it is made"
	case seen.Store != "" && seen.Store != a.cfg.Name:
		return "it is a marker of the store " + codec.Printable(seen.Store)
	case seen.Type != sqlstore.RowType:
		return "what was seen is not a row"
	case seen.State == dedup.StateUnknown:
		return "what cannot be decoded is never cleared"
	}
	return ""
}

// act runs one action on one row. It is not interrupted by the end of ctx once it has begun, so that its outcome is
// known.
func (a *actor) act(ctx context.Context, r *rowAct, do func(*rowAct, context.Context) error) dedup.Outcome {
	if !a.turn(ctx) {
		return dedup.Outcome{Result: dedup.NotDone, Text: "it was stopped before its turn came"}
	}
	defer func() { <-a.turns }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actLimit)
	defer cancel()
	r.actor, r.d = a, a.d
	err := r.run(ctx, do)
	if err == nil {
		return r.done
	}
	if a.reshaped(err) {
		a.remember(nil)
	}
	var commit *commitError
	if errors.As(err, &commit) {
		a.log.Warn("the answer to a COMMIT was lost", "key", codec.Printable(r.seen.Key), "err", commit.err)
		return r.settle(ctx, commit)
	}
	var no rowRefusal
	if errors.As(err, &no) {
		return rowRefused(string(no))
	}
	var without *ended
	if errors.As(err, &without) {
		return dedup.Outcome(*without)
	}
	return a.failed(ctx, r, err)
}

// turn waits until a connection is free for one more action; false if ctx ends before.
func (a *actor) turn(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case a.turns <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// failed words an error before the COMMIT: the server has rolled back, or will when it notices that we are gone.
func (a *actor) failed(ctx context.Context, r *rowAct, err error) dedup.Outcome {
	fault := a.d.fault(err)
	if fault == faultLocked {
		return rowRefused("a live transaction holds the row" + r.holder(ctx))
	}
	a.log.Warn("an action on a row failed", "key", codec.Printable(r.seen.Key), "err", err)
	result := dedup.Refused
	if fault == faultLost || fault == faultBusy {
		result = dedup.NotDone
	}
	return dedup.Outcome{Result: result, Text: a.describe(fault, err, r)}
}

// rowRefusal is an error that refuses the action, in words for people.
type rowRefusal string

// Error returns the words.
func (r rowRefusal) Error() string { return string(r) }

// ended is the outcome of an action that ended without a change.
type ended dedup.Outcome

// Error returns the outcome in words.
func (e *ended) Error() string { return e.Text }

// commitError says that a COMMIT was not confirmed.
type commitError struct{ err error }

// Error says what was attempted.
func (e *commitError) Error() string { return "commit: " + e.err.Error() }

// Unwrap returns the cause.
func (e *commitError) Unwrap() error { return e.err }

func rowRefused(text string) dedup.Outcome {
	return dedup.Outcome{Result: dedup.Refused, Text: text}
}
