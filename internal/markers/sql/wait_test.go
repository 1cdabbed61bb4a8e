package sql_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// TestASecondInsertInOneTransactionWaitsForTheFirst is why on_inflight of transactional: true is wait.
func TestASecondInsertInOneTransactionWaitsForTheFirst(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver])
		store := openTable(t, db, "sql-status-code", func(c *markers.Config) { c.Transactional = true })
		for name, commits := range map[string]bool{"the work succeeds": true, "the work fails": false} {
			t.Run(name, func(t *testing.T) {
				defer db.Exec(t, "DELETE FROM message_dedup")
				ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
				defer cancel()
				const insert = "INSERT INTO message_dedup (message_id, status) VALUES ('m', 1)"
				first, err := db.Admin.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := first.ExecContext(ctx, insert); err != nil {
					t.Fatal(err)
				}
				second := make(chan error, 1)
				go func() { _, err := db.Admin.ExecContext(ctx, insert); second <- err }()
				// InnoDB tells of waits out of a cache that it renews only where nobody has read it for 0.1 s.
				renewed := time.NewTicker(200 * time.Millisecond)
				defer renewed.Stop()
				for waits := int64(0); waits == 0; {
					<-renewed.C
					stats, err := store.Stats(ctx)
					if err := errors.Join(err, ctx.Err()); err != nil {
						t.Fatal(err)
					}
					if stats.Waits != nil {
						waits = stats.Waits.Waiters
					}
					select {
					case err := <-second:
						t.Fatalf("the second INSERT did not wait: %v", err)
					default:
					}
				}
				end := first.Rollback
				if commits {
					end = first.Commit
				}
				if err := end(); err != nil {
					t.Fatal(err)
				}
				if err := <-second; (err != nil) != commits {
					t.Errorf("the second INSERT then says %v", err)
				}
			})
		}
	})
}

func TestFailedRowsAreDatedByTheirLastChange(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		now := by(db, "NOW()", "now()")
		ago := func(hours string) string { return now + " - INTERVAL " + by(db, hours+" HOUR", "'"+hours+" hours'") }
		db.Exec(t, "CREATE TABLE f (id VARCHAR(20) PRIMARY KEY, status INT NOT NULL, created_at TIMESTAMP NULL, updated_at TIMESTAMP NULL)",
			"INSERT INTO f VALUES ('done', 1, "+now+", "+now+"), ('now', 2, "+ago("30")+", "+now+"), ('by its insert', 2, "+ago("1")+", NULL), ('long ago', 2, "+ago("40")+", "+ago("30")+"), ('undated', 2, NULL, NULL)")
		pass := markerstest.MustPass(t, openTable(t, db, "sql-status-code", func(c *markers.Config) {
			c.Table, c.Columns = "f", markers.Columns{ID: markers.ColumnList{"id"}, Status: "status", Created: "created_at", Updated: "updated_at"}
		}))
		clock := time.Now().Add(pass.ClockOffset)
		if got, hour := pass.FailedAt.Total(), pass.FailedAt.Between(clock.Add(-5*time.Minute), clock.Add(time.Minute)); got != 2 || hour != 1 || pass.UndatedFailures != 1 {
			t.Errorf("%d failed rows are dated, %d of them now, %d undated; want 2, 1, 1", got, hour, pass.UndatedFailures)
		}
	})
}
