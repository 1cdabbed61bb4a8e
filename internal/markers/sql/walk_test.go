package sql_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

func TestAWalkGoesOnWhereItsConnectionWasLost(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		fillTable(t, db, 20_000)
		store := openTable(t, db, "sql-status-code", func(c *markers.Config) {
			c.Sweep.Count, c.Sweep.Every = 100, time.Second
		})
		passes := passesOf(t, store)
		for cut := range 4 {
			eventually(t, func() string {
				stats, _ := store.Stats(t.Context())
				if stats.Progress.Examined < int64(1000*(cut+1)) && stats.Pass == nil {
					return fmt.Sprintf("stands at %+v", stats.Progress)
				}
				return ""
			})
			disconnect(t, db)
		}
		for range 2 {
			p := passes()
			if p.Examined != 20_000 || p.Matched != 20_000 || p.States[dedup.Processing] != 200 || p.RepeatedKeys != 9_999 {
				t.Errorf("examined %d, matched %d, %v, repeated %d", p.Examined, p.Matched, p.States, p.RepeatedKeys)
			}
		}
	})
}

// disconnect ends all connections to the database but the administrator's own.
func disconnect(t *testing.T, db *markerstest.Database) {
	t.Helper()
	rows, err := db.Admin.QueryContext(t.Context(), by(db, "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()",
		"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	_ = rows.Close()
	for _, id := range ids {
		// It may have ended by itself.
		_, _ = db.Admin.ExecContext(t.Context(), fmt.Sprintf(by(db, "KILL %d", "SELECT pg_terminate_backend(%d)"), id))
	}
}

func TestALockedTableStopsTheWalkInWordsAndNoQueryWaitsLong(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], "INSERT INTO message_dedup (message_id) VALUES ('m')")
		store := openTable(t, db, "sql-status-code", func(c *markers.Config) { c.Sweep.Every = time.Second })
		passes := passesOf(t, store)
		passes()
		conn, err := db.Admin.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		exec := func(statement string) {
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		exec(by(db, "LOCK TABLES message_dedup WRITE", "BEGIN"))
		exec(by(db, "SELECT 1", "LOCK TABLE message_dedup IN ACCESS EXCLUSIVE MODE"))
		var longest time.Duration
		eventually(t, func() string {
			longest = max(longest, waiting(t, db, conn))
			stats, err := store.Stats(t.Context())
			if err == nil || !strings.Contains(dedup.PublicText(err), "locked") {
				return fmt.Sprintf("stats say %v, progress %+v", err, stats.Progress)
			}
			return ""
		})
		// It is the server that ends it, after two seconds or, where it is busy, later, and says why: had we alone given up, it would go on.
		if longest > 12*time.Second {
			t.Errorf("a query waited %v", longest)
		}
		exec(by(db, "UNLOCK TABLES", "COMMIT"))
		passes()
	})
}

// waiting is how long the longest statement of others on the database runs by now.
func waiting(t *testing.T, db *markerstest.Database, conn *sql.Conn) time.Duration {
	t.Helper()
	var seconds float64
	err := conn.QueryRowContext(t.Context(), by(db, "SELECT COALESCE(MAX(TIME), 0) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND COMMAND = 'Query' AND ID <> CONNECTION_ID()",
		"SELECT COALESCE(EXTRACT(EPOCH FROM MAX(clock_timestamp() - query_start)), 0)::float8 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()")).Scan(&seconds)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(seconds * float64(time.Second))
}
