package markers

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

// errNoTable says that the catalogue does not show the table.
var errNoTable = errors.New("no such table")

// Bounds of what is read of a value, in characters. A primary key is read whole: paging needs it.
const (
	mostID     = pace.MaxSampleKey + 1
	mostStatus = 256
)

// sqlTable is a table as the catalogue describes it.
type sqlTable struct {
	schema, name string
	// database and identity are the same for two accounts only if they reach the same table of one server.
	database, identity string
	// oid identifies the table in PostgreSQL.
	oid    string
	engine string
	// partitioned says that rows are kept in parts by their values.
	partitioned bool
	columns     []sqlColumn
	indexes     []sqlIndex
	// estimate is the server's guess at the number of rows; nil when it has none.
	estimate *int64
	// keyIndex names the index along which the table is walked.
	keyIndex string
}

func (t *sqlTable) quoted(d dialect) string { return d.quote(t.schema) + "." + d.quote(t.name) }

// addIndexes reads rows of index name, primary, unique and column, ordered by index and position.
func (t *sqlTable) addIndexes(rows *sql.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var i sqlIndex
		var column string
		if err := rows.Scan(&i.name, &i.primary, &i.unique, &column); err != nil {
			return err
		}
		if n := len(t.indexes); n > 0 && t.indexes[n-1].name == i.name {
			t.indexes[n-1].columns = append(t.indexes[n-1].columns, column)
			continue
		}
		i.columns = []string{column}
		t.indexes = append(t.indexes, i)
	}
	return rows.Err()
}

// column returns the column with this name; where none has it exactly, the one that differs in case only.
func (t *sqlTable) column(name string) (sqlColumn, bool) {
	i := slices.IndexFunc(t.columns, func(c sqlColumn) bool { return c.name == name })
	if i < 0 {
		i = slices.IndexFunc(t.columns, func(c sqlColumn) bool { return strings.EqualFold(c.name, name) })
	}
	if i < 0 {
		return sqlColumn{}, false
	}
	return t.columns[i], true
}

// key returns the columns of the primary key or, without one, of the shortest unique key that admits no NULL.
func (t *sqlTable) key() ([]sqlColumn, bool) {
	var best []sqlColumn
	for _, i := range t.indexes {
		if !i.unique || !i.primary && best != nil && len(best) <= len(i.columns) {
			continue
		}
		var columns []sqlColumn
		for _, name := range i.columns {
			if c, ok := t.column(name); ok && !c.nullable {
				columns = append(columns, c)
			}
		}
		if len(columns) < len(i.columns) {
			continue
		}
		best, t.keyIndex = columns, i.name
		if i.primary {
			break
		}
	}
	return best, best != nil
}

// indexed says whether an index begins with the column, so that rows are found by it without a walk.
func (t *sqlTable) indexed(c *sqlColumn) bool {
	return c != nil && slices.ContainsFunc(t.indexes, func(i sqlIndex) bool { return i.columns[0] == c.name })
}

// sqlLayout is a Config made ready for the table as it is.
type sqlLayout struct {
	cfg     Config
	dialect dialect
	server  sqlServer
	table   *sqlTable
	states  map[string]dedup.State
	key     []sqlColumn
	ids     []sqlColumn
	// The other columns of a marker; nil where the configuration names none.
	business, status, created, updated, expires, owner, attempts *sqlColumn
	// watched are all columns that are read for watching, each once, the key first.
	watched []sqlColumn
}

// newSQLLayout returns an error that names every column that is missing or cannot serve.
func newSQLLayout(c Config, d dialect, server sqlServer, t *sqlTable) (*sqlLayout, error) {
	l := &sqlLayout{cfg: c, dialect: d, server: server, table: t, states: c.sqlStates()}
	var problems []string
	key, ok := t.key()
	if !ok {
		problems = append(problems, "it has no primary key that this account can see, nor a unique key without NULL, along which it could be read in small steps")
	}
	l.key = key
	l.watch(key...)
	roles := map[string]**sqlColumn{"business_key": &l.business, "status": &l.status, "created": &l.created,
		"updated": &l.updated, "expires": &l.expires, "owner": &l.owner, "attempts": &l.attempts}
	for _, named := range c.Columns.all() {
		column, ok := t.column(named.name)
		if !ok {
			problems = append(problems, fmt.Sprintf("it has no column %q (columns.%s) that this account can see", named.name, named.field))
			continue
		}
		isTime := named.field == "created" || named.field == "updated" || named.field == "expires"
		if isTime && !column.isTime() {
			problems = append(problems, fmt.Sprintf("column %q (columns.%s) is of type %s, which is no time", named.name, named.field, column.typ))
		}
		l.watch(column)
		if named.field == "id" {
			l.ids = append(l.ids, column)
		} else {
			*roles[named.field] = &column
		}
	}
	if len(problems) > 0 {
		return l, &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("table %s of the store cannot be read as configured: %s",
			codec.Printable(t.schema+"."+t.name), strings.Join(problems, "; "))}
	}
	return l, nil
}

func (l *sqlLayout) watch(columns ...sqlColumn) {
	for _, c := range columns {
		if !slices.ContainsFunc(l.watched, func(w sqlColumn) bool { return w.name == c.name }) {
			l.watched = append(l.watched, c)
		}
	}
}

// selection is the list of a SELECT that fields reads: the primary key, the parts of a marker and, for a sighting, the
// exact text of every watched column.
func (l *sqlLayout) selection(exact bool) string {
	d := l.dialect
	var list []string
	for _, c := range l.key {
		list = append(list, d.text(c))
	}
	for _, c := range l.ids {
		list = append(list, beginning(d, c, mostID))
	}
	for _, c := range l.ids {
		list = append(list, l.length(c))
	}
	optional := func(c *sqlColumn, n int) {
		if c == nil {
			list = append(list, "NULL")
			return
		}
		list = append(list, beginning(d, *c, n))
	}
	optional(l.business, mostID)
	optional(l.status, mostStatus)
	optional(l.attempts, mostStatus)
	optional(l.owner, mostStatus)
	for _, c := range []*sqlColumn{l.created, l.updated, l.expires} {
		if c == nil {
			list = append(list, "NULL")
			continue
		}
		list = append(list, d.epoch(*c, l.server.zone))
	}
	if exact {
		for _, c := range l.watched {
			list = append(list, d.text(c))
		}
	}
	return strings.Join(list, ", ")
}

// length is an expression for an id's length in characters, where the beginning that is read may not tell.
func (l *sqlLayout) length(c sqlColumn) string {
	if c.kind == textColumn && (c.length == 0 || c.length > mostID) {
		return "CHAR_LENGTH(" + l.dialect.quote(c.name) + ")"
	}
	return "NULL"
}

// sqlRow is a row of a selection. Its bytes are valid until the next one is read.
type sqlRow struct {
	key, ids, lengths                 []sql.RawBytes
	business, status, attempts, owner sql.RawBytes
	created, updated, expires         sql.RawBytes
	exact                             []sql.RawBytes
}

func (l *sqlLayout) row(values []sql.RawBytes) sqlRow {
	take := func(n int) []sql.RawBytes {
		head := values[:n]
		values = values[n:]
		return head
	}
	r := sqlRow{key: take(len(l.key)), ids: take(len(l.ids)), lengths: take(len(l.ids))}
	rest := take(7)
	r.business, r.status, r.attempts, r.owner = rest[0], rest[1], rest[2], rest[3]
	r.created, r.updated, r.expires, r.exact = rest[4], rest[5], rest[6], values
	return r
}

// hasID says whether the row has a message id: a NULL in it means that it has none, and that no unique key holds it.
func (r sqlRow) hasID() bool {
	return !slices.ContainsFunc(r.ids, func(v sql.RawBytes) bool { return v == nil })
}

// id appends the message id to buf: one column as it is, several joined by a colon.
func (r sqlRow) id(buf []byte) []byte {
	for i, v := range r.ids {
		if i > 0 {
			buf = append(buf, ':')
		}
		buf = append(buf, v...)
	}
	return buf
}

// idLength is the length of the id in characters.
func (r sqlRow) idLength() int64 {
	n := int64(len(r.ids) - 1)
	for i, v := range r.ids {
		if whole, err := strconv.ParseInt(string(r.lengths[i]), 10, 64); err == nil {
			n += whole
		} else {
			n += int64(utf8.RuneCount(v))
		}
	}
	return n
}

// state returns the state of the row, and why it is unknown.
func (l *sqlLayout) state(r sqlRow) codec.Decoded {
	if l.states == nil {
		return codec.Decoded{State: dedup.Done}
	}
	if r.status == nil {
		return codec.Unknown("the status is NULL")
	}
	if state, ok := l.states[string(r.status)]; ok {
		return codec.Decoded{State: state}
	}
	// CHAR columns are padded with blanks.
	if state, ok := l.states[string(bytes.TrimRight(r.status, " "))]; ok {
		return codec.Decoded{State: state}
	}
	return codec.Unknown("no state has the status").WithSample(string(r.status))
}

// since returns when the row last changed, else when it was made; zero when neither is known.
func (l *sqlLayout) since(r sqlRow) time.Time {
	if l.updated != nil && r.updated != nil {
		if at := epochTime(string(r.updated), l.updated.kind); !at.IsZero() {
			return at
		}
	}
	if l.created != nil && r.created != nil {
		return epochTime(string(r.created), l.created.kind)
	}
	return time.Time{}
}

// expiry returns when the row expires; zero for never.
func (l *sqlLayout) expiry(r sqlRow) time.Time {
	if l.expires == nil || r.expires == nil {
		return time.Time{}
	}
	return epochTime(string(r.expires), l.expires.kind)
}

// marker makes a marker of a row. FirstSeen is left open.
func (l *sqlLayout) marker(r sqlRow) dedup.Marker {
	m := dedup.Marker{Store: l.cfg.Name, Status: string(r.status), Owner: string(r.owner), Since: l.since(r), Expires: l.expiry(r)}
	d := l.state(r)
	m.State, m.Detail, m.Sample = d.State, d.Detail, d.Sample
	if n, err := strconv.ParseInt(string(r.attempts), 10, 64); err == nil {
		m.Attempts = &n
	}
	m.Key = encodeKey(r.key)
	m.ID = shortened(&m, "an id", string(r.id(nil)))
	m.BusinessKey = shortened(&m, "a business key", string(r.business))
	return m
}

// shortened leaves a text out that is too long to keep, and describes it: a shortened id would be another id.
func shortened(m *dedup.Marker, what, text string) string {
	if len(text) <= pace.MaxSampleKey {
		return text
	}
	m.Detail = strings.TrimPrefix(fmt.Sprintf("%s; %s of more than %d bytes that begins with %s", m.Detail, what, pace.MaxSampleKey, codec.Printable(text)), "; ")
	return ""
}

// encodeKey writes the values of a primary key as Marker.Key: one value as it is, several as a JSON array of strings.
func encodeKey[T ~[]byte | ~string](values []T) string {
	if len(values) == 1 {
		return string(values[0])
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// Strings always encode.
	_ = encoder.Encode(texts)
	return strings.TrimSuffix(out.String(), "\n")
}

// decodeKey reads what encodeKey wrote for a key of n columns.
func decodeKey(key string, n int) ([]string, error) {
	if n == 1 {
		return []string{key}, nil
	}
	var values []string
	if err := json.Unmarshal([]byte(key), &values); err != nil || len(values) != n {
		return nil, fmt.Errorf("%s is not the key of a row: a JSON array of %d strings", codec.Printable(key), n)
	}
	return values, nil
}
