package sql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

func TestFindReadsRowsInTheOrderOfTheIDs(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], `INSERT INTO message_dedup (message_id, business_key, status) VALUES ('busy', 'order:1', 0), ('done', NULL, 1), ('failed', 'order:3', 2), ('odd', NULL, 9)`)
		store := openTable(t, db, "sql-status-code", nil)
		found := markerstest.Find(t, store, "done", "none", "busy", "done", "", "failed", "odd", "none", strings.Repeat("é", 64), strings.Repeat("é", 65), "\xff")
		if got, want := markerstest.Said(found), "done - processing done - failed unknown - - unknown unknown"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if s := found[2]; s.BusinessKey != "order:1" || s.Key == "" || s.ID != "busy" || s.ExpiresMillis != dedup.NoExpiry || time.Until(s.Clock).Abs() > time.Minute || s.CounterAlone() {
			t.Errorf("%+v", s)
		}
		if s := found[9]; s.Key != "" || !strings.Contains(s.Detail, "it has 65 characters, the column 64") {
			t.Errorf("too long: %+v", s)
		}
		if s := found[10]; !strings.Contains(s.Detail, "not valid UTF-8") {
			t.Errorf("no UTF-8: %+v", s)
		}
		if _, err := store.Find(t.Context(), make([]string, 10_001)); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("10,001 ids: %v", err)
		}
	})
}

func TestFindComparesAsAConsumersInsertDoes(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		for _, c := range []struct {
			column string
			driver string
			want   map[string]bool
		}{
			{"VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "mysql", map[string]bool{"ABC": true, "abc": true, "abc ": true, "äbc": true, "abd": false}},
			{"VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "mysql", map[string]bool{"ABC": true, "abc": true, "äbc": true, "abd": false}},
			{"VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "mysql", map[string]bool{"ABC": false, "abc": true, "abc ": true, "äbc": false}},
			{"VARCHAR(64) CHARACTER SET latin1 COLLATE latin1_swedish_ci", "mysql", map[string]bool{"ABC": true, "abc": true, "订单": false}},
			{"CHAR(10)", "mysql", map[string]bool{"abc": true, "ABC": true}},
			{"VARCHAR(64)", "postgres", map[string]bool{"ABC": false, "abc": true, "abc ": false}},
			{`VARCHAR(64) COLLATE "C"`, "postgres", map[string]bool{"ABC": false, "abc": true}},
			{"CHAR(10)", "postgres", map[string]bool{"abc": true, "ABC": false, "abc ": true}},
			{"TEXT", "postgres", map[string]bool{"abc": true, "a'bc": false}},
		} {
			if c.driver != db.Driver {
				continue
			}
			db.Exec(t, "DROP TABLE IF EXISTS f", "CREATE TABLE f (n INT PRIMARY KEY, id "+c.column+" NOT NULL UNIQUE)", "INSERT INTO f VALUES (1, 'abc')")
			store := openTable(t, db, "sql-unique-row", func(cfg *markers.Config) { cfg.Table, cfg.Columns = "f", markers.Columns{ID: markers.ColumnList{"id"}} })
			var ids []string
			for id := range c.want {
				ids = append(ids, id)
			}
			for i, s := range markerstest.Find(t, store, ids...) {
				if (s != nil) != c.want[ids[i]] {
					t.Errorf("%s: %q finds %+v", c.column, ids[i], s)
				}
				// What the server says is what an INSERT meets.
				_, err := db.Admin.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO f VALUES (2, '%s')", strings.ReplaceAll(ids[i], "'", "''")))
				if err == nil {
					db.Exec(t, "DELETE FROM f WHERE n = 2")
				}
				if ids[i] != "订单" && (err != nil) != c.want[ids[i]] {
					t.Errorf("%s: an INSERT of %q says %v", c.column, ids[i], err)
				}
			}
		}
	})
}

func TestFindBearsIDsThatAreNoValues(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		uuid := map[string]string{"mysql": "CHAR(36)", "postgres": "UUID"}[db.Driver]
		db.Exec(t, "CREATE TABLE u (id "+uuid+" PRIMARY KEY)", "INSERT INTO u VALUES ('6f9619ff-8b86-d011-b42d-00c04fc964ff')",
			"CREATE TABLE b (id BIGINT PRIMARY KEY)", "INSERT INTO b VALUES (7), (9007199254740993), (-1)")
		table := func(name string) markers.Store {
			return openTable(t, db, "sql-unique-row", func(cfg *markers.Config) {
				cfg.Table, cfg.Columns = name, markers.Columns{ID: markers.ColumnList{"id"}}
			})
		}
		hostile := []string{"'; DROP TABLE u; --", `\`, `\'`, "a\x00b", "%", "$1", "?", "0", "-", "1e9", "{a,b}"}
		for i, s := range markerstest.Find(t, table("u"), append([]string{"6f9619ff-8b86-d011-b42d-00c04fc964ff"}, hostile...)...) {
			switch {
			case i == 0 && (s == nil || s.State != dedup.Done):
				t.Errorf("the row is not found beside hostile ids: %+v", s)
			case i > 0 && db.Driver == "postgres" && (s == nil || s.State != dedup.StateUnknown || s.Key != ""):
				t.Errorf("%q is no UUID: %+v", hostile[i-1], s)
			case i > 0 && db.Driver == "mysql" && s != nil:
				t.Errorf("%q: %+v", hostile[i-1], s)
			}
		}
		// As RabbitMQ writes a UUID of AMQP 1.0 it fits into no such column; the UUID does.
		if got := markerstest.Said(markerstest.Find(t, table("u"), "urn:uuid:6f9619ff-8b86-d011-b42d-00c04fc964ff", "urn:uuid:6f9619ff-8b86-d011-b42d-00c04fc964fe")); got != "done -" {
			t.Errorf("a UUID of AMQP 1.0: %s", got)
		}
		got := markerstest.Said(markerstest.Find(t, table("b"), "7", "9007199254740993", "9007199254740992", "-1", "007", "7a", "1e0", "7.0", "", "99999999999999999999"))
		// A server of MySQL that is not strict takes 7a for 7.
		if want := by(db, "done done - done done done unknown done - unknown", "done done - done done unknown unknown unknown - unknown"); got != want {
			t.Errorf("numbers: got %s, want %s", got, want)
		}
	})
}

func TestFindOfAnIDOfSeveralColumns(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, "CREATE TABLE log (n INT PRIMARY KEY, order_no VARCHAR(32) NOT NULL, product_id BIGINT NOT NULL, status VARCHAR(20), UNIQUE (order_no, product_id))",
			"INSERT INTO log VALUES (1, 'NO-1', 7, 'PROCESSING'), (2, 'NO-1', 8, 'SUCCESS'), (3, 'NO-2', 7, 'FAILED')")
		store := openTable(t, db, "sql-status-name", func(cfg *markers.Config) {
			cfg.Table, cfg.Columns = "log", markers.Columns{ID: markers.ColumnList{"order_no", "product_id"}, Status: "status"}
		})
		if got, want := markerstest.Said(markerstest.Find(t, store, "NO-2:7", "NO-1:8", "NO-1:7", "NO-1:9", "NO-1", "NO-1:x")), "failed done processing - unknown unknown"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestFindWithoutAnIndexOrWithRepeatedIDs(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, "CREATE TABLE m (n INT PRIMARY KEY, id VARCHAR(20))", "INSERT INTO m VALUES (1, 'a'), (2, 'b'), (3, 'b'), (4, NULL)")
		open := func() markers.Store {
			return openTable(t, db, "sql-unique-row", func(cfg *markers.Config) { cfg.Table, cfg.Columns = "m", markers.Columns{ID: markers.ColumnList{"id"}} })
		}
		if _, err := open().Find(t.Context(), []string{"a"}); dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), "create one") {
			t.Errorf("without an index: %v", err)
		}
		db.Exec(t, "CREATE INDEX i ON m (id)")
		found := markerstest.Find(t, open(), "b", "a", "c")
		if markerstest.Said(found) != "unknown done -" || !strings.Contains(found[0].Detail, "several rows") {
			t.Errorf("%s: %+v", markerstest.Said(found), found[0])
		}
		for i := range 30 {
			db.Exec(t, fmt.Sprintf("INSERT INTO m VALUES (%d, 'b')", 10+i))
		}
		if _, err := open().Find(t.Context(), []string{"b", "a"}); dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), "columns.id") {
			t.Errorf("ids that tell nothing apart: %v", err)
		}
	})
}
