package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/sql/dialect"
	"dedup-dashboard/internal/text"
)

const (
	// findRowsAtOnce is how many ids one query of a Find asks for.
	findRowsAtOnce = 500
	// rowsPerID is how many rows of one id a query of a Find allows on average: more say that ids name no messages.
	rowsPerID = 4
)

// Find returns the rows of the messages with these ids as they are now. The server itself compares, so that an id finds the
// row that a consumer's INSERT would hit, also where the collation takes two ids for one. It reads the watched columns alone.
func (s *store) Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error) {
	f, err := pace.NewFinding(s.Name(), ids)
	if err != nil || len(f.IDs) == 0 {
		return pace.SightingsOf(f, err)
	}
	ctx, cancel := context.WithTimeout(ctx, pace.LookTimeout)
	defer cancel()
	look, err := s.beginLook(ctx)
	if err != nil {
		return nil, s.table.explain.Explain(err)
	}
	defer look.conn.Close()
	if l := look.layout; !l.Table.Indexed(&l.IDs[0]) {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("store %s cannot be searched: no index of its table begins with column %q; create one", s.table.cfg.Name, l.IDs[0].Name)}
	}
	for part := range slices.Chunk(look.possible(f), findRowsAtOnce) {
		if err := look.find(ctx, part, f); err != nil {
			return nil, s.table.explain.Explain(err)
		}
	}
	return f.Sightings(), nil
}

// A soughtID is an id with its values for the id columns.
type soughtID struct {
	id string
	// parts are those of the id, values what the columns make of them.
	parts, values []string
	// cut says why a strict server refuses the id, where another one keeps it as the values; empty where it fits.
	cut string
}

// possible returns the ids that the table can hold, or that a server which is not strict makes fit, and notes of each why it does not.
func (k *look) possible(f *pace.Finding) []soughtID {
	l := k.layout
	all := make([]soughtID, 0, len(f.IDs))
	for _, id := range f.IDs {
		parts := []string{id}
		if len(l.IDs) > 1 {
			parts = strings.SplitN(id, ":", len(l.IDs))
		}
		sought, why := l.sought(id, parts)
		if sought.cut = why; why != "" {
			f.Refused(id, why)
		}
		if sought.values != nil {
			all = append(all, sought)
		}
	}
	return all
}

// sought says why the id columns cannot hold these parts of an id, empty when they can, and what they hold instead; without values nothing.
func (l *Layout) sought(id string, parts []string) (s soughtID, why string) {
	s = soughtID{id: id, parts: parts}
	if len(parts) != len(l.IDs) {
		return s, fmt.Sprintf("the table's id has %d columns and the message's id %d parts", len(l.IDs), len(parts))
	}
	values := make([]string, len(parts))
	for i, c := range l.IDs {
		value, refused := l.fits(c, parts[i])
		if refused != "" {
			why = refused
		}
		if refused != "" && value == "" {
			return s, why
		}
		values[i] = value
	}
	s.values = values
	return s, why
}

// fits returns the value that a column keeps of a text, and why it does not keep it as it is. With a reason and no value it keeps nothing.
func (l *Layout) fits(c dialect.Column, v string) (value, why string) {
	mysql := l.cfg.SQL.Driver == markers.MySQL
	number := c.Kind == dialect.NumberColumn || c.Kind == dialect.BitColumn
	switch length := int64(utf8.RuneCountInString(v)); {
	case c.Kind == dialect.TextColumn && !utf8.ValidString(v):
		return "", fmt.Sprintf("column %s cannot hold the id: it is not valid UTF-8", c.Name)
	case strings.ContainsRune(v, 0) && !mysql:
		return "", fmt.Sprintf("column %s cannot hold the id: PostgreSQL stores no NUL character", c.Name)
	case c.Kind == dialect.TextColumn && c.Length > 0 && length > c.Length:
		// MySQL cuts where sql_mode is not strict, PostgreSQL where only blanks are too many.
		if cut := cutRunes(v, c.Length); mysql || strings.TrimRight(v[len(cut):], " ") == "" {
			value = cut
		}
		return value, fmt.Sprintf("column %s cannot hold the id: it has %d characters, the column %d", c.Name, length, c.Length)
	case number && !isWhole(v):
		if begins := leadingNumber.FindStringSubmatch(v); mysql && begins != nil && isWhole(begins[1]) {
			value = begins[1]
		}
		return value, fmt.Sprintf("column %s holds numbers, and the id is none", c.Name)
	}
	return v, ""
}

// leadingNumber is what MySQL takes a text for where it expects a whole number.
var leadingNumber = regexp.MustCompile(`^\s*([+-]?[0-9]+)`)

func isWhole(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// find looks for a few ids. Where the server refuses one of them as no value of its column, it says so of that one.
func (k *look) find(ctx context.Context, part []soughtID, f *pace.Finding) error {
	l := k.layout
	wanted, args := l.wanted(part)
	most := rowsPerID*len(part) + 1
	query := fmt.Sprintf("%s, %s, %s FROM %s LIMIT %d", wantedNumber, l.wholeIDs(), l.Selection(false), wanted, most)
	rows, hits, at := 0, map[string]*dedup.Sighting{}, time.Now()
	_, err := l.read(ctx, k.conn, query, args, func(values []sql.RawBytes) error {
		rows++
		n, err := strconv.Atoi(string(values[0]))
		if err != nil || n < 0 || n >= len(part) {
			return errors.New("the server answered with an id that was not asked for")
		}
		id := part[n].id
		if hits[id] != nil {
			hits[id] = pace.CannotHold(k.store.table.cfg.Name, id, "several rows of the table have this id, so that it cannot be told which one a consumer will find")
			return nil
		}
		whole, rest := values[1:1+len(l.IDs)], values[1+len(l.IDs):]
		hit := l.lookedUp(l.Row(rest), at)
		if hit.Other = l.other(part[n], keyTexts(whole)); hit.Other != nil {
			k.store.metAnother(hit)
		}
		hits[id] = hit
		return nil
	})
	if ignoreBadValue(l.dialect, err) == nil && err != nil {
		return k.halves(ctx, part, f)
	}
	if err == nil && rows == most {
		err = &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("store %s: its ids name %d rows each and more; columns.id must be what tells messages apart", k.store.table.cfg.Name, rowsPerID)}
	}
	for id, s := range hits {
		f.Found(id, s)
	}
	return err
}

// halves goes on with each half of ids of which the server refuses one.
func (k *look) halves(ctx context.Context, part []soughtID, f *pace.Finding) error {
	if len(part) == 1 {
		f.Refused(part[0].id, fmt.Sprintf("the id is no value of column %s", k.layout.IDs[0].Name))
		return nil
	}
	half := len(part) / 2
	if err := k.find(ctx, part[:half], f); err != nil {
		return err
	}
	return k.find(ctx, part[half:], f)
}

// wholeIDs are the id columns in full: an id is compared to the byte.
func (l *Layout) wholeIDs() string {
	return text.Joined(l.IDs, ", ", l.dialect.Text)
}

// lookedUp makes a sighting without a value of a row that was asked for at a time.
func (l *Layout) lookedUp(r Row, at time.Time) *dedup.Sighting {
	s := &dedup.Sighting{Marker: l.marker(r), At: at, Clock: l.Server.ClockAt(at), Server: l.Identity().Text(), ExpiresMillis: dedup.NoExpiry}
	s.Sample = ""
	if !s.Expires.IsZero() {
		s.ExpiresMillis = s.Expires.UnixMilli()
	}
	return s
}

// The columns of the ids that are wanted: the position of each, and its values. Their names are none that a table has.
const (
	wantedNumber = "dedup_wanted_n"
	wantedValue  = "dedup_wanted_v"
)

// wanted is a FROM clause that joins the ids to the table, from the ids to its index.
func (l *Layout) wanted(part []soughtID) (string, []any) {
	source, args, join := "", []any(nil), " JOIN "
	if l.cfg.SQL.Driver == markers.PostgreSQL {
		source, args = l.wantedArrays(part)
	} else {
		source, args = l.wantedUnion(part)
		join = " STRAIGHT_JOIN "
	}
	conditions := make([]string, len(l.IDs))
	for i, c := range l.IDs {
		conditions[i] = l.Table.Quoted(l.dialect) + "." + l.dialect.Quote(c.Name) + " = " + l.comparable(c, i)
	}
	return source + join + l.Table.Quoted(l.dialect) + " ON " + strings.Join(conditions, " AND "), args
}

// wantedArrays is for PostgreSQL: one array of texts for each id column.
func (l *Layout) wantedArrays(part []soughtID) (string, []any) {
	var args []any
	var arrays, columns []string
	for i := range l.IDs {
		values := make([]string, len(part))
		for j, p := range part {
			values[j] = p.values[i]
		}
		args = append(args, values)
		arrays = append(arrays, "$"+strconv.Itoa(i+1)+"::text[]")
		columns = append(columns, wantedValue+strconv.Itoa(i))
	}
	return fmt.Sprintf("(SELECT %[1]s, n - 1 AS %[2]s FROM unnest(%[3]s) WITH ORDINALITY AS w(%[1]s, n)) AS dedup_wanted",
		strings.Join(columns, ", "), wantedNumber, strings.Join(arrays, ", ")), args
}

// wantedUnion is for MySQL and MariaDB, whose older versions know neither arrays nor lists of rows.
func (l *Layout) wantedUnion(part []soughtID) (string, []any) {
	var b strings.Builder
	args := make([]any, 0, len(part)*len(l.IDs))
	for j, p := range part {
		if j > 0 {
			b.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&b, "SELECT %d AS %s", j, wantedNumber)
		for i, c := range l.IDs {
			fmt.Fprintf(&b, ", %s AS %s%d", l.dialect.Param(c, 0), wantedValue, i)
			if n, err := strconv.ParseInt(p.values[i], 10, 64); err == nil && (c.Kind == dialect.NumberColumn || c.Kind == dialect.BitColumn) {
				args = append(args, n)
			} else {
				args = append(args, p.values[i])
			}
		}
	}
	return "(" + b.String() + ") AS dedup_wanted", args
}

// comparable is a wanted value as a value of its column: of its type, and compared as the column compares.
func (l *Layout) comparable(c dialect.Column, i int) string {
	value := "dedup_wanted." + wantedValue + strconv.Itoa(i)
	switch {
	case l.cfg.SQL.Driver == markers.PostgreSQL && c.Kind == dialect.ZonedTime:
		return "(" + value + "::timestamp AT TIME ZONE 'UTC')"
	case l.cfg.SQL.Driver == markers.PostgreSQL:
		return value + "::" + c.Cast
	case c.Kind == dialect.TextColumn && dialect.CollationPattern.MatchString(c.Collation):
		charset, _, _ := strings.Cut(c.Collation, "_")
		return "CONVERT(" + value + " USING " + charset + ") COLLATE " + c.Collation
	}
	return value
}
