package sql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"testing"

	"dedup-dashboard/internal/markers/sql/dialect"
)

// cachingMySQL is a MySQL 8 whose sessions tell an old next id, unless they ask for the counter itself.
type cachingMySQL struct{}

func (cachingMySQL) Driver() driver.Driver { return nil }

func (cachingMySQL) Connect(context.Context) (driver.Conn, error) { return &cachingSession{}, nil }

type cachingSession struct{ uncached bool }

func (*cachingSession) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (*cachingSession) Close() error                        { return nil }
func (s *cachingSession) Begin() (driver.Tx, error)         { return s, nil }
func (*cachingSession) Commit() error                       { return nil }
func (*cachingSession) Rollback() error                     { return nil }

func (s *cachingSession) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return s, nil }

func (s *cachingSession) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	s.uncached = s.uncached || query == "SET SESSION information_schema_stats_expiry = 0"
	return driver.ResultNoRows, nil
}

func (s *cachingSession) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	switch {
	case strings.Contains(query, "information_schema.COLUMNS"):
		return &cannedRows{values: [][]driver.Value{{"1"}}}, nil
	case strings.Contains(query, "SHOW GLOBAL VARIABLES"):
		return &cannedRows{values: [][]driver.Value{{"auto_increment_increment", "1"}, {"innodb_autoinc_lock_mode", "2"}}}, nil
	case strings.Contains(query, "COUNT(*)"):
		return &cannedRows{values: [][]driver.Value{{"", "1", nil, "0"}}}, nil
	case s.uncached:
		return &cannedRows{values: [][]driver.Value{{"107", "2026-11-22"}}}, nil
	}
	return &cannedRows{values: [][]driver.Value{{"100", "2026-11-22"}}}, nil
}

// cannedRows are rows of as many columns as the first has.
type cannedRows struct {
	values [][]driver.Value
	next   int
}

func (r *cannedRows) Columns() []string { return make([]string, len(r.values[0])) }
func (r *cannedRows) Close() error      { return nil }

func (r *cannedRows) Next(into []driver.Value) error {
	if r.next == len(r.values) {
		return io.EOF
	}
	copy(into, r.values[r.next])
	r.next++
	return nil
}

func TestEachConnectionReadsTheCounterOfMySQL8ItselfAndNoOldCopy(t *testing.T) {
	db := sql.OpenDB(cachingMySQL{})
	t.Cleanup(func() { _ = db.Close() })
	layout := &Layout{dialect: dialect.MySQL{}, Table: &dialect.Table{Schema: "shop", Name: "message_dedup", Engine: "InnoDB"}}
	r := &insertReader{dialect: mysqlInserts{}}
	for i := range 3 {
		// Each reading has a connection of its own, as when the walk holds the others.
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if i == 0 {
			if r.facts, err = r.dialect.autoID(t.Context(), conn, layout, dialect.Column{Name: "id"}); err != nil || r.facts.why != "" {
				t.Fatalf("%+v, %v", r.facts, err)
			}
		}
		if next, _, err := r.nextID(t.Context(), conn, layout); err != nil || next != 107 {
			t.Errorf("connection %d tells the next id %d, %v", i, next, err)
		}
	}
}
