package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/sql/dialect"
	"dedup-dashboard/internal/text"
)

const (
	// aimedQuery is the time that one query of a walk should take, longQuery the one from which it asks for fewer rows.
	aimedQuery = 40 * time.Millisecond
	longQuery  = 50 * time.Millisecond
	// leastRows and firstRows are the smallest number of rows that a query asks for, and the first.
	leastRows = 50
	firstRows = 500
	// mostTimeouts is how many queries in a row may run into their limit before the walk gives up.
	mostTimeouts = 3
)

// walk is one pass over a table along its key. After an interruption it goes on behind the last row that it counted,
// as long as the same data answer.
type walk struct {
	store *store
	// layout is nil until the first connection.
	layout *Layout
	tally  *tally
	pace   *pace.Pace
	// progressed, if set, is told of each step.
	progressed func(dedup.Progress)
	// limit ends the walk early once so many rows were examined; zero walks to the end.
	limit int64
	last  *dedup.Pass

	conn     *sql.Conn
	rows     int
	timeouts int
	probedAt time.Time
	// position is the key of the last counted row, nil at the beginning. looking says that the rows were all counted and
	// the ids of repeated business keys are looked for; then looked is the position of that.
	position []string
	looking  bool
	looked   []string
	ended    bool
}

func (s *store) newWalk(last *dedup.Pass) *walk {
	return &walk{store: s, pace: pace.New(s.table.cfg.Sweep), rows: min(firstRows, s.table.cfg.Sweep.Count), last: last}
}

// run walks from where the walk stands to its end, over one connection whose server is identified.
func (w *walk) run(ctx context.Context) error {
	conn, err := w.store.table.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	w.conn = conn
	if err := w.begin(ctx); err != nil {
		return err
	}
	for !w.ended {
		if err := w.step(ctx); err != nil {
			return err
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
	}
	return w.end(ctx)
}

// begin learns who the server is and how the table looks now.
func (w *walk) begin(ctx context.Context) error {
	for range 3 {
		if err := w.ping(ctx); err != nil {
			return err
		}
	}
	w.pace.Idle = w.store.pings.Least()
	w.probedAt = time.Now()
	layout, err := w.store.table.prepare(ctx, w.conn)
	if err != nil {
		return err
	}
	if w.layout != nil {
		if w.layout.Server.ID != layout.Server.ID {
			return fmt.Errorf("%w: another server answers", pace.ErrChanged)
		}
		if w.layout.Selection(false) != layout.Selection(false) || w.layout.Table.KeyIndex != layout.Table.KeyIndex {
			return fmt.Errorf("%w: the table was altered", pace.ErrChanged)
		}
		return nil
	}
	w.layout, w.tally = layout, newTally(layout, w.last, w.store.takeSpare())
	w.tally.pass.Started, w.tally.began = layout.Server.At, layout.Server.Clock
	w.tally.pass.ClockOffset = layout.Server.Clock.Sub(layout.Server.At)
	w.report("")
	return nil
}

func (w *walk) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	started := time.Now()
	one := 0
	if err := w.conn.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return err
	}
	w.store.pings.Add(time.Since(started))
	return nil
}

// step reads the next rows.
func (w *walk) step(ctx context.Context) error {
	started, n, read, size := time.Now(), min(w.rows, w.pace.Count), 0, 0
	handle := w.count
	position := &w.position
	if w.looking {
		handle, position = w.look, &w.looked
	}
	took, err := w.layout.readRows(ctx, w.conn, *position, n, func(r Row) {
		read++
		for _, v := range r.ids {
			size += len(v)
		}
		handle(r)
		*position = keyTexts(r.key)
	})
	w.pace.Spent(time.Since(started), read, size)
	if err != nil {
		return w.interrupted(ctx, err)
	}
	w.timeouts = 0
	w.resize(took, read)
	switch {
	case w.limit > 0 && w.tally.pass.Examined >= w.limit:
		w.ended = true
	case read == n:
	case w.looking || w.tally.repeats == nil || len(w.tally.repeats.samples) == 0:
		w.ended = true
	default:
		w.looking, w.looked = true, w.tally.repeats.before
	}
	return nil
}

// keyTexts copies a key: its bytes are overwritten by the next row.
func keyTexts[T ~[]byte | ~string](key []T) []string {
	texts := make([]string, len(key))
	for i, v := range key {
		texts[i] = string(v)
	}
	return texts
}

func (w *walk) count(r Row) {
	w.tally.add(r, func() []string { return w.position })
}

func (w *walk) look(r Row) {
	if r.hasID() && len(r.business) > 0 {
		w.tally.buf = r.id(w.tally.buf[:0])
		w.tally.repeats.collect(r.business, w.tally.buf)
	}
}

// interrupted asks for fewer rows after a query that ran into its limit, and waits before it tries again.
func (w *walk) interrupted(ctx context.Context, err error) error {
	if !w.layout.dialect.Refusal(err).Timeout {
		return err
	}
	w.rows = max(leastRows, w.rows/4)
	if w.timeouts++; w.timeouts >= mostTimeouts {
		w.timeouts = 0
		return err
	}
	w.report("a query took longer than " + dialect.QueryLimit.String() + ": asking for fewer rows")
	return pace.Sleep(ctx, pace.LeastRetry)
}

// resize asks for as many rows as fit into the aimed time.
func (w *walk) resize(took time.Duration, read int) {
	switch {
	case took > longQuery:
		w.rows = int(float64(w.rows) * float64(aimedQuery) / float64(took))
	case took < aimedQuery/2 && read >= w.rows:
		w.rows *= 2
	}
	w.rows = max(min(leastRows, w.store.table.cfg.Sweep.Count), min(w.rows, w.store.table.cfg.Sweep.Count))
}

// rest probes the server once a second, says where the walk stands, and pauses for what is owed.
func (w *walk) rest(ctx context.Context) error {
	if w.pace.Rules.Duty < 1 && time.Since(w.probedAt) >= pace.ProbeEvery {
		started := time.Now()
		if err := w.ping(ctx); err != nil {
			return err
		}
		w.pace.Probed(time.Since(started), w.store.pings.Least())
		w.probedAt = time.Now()
	}
	_, why := w.pace.Owed(time.Now())
	w.report(why)
	return w.pace.Rest(ctx)
}

// coverage is the share of the table that was walked, by the size of the pass before, else by the server's estimate.
func (w *walk) coverage() float64 {
	examined := w.tally.pass.Examined
	if w.ended && w.limit == 0 || w.looking {
		return 1
	}
	total := int64(0)
	switch {
	case w.last != nil:
		total = w.last.Examined
	case w.layout.Table.Estimate != nil:
		total = *w.layout.Table.Estimate
	}
	if total == 0 {
		return 0
	}
	return min(0.99, float64(examined)/float64(total))
}

func (w *walk) report(why string) {
	if w.progressed != nil {
		w.progressed(dedup.Progress{Started: w.tally.pass.Started, Coverage: w.coverage(), Examined: w.tally.pass.Examined, Waiting: why})
	}
}

// end makes the pass complete, unless another server answers by now.
func (w *walk) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	server, err := w.layout.dialect.Server(ctx, w.conn)
	if err != nil {
		return err
	}
	if server.ID != w.layout.Server.ID {
		return fmt.Errorf("%w: another server answers", pace.ErrChanged)
	}
	w.tally.finish()
	w.report("")
	return nil
}

// readRows reads the next n rows behind a key, in a read-only transaction of its own, and returns how long the query took.
func (l *Layout) readRows(ctx context.Context, conn *sql.Conn, behind []string, n int, handle func(Row)) (time.Duration, error) {
	query, args := l.page(behind, n, false)
	return l.read(ctx, conn, query, args, func(values []sql.RawBytes) error {
		handle(l.Row(values))
		return nil
	})
}

// page is the query for the next n rows behind a key.
func (l *Layout) page(behind []string, n int, exact bool) (string, []any) {
	query, args := l.Selection(exact)+" FROM "+l.dialect.FromTable(l.Table), []any(nil)
	if behind != nil {
		for _, v := range behind {
			args = append(args, v)
		}
		var condition string
		condition, args = l.dialect.After(l.Key, args)
		query += " WHERE " + condition
	}
	return query + l.ordered("") + " LIMIT " + strconv.Itoa(n), args
}

// ordered is the ORDER BY clause along the key. Its columns are qualified: a bare name would mean the text in the list
// of the SELECT, which has an order of its own and no index.
func (l *Layout) ordered(direction string) string {
	return " ORDER BY " + text.Joined(l.Key, ", ", func(c dialect.Column) string {
		return l.Table.Quoted(l.dialect) + "." + l.dialect.Quote(c.Name) + direction
	})
}

// begins starts transactions: something that takes one at a time.
type begins interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// read runs one query in a read-only transaction of its own. Its isolation is one in which a plain SELECT takes no row
// locks, whatever the server's default. handle must not keep the bytes.
func (l *Layout) read(ctx context.Context, db begins, query string, args []any, handle func(values []sql.RawBytes) error) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialect.QueryLimit+pace.AnswerTimeout)
	defer cancel()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, err
	}
	defer func() {
		if ended := tx.Rollback(); ended != nil && !errors.Is(ended, sql.ErrTxDone) && err == nil {
			err = ended
		}
	}()
	if err := l.dialect.Guard(ctx, tx, l.Server); err != nil {
		return 0, err
	}
	started := time.Now()
	rows, err := tx.QueryContext(ctx, l.dialect.Limited(query, l.Server), args...)
	if err != nil {
		return time.Since(started), err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return time.Since(started), err
	}
	values, into := dialect.Cells(len(columns))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return time.Since(started), err
		}
		if err := handle(values); err != nil {
			return time.Since(started), err
		}
	}
	if err := rows.Err(); err != nil {
		return time.Since(started), err
	}
	return time.Since(started), nil
}
