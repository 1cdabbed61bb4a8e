package effect

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// effectGrace is how much longer than the server we wait: its own limit gives the better answer, and ends the query too.
const effectGrace = 2 * time.Second

// checker is what differs between servers in an effect check.
type checker interface {
	dialect.Dialect
	// OpenPatient returns a pool of one connection that is closed after use and waits for an answer for as long.
	OpenPatient(dsn string, wait time.Duration) (*sql.DB, error)
	// bounded runs a query that the server ends by itself after a time, and answers with at most so many rows. A row more may
	// come where the query has a limit of its own.
	bounded(ctx context.Context, tx *sql.Tx, query string, limit time.Duration, most int) (*sql.Rows, error)
}

// byDriver maps each value of SQL.Driver to its dialect.
var byDriver = map[string]checker{markers.MySQL: mySQL{}, markers.PostgreSQL: postgreSQL{}}

// Checker is a check for double effects. Its methods may be called one at a time.
type Checker struct {
	cfg     Config
	dialect checker
	db      *sql.DB
	explain dialect.Explainer
}

// Open returns the check that the configuration describes. It does not connect.
func Open(cfg Config) (*Checker, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("open effect check of pipeline %q: %w", cfg.Pipeline, err)
	}
	d, ok := byDriver[cfg.SQL.Driver]
	if !ok {
		return nil, fmt.Errorf("open effect check of pipeline %q: driver %q runs none", cfg.Pipeline, cfg.SQL.Driver)
	}
	at, err := d.Parse(cfg.SQL.DSN.Reveal())
	if err != nil {
		return nil, fmt.Errorf("open effect check of pipeline %q: sql.dsn %w", cfg.Pipeline, err)
	}
	db, err := d.OpenPatient(cfg.SQL.DSN.Reveal(), cfg.Timeout+effectGrace)
	if err != nil {
		return nil, fmt.Errorf("open effect check of pipeline %q: sql.dsn: %w", cfg.Pipeline, err)
	}
	return &Checker{cfg: cfg, dialect: d, db: db, explain: dialect.Explainer{Dialect: d, At: at}}, nil
}

// Pipeline returns the name of the pipeline.
func (e *Checker) Pipeline() string { return e.cfg.Pipeline }

// Every returns the time between two runs.
func (e *Checker) Every() time.Duration { return e.cfg.Every }

// Timeout returns the bound of one run.
func (e *Checker) Timeout() time.Duration { return e.cfg.Timeout }

// Query identifies the query and the database that it asks.
func (e *Checker) Query() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{e.cfg.SQL.Driver, e.explain.At.Addr, e.explain.At.Database, trimQuery(e.cfg.Query)}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// Close ends the connection.
func (e *Checker) Close() error { return e.db.Close() }

// Check runs the query once, in a read-only transaction of a connection of its own. Its error is a *dedup.Error, and wraps
// context.DeadlineExceeded when the query took too long.
func (e *Checker) Check(ctx context.Context) (dedup.EffectReading, error) {
	// The end of this context also ends an answer that is longer than what is read: closing the rows would read all of it.
	bound, cancel := context.WithTimeout(ctx, e.cfg.Timeout+effectGrace)
	defer cancel()
	started := time.Now()
	reading, err := e.read(bound, cancel)
	if err != nil {
		if ctx.Err() != nil {
			return dedup.EffectReading{}, ctx.Err()
		}
		return dedup.EffectReading{}, e.describe(err)
	}
	reading.At, reading.Took = started, time.Since(started)
	return reading, nil
}

func (e *Checker) read(ctx context.Context, enough context.CancelFunc) (dedup.EffectReading, error) {
	tx, err := e.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelReadCommitted})
	if err != nil {
		return dedup.EffectReading{}, err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	rows, err := e.dialect.bounded(ctx, tx, trimQuery(e.cfg.Query), e.cfg.Timeout, e.cfg.MaxRows+1)
	if err != nil {
		return dedup.EffectReading{}, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return dedup.EffectReading{}, err
	}
	if len(columns) == 0 {
		return dedup.EffectReading{}, &dedup.Error{Kind: dedup.Unavailable, Public: "The effect check gives no column: its first one must be the business key"}
	}
	found := newEffectRows(columns)
	for n := 0; rows.Next(); n++ {
		if n == e.cfg.MaxRows {
			found.reading.More = true
			enough()
			return found.reading, nil
		}
		if err := rows.Scan(found.pointers...); err != nil {
			return dedup.EffectReading{}, err
		}
		found.take()
	}
	return found.reading, rows.Err()
}

// effectRows turns rows into keys.
type effectRows struct {
	// key is the first column; as raw bytes an empty text could not be told from NULL.
	key      sql.NullString
	values   []sql.RawBytes
	pointers []any
	// counted is the column that is named as a count; 0 where none is.
	counted int
	at      map[string]int
	reading dedup.EffectReading
}

func newEffectRows(columns []string) *effectRows {
	r := &effectRows{values: make([]sql.RawBytes, len(columns)), at: map[string]int{}}
	for i := range r.values {
		r.pointers = append(r.pointers, &r.values[i])
	}
	r.pointers[0] = &r.key
	for i := len(columns) - 1; i > 0; i-- {
		if slices.Contains([]string{"n", "count", "count(*)", "cnt", "copies", "times"}, strings.ToLower(columns[i])) {
			r.counted = i
		}
	}
	return r
}

// take adds the row that was scanned. Rows of one key are added up.
func (r *effectRows) take() {
	if !r.key.Valid {
		r.reading.NullRows++
		return
	}
	count, ok := r.count()
	if !ok {
		r.reading.SingleRows++
		return
	}
	sum := sha256.Sum256([]byte(r.key.String))
	id := hex.EncodeToString(sum[:16])
	if i, seen := r.at[id]; seen {
		r.reading.Keys[i].Count += count
		return
	}
	r.at[id] = len(r.reading.Keys)
	r.reading.Keys = append(r.reading.Keys, dedup.EffectKey{Key: effectKey(r.key.String), ID: id, Count: count})
}

// count is how often the work of the row was done; false when that is less than twice.
func (r *effectRows) count() (int64, bool) {
	if r.counted > 0 {
		n, ok := wholeNumber(r.values[r.counted])
		return n, ok && n >= 2
	}
	for i := len(r.values) - 1; i > 0; i-- {
		if n, ok := wholeNumber(r.values[i]); ok && n >= 2 {
			return n, true
		}
	}
	return 2, true
}

// wholeNumber reads 2 and 2.0000.
func wholeNumber(text []byte) (int64, bool) {
	v, err := strconv.ParseFloat(string(text[:min(len(text), 40)]), 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, false
	}
	return int64(v), true
}

// effectKey is the beginning of a key as it is kept.
func effectKey(raw string) string {
	const limit = 256
	cut := len(raw) > limit
	text := strings.ToValidUTF8(raw[:min(len(raw), limit)], "\uFFFD")
	if cut {
		// The cut may have split the last character.
		text = strings.TrimSuffix(text, "\uFFFD") + "…"
	}
	return text
}

// describe tells what a check cannot do, and what to do about it.
func (e *Checker) describe(err error) error {
	server := e.dialect.Name() + " at " + e.explain.At.Addr
	r := e.dialect.Refusal(err)
	tell := func(text string, cause error) error {
		return &dedup.Error{Kind: dedup.Unavailable, Public: server + " " + text, Err: cause}
	}
	limit := e.cfg.Timeout.String()
	switch {
	case r.Timeout || errors.Is(err, context.DeadlineExceeded):
		return tell(fmt.Sprintf("did not end the effect check within %s: add an index on the key, narrow the query to recent rows, ask a replica, or raise effect_check.timeout", limit),
			fmt.Errorf("%w: %w", context.DeadlineExceeded, err))
	case r.Denied:
		return tell("denies the account of the effect check a right: "+dialect.RefusalText(err)+"; grant it SELECT on the tables of the query", err)
	case r.Absent && !strings.Contains(r.Text, "sql.dsn"):
		return tell("does not know what the effect check names: "+dialect.RefusalText(err)+"; correct effect_check.query", err)
	}
	switch r.Code {
	case "1792", "25006":
		return tell("refused the effect check because it writes: effect_check.query must only read", err)
	case "1064", "42601", "42883", "42804", "42803", "1055", "1140", "1305":
		return tell("does not accept the effect check: "+dialect.RefusalText(err)+"; correct effect_check.query", err)
	}
	return e.explain.Explain(err)
}

// bounded of MariaDB sets the limits for the statement, that of MySQL for the session, which ends with the check. Both count rows
// by sql_select_limit.
func (mySQL) bounded(ctx context.Context, tx *sql.Tx, query string, limit time.Duration, most int) (*sql.Rows, error) {
	var version string
	if err := tx.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return nil, err
	}
	if strings.Contains(version, "MariaDB") {
		return tx.QueryContext(ctx, fmt.Sprintf("SET STATEMENT max_statement_time=%g, lock_wait_timeout=1, sql_select_limit=%d FOR %s", limit.Seconds(), most, query))
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET SESSION max_execution_time=%d, lock_wait_timeout=1, sql_select_limit=%d", limit.Milliseconds(), most)); err != nil {
		return nil, err
	}
	return tx.QueryContext(ctx, query)
}

// bounded reads through a cursor: it takes nothing but one SELECT or VALUES that modifies no data, and gives as many rows as are asked for.
// https://www.postgresql.org/docs/current/sql-declare.html
func (postgreSQL) bounded(ctx context.Context, tx *sql.Tx, query string, limit time.Duration, most int) (*sql.Rows, error) {
	// A cursor is planned for its first rows unless it is told that all are read.
	limits := fmt.Sprintf("SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = 1000; SET LOCAL cursor_tuple_fraction = 1; SET LOCAL standard_conforming_strings = on", limit.Milliseconds())
	for _, statement := range []string{limits, "DECLARE effect_check NO SCROLL CURSOR FOR " + query} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	return tx.QueryContext(ctx, "FETCH "+strconv.Itoa(most)+" FROM effect_check")
}

// mySQL and postgreSQL are the dialects of effect checks.
type (
	mySQL      struct{ dialect.MySQL }
	postgreSQL struct{ dialect.PostgreSQL }
)
