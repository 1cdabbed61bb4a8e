package sql_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// client is a database as consumers see it that send their values within the text of a statement, as those of most languages do.
func client(t *testing.T, db *markerstest.Database, dsn string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if db.Driver == "mysql" {
		config, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		driver, config.InterpolateParams = "mysql", true
		dsn = config.FormatDSN()
	}
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// ran runs a statement for ids 0 to n-1, and counts those that changed nothing or failed.
func ran(t *testing.T, db *sql.DB, statement string, n int) (met int64) {
	t.Helper()
	for i := range n {
		result, err := db.ExecContext(t.Context(), strings.ReplaceAll(statement, "ID", fmt.Sprintf("'m%d'", i)))
		if err != nil {
			met++
			continue
		}
		if rows, err := result.RowsAffected(); err != nil || rows == 0 {
			met++
		}
	}
	return met
}

// statementStats waits for counts that are as asked for.
func statementStats(t *testing.T, store markers.Store, wrong func(dedup.StatementStats) string) dedup.StatementStats {
	t.Helper()
	var last dedup.StatementStats
	eventually(t, func() string {
		stats, err := store.Stats(t.Context())
		if err != nil {
			return err.Error()
		}
		if stats.Statements == nil {
			return "nothing is told of statements"
		}
		last = *stats.Statements
		if why := wrong(last); why != "" {
			return fmt.Sprintf("%s: %+v", why, last)
		}
		return ""
	})
	return last
}

func countsStatements(s dedup.StatementStats) string {
	if s.Why != "" || s.Epoch == 0 {
		return "not counted"
	}
	return ""
}

func TestStatementsOnTheTableAreCountedAndOthersAreNot(t *testing.T) {
	for _, driver := range markerstest.Drivers() {
		t.Run(driver, func(t *testing.T) {
			db, stranger := sqlServers.Database(t, driver), sqlServers.Database(t, driver)
			for _, d := range []*markerstest.Database{db, stranger} {
				d.Exec(t, markerstest.DedupTables[driver])
				if driver == "postgres" {
					d.Exec(t, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
				}
			}
			store := openTable(t, db, "sql-status-code", nil)
			statementStats(t, store, countsStatements)
			ours, theirs := client(t, db, db.AdminDSN()), client(t, stranger, stranger.AdminDSN())
			ignore := "INSERT IGNORE INTO message_dedup (message_id, status) VALUES (ID, 0)"
			if driver == "postgres" {
				ignore = "INSERT INTO message_dedup (message_id, status) VALUES (ID, 0) ON CONFLICT DO NOTHING"
			}
			met := ran(t, ours, ignore, 40) + ran(t, ours, ignore, 9)
			ran(t, theirs, ignore, 300)
			ran(t, theirs, ignore, 300)
			var questions, found int64
			for i := range 60 {
				var status int
				questions++
				if err := ours.QueryRowContext(t.Context(), fmt.Sprintf("SELECT status FROM message_dedup WHERE message_id = 'm%d'", i)).Scan(&status); err == nil {
					found++
				}
			}
			want := [4]int64{49, met, questions, found}
			s := statementStats(t, store, func(s dedup.StatementStats) string {
				if got := [4]int64{s.Inserts, s.Met, s.Questions, s.Found}; got != want || s.Unclear != 0 {
					return fmt.Sprintf("want %v", want)
				}
				return ""
			})
			if met != 9 || found != 40 {
				t.Errorf("the test itself: %d met, %d found", met, found)
			}
			if driver == "mysql" && (s.Writes == nil || *s.Writes != 49) {
				t.Errorf("writes of the table: %v", s.Writes)
			}
		})
	}
}

func TestInsertsThatFailAndThoseThatNoDigestCountsShow(t *testing.T) {
	db := sqlServers.Database(t, "mysql")
	db.Exec(t, markerstest.DedupTables["mysql"])
	store := openTable(t, db, "sql-status-code", nil)
	statementStats(t, store, countsStatements)
	insert := "INSERT INTO message_dedup (message_id, status) VALUES (ID, 0)"
	text, denied := client(t, db, db.AdminDSN()), client(t, db, db.User(t))
	met := ran(t, text, insert, 30) + ran(t, text, insert, 7)
	same := ran(t, text, insert+" ON DUPLICATE KEY UPDATE message_id = message_id", 5)
	ran(t, denied, insert, 11) // these fail for want of a right, before they reach the table
	prepared, err := sql.Open("mysql", db.AdminDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer prepared.Close()
	for i := range 13 { // MariaDB counts these in no digest
		if _, err := prepared.ExecContext(t.Context(), "INSERT INTO message_dedup (message_id, status) VALUES (?, 0)", fmt.Sprint("p", i)); err != nil {
			t.Fatal(err)
		}
	}
	statementStats(t, store, func(s dedup.StatementStats) string {
		switch {
		case met != 7 || same != 5:
			t.Fatalf("the test itself: %d met, %d the same", met, same)
		case s.Writes == nil || *s.Writes != 30+7+5+13:
			return "writes"
		case s.Inserts != 30+7+5 && s.Inserts != 30+7+5+11 || s.Same != 5 || s.SameMet != 5:
			return "inserts"
		case s.Met-(s.Inserts-42) != met+same:
			return "met"
		}
		return ""
	})
}

// TestAnInsertThatFailsForAnotherCauseIsToldFromADuplicate: by an error alone a server does not say why an insert failed. What fails before
// it reaches the table shows in the table's own count, and no lock fails an insert that waited for none.
func TestAnInsertThatFailsForAnotherCauseIsToldFromADuplicate(t *testing.T) {
	const written, met, tooLong, late = 30, 4, 3, 2
	db := sqlServers.Database(t, "mysql")
	db.Exec(t, markerstest.DedupTables["mysql"])
	store := openTable(t, db, "sql-status-code", nil)
	first := statementStats(t, store, countsStatements)
	text := client(t, db, db.AdminDSN())
	const insert = "INSERT INTO message_dedup (message_id, status) VALUES (ID, 0)"
	failed := ran(t, text, insert, written) + ran(t, text, insert, met)
	failed += ran(t, text, strings.ReplaceAll(insert, "ID", "REPEAT('x', 5000)"), tooLong)
	holder, err := text.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.ExecContext(t.Context(), strings.ReplaceAll(insert, "ID", "'held'")); err != nil {
		t.Fatal(err)
	}
	waiter, err := text.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer waiter.Close()
	if _, err := waiter.ExecContext(t.Context(), "SET innodb_lock_wait_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	for range late {
		if _, err := waiter.ExecContext(t.Context(), strings.ReplaceAll(insert, "ID", "'held'")); err == nil {
			t.Fatal("an insert whose row is locked did not fail")
		}
	}
	if failed != met+tooLong {
		t.Fatalf("the test itself: %d failed", failed)
	}
	statementStats(t, store, func(s dedup.StatementStats) string {
		switch {
		case s.Writes == nil || s.LockWaits == nil:
			return "writes or waits are not told"
		case s.Inserts != written+1+met+tooLong+late || s.Met != met+tooLong+late || s.Failed != s.Met:
			return "inserts"
		case s.Inserts-*s.Writes != tooLong:
			return "those that never reached the table"
		case *s.LockWaits-*first.LockWaits < late || *s.LockWaits-*first.LockWaits > late+10: // others use the server
			return "waits for locks"
		}
		return ""
	})
}

// TestALockWaitIsCountedWhenItBegins: what fails by a lock in one time may have waited for it since before that.
func TestALockWaitIsCountedWhenItBegins(t *testing.T) {
	db := sqlServers.Database(t, "mysql")
	db.Exec(t, markerstest.DedupTables["mysql"])
	store := openTable(t, db, "sql-status-code", nil)
	text := client(t, db, db.AdminDSN())
	holder, err := text.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	const insert = "INSERT INTO message_dedup (message_id, status) VALUES ('held', 0)"
	if _, err := holder.ExecContext(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	first := statementStats(t, store, countsStatements)
	waiter, err := text.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer waiter.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := waiter.ExecContext(context.WithoutCancel(t.Context()), insert)
		ended <- err
	}()
	during := statementStats(t, store, func(s dedup.StatementStats) string {
		if s.LockWaits == nil || *s.LockWaits <= *first.LockWaits || s.LockWaiting < 1 {
			return "nobody waits"
		}
		return ""
	})
	if during.Took <= 0 || during.Took > time.Minute {
		t.Errorf("the counts are of %s before they were there", during.Took)
	}
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("the insert of a row that is there did not fail")
	}
	statementStats(t, store, func(s dedup.StatementStats) string {
		if s.Failed-during.Failed != 1 || s.LockWaiting >= during.LockWaiting {
			return "the wait has not ended"
		}
		return ""
	})
}

func TestResetsOfTheServersCountsBeginAnEpoch(t *testing.T) {
	for driver, reset := range map[string]string{"mysql": "TRUNCATE performance_schema.events_statements_summary_by_digest", "postgres": "SELECT pg_stat_statements_reset()"} {
		t.Run(driver, func(t *testing.T) {
			db := sqlServers.Database(t, driver)
			db.Exec(t, markerstest.DedupTables[driver])
			if driver == "postgres" {
				db.Exec(t, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
			}
			ran(t, client(t, db, db.AdminDSN()), "INSERT INTO message_dedup (message_id, status) VALUES (ID, 0)", 5)
			store := openTable(t, db, "sql-status-code", nil)
			first := statementStats(t, store, countsStatements)
			db.Exec(t, reset)
			statementStats(t, store, func(s dedup.StatementStats) string {
				if s.Epoch == first.Epoch || s.Gap == "" {
					return "the same epoch"
				}
				return ""
			})
		})
	}
}

// TestTextsAreReadOnlyWhereThereMayBeNewOnes: PostgreSQL keeps them in a file, of megabytes where much is asked, which it reads as a whole.
func TestTextsAreReadOnlyWhereThereMayBeNewOnes(t *testing.T) {
	db := sqlServers.Database(t, "postgres")
	db.Exec(t, markerstest.DedupTables["postgres"])
	db.Exec(t, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
	for i := range 300 {
		db.Exec(t, "SELECT "+strings.Repeat("1, ", i)+"1 /* "+strings.Repeat("a long text ", 150)+" */")
	}
	ours := client(t, db, db.AdminDSN())
	// our is how often the store read texts, or counts alone, and how long each took.
	our := func(query string) (calls int64, took float64) {
		err := ours.QueryRowContext(t.Context(), `SELECT COALESCE(SUM(calls), 0), COALESCE(SUM(total_exec_time) / SUM(calls), 0) FROM pg_stat_statements
			WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query LIKE 'SELECT * FROM (WITH info%' || $1 || '%'`, query).Scan(&calls, &took)
		if err != nil {
			t.Fatal(err)
		}
		return calls, took
	}
	const texts, counts = "ILIKE", "string_to_array"
	store := openTable(t, db, "sql-status-code", nil)
	statementStats(t, store, countsStatements)
	eventually(t, func() string {
		if _, err := store.Stats(t.Context()); err != nil {
			return err.Error()
		}
		if n, _ := our(counts); n < 3 {
			return "texts are read again and again"
		}
		return ""
	})
	before, _ := our(texts)
	for range 20 {
		if _, err := store.Stats(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	after, full := our(texts)
	_, light := our(counts)
	if after != before {
		t.Errorf("texts were read %d times while nothing was new", after-before)
	}
	t.Logf("with texts %.3f ms, counts alone %.3f ms", full, light)
	first := statementStats(t, store, countsStatements)
	const ignore = "INSERT INTO message_dedup (message_id, status) VALUES (ID, 0) ON CONFLICT DO NOTHING"
	ran(t, ours, ignore, 12)
	ran(t, ours, ignore, 5)
	statementStats(t, store, func(s dedup.StatementStats) string {
		if s.Epoch != first.Epoch || s.Inserts != 17 || s.Met != 5 {
			return "a statement that is new is not counted whole"
		}
		return ""
	})
	if _, err := ours.ExecContext(t.Context(), "SELECT pg_stat_statements_reset(0, 0, queryid) FROM pg_stat_statements WHERE query LIKE 'INSERT INTO message_dedup%'"); err != nil {
		t.Fatal(err)
	}
	statementStats(t, store, func(s dedup.StatementStats) string {
		if s.Epoch == first.Epoch {
			return "the counts of a statement were reset, and the epoch goes on"
		}
		return ""
	})
}

func TestWhyStatementsAreNotCountedSaysWhatToDo(t *testing.T) {
	mysql, postgres := sqlServers.Database(t, "mysql"), sqlServers.Database(t, "postgres")
	bare := sqlServers.Database(t, "postgres")
	for _, db := range []*markerstest.Database{mysql, postgres, bare} {
		db.Exec(t, markerstest.DedupTables[db.Driver])
	}
	postgres.Exec(t, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
	reader := map[string]string{"mysql": "GRANT SELECT ON message_dedup TO ACCOUNT", "postgres": "GRANT SELECT ON message_dedup TO ACCOUNT"}
	for _, c := range []struct {
		name        string
		dsn         string
		db          *markerstest.Database
		why, better string
	}{
		{"no right in MariaDB", mysql.User(t, reader["mysql"]), mysql, "may not read", "GRANT SELECT ON performance_schema.events_statements_summary_by_digest TO"},
		{"no right in PostgreSQL", postgres.User(t, reader["postgres"]), postgres, "may not see the statements of others", "GRANT pg_read_all_stats TO"},
		{"no extension", bare.AdminDSN(), bare, "no extension", "CREATE EXTENSION"},
		{"switched off", offMariaDB(t), mysql, "performance_schema is off", "performance_schema=ON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := openTable(t, c.db, "sql-status-code", func(cfg *markers.Config) { cfg.SQL = markers.SQL{Driver: c.db.Driver, DSN: secret.New(c.dsn)} })
			s := statementStats(t, store, func(s dedup.StatementStats) string {
				if s.Why == "" {
					return "it counts"
				}
				return ""
			})
			if !strings.Contains(s.Why, c.why) || !strings.Contains(s.Better, c.better) {
				t.Errorf("%q, %q", s.Why, s.Better)
			}
		})
	}
}

func TestTheGrantsThatAreNamedSuffice(t *testing.T) {
	for driver, grants := range map[string][]string{
		"mysql": {"GRANT SELECT ON message_dedup TO ACCOUNT", "GRANT SELECT ON performance_schema.events_statements_summary_by_digest TO ACCOUNT",
			"GRANT SELECT ON performance_schema.table_io_waits_summary_by_table TO ACCOUNT"},
		"postgres": {"CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "GRANT SELECT ON message_dedup TO ACCOUNT", "GRANT pg_read_all_stats TO ACCOUNT"},
	} {
		t.Run(driver, func(t *testing.T) {
			db := sqlServers.Database(t, driver)
			db.Exec(t, markerstest.DedupTables[driver])
			dsn := db.User(t, grants...)
			store := openTable(t, db, "sql-status-code", func(cfg *markers.Config) { cfg.SQL = markers.SQL{Driver: driver, DSN: secret.New(dsn)} })
			statementStats(t, store, countsStatements)
		})
	}
}

// offMariaDB is the address of a table on a MariaDB without performance_schema, as it comes; MySQL comes with it.
func offMariaDB(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "markers-off-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	serverstest.Needed(t)
	server, err := servers.StartMariaDB(t.Context(), servers.SQLOptions{Dir: filepath.Join(dir, "server"), Args: []string{"--performance-schema=OFF"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	if err := server.CreateDatabase(context.Background(), "shop"); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(t.Context(), "shop", markerstest.DedupTables["mysql"]); err != nil {
		t.Fatal(err)
	}
	return server.AdminDSN("shop")
}
