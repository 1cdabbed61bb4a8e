package sql_test

import (
	database "database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// plainTables are message_dedup with an id that a default gives, which people may change.
var plainTables = map[string]string{
	"mysql": markerstest.DedupTables["mysql"],
	"postgres": `CREATE TABLE message_dedup (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE,
		business_key VARCHAR(128), status SMALLINT NOT NULL DEFAULT 0, result TEXT, created_at TIMESTAMP DEFAULT now(), updated_at TIMESTAMP DEFAULT now())`,
}

func soonSettled(c *markers.Config) { c.InsertSettle = time.Second }

// insertStats waits until the counts are as asked for, and returns them.
func insertStats(t *testing.T, store markers.Store, wrong func(dedup.InsertStats) string) dedup.InsertStats {
	t.Helper()
	var last dedup.InsertStats
	eventually(t, func() string {
		stats, err := store.Stats(t.Context())
		if err != nil {
			return err.Error()
		}
		if stats.Inserts == nil {
			return "nothing is told of inserts"
		}
		last = *stats.Inserts
		if why := wrong(last); why != "" {
			return fmt.Sprintf("%s: %+v", why, last)
		}
		return ""
	})
	return last
}

func insertsCount(s dedup.InsertStats) string {
	if s.Why != "" || s.Since.IsZero() {
		return "not counted"
	}
	return ""
}

func countedIDs(n int64) func(dedup.InsertStats) string {
	return func(s dedup.InsertStats) string {
		if s.Why != "" || s.IDs != n {
			return fmt.Sprintf("not %d ids", n)
		}
		return ""
	}
}

func saying(words ...string) func(dedup.InsertStats) string {
	return func(s dedup.InsertStats) string {
		for _, word := range words {
			if !strings.Contains(s.Why, word) {
				return fmt.Sprintf("does not say %q", word)
			}
		}
		return ""
	}
}

// try runs a statement that may fail, as a consumer's INSERT does.
func try(t *testing.T, db *markerstest.Database, statement string) {
	t.Helper()
	_, _ = db.Admin.ExecContext(t.Context(), statement)
}

func TestFailedInsertsAreCountedAlsoAtTheEndOfTheTable(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], "INSERT INTO message_dedup (message_id, status) VALUES ('before', 1)")
		grants := markerstest.WatchGrants[db.Driver]
		if db.Driver == "postgres" {
			grants = append(grants, "GRANT SELECT ON SEQUENCE message_dedup_id_seq TO ACCOUNT")
		}
		dsn := db.User(t, grants...)
		store := openTable(t, db, "sql-status-code", func(c *markers.Config) { soonSettled(c); c.SQL.DSN = secret.New(dsn) })
		insertStats(t, store, insertsCount)
		for i := range 6 {
			db.Exec(t, fmt.Sprintf("INSERT INTO message_dedup (message_id, status, created_at, updated_at) VALUES ('m-%d', %d, '2026-01-01 10:00:00', '2026-01-01 10:00:0%d')", i, i%3, i))
		}
		for range 7 {
			try(t, db, "INSERT INTO message_dedup (message_id) VALUES ('m-1')")
		}
		s := insertStats(t, store, countedIDs(13))
		resolution := map[string]time.Duration{"mysql": time.Second, "postgres": time.Microsecond}[db.Driver]
		if s.Rows != 6 || s.Done != 2 || s.Undone != 4 || s.Failed != 2 || s.WorkSum != 5*time.Second || s.Timed != 2 || s.Resolution != resolution || s.Lower {
			t.Errorf("counts %+v", s)
		}
		again := insertStats(t, store, func(now dedup.InsertStats) string {
			if !now.At.After(s.At) {
				return "at rest the counts do not reach up to now"
			}
			return ""
		})
		if again.Epoch != s.Epoch || again.IDs != s.IDs {
			t.Errorf("at rest %+v, then %+v", s, again)
		}
	})
}

func TestAnotherTableUnderTheSameNameBeginsAnEpoch(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, plainTables[db.Driver], "INSERT INTO message_dedup (message_id, status) VALUES ('a', 1), ('b', 1), ('c', 1)")
		store := openTable(t, db, "sql-status-code", soonSettled)
		before := insertStats(t, store, insertsCount)
		db.Exec(t, by(db, "TRUNCATE TABLE message_dedup", "TRUNCATE TABLE message_dedup RESTART IDENTITY"))
		insertStats(t, store, func(s dedup.InsertStats) string {
			if s.Epoch != before.Epoch+1 || s.IDs != 0 {
				return "no new epoch"
			}
			return ""
		})
	})
}

func TestCountsOfInsertsAreRefusedInWords(t *testing.T) {
	set := func(change func(*markers.Config)) func(*markers.Config) {
		return func(c *markers.Config) { soonSettled(c); change(c) }
	}
	refusals := []struct {
		name, driver string
		adapt        func(*markers.Config)
		setup        []string
		words        []string
	}{
		{"without an id column", "", set(func(c *markers.Config) { c.Columns.AutoIncrement = "" }), nil, []string{"columns.auto_increment"}},
		{"where consumers look before they insert", "", set(func(c *markers.Config) { c.InsertFirst = false }), nil, []string{"insert_first: true", "burns no id"}},
		{"without that column", "", set(func(c *markers.Config) { c.Columns.AutoIncrement = "nr" }), nil, []string{`no column "nr"`, "grant SELECT"}},
		{"with a text", "", set(func(c *markers.Config) { c.Columns.AutoIncrement = "result" }), nil, []string{"no number"}},
		{"without an index", "", set(func(c *markers.Config) { c.Columns.AutoIncrement = "status" }), nil, []string{`no index begins with column "status"`}},
		{"with ids of the application's", "mysql", soonSettled, []string{"ALTER TABLE message_dedup MODIFY id BIGINT"}, []string{"not AUTO_INCREMENT"}},
		{"in another engine", "mysql", soonSettled, []string{"ALTER TABLE message_dedup ENGINE=MyISAM"}, []string{"MyISAM", "only in InnoDB"}},
		{"with ids of the application's", "postgres", soonSettled, []string{"ALTER TABLE message_dedup ALTER id DROP DEFAULT"}, []string{"from no sequence"}},
		{"with a cache", "postgres", soonSettled, []string{"ALTER SEQUENCE message_dedup_id_seq CACHE 10"}, []string{"CACHE 10", "ALTER SEQUENCE", "CACHE 1"}},
		{"with an increment", "postgres", soonSettled, []string{"ALTER SEQUENCE message_dedup_id_seq INCREMENT 2"}, []string{"INCREMENT 2"}},
		{"with a sequence of two tables", "postgres", soonSettled, []string{"CREATE TABLE other (id BIGINT DEFAULT nextval('message_dedup_id_seq'))"}, []string{"ids of several columns"}},
	}
	for _, r := range refusals {
		for _, driver := range markerstest.Drivers() {
			if r.driver != "" && r.driver != driver {
				continue
			}
			t.Run(r.name+" on "+markerstest.DriverName(driver), func(t *testing.T) {
				db := sqlServers.Database(t, driver)
				db.Exec(t, append([]string{plainTables[driver]}, r.setup...)...)
				insertStats(t, openTable(t, db, "sql-status-code", r.adapt), saying(r.words...))
			})
		}
	}
}

func TestASequenceThatTheAccountMayNotReadIsNamedWithItsGrant(t *testing.T) {
	db := sqlServers.Database(t, "postgres")
	db.Exec(t, plainTables[db.Driver])
	dsn := db.User(t, markerstest.WatchGrants[db.Driver]...)
	store := openTable(t, db, "sql-status-code", func(c *markers.Config) { soonSettled(c); c.SQL.DSN = secret.New(dsn) })
	insertStats(t, store, saying(`GRANT SELECT ON SEQUENCE "public"."message_dedup_id_seq" TO "user_`))
	check := func() *dedup.Finding {
		report, err := store.Check(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(report.Findings, func(f dedup.Finding) bool { return f.Kind == "inserts_not_counted" }); i >= 0 {
			return &report.Findings[i]
		}
		return nil
	}
	f := check()
	if f == nil || f.Evidence != "the account may not read the sequence" || !strings.HasPrefix(f.Remedy, "GRANT SELECT ON SEQUENCE ") {
		t.Fatalf("the check finds %+v", f)
	}
	db.Exec(t, f.Remedy)
	if f := check(); f != nil {
		t.Errorf("after the grant: %+v", f)
	}
}

func TestSettingsOfTheServerRefuseTheCount(t *testing.T) {
	db := sqlServers.Database(t, "mysql")
	db.Exec(t, plainTables[db.Driver])
	store := openTable(t, db, "sql-status-code", soonSettled)
	first := insertStats(t, store, insertsCount)
	t.Cleanup(func() { _, _ = db.Admin.Exec("SET GLOBAL read_only = OFF") })
	db.Exec(t, "SET GLOBAL read_only = ON")
	insertStats(t, store, saying("reads a replica", "primary"))
	db.Exec(t, "SET GLOBAL read_only = OFF")
	if s := insertStats(t, store, insertsCount); s.Epoch <= first.Epoch {
		t.Errorf("after a refusal the epoch is %d, before it was %d", s.Epoch, first.Epoch)
	}
	t.Cleanup(func() { _, _ = db.Admin.Exec("SET GLOBAL auto_increment_increment = 1") })
	db.Exec(t, "SET GLOBAL auto_increment_increment = 2")
	insertStats(t, openTable(t, db, "sql-status-code", soonSettled), saying(`auto_increment_increment is "2"`))
	usual := map[string]string{"auto_increment_increment": "1", "innodb_autoinc_lock_mode": "2"}
	for words, more := range map[string]map[string]string{
		"":                  {"wsrep_on": "ON", "wsrep_provider": "none"},
		"Galera":            {"wsrep_on": "ON", "wsrep_provider": "/usr/lib/galera/libgalera_smm.so"},
		"several primaries": {"group_replication_single_primary_mode": "OFF"},
	} {
		all := map[string]string{}
		for _, m := range []map[string]string{usual, more} {
			for k, v := range m {
				all[k] = v
			}
		}
		if why := sql.MySQLInsertRefusal(all); (why == "") != (words == "") || !strings.Contains(why, words) {
			t.Errorf("%v: %q", more, why)
		}
	}
}

// A failed insert gives its id back in this mode: without the refusal no duplicate would ever be counted.
func TestTheOldLockModeBurnsNoIDsAndIsRefused(t *testing.T) {
	dir, err := os.MkdirTemp("", "markers-inserts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	serverstest.Needed(t)
	server, err := servers.StartMariaDB(t.Context(), servers.SQLOptions{Dir: filepath.Join(dir, "server"), Args: []string{"--innodb-autoinc-lock-mode=0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	if err := server.CreateDatabase(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(t.Context(), "shop", markerstest.DedupTables["mysql"]); err != nil {
		t.Fatal(err)
	}
	cfg := sqlConfig("sql-status-code")
	cfg.SQL = markers.SQL{Driver: "mysql", DSN: secret.New(server.AdminDSN("shop"))}
	insertStats(t, markerstest.OpenStore(t, cfg), saying("innodb_autoinc_lock_mode is 0", "restart the server"))
}

func TestRowsThatAreDeletedOrComeLateSpoilTheCount(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, plainTables[db.Driver])
		open := func() (markers.Store, dedup.InsertStats) {
			store := openTable(t, db, "sql-status-code", soonSettled)
			return store, insertStats(t, store, insertsCount)
		}
		store, first := open()
		db.Exec(t, "INSERT INTO message_dedup (message_id, status) VALUES ('a', 1), ('b', 1), ('c', 1)")
		insertStats(t, store, countedIDs(3))
		db.Exec(t, "DELETE FROM message_dedup WHERE message_id = 'b'")
		s := insertStats(t, store, saying("rows were deleted in the window", "1 row is", "Keep rows for longer"))
		if s.Epoch == first.Epoch || s.IDs != 0 {
			t.Errorf("after a deletion %+v", s)
		}
		// A row that is there at first sight and gone when its id is due.
		store, _ = open()
		db.Exec(t, "INSERT INTO message_dedup (message_id, status) VALUES ('d', 1)")
		if _, err := store.Stats(t.Context()); err != nil {
			t.Fatal(err)
		}
		db.Exec(t, "DELETE FROM message_dedup WHERE message_id = 'd'")
		insertStats(t, store, saying("rows were deleted in the window"))

		store, _ = open()
		tx, err := db.Admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO message_dedup (message_id, status) VALUES ('late', 1)"); err != nil {
			t.Fatal(err)
		}
		insertStats(t, store, countedIDs(1))
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		insertStats(t, store, saying("1 row of the last 10 min came only after 1s", "insert_settle"))
	})
}

func TestARestartOfTheServerBeginsAnEpochAndTheCountGoesOn(t *testing.T) {
	for _, driver := range markerstest.Drivers() {
		t.Run(markerstest.DriverName(driver), func(t *testing.T) {
			server := startMortal(t, driver)
			exec := func(statements ...string) {
				t.Helper()
				if err := server.Exec(t.Context(), "shop", statements...); err != nil {
					t.Fatal(err)
				}
			}
			if err := server.CreateDatabase(t.Context(), "shop"); err != nil {
				t.Fatal(err)
			}
			exec(markerstest.DedupTables[driver], "INSERT INTO message_dedup (message_id, status) VALUES ('m-1', 1)")
			cfg := sqlConfig("sql-status-code")
			cfg.SQL, cfg.InsertSettle = markers.SQL{Driver: driver, DSN: secret.New(server.AdminDSN("shop"))}, time.Second
			store := markerstest.OpenStore(t, cfg)
			before := insertStats(t, store, insertsCount)
			burn := func(n int) {
				for range n {
					if server.Exec(t.Context(), "shop", "INSERT INTO message_dedup (message_id) VALUES ('m-1')") == nil {
						t.Fatal("a duplicate was inserted")
					}
				}
			}
			burn(4)
			insertStats(t, store, countedIDs(4))
			burn(3) // counted by nobody before the crash
			awaitUptime(t, server.AdminDSN(""), driver)
			server.Kill()
			if err := server.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			insertStats(t, store, func(s dedup.InsertStats) string {
				if s.Epoch != before.Epoch+1 || s.IDs != 0 {
					return "no new epoch"
				}
				return ""
			})
			burn(2)
			if s := insertStats(t, store, countedIDs(2)); s.Rows != 0 || s.Epoch != before.Epoch+1 {
				t.Errorf("after the restart %+v", s)
			}
		})
	}
}

// Up to an id that somebody wrote by hand there may be no end of ids, all without a row.
func TestIDsThatJumpAreNotCounted(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, plainTables[db.Driver])
		store := openTable(t, db, "sql-status-code", soonSettled)
		first := insertStats(t, store, insertsCount)
		db.Exec(t, by(db, "INSERT INTO message_dedup (id, message_id, status) VALUES (1000000000000, 'far', 1)",
			"SELECT setval('message_dedup_id_seq', 1000000000000)"))
		began := time.Now()
		s := insertStats(t, store, saying("ids are new at once", "large id of its own"))
		if took := time.Since(began); s.Epoch != first.Epoch+1 || s.IDs != 0 || took > 30*time.Second {
			t.Errorf("after %s: %+v", took, s)
		}
	})
}

// awaitUptime waits until a restart of MariaDB shows by its uptime, which it tells in seconds.
func awaitUptime(t *testing.T, dsn, driver string) {
	t.Helper()
	if driver != "mysql" {
		return
	}
	db, err := database.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	eventually(t, func() string {
		var name string
		var seconds int
		if err := db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &seconds); err != nil {
			return err.Error()
		}
		if seconds < 4 {
			return "the server has just started"
		}
		return ""
	})
}
