package sql

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// Bounds of what is read of a value, in characters. A primary key is read whole: paging needs it.
const (
	mostID     = pace.MaxSampleKey + 1
	mostStatus = 256
)

// Layout is a Config made ready for the table as it is.
type Layout struct {
	cfg     markers.Config
	dialect dialect.Dialect
	Server  dialect.Server
	Table   *dialect.Table
	states  map[string]dedup.State
	Key     []dialect.Column
	IDs     []dialect.Column
	// The other columns of a marker; nil where the configuration names none.
	business, status, Created, Updated, Expires, owner, attempts *dialect.Column
	// Watched are all columns that are read for watching, each once, the key first.
	Watched []dialect.Column
}

// NewLayout returns an error that names every column that is missing or cannot serve.
func NewLayout(c markers.Config, d dialect.Dialect, server dialect.Server, t *dialect.Table) (*Layout, error) {
	l := &Layout{cfg: c, dialect: d, Server: server, Table: t, states: c.StatesByStatus()}
	var problems []string
	key, ok := t.Key()
	if !ok {
		problems = append(problems, "it has no primary key that this account can see, nor a unique key without NULL, along which it could be read in small steps")
	}
	l.Key = key
	l.watch(key...)
	roles := map[string]**dialect.Column{"business_key": &l.business, "status": &l.status, "created": &l.Created,
		"updated": &l.Updated, "expires": &l.Expires, "owner": &l.owner, "attempts": &l.attempts}
	for _, named := range c.Columns.All() {
		column, ok := t.Column(named.Name)
		if !ok {
			problems = append(problems, fmt.Sprintf("it has no column %q (columns.%s) that this account can see", named.Name, named.Field))
			continue
		}
		isTime := named.Field == "created" || named.Field == "updated" || named.Field == "expires"
		if isTime && !column.IsTime() {
			problems = append(problems, fmt.Sprintf("column %q (columns.%s) is of type %s, which is no time", named.Name, named.Field, column.Type))
		}
		l.watch(column)
		if named.Field == "id" {
			l.IDs = append(l.IDs, column)
		} else {
			*roles[named.Field] = &column
		}
	}
	if len(problems) > 0 {
		return l, &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("table %s of the store cannot be read as configured: %s",
			codec.Printable(t.Schema+"."+t.Name), strings.Join(problems, "; "))}
	}
	return l, nil
}

func (l *Layout) watch(columns ...dialect.Column) {
	for _, c := range columns {
		if !slices.ContainsFunc(l.Watched, func(w dialect.Column) bool { return w.Name == c.Name }) {
			l.Watched = append(l.Watched, c)
		}
	}
}

// Selection is the list of a SELECT that fields reads: the primary key, the parts of a marker and, for a sighting, the
// exact text of every watched column.
func (l *Layout) Selection(exact bool) string {
	d := l.dialect
	var list []string
	for _, c := range l.Key {
		list = append(list, d.Text(c))
	}
	for _, c := range l.IDs {
		list = append(list, dialect.Beginning(d, c, mostID))
	}
	for _, c := range l.IDs {
		list = append(list, l.length(c))
	}
	optional := func(c *dialect.Column, n int) {
		if c == nil {
			list = append(list, "NULL")
			return
		}
		list = append(list, dialect.Beginning(d, *c, n))
	}
	optional(l.business, mostID)
	optional(l.status, mostStatus)
	optional(l.attempts, mostStatus)
	optional(l.owner, mostStatus)
	for _, c := range []*dialect.Column{l.Created, l.Updated, l.Expires} {
		if c == nil {
			list = append(list, "NULL")
			continue
		}
		list = append(list, d.Epoch(*c, l.Server.Zone))
	}
	if exact {
		for _, c := range l.Watched {
			list = append(list, d.Text(c))
		}
	}
	return strings.Join(list, ", ")
}

// length is an expression for an id's length in characters, where the beginning that is read may not tell.
func (l *Layout) length(c dialect.Column) string {
	if c.Kind == dialect.TextColumn && (c.Length == 0 || c.Length > mostID) {
		return "CHAR_LENGTH(" + l.dialect.Quote(c.Name) + ")"
	}
	return "NULL"
}

// Row is a row of a selection. Its bytes are valid until the next one is read.
type Row struct {
	key, ids, lengths                 []sql.RawBytes
	business, status, attempts, owner sql.RawBytes
	created, updated, expires         sql.RawBytes
	Exact                             []sql.RawBytes
}

// Row takes the values that Selection selects apart.
func (l *Layout) Row(values []sql.RawBytes) Row {
	take := func(n int) []sql.RawBytes {
		head := values[:n]
		values = values[n:]
		return head
	}
	r := Row{key: take(len(l.Key)), ids: take(len(l.IDs)), lengths: take(len(l.IDs))}
	rest := take(7)
	r.business, r.status, r.attempts, r.owner = rest[0], rest[1], rest[2], rest[3]
	r.created, r.updated, r.expires, r.Exact = rest[4], rest[5], rest[6], values
	return r
}

// hasID says whether the row has a message id: a NULL in it means that it has none, and that no unique key holds it.
func (r Row) hasID() bool {
	return !slices.ContainsFunc(r.ids, func(v sql.RawBytes) bool { return v == nil })
}

// id appends the message id to buf: one column as it is, several joined by a colon.
func (r Row) id(buf []byte) []byte {
	for i, v := range r.ids {
		if i > 0 {
			buf = append(buf, ':')
		}
		buf = append(buf, v...)
	}
	return buf
}

// idLength is the length of the id in characters.
func (r Row) idLength() int64 {
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
func (l *Layout) state(r Row) codec.Decoded {
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
func (l *Layout) since(r Row) time.Time {
	if l.Updated != nil && r.updated != nil {
		if at := dialect.EpochTime(string(r.updated), l.Updated.Kind); !at.IsZero() {
			return at
		}
	}
	if l.Created != nil && r.created != nil {
		return dialect.EpochTime(string(r.created), l.Created.Kind)
	}
	return time.Time{}
}

// expiry returns when the row expires; zero for never.
func (l *Layout) expiry(r Row) time.Time {
	if l.Expires == nil || r.expires == nil {
		return time.Time{}
	}
	return dialect.EpochTime(string(r.expires), l.Expires.Kind)
}

// marker makes a marker of a row. FirstSeen is left open.
func (l *Layout) marker(r Row) dedup.Marker {
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
	return string(codec.PlainJSON(keyTexts(values)))
}

// DecodeKey reads what encodeKey wrote for a key of n columns.
func DecodeKey(key string, n int) ([]string, error) {
	if n == 1 {
		return []string{key}, nil
	}
	var values []string
	if err := json.Unmarshal([]byte(key), &values); err != nil || len(values) != n {
		return nil, fmt.Errorf("%s is not the key of a row: a JSON array of %d strings", codec.Printable(key), n)
	}
	return values, nil
}
