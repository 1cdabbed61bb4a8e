package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

func TestColumnsThatAreNotConfiguredAreNeverRead(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], "INSERT INTO message_dedup (message_id, status, result) VALUES ('m', 0, repeat('x', 60000))")
		if db.Driver == "mysql" {
			db.Exec(t, "ALTER TABLE message_dedup MODIFY result LONGTEXT", "UPDATE message_dedup SET result = repeat('x', 1048576)")
		}
		dsn := db.User(t, markerstest.WatchGrants[db.Driver]...)
		store := openTable(t, db, "sql-status-code", func(c *markers.Config) { c.SQL.DSN = secret.New(dsn) })
		report, err := store.Check(t.Context(), 5)
		if err != nil || len(report.Missing) > 0 || len(report.Samples) != 1 || report.Coverage != 1 || report.Keys != 1 {
			t.Fatalf("check with the least rights: %+v, %v", report, err)
		}
		if !finding(report, "lock_waits_hidden") && db.Driver == "mysql" {
			t.Errorf("findings %+v", report.Findings)
		}
		passes := passesOf(t, store)
		if p := passes(); p.Matched != 1 {
			t.Errorf("pass %+v", p)
		}
		stats, err := store.Stats(t.Context())
		if err != nil || stats.Facts == nil || stats.Facts.IDLength != 64 || slices.Contains(stats.Facts.IDIgnores, dedup.CaseDiffers) != (db.Driver == "mysql") || *stats.Facts.NullIDs != 0 {
			t.Errorf("facts %+v, %v", stats.Facts, err)
		}
		h := stats.Health
		if h.RunID == "" || h.Role != "primary" || h.Keys == nil || *h.Keys != 1 || !strings.HasPrefix(strings.Replace(h.Version, "MySQL", "MariaDB", 1), by(db, "MariaDB ", "PostgreSQL 1")) || h.LatencyP99 == 0 {
			t.Errorf("health %+v", h)
		}
		again, err := store.Stats(t.Context())
		if err != nil || again.Health.RunID != h.RunID {
			t.Errorf("server %q, then %q: %v", h.RunID, again.Health.RunID, err)
		}
	})
}

func TestWhatIsMissingIsNamedWithItsRemedy(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], "INSERT INTO message_dedup (message_id) VALUES ('m')")
		open := func(adapt func(*markers.Config)) markers.Store { return openTable(t, db, "sql-status-code", adapt) }
		for _, c := range []struct {
			name  string
			store markers.Store
			kind  string
			words []string
		}{
			{"a table", open(func(c *markers.Config) { c.Table = "message_dedupe" }), "table_missing", []string{"message_dedupe", "grant SELECT"}},
			{"columns", open(func(c *markers.Config) { c.Columns.Status, c.Columns.Expires = "state", "expire_at" }), "column_missing", []string{`"state" (columns.status)`, `"expire_at" (columns.expires)`}},
			{"a time", open(func(c *markers.Config) { c.Columns.Created = "result" }), "column_missing", []string{`"result" (columns.created)`, "which is no time"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				report, err := c.store.Check(t.Context(), 5)
				if err != nil || !finding(report, c.kind) || report.Server == "" {
					t.Errorf("check %+v, %v", report, err)
				}
				passesOf(t, c.store)
				eventually(t, func() string {
					_, err := c.store.Stats(t.Context())
					for _, word := range c.words {
						if err == nil || !strings.Contains(dedup.PublicText(err), word) {
							return fmt.Sprintf("stats say %v, want %q", err, word)
						}
					}
					return ""
				})
				if _, err := c.store.(markers.Reader).Browse(t.Context(), dedup.MarkerQuery{Limit: 1}); err == nil {
					t.Error("a page of it")
				}
			})
		}
	})
}

func TestMissingGrantsAreStatementsThatFixIt(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], "INSERT INTO message_dedup (message_id) VALUES ('m')")
		some := db.User(t, "GRANT SELECT (id, message_id, created_at) ON message_dedup TO ACCOUNT")
		store := openTable(t, db, "sql-status-code", func(c *markers.Config) { c.SQL.DSN = secret.New(some) })
		report, err := store.Check(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		if db.Driver == "mysql" {
			// MySQL shows only columns that the account may read: a column without a grant looks like one that is missing.
			if !finding(report, "column_missing") || !strings.Contains(report.Findings[0].Evidence, "that this account can see") {
				t.Errorf("check %+v", report)
			}
			return
		}
		if len(report.Missing) != 1 || !strings.HasPrefix(report.Missing[0], `GRANT SELECT ("business_key", "status", "updated_at") ON "public"."message_dedup" TO "user_`) {
			t.Fatalf("missing %q", report.Missing)
		}
		_, err = store.Pass(t.Context())
		if err == nil || !strings.Contains(dedup.PublicText(err), "denies the account a right") {
			t.Errorf("pass %v", err)
		}
		db.Exec(t, report.Missing...)
		if report, err := store.Check(t.Context(), 5); err != nil || len(report.Missing) > 0 || report.Pass.Matched != 1 {
			t.Errorf("after the grant: %+v, %v", report, err)
		}
	})
}

// TestOnlyTheGrantThatIsMissingIsNamed: without the right to use the schema each column is denied, whatever the account may read.
func TestOnlyTheGrantThatIsMissingIsNamed(t *testing.T) {
	db := sqlServers.Database(t, "postgres")
	db.Exec(t, markerstest.DedupTables[db.Driver], "CREATE SCHEMA shop", "ALTER TABLE message_dedup SET SCHEMA shop", "INSERT INTO shop.message_dedup (message_id) VALUES ('m')")
	const usage = `GRANT USAGE ON SCHEMA "shop" TO `
	for name, c := range map[string]struct{ granted, missing []string }{
		"the schema alone":           {[]string{"GRANT SELECT ON shop.message_dedup TO ACCOUNT"}, []string{usage}},
		"the schema and two columns": {[]string{"GRANT SELECT (id, message_id, created_at, updated_at) ON shop.message_dedup TO ACCOUNT"}, []string{usage, `GRANT SELECT ("business_key", "status") ON "shop"."message_dedup" TO `}},
		"two columns":                {[]string{"GRANT USAGE ON SCHEMA shop TO ACCOUNT", "GRANT SELECT (id, message_id, created_at, updated_at) ON shop.message_dedup TO ACCOUNT"}, []string{`GRANT SELECT ("business_key", "status") ON "shop"."message_dedup" TO `}},
		"nothing":                    {[]string{"GRANT USAGE ON SCHEMA shop TO ACCOUNT", "GRANT SELECT ON shop.message_dedup TO ACCOUNT"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := db.User(t, c.granted...)
			store := openTable(t, db, "sql-status-code", func(cfg *markers.Config) { cfg.SQL.DSN, cfg.Table = secret.New(dsn), "shop.message_dedup" })
			report, err := store.Check(t.Context(), 5)
			if err != nil || !slices.EqualFunc(report.Missing, c.missing, strings.HasPrefix) {
				t.Fatalf("missing %q, %v; want %q", report.Missing, err, c.missing)
			}
			db.Exec(t, report.Missing...)
			if report, err := store.Check(t.Context(), 5); err != nil || len(report.Missing) > 0 || report.Pass.Matched != 1 {
				t.Errorf("after the grant: %+v, %v", report, err)
			}
		})
	}
}
