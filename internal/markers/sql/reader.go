package sql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/sql/dialect"
)

const (
	// mostKeys is the most keys of one Look, keysAtOnce those of one of its queries.
	mostKeys   = 1000
	keysAtOnce = 100
	// mostFound bounds a Lookup.
	mostFound = 50
	// A page of Browse examines at most browseRows rows, browseAtOnce in one query, and begins no query after browseFor.
	browseRows   = 20_000
	browseAtOnce = 2000
	browseFor    = time.Second
	// RowType is Sighting.Type of a row.
	RowType = "row"
)

// Look returns the rows with these keys, each the text of its primary key: one value as it is, several as a JSON array of
// strings. Sighting.Value holds the watched columns: the primary key and those of the configuration.
func (s *store) Look(ctx context.Context, keys []string) ([]*dedup.Sighting, error) {
	if len(keys) > mostKeys {
		return nil, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("%d keys at once: at most %d", len(keys), mostKeys)}
	}
	look, err := s.beginLook(ctx)
	if err != nil {
		return nil, s.table.explain.Explain(err)
	}
	defer look.conn.Close()
	found := map[string]*dedup.Sighting{}
	for part := range slices.Chunk(keys, keysAtOnce) {
		if err := look.keys(ctx, part, found); err != nil {
			return nil, s.table.explain.Explain(err)
		}
	}
	all := make([]*dedup.Sighting, len(keys))
	for i, key := range keys {
		all[i] = found[key]
	}
	return all, nil
}

// look reads single rows over one connection whose server was just asked who it is.
type look struct {
	store  *store
	layout *Layout
	conn   *sql.Conn
}

func (s *store) beginLook(ctx context.Context) (*look, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	ready, err := s.table.ready(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := s.table.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	server, err := s.table.server(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	layout := *ready
	layout.Server = server
	return &look{s, &layout, conn}, nil
}

// keys reads the rows with these keys. A key that cannot be one of the table is that of no row.
func (k *look) keys(ctx context.Context, keys []string, found map[string]*dedup.Sighting) error {
	l := k.layout
	var args []any
	var alternatives []string
	for _, key := range keys {
		values, err := DecodeKey(key, len(l.Key))
		if err != nil || !l.plausible(l.Key, values) {
			continue
		}
		alternatives = append(alternatives, dialect.Equals(l.dialect, l.Key, len(args)+1))
		for _, v := range values {
			args = append(args, v)
		}
	}
	if len(alternatives) == 0 {
		return nil
	}
	err := k.where(ctx, "("+strings.Join(alternatives, ") OR (")+")", args, len(keys), func(s dedup.Sighting) { found[s.Key] = &s })
	if err == nil || !strings.HasPrefix(l.dialect.Refusal(err).Code, "22") || len(keys) == 1 {
		return ignoreBadValue(l.dialect, err)
	}
	// One of them is no value of its column: PostgreSQL refuses them all.
	for _, key := range keys {
		if err := k.keys(ctx, []string{key}, found); err != nil {
			return err
		}
	}
	return nil
}

// ignoreBadValue drops the SQLSTATE class 22, data exception: a term that is no value of a column is in no row of it.
func ignoreBadValue(d dialect.Dialect, err error) error {
	if strings.HasPrefix(d.Refusal(err).Code, "22") && len(d.Refusal(err).Code) == 5 {
		return nil
	}
	return err
}

// where reads the rows of a condition. Rows without an id are no markers.
func (k *look) where(ctx context.Context, condition string, args []any, most int, add func(dedup.Sighting)) error {
	l := k.layout
	query := fmt.Sprintf("%s FROM %s WHERE %s LIMIT %d", l.Selection(true), l.Table.Quoted(l.dialect), condition, most)
	at := time.Now() // a row must not look older than it was when the server read it, however late its answer comes
	_, err := l.read(ctx, k.conn, query, args, func(values []sql.RawBytes) error {
		if r := l.Row(values); r.hasID() {
			sighting, err := l.Sighting(r, at)
			if err != nil {
				return err
			}
			add(sighting)
		}
		return nil
	})
	return err
}

// Sighting makes a sighting of a row that was read with its exact columns, and asked for at a time.
func (l *Layout) Sighting(r Row, at time.Time) (dedup.Sighting, error) {
	columns := make(map[string]*string, len(l.Watched))
	for i, c := range l.Watched {
		columns[c.Name] = nil
		if r.Exact[i] != nil {
			text := string(r.Exact[i])
			columns[c.Name] = &text
		}
	}
	value, err := json.Marshal(columns)
	if err != nil {
		return dedup.Sighting{}, fmt.Errorf("write a row as JSON: %w", err)
	}
	s := dedup.Sighting{Marker: l.marker(r), At: at, Clock: l.Server.ClockAt(at), Server: l.Identity().Text(),
		Type: RowType, Value: value, ExpiresMillis: dedup.NoExpiry}
	if !s.Expires.IsZero() {
		s.ExpiresMillis = s.Expires.UnixMilli()
	}
	return s, nil
}

var numberPattern = regexp.MustCompile(`^-?[0-9]{1,40}(\.[0-9]{1,40})?$`)

// plausible says whether texts can be values of the columns: MySQL takes any text for a number, most of them for 0.
func (l *Layout) plausible(columns []dialect.Column, texts []string) bool {
	for i, c := range columns {
		if (c.Kind == dialect.NumberColumn || c.Kind == dialect.BitColumn) && !numberPattern.MatchString(texts[i]) || strings.ContainsRune(texts[i], 0) {
			return false
		}
	}
	return true
}

// Lookup searches the id and the business key, each where an index begins with its column. An id of several columns is
// found by its first column, and whole.
func (s *store) Lookup(ctx context.Context, term string) ([]dedup.Sighting, error) {
	look, err := s.beginLook(ctx)
	if err != nil {
		return nil, s.table.explain.Explain(err)
	}
	defer look.conn.Close()
	l := look.layout
	if !l.Table.Indexed(&l.IDs[0]) && !l.Table.Indexed(l.business) {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("store %s cannot be searched: no index of its table begins with column %q; create one", s.table.cfg.Name, l.IDs[0].Name)}
	}
	var all []dedup.Sighting
	search := func(columns []dialect.Column, values []string, isID bool) error {
		if !l.Table.Indexed(&columns[0]) || !l.plausible(columns, values) || len(all) >= mostFound {
			return nil
		}
		args := make([]any, len(columns))
		for i := range columns {
			args[i] = values[i]
		}
		err := look.where(ctx, dialect.Equals(l.dialect, columns, 1), args, mostFound, func(found dedup.Sighting) {
			if isID && found.ID != "" {
				found.Other = l.otherThan(columns, values, found)
			}
			if len(all) < mostFound && !slices.ContainsFunc(all, func(s dedup.Sighting) bool { return s.Key == found.Key }) {
				all = append(all, found)
			}
		})
		return ignoreBadValue(l.dialect, err)
	}
	err = search(l.IDs[:1], []string{term}, true)
	if values := strings.SplitN(term, ":", len(l.IDs)); err == nil && len(l.IDs) > 1 && len(values) == len(l.IDs) {
		err = search(l.IDs, values, true)
	}
	if err == nil && l.business != nil {
		err = search([]dialect.Column{*l.business}, []string{term}, false)
	}
	if err != nil {
		return nil, s.table.explain.Explain(err)
	}
	return all, nil
}

// cursorPrefix tells the cursor behind an empty key from that of the first page.
const cursorPrefix = "k"

// Browse returns a page of markers in the order of the primary key.
func (s *store) Browse(ctx context.Context, q dedup.MarkerQuery) (dedup.MarkerPage, error) {
	page := dedup.MarkerPage{At: time.Now()}
	if q.Limit < 1 || q.Limit > 200 {
		return page, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("a page of %d markers: ask for 1 to 200", q.Limit)}
	}
	l, err := s.table.ready(ctx)
	if err != nil {
		return page, s.table.explain.Explain(err)
	}
	b := sqlBrowse{layout: l, query: q, page: &page}
	if q.Cursor != "" {
		key, ok := strings.CutPrefix(q.Cursor, cursorPrefix)
		b.position, err = DecodeKey(key, len(l.Key))
		if !ok || err != nil || !l.plausible(l.Key, b.position) {
			return page, badCursor
		}
	}
	if err := s.browse(ctx, &b); err != nil {
		if ignoreBadValue(s.table.dialect, err) == nil {
			return page, badCursor
		}
		return page, s.table.explain.Explain(err)
	}
	return page, nil
}

var badCursor = &dedup.Error{Kind: dedup.Invalid, Public: "the cursor is not one of this store: begin with its first page"}

// sqlBrowse is one page in the making.
type sqlBrowse struct {
	layout   *Layout
	query    dedup.MarkerQuery
	page     *dedup.MarkerPage
	position []string
}

func (s *store) browse(ctx context.Context, b *sqlBrowse) error {
	conn, err := s.table.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	started, n := time.Now(), min(browseAtOnce, 4*b.query.Limit+100)
	for {
		read := 0
		_, err := b.layout.readRows(ctx, conn, b.position, n, func(r Row) {
			read++
			b.take(r)
		})
		if err != nil {
			return err
		}
		full := len(b.page.Markers) == b.query.Limit
		if read < n && !full {
			return nil
		}
		if full || b.page.Examined >= browseRows || time.Since(started) >= browseFor {
			b.page.Next = cursorPrefix + encodeKey(b.position)
			return nil
		}
		n = min(browseAtOnce, browseRows-int(b.page.Examined))
	}
}

// take puts a row on the page if it is asked for. Rows behind a full page are left for the next one.
func (b *sqlBrowse) take(r Row) {
	if len(b.page.Markers) == b.query.Limit {
		return
	}
	b.page.Examined++
	b.position = keyTexts(r.key)
	if !r.hasID() {
		return
	}
	if state := b.layout.state(r).State; b.query.State != "" && state != b.query.State {
		return
	}
	m := b.layout.marker(r)
	if match := b.query.Match; match == "" || strings.Contains(m.ID, match) || strings.Contains(m.BusinessKey, match) {
		b.page.Markers = append(b.page.Markers, m)
	}
}
