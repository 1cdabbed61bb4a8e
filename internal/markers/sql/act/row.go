package act

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	sqlstore "dedup-dashboard/internal/markers/sql"
	"dedup-dashboard/internal/markers/sql/dialect"
	"dedup-dashboard/internal/text"
)

// texts are the columns of a row as exact text, nil for NULL.
type texts map[string]*string

// rowAct is one action on one row, in one transaction.
type rowAct struct {
	actor *actor
	d     dialects
	seen  dedup.Sighting
	// undo says that seen is an image that is to be written back.
	undo   bool
	layout *sqlstore.Layout
	traits rowTraits
	key    []any
	conn   *sql.Conn
	tx     *sql.Tx
	// id is the transaction's, where its fate can be asked for later.
	id string
	// before is the row as it was found and after as the COMMIT makes it, each nil for no row.
	before, after texts
	// done is the outcome of a COMMIT that is known to have happened.
	done dedup.Outcome
}

// run does one action in a transaction and ends it: what was done is committed by do itself.
func (r *rowAct) run(ctx context.Context, do func(*rowAct, context.Context) error) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer r.end()
	return do(r, ctx)
}

// begin takes a connection, makes sure that the server and the table are what was seen, and opens the transaction.
func (r *rowAct) begin(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			r.end()
		}
	}()
	limited, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	if r.conn, err = r.actor.db.Conn(limited); err != nil {
		return err
	}
	server, err := r.d.Server(limited, r.conn)
	if err != nil {
		return err
	}
	r.actor.opened(server.Session)
	if err := r.describe(limited, server); err != nil {
		return err
	}
	if r.tx, err = r.conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}); err != nil {
		return err
	}
	r.id, err = r.d.prepare(limited, r.tx, r.layout.Server)
	return err
}

// end rolls back what was not committed and gives the connection back.
func (r *rowAct) end() {
	if r.tx != nil {
		// It fails where the transaction has ended, and where the connection is lost: then the server rolls back.
		_ = r.tx.Rollback()
		r.tx = nil
	}
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}

// commit ends the transaction. An error of the COMMIT itself leaves open whether the
// server has committed.
func (r *rowAct) commit() error {
	err := r.tx.Commit()
	if err != nil && !errors.Is(err, sql.ErrTxDone) {
		return &commitError{err}
	}
	return err
}

// read returns the row as watching sees it, in the zone of the watching sessions, and locks it when lock is not empty. It
// returns nil when there is none.
func (r *rowAct) read(ctx context.Context, q dialect.Querier, lock string) (*dedup.Sighting, texts, error) {
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	at := time.Now()
	rows, err := q.QueryContext(ctx, "SELECT "+r.layout.Selection(true)+" FROM "+r.table()+" WHERE "+r.where()+lock, r.key...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, nil, rows.Err()
	}
	columns, err := rows.Columns()
	if err != nil {
		return nil, nil, err
	}
	values, into := dialect.Cells(len(columns))
	if err := rows.Scan(into...); err != nil {
		return nil, nil, err
	}
	row := r.layout.Row(values)
	now := make(texts, len(r.layout.Watched))
	for i, c := range r.layout.Watched {
		now[c.Name] = exactText(row.Exact[i])
	}
	sighting, err := r.layout.Sighting(row, at)
	if err != nil {
		return nil, nil, err
	}
	return &sighting, now, rows.Err()
}

func exactText(raw sql.RawBytes) *string {
	if raw == nil {
		return nil
	}
	text := string(raw)
	return &text
}

// clock is the time by the server's clock.
func (r *rowAct) clock() time.Time {
	server := r.layout.Server
	return server.Clock.Add(time.Since(server.At))
}

// image returns every column that can be written, as text that the same column takes back, in universal time.
func (r *rowAct) image(ctx context.Context) (texts, error) {
	if err := r.allColumns(ctx); err != nil {
		return nil, err
	}
	if err := r.inZone(ctx, universal); err != nil {
		return nil, err
	}
	columns := r.writable()
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	values := make([]sql.NullString, len(columns))
	targets := make([]any, len(values))
	for i := range values {
		targets[i] = &values[i]
	}
	err := r.tx.QueryRowContext(ctx, "SELECT "+text.Joined(columns, ", ", r.d.exact)+" FROM "+r.table()+" WHERE "+r.where(), r.key...).Scan(targets...)
	if err != nil {
		return nil, err
	}
	image := make(texts, len(columns))
	for i, c := range columns {
		if !values[i].Valid {
			image[c.Name] = nil
			continue
		}
		if !utf8.ValidString(values[i].String) {
			return nil, rowRefusal("column " + codec.Printable(c.Name) + " holds text that is no UTF-8: it could not be restored")
		}
		image[c.Name] = &values[i].String
	}
	return image, nil
}

// universal is universal time, as inZone takes it.
const universal = "UTC"

// inZone sets the time zone of the rest of the transaction.
func (r *rowAct) inZone(ctx context.Context, zone string) error {
	statement := r.d.InZone(zone)
	if statement == "" {
		return nil
	}
	return r.exec(ctx, statement)
}

func (r *rowAct) exec(ctx context.Context, statement string, args ...any) error {
	_, err := r.affect(ctx, statement, args...)
	return err
}

// affect runs a statement and returns the number of rows that it changed.
func (r *rowAct) affect(ctx context.Context, statement string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	result, err := r.tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// unchanged is the condition that these columns still have these texts, by the expression that read them.
func (r *rowAct) unchanged(columns texts, expression func(dialect.Column) string, args []any) (string, []any) {
	condition := r.where()
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		c, ok := r.layout.Table.Column(name)
		if !ok {
			continue
		}
		args = append(args, columns[name])
		condition += " AND " + r.d.same(expression(c), len(args))
	}
	return condition, args
}

// json writes the columns as an object of column to text or null.
func (t texts) json() []byte { return codec.PlainJSON(map[string]*string(t)) }

// readTexts reads what json wrote.
func readTexts(value []byte) (texts, error) {
	var t texts
	if err := json.Unmarshal(value, &t); err != nil || len(t) == 0 {
		return nil, rowRefusal("the columns that were seen cannot be read")
	}
	return t, nil
}

// differing names the columns of a whose text is another in b, or that b does not have.
func (t texts) differing(b texts) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		other, ok := b[name]
		mine := t[name]
		if !ok || (mine == nil) != (other == nil) || mine != nil && *mine != *other {
			names = append(names, name)
		}
	}
	return names
}

// part returns the columns with these names.
func (t texts) part(of texts) texts {
	part := make(texts, len(of))
	for name := range of {
		if text, ok := t[name]; ok {
			part[name] = text
		}
	}
	return part
}

// describeColumns lists columns for people.
func describeColumns(names []string) string {
	return text.Joined(names, ", ", codec.Printable)
}
