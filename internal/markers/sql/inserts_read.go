package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
)

const (
	// idsPerQuery is the most ids that one query counts.
	idsPerQuery = 50_000
	// countingFor is how long one reading may count new ids, and how long those that are due, before it leaves the rest to the
	// next.
	countingFor = time.Second
	// factsFor is how long what is known of an id column is trusted.
	factsFor = time.Minute
	// mostInsertFailures is how many readings in a row may fail before the count is refused.
	mostInsertFailures = 3
	// mostStatuses bounds the groups that one query returns.
	mostStatuses = 1000
)

// autoID is what a server says of the column that gives each insert its id.
type autoID struct {
	// why says why its ids cannot be counted, and what to do; empty when they can.
	why string
	// grant is the statement that gives the right which is missing; empty when none is.
	grant string
	// identity changes when another table or sequence takes its place.
	identity string
	// before is a statement that the session needs before each reading of the next id, which may come on any connection of
	// the pool; empty when it needs none.
	before string
	// next is the rest of a SELECT of the next id and of a text that changes with the table.
	next string
	args []any
}

// insertDialect is what differs between servers in counting inserts.
type insertDialect interface {
	// autoID reads what there is to know of the column.
	autoID(ctx context.Context, conn *sql.Conn, l *Layout, column dialect.Column) (autoID, error)
	// seconds makes a number of what dialect.epoch selects.
	seconds(epoch string) string
	// digits is how many decimals a time has whose type names none.
	digits() int
}

var insertDialects = map[string]insertDialect{markers.MySQL: mysqlInserts{}, markers.PostgreSQL: postgresInserts{}}

// insertReader counts the inserts of one table.
type insertReader struct {
	table   *table
	dialect insertDialect
	newest  atomic.Pointer[dedup.InsertStats]

	mu      sync.Mutex
	counter insertCounter
	facts   autoID
	factsAt time.Time
	// failures counts the readings in a row that failed.
	failures int
	layout   *Layout
}

// newInsertReader returns nil for business rows, which no delivery inserts.
func newInsertReader(t *table) *insertReader {
	c := t.cfg.WithDefaults()
	if c.Machine() || c.Preset == markers.PresetStateMachine {
		return nil
	}
	r := &insertReader{table: t, dialect: insertDialects[c.SQL.Driver], counter: insertCounter{settle: c.InsertSettle}}
	// Where a failure leaves no row, the ids without one are not only those of duplicates.
	r.counter.stats.Lower = c.OnFail == "delete" || c.Transactional
	if why := insertRefusal(c); why != "" {
		r.counter.refuse(why)
		r.publish()
	}
	return r
}

// latest returns a copy of the newest counts; nil when there are none.
func (r *insertReader) latest() *dedup.InsertStats {
	if r == nil || r.newest.Load() == nil {
		return nil
	}
	stats := *r.newest.Load()
	return &stats
}

func (r *insertReader) publish() {
	stats := r.counter.stats
	r.newest.Store(&stats)
}

// update takes a reading. A failure of it is no failure of the store: the counts stay as they were.
func (r *insertReader) update(ctx context.Context, runID string, replica bool) {
	if r == nil || insertRefusal(r.table.cfg) != "" || !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	defer r.publish()
	if replica {
		r.counter.refuse("the account reads a replica, which does not tell which ids were burned: point sql.dsn at the primary")
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
	if err := r.count(ctx, conn, layout, runID); err != nil {
		r.failed(err)
		return
	}
	r.failures = 0
}

// failed takes note of a reading that failed. One that the server is bound to repeat refuses the count at once.
func (r *insertReader) failed(err error) {
	r.factsAt = time.Time{}
	r.failures++
	refused := r.table.dialect.Refusal(err)
	if r.failures >= mostInsertFailures || refused.Denied || refused.Absent || errors.Is(err, errNoNumber) {
		r.counter.refuse("ids cannot be counted: " + r.describe(err))
	}
}

// errNoNumber says that an id or a count is none that can be reckoned with.
var errNoNumber = errors.New("the server gave no number that can be reckoned with")

func (r *insertReader) describe(err error) string {
	if errors.Is(err, errNoNumber) {
		return err.Error()
	}
	return r.table.explain.Describe(err)
}

func (r *insertReader) count(ctx context.Context, conn *sql.Conn, l *Layout, runID string) error {
	column, why := l.autoColumn()
	if why == "" && (r.layout != l || time.Since(r.factsAt) > factsFor) {
		facts, err := r.dialect.autoID(ctx, conn, l, column)
		if err != nil {
			return err
		}
		r.facts, r.factsAt, r.layout = facts, time.Now(), l
		r.counter.stats.Resolution = l.timing(r.dialect)
	}
	if why == "" {
		why = r.facts.why
	}
	if why != "" {
		r.counter.refuse(why)
		return nil
	}
	next, identity, err := r.nextID(ctx, conn, l)
	if err != nil {
		return err
	}
	behind, more := r.counter.observe(time.Now(), next, strings.Join([]string{runID, l.Table.Identity, r.facts.identity, identity}, " "))
	if more && !r.counter.stats.Lower {
		t, _, err := r.tallyIDs(ctx, conn, l, column, behind, time.Now().Add(countingFor))
		if err != nil {
			return err
		}
		r.counter.saw(t.rows)
	}
	if err := r.settle(ctx, conn, l, column); err != nil {
		return err
	}
	if span, rows, ok := r.counter.recount(time.Now()); ok {
		// These are the ids of one query, so that the time does not cut them short.
		t, _, err := r.tallyIDs(ctx, conn, l, column, span, time.Now())
		if err != nil {
			return err
		}
		r.counter.recounted(time.Now(), rows, t.rows)
	}
	return nil
}

// settle counts what is due, as far as there is time.
func (r *insertReader) settle(ctx context.Context, conn *sql.Conn, l *Layout, column dialect.Column) error {
	for until := time.Now().Add(countingFor); time.Now().Before(until); {
		span, ok := r.counter.due(time.Now())
		if !ok {
			return nil
		}
		t, end, err := r.tallyIDs(ctx, conn, l, column, span, until)
		if err != nil {
			return err
		}
		r.counter.settled(time.Now(), t, end)
	}
	return nil
}

// nextID reads the id that the next insert gets.
func (r *insertReader) nextID(ctx context.Context, conn *sql.Conn, l *Layout) (next int64, identity string, err error) {
	if before := r.facts.before; before != "" {
		if _, err := conn.ExecContext(ctx, before); err != nil {
			return 0, "", err
		}
	}
	found := false
	_, err = l.read(ctx, conn, r.facts.next, r.facts.args, func(values []sql.RawBytes) error {
		found, identity = true, string(values[1])
		next, err = strconv.ParseInt(string(values[0]), 10, 64)
		if err != nil {
			return fmt.Errorf("%w: the next id is %s", errNoNumber, codec.Printable(string(values[0])))
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: the table has no next id", errNoNumber)
	}
	return next, identity, err
}

// tallyIDs counts the rows of a range along the index of the id, a bounded number of ids at a time: one at least, and more
// until a time. It returns the id up to which it came.
func (r *insertReader) tallyIDs(ctx context.Context, conn *sql.Conn, l *Layout, column dialect.Column, span insertRange, until time.Time) (insertTally, int64, error) {
	var all insertTally
	low := span.low
	for first := true; low < span.high && (first || time.Now().Before(until)); first = false {
		high := low + min(idsPerQuery, span.high-low)
		query := l.tallyQuery(r.dialect, column, insertRange{low, high})
		_, err := l.read(ctx, conn, query, nil, func(values []sql.RawBytes) error {
			t, err := l.tallied(values)
			all.add(t)
			return err
		})
		if err != nil {
			return all, low, err
		}
		low = high
	}
	return all, low, nil
}

// tallyQuery selects per status: rows, the sum of their times in seconds, and how many have one.
func (l *Layout) tallyQuery(d insertDialect, column dialect.Column, span insertRange) string {
	status, took := "''", d.seconds("NULL")
	if l.status != nil {
		status = dialect.Beginning(l.dialect, *l.status, mostStatus)
	}
	if l.timing(d) > 0 {
		took = d.seconds(l.dialect.Epoch(*l.Updated, l.Server.Zone)) + " - " + d.seconds(l.dialect.Epoch(*l.Created, l.Server.Zone))
	}
	indexed := *l.Table
	indexed.KeyIndex = l.Table.IndexOf(column)
	id := l.dialect.Quote(column.Name)
	return fmt.Sprintf("%s, COUNT(*), SUM(%s), COUNT(%s) FROM %s WHERE %s >= %d AND %s < %d GROUP BY 1 LIMIT %d",
		status, took, took, l.dialect.FromTable(&indexed), id, span.low, id, span.high, mostStatuses)
}

// tallied reads a row of tallyQuery.
func (l *Layout) tallied(values []sql.RawBytes) (insertTally, error) {
	n, err := strconv.ParseInt(string(values[1]), 10, 64)
	timed, timedErr := strconv.ParseInt(string(values[3]), 10, 64)
	if err = errors.Join(err, timedErr); err != nil {
		return insertTally{}, fmt.Errorf("%w: %w", errNoNumber, err)
	}
	t := insertTally{rows: n}
	row := Row{}
	if l.status != nil {
		row.status = values[0]
	}
	switch l.state(row).State {
	case dedup.Done:
		t.done = n
		if work, err := strconv.ParseFloat(string(values[2]), 64); err == nil && !math.IsInf(work, 0) && !math.IsNaN(work) {
			t.work, t.timed = work, timed
		}
	case dedup.Failed:
		t.failed = n
	}
	return t, nil
}

// autoColumn returns the column of the automatic id, or why it cannot serve.
func (l *Layout) autoColumn() (dialect.Column, string) {
	name := l.cfg.Columns.AutoIncrement
	column, ok := l.Table.Column(name)
	switch {
	case !ok:
		return column, fmt.Sprintf("the table has no column %s (columns.auto_increment) that this account can see: correct the name, or grant SELECT on it", codec.Printable(name))
	case column.Kind != dialect.NumberColumn:
		return column, fmt.Sprintf("column %s (columns.auto_increment) is of type %s, which is no number", codec.Printable(name), codec.Printable(column.Type))
	case l.Table.IndexOf(column) == "":
		return column, fmt.Sprintf("no index begins with column %s: ids could be counted only by reading the whole table. Create one", codec.Printable(name))
	}
	return column, ""
}

// timing is the resolution of the times of a row, zero when they cannot be subtracted: times of two resolutions are rounded in
// two ways, so that even the mean of their differences would be off.
func (l *Layout) timing(d insertDialect) time.Duration {
	if l.Created == nil || l.Updated == nil || l.Created.Name == l.Updated.Name {
		return 0
	}
	created, updated := resolutionOf(*l.Created, d.digits()), resolutionOf(*l.Updated, d.digits())
	if created != updated {
		return 0
	}
	return created
}

// resolutionOf is that of a column of times, by the decimals that its type names; zero when it is no such column.
func resolutionOf(c dialect.Column, digits int) time.Duration {
	if c.Kind != dialect.ZonedTime && c.Kind != dialect.LocalTime || strings.EqualFold(c.Type, "date") {
		return 0
	}
	if _, rest, ok := strings.Cut(c.Type, "("); ok {
		number, _, _ := strings.Cut(rest, ")")
		if n, err := strconv.Atoi(number); err == nil {
			digits = n
		}
	}
	return time.Duration(float64(time.Second) / math.Pow10(min(max(digits, 0), 9)))
}

// mysqlInserts and postgresInserts are the dialects of counting inserts.
type (
	mysqlInserts    struct{ dialect.MySQL }
	postgresInserts struct{ dialect.PostgreSQL }
)
