package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
	"dedup-dashboard/internal/markers/sql/digest"
)

// mostStatements is how many texts that name a table are read at most.
const mostStatements = 1000

// A statementSource is where a server counts statements.
type statementSource struct {
	table digest.Table
	// place changes with what the counts are of.
	place string
	// why says why the server does not count, better what to do; empty when it counts.
	why, better string
	// query is the rest of a SELECT that returns key, born, schema, text, calls, errors, rows, sent, reset and kind: "writes" for the count of the
	// table itself, "waited" for the waits for locks that have ended, and "waits" for all that began, whose numbers are in calls. Writes and waits
	// come before the statements, as a number that these hold, and after them, as one that holds these; so does "ids", the last id of the table's
	// sequence, of which those of "underway" may have been given to inserts that had not ended. "known" is the number of all statements in
	// calls, what tells them from others in errors, and how often the server dropped some in rows.
	query string
	args  []any
	// counts is the same without texts, of the statements whose keys are its one argument, with commas between them; empty where the server finds
	// its texts at no cost.
	counts string
}

// statementDialect is what differs between servers in counting statements.
type statementDialect interface {
	statements(ctx context.Context, q dialect.Querier, l *Layout) (statementSource, error)
	// statementGrants are the rights that counting statements needs.
	statementGrants(account string) string
}

// mysqlStatements and postgresStatements are the dialects of counting statements.
type (
	mysqlStatements    struct{ dialect.MySQL }
	postgresStatements struct{ dialect.PostgreSQL }
)

var statementDialects = map[string]statementDialect{markers.MySQL: mysqlStatements{}, markers.PostgreSQL: postgresStatements{}}

// A statementReader counts the statements on one table.
type statementReader struct {
	table   *table
	dialect statementDialect
	newest  atomic.Pointer[dedup.StatementStats]

	mu       sync.Mutex
	book     digest.Book
	source   statementSource
	sourceAt time.Time
	layout   *Layout
	known    knownStatements
}

// knownStatements are those of the newest reading with texts.
type knownStatements struct {
	// all tells all statements of the database from any others.
	all statementSet
	// texts are by key. steady is true where the two newest readings with texts were of the same statements.
	texts  map[string]string
	steady bool
}

// A statementSet tells the statements that a server counts from any others: how many there are, and a hash of their keys.
type statementSet struct{ n, hash int64 }

// newStatementReader returns nil for business rows, which no delivery inserts.
func newStatementReader(t *table) *statementReader {
	c := t.cfg
	if c.Machine() || c.Preset == markers.PresetStateMachine {
		return nil
	}
	return &statementReader{table: t, dialect: statementDialects[c.SQL.Driver]}
}

func (r *statementReader) latest() *dedup.StatementStats {
	if r == nil {
		return nil
	}
	return r.newest.Load()
}

func (r *statementReader) refuse(why, better string) {
	r.book.Break()
	r.newest.Store(&dedup.StatementStats{At: time.Now(), Epoch: r.book.Epoch, Why: why, Better: better})
}

// update takes a reading: one SELECT. A failure of it is no failure of the store.
func (r *statementReader) update(ctx context.Context, runID string, replica bool) {
	if r == nil || !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	if replica {
		r.refuse("the account reads a replica, where no consumer inserts: point sql.dsn at the primary", "")
		return
	}
	layout, err := r.table.ready(ctx)
	if err != nil {
		return // the walk tells why
	}
	conn, err := r.table.db.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	if r.layout != layout || time.Since(r.sourceAt) > factsFor {
		if r.source, err = r.dialect.statements(ctx, conn, layout); err != nil {
			r.failed(err, layout)
			return
		}
		r.sourceAt, r.layout, r.known = time.Now(), layout, knownStatements{}
	}
	if r.source.why != "" {
		r.refuse(r.source.why, r.source.better)
		return
	}
	reading, err := r.read(ctx, conn, layout, r.source)
	if err != nil {
		r.failed(err, layout)
		return
	}
	reading.Place = runID + " " + r.source.place
	r.book.Take(r.source.table, reading)
	r.publish(reading)
}

func (r *statementReader) publish(at digest.Reading) {
	c := r.book.Counts
	t := &dedup.StatementStats{At: at.At, Took: at.Took, Writing: at.Writing, LockWaiting: at.LockWaiting, Epoch: r.book.Epoch, Since: r.book.Since, Gap: r.book.Gap, Inserts: c.Tries, Met: c.Hits, Same: c.Same, SameMet: c.SameHits,
		Failed: c.Failed, Refused: c.Refused, Unfailed: c.Blind, Questions: c.Asks, Found: c.Found, Looks: c.Looks, Unclear: c.Unclear, IDs: at.IDs, OwnIDs: c.Own, Drops: at.Drops}
	if at.Writes != nil {
		t.Writes = &c.Writes
	}
	if at.LockWaits != nil {
		t.LockWaits = &c.LockWaits
	}
	r.newest.Store(t)
}

// errManyStatements says that a name is in too many texts.
var errManyStatements = errors.New("too many statements")

// failed takes note of a reading that failed: the server goes on counting, so that the next one may follow.
func (r *statementReader) failed(err error, l *Layout) {
	r.sourceAt = time.Time{}
	switch refused := r.table.dialect.Refusal(err); {
	case errors.Is(err, errManyStatements):
		r.refuse(fmt.Sprintf("more than %d different statements name the table", mostStatements), "")
	case refused.Denied:
		r.refuse("the account may not read what the server counts of statements", r.dialect.statementGrants(l.Server.Account))
	case refused.Answered() && !refused.Passing:
		r.refuse("what the server counts of statements cannot be read: "+r.table.explain.Describe(err), "")
	}
}

// read reads what the server counted until now: with the texts only where there may be new ones.
func (r *statementReader) read(ctx context.Context, conn *sql.Conn, l *Layout, source statementSource) (digest.Reading, error) {
	known := &r.known
	if source.counts != "" && known.steady {
		keys := strings.Join(slices.Collect(maps.Keys(known.texts)), ",")
		counted, all, err := r.readRows(ctx, conn, l, source.counts, []any{keys})
		if err != nil || all == known.all {
			for i := range counted.Rows {
				counted.Rows[i].Text = known.texts[counted.Rows[i].Key]
			}
			return counted, err
		}
	}
	counted, all, err := r.readRows(ctx, conn, l, source.query, source.args)
	if err != nil {
		*known = knownStatements{}
		return counted, err
	}
	*known = knownStatements{all: all, texts: make(map[string]string, len(counted.Rows)), steady: all == known.all}
	for i := range counted.Rows {
		known.texts[counted.Rows[i].Key] = counted.Rows[i].Text
	}
	return counted, nil
}

// readRows reads the rows of a query.
func (r *statementReader) readRows(ctx context.Context, conn *sql.Conn, l *Layout, query string, args []any) (digest.Reading, statementSet, error) {
	var counted digest.Reading
	var all statementSet
	var waited int64
	began := time.Now()
	_, err := l.read(ctx, conn, query, args, func(v []sql.RawBytes) error {
		var n [4]int64
		for i := range n {
			var err error
			if n[i], err = strconv.ParseInt(string(v[4+i]), 10, 64); err != nil {
				return fmt.Errorf("%w: %s", errNoNumber, codec.Printable(string(v[4+i])))
			}
		}
		counted.Reset = string(v[8])
		switch string(v[9]) {
		case "writes":
			if counted.Writes != nil {
				counted.Writing = n[0] - *counted.Writes
			}
			counted.Writes = &n[0]
			return nil
		case "waited":
			waited = n[0]
			return nil
		case "waits":
			counted.LockWaits, counted.LockWaiting = &n[0], n[0]-waited
			return nil
		case "known":
			all, counted.Drops = statementSet{n[0], n[1]}, n[2]
			return nil
		case "ids":
			if counted.IDs == nil {
				counted.IDs = &[2]int64{n[0]}
			}
			counted.IDs[1] = n[0]
			return nil
		case "underway":
			counted.IDs[0] -= n[0]
			return nil
		}
		if len(counted.Rows) == mostStatements {
			return errManyStatements
		}
		counted.Rows = append(counted.Rows, digest.Row{Key: string(v[0]), Born: string(v[1]), Schema: string(v[2]), Text: string(v[3]),
			Calls: n[0], Errors: n[1], Rows: n[2], Sent: n[3]})
		return nil
	})
	counted.At = time.Now()
	counted.Took = counted.At.Sub(began)
	return counted, all, err
}

// likeName is a LIKE pattern of texts that hold a name, in which | escapes.
func likeName(name string) string {
	return "%" + strings.NewReplacer("|", "||", "%", "|%", "_", "|_").Replace(name) + "%"
}

// idColumns names the columns that hold the id of a message.
func (l *Layout) idColumns() []string {
	all := make([]string, len(l.IDs))
	for i := range l.IDs {
		all[i] = l.IDs[i].Name
	}
	return all
}

// statements are the digests of performance_schema, with the writes of the table itself to hold them against: what consumers send as
// server-side prepared statements MariaDB counts in no digest.
// https://mariadb.com/kb/en/performance-schema-events_statements_summary_by_digest-table/
func (d mysqlStatements) statements(ctx context.Context, q dialect.Querier, l *Layout) (statementSource, error) {
	t := l.Table
	s := statementSource{place: t.Schema + "." + t.Name, table: digest.Table{Server: digest.MySQL, Schema: t.Schema, Name: t.Name, ID: l.idColumns()}}
	var on, folds int
	if err := q.QueryRowContext(ctx, "SELECT @@performance_schema, @@lower_case_table_names").Scan(&on, &folds); err != nil {
		return s, err
	}
	s.table.FoldsNames = folds != 0
	if on == 0 {
		s.why, s.better = "performance_schema is off, so that the server counts no statements", "Start "+l.Server.Version+" with performance_schema=ON (docs/stores.md)."
		return s, nil
	}
	var digests, tables, status int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME = 'global_status'`).Scan(&status)
	if err != nil {
		return s, err
	}
	err = q.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE NAME IN ('statements_digest', 'global_instrumentation') AND ENABLED = 'YES'),
		(SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE NAME = 'wait/io/table/sql/handler' AND ENABLED = 'YES')`).Scan(&digests, &tables)
	switch {
	case d.Refusal(err).Denied: // then it shows in the counts
	case err != nil:
		return s, err
	case digests < 2:
		s.why, s.better = "the server's digests of statements are off", "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN ('statements_digest', 'global_instrumentation');"
	case tables < 1:
		s.why, s.better = "the server does not count the writes of tables", "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES' WHERE NAME = 'wait/io/table/sql/handler';"
	}
	const writes = `'', '', '', '', COUNT_INSERT, 0, 0, 0, '', 'writes' FROM performance_schema.table_io_waits_summary_by_table
		WHERE OBJECT_TYPE = 'TABLE' AND OBJECT_SCHEMA = ? AND OBJECT_NAME = ?`
	waits := func(pending, kind string) string {
		if status == 0 { // MariaDB has it from 10.5 on
			return ""
		}
		return ` UNION ALL SELECT '', '', '', '', CAST(SUM(IF(VARIABLE_NAME = 'Innodb_row_lock_waits', 1, ` + pending + `) * VARIABLE_VALUE) AS SIGNED), 0, 0, 0, '', '` + kind + `'
			FROM performance_schema.global_status WHERE VARIABLE_NAME IN ('Innodb_row_lock_waits', 'Innodb_row_lock_current_waits') HAVING COUNT(*) = 2`
	}
	s.query = writes + waits("-1", "waited") + ` UNION ALL
		(SELECT CONCAT(COALESCE(SCHEMA_NAME, ''), ' ', DIGEST), FIRST_SEEN, COALESCE(SCHEMA_NAME, ''), DIGEST_TEXT, COUNT_STAR, SUM_ERRORS, SUM_ROWS_AFFECTED, SUM_ROWS_SENT, '', 'statement'
		FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE ? ESCAPE '|' LIMIT ` + strconv.Itoa(mostStatements+1) + `) UNION ALL SELECT ` + writes + waits("0", "waits")
	s.args = []any{t.Schema, t.Name, likeName(t.Name), t.Schema, t.Name}
	return s, nil
}

func (mysqlStatements) statementGrants(account string) string {
	to := " TO " + dialect.MySQLAccount(account) + ";"
	return "GRANT SELECT ON performance_schema.events_statements_summary_by_digest" + to + " GRANT SELECT ON performance_schema.table_io_waits_summary_by_table" + to
}
