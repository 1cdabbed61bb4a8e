package dialect

import (
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// ErrNoTable says that the catalogue does not show the table.
var ErrNoTable = errors.New("no such table")

// Table is a table as the catalogue describes it.
type Table struct {
	Schema, Name string
	// Database and identity are the same for two accounts only if they reach the same table of one server.
	Database, Identity string
	// OID identifies the table in PostgreSQL.
	OID    string
	Engine string
	// Partitioned says that rows are kept in parts by their values.
	Partitioned bool
	Columns     []Column
	Indexes     []Index
	// Estimate is the server's guess at the number of rows; nil when it has none.
	Estimate *int64
	// KeyIndex names the index along which the table is walked.
	KeyIndex string
}

// Quoted is the name of the table in a statement.
func (t *Table) Quoted(d Dialect) string { return d.Quote(t.Schema) + "." + d.Quote(t.Name) }

// addIndexes reads rows of index name, primary, unique and column, ordered by index and position.
func (t *Table) addIndexes(rows *sql.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var i Index
		var column string
		if err := rows.Scan(&i.name, &i.primary, &i.unique, &column); err != nil {
			return err
		}
		if n := len(t.Indexes); n > 0 && t.Indexes[n-1].name == i.name {
			t.Indexes[n-1].Columns = append(t.Indexes[n-1].Columns, column)
			continue
		}
		i.Columns = []string{column}
		t.Indexes = append(t.Indexes, i)
	}
	return rows.Err()
}

// Column returns the column with this name; where none has it exactly, the one that differs in case only.
func (t *Table) Column(name string) (Column, bool) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		i = slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	}
	if i < 0 {
		return Column{}, false
	}
	return t.Columns[i], true
}

// Key returns the columns of the primary key or, without one, of the shortest unique key that admits no NULL.
func (t *Table) Key() ([]Column, bool) {
	var best []Column
	for _, i := range t.Indexes {
		if !i.unique || !i.primary && best != nil && len(best) <= len(i.Columns) {
			continue
		}
		var columns []Column
		for _, name := range i.Columns {
			if c, ok := t.Column(name); ok && !c.Nullable {
				columns = append(columns, c)
			}
		}
		if len(columns) < len(i.Columns) {
			continue
		}
		best, t.KeyIndex = columns, i.name
		if i.primary {
			break
		}
	}
	return best, best != nil
}

// Indexed says whether an index begins with the column, so that rows are found by it without a walk.
func (t *Table) Indexed(c *Column) bool {
	return c != nil && slices.ContainsFunc(t.Indexes, func(i Index) bool { return i.Columns[0] == c.Name })
}

// ZonePattern is what a time zone may look like: a name, an offset, or a rule as POSIX writes it.
var ZonePattern = regexp.MustCompile(`^[A-Za-z0-9_+:/<>,.-]{1,100}$`)

// SplitTable takes schema.table apart; the schema is empty when there is none.
func SplitTable(name string) (schema, table string) {
	if schema, table, ok := strings.Cut(name, "."); ok {
		return schema, table
	}
	return "", name
}

// CollationPattern is what a collation of MySQL is called: its character set and what it takes for equal.
var CollationPattern = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)

// IndexOf names an index that begins with the column; empty when none does.
func (t *Table) IndexOf(column Column) string {
	for _, i := range t.Indexes {
		if i.Columns[0] == column.Name {
			return i.name
		}
	}
	return ""
}
