package act_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/lab/markerstest"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/act"
)

// makeTrigger returns the statements that make a trigger which notes each row in another table.
func makeTrigger(driver, event, table, id string) []string {
	row := "NEW"
	if event == "DELETE" {
		row = "OLD"
	}
	if driver == "mysql" {
		return []string{"CREATE TABLE audit (id VARCHAR(64))",
			fmt.Sprintf("CREATE TRIGGER noted AFTER %s ON %s FOR EACH ROW INSERT INTO audit VALUES (%s.%s)", event, table, row, id)}
	}
	return []string{"CREATE TABLE audit (id VARCHAR(64))",
		fmt.Sprintf("CREATE FUNCTION note() RETURNS trigger AS $$BEGIN INSERT INTO audit VALUES (%s.%s); RETURN NULL; END$$ LANGUAGE plpgsql SECURITY DEFINER", row, id),
		fmt.Sprintf("CREATE TRIGGER noted AFTER %s ON %s FOR EACH ROW EXECUTE FUNCTION note()", event, table)}
}

func TestAStatementWithATriggerIsRefusedWithItsName(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		for event, refused := range map[string][3]bool{"DELETE": {true, false, false}, "INSERT": {true, false, true}, "UPDATE": {false, true, false}} {
			t.Run(event, func(t *testing.T) {
				a := openLog(t, driver)
				for _, id := range []string{"first", "clear", "expire"} {
					a.insertLog(t, id, "'2026-01-01 00:00:00'")
				}
				var kept keeper
				// The table is known to the actor before it has the trigger.
				wantResult(t, a.actor.Clear(t.Context(), a.look(t, "first"), false, kept.keep), dedup.Cleared, "")
				a.Exec(t, makeTrigger(driver, event, "message_process_log", "message_id")...)
				for i, outcome := range []dedup.Outcome{
					a.actor.Clear(t.Context(), a.look(t, "clear"), false, markerstest.KeepNothing),
					a.actor.Expire(t.Context(), a.look(t, "expire"), time.Minute),
					a.actor.Restore(t.Context(), kept.images[0]),
				} {
					if is := outcome.Result == dedup.Refused; is != refused[i] || is && !strings.Contains(outcome.Text, `trigger "noted"`) {
						t.Errorf("action %d: %+v; want refused %v", i, outcome, refused[i])
					}
				}
				if noted := a.one(t, "SELECT COUNT(*) FROM audit"); noted != "0" {
					t.Errorf("the trigger noted %s rows", noted)
				}
			})
		}
	})
}

func TestARuleAndTheTriggerOfAPartAreRefusedWithTheirNames(t *testing.T) {
	t.Parallel()
	ruled := openDedup(t, "postgres")
	ruled.Exec(t, "CREATE RULE kept AS ON DELETE TO message_dedup DO INSTEAD NOTHING")
	wantResult(t, ruled.actor.Clear(t.Context(), ruled.look(t, ruled.insert(t, "m1", 0)), false, markerstest.KeepNothing), dedup.Refused, `DELETE has rule "kept"`)

	db := sqlServers.Database(t, "postgres")
	db.Exec(t, "CREATE TABLE parts (message_id TEXT PRIMARY KEY, status INT NOT NULL, updated_at TIMESTAMP) PARTITION BY HASH (message_id)",
		"CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0)", "INSERT INTO parts VALUES ('m1', 0, '2026-01-01')")
	db.Exec(t, makeTrigger("postgres", "DELETE", "parts_0", "message_id")...)
	cfg, _ := markers.Preset("sql-status-code")
	cfg.Table, cfg.Columns = "parts", markers.Columns{ID: markers.ColumnList{"message_id"}, Status: "status", Updated: "updated_at"}
	a := openActed(t, db, cfg, db.AdminDSN(), db.AdminDSN())
	wantResult(t, a.actor.Clear(t.Context(), a.look(t, "m1"), false, markerstest.KeepNothing), dedup.Refused, `trigger "noted"`)
}

func TestWhatAHiddenTriggerDoesIsSeenByTheServersCount(t *testing.T) {
	t.Parallel()
	for event, row := range map[string]string{"DELETE": "OLD", "INSERT": "NEW", "UPDATE": "NEW"} {
		for words, effect := range map[string]string{
			"insert": "INSERT INTO audit VALUES (" + row + ".message_id, 1)", "update": "UPDATE audit SET n = n + 1", "delete": "DELETE FROM audit",
		} {
			t.Run(event+" makes it "+words, func(t *testing.T) {
				a := openLog(t, "mysql")
				a.insertLog(t, "m1", "'2026-01-01 00:00:00'")
				var kept keeper
				if event == "INSERT" {
					wantResult(t, a.actor.Clear(t.Context(), a.look(t, "m1"), false, kept.keep), dedup.Cleared, "")
				}
				a.Exec(t, "CREATE TABLE audit (id VARCHAR(64), n INT)", "INSERT INTO audit VALUES ('a', 1), ('b', 1)",
					"CREATE TRIGGER noted BEFORE "+event+" ON message_process_log FOR EACH ROW "+effect)
				act.HideTriggers(a.actor)
				before := a.rows(t)
				var outcome dedup.Outcome
				switch event {
				case "DELETE":
					outcome = a.actor.Clear(t.Context(), a.look(t, "m1"), false, markerstest.KeepNothing)
				case "UPDATE":
					outcome = a.actor.Expire(t.Context(), a.look(t, "m1"), time.Minute)
				case "INSERT":
					outcome = a.actor.Restore(t.Context(), kept.images[0])
				}
				wantResult(t, outcome, dedup.Refused, "the "+event+" also made the server "+words)
				if a.rows(t) != before || a.one(t, "SELECT CONCAT(COUNT(*), ' ', SUM(n)) FROM audit") != "2 2" {
					t.Error("something was written")
				}
			})
		}
	}
}

func TestRowsOfATableInPartsAreClearedAndRestored(t *testing.T) {
	t.Parallel()
	db := sqlServers.Database(t, "mysql")
	db.Exec(t, "CREATE TABLE message_dedup (message_id BIGINT PRIMARY KEY, status INT NOT NULL, updated_at DATETIME) PARTITION BY HASH (message_id) PARTITIONS 3",
		"INSERT INTO message_dedup VALUES (1, 0, '2026-01-01')")
	cfg, _ := markers.Preset("sql-status-code")
	cfg.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, Status: "status", Updated: "updated_at"}
	a := openActed(t, db, cfg, db.AdminDSN(), db.AdminDSN())
	var kept keeper
	wantResult(t, a.actor.Clear(t.Context(), a.look(t, "1"), false, kept.keep), dedup.Cleared, "")
	wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Restored, "")
}

// businessTables are orders (D7) and an inventory log (D8): rows of the work itself, with a status.
var businessTables = map[string]string{
	"orders":       "CREATE TABLE orders (order_no VARCHAR(64) PRIMARY KEY, status VARCHAR(20) NOT NULL, amount DECIMAL(10,2) NOT NULL, updated_at TIMESTAMP)",
	"InventoryLog": "CREATE TABLE InventoryLog (order_no VARCHAR(64) NOT NULL, product_id BIGINT NOT NULL, quantity INT NOT NULL, status VARCHAR(20) NOT NULL, updated_at TIMESTAMP, PRIMARY KEY (order_no, product_id))",
}

func TestRowsThatAreMoreThanMarkersAreNotClearedUnlessTheConfigurationSaysSo(t *testing.T) {
	t.Parallel()
	business := map[string]struct {
		columns string
		id      markers.ColumnList
		key     string
	}{
		"orders":       {"amount", markers.ColumnList{"order_no"}, "NO-1"},
		"InventoryLog": {"product_id, quantity", markers.ColumnList{"order_no", "product_id"}, `["NO-1","7"]`},
	}
	onBoth(t, func(t *testing.T, driver string) {
		for table, b := range business {
			db := sqlServers.Database(t, driver)
			values := strings.Repeat(", 7", strings.Count(b.columns, ",")+1)
			db.Exec(t, businessTables[table], fmt.Sprintf("INSERT INTO %s (order_no, status, updated_at, %s) VALUES ('NO-1', 'PROCESSING', '2026-01-01'%s)", table, b.columns, values))
			cfg, _ := markers.Preset("sql-status-name")
			cfg.Table, cfg.Columns = table, markers.Columns{ID: b.id, Status: "status", Updated: "updated_at"}
			a := openActed(t, db, cfg, db.AdminDSN(), db.AdminDSN())
			seen := a.look(t, b.key)
			wantResult(t, a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, "rows: markers")
			cfg = a.cfg
			cfg.Rows = "markers"
			wantResult(t, newActor(t, cfg).Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Cleared, "")
		}
	})
}

func TestAnActorForgetsATableOnlyWhenItMayHaveChanged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		first, second := a.look(t, a.insert(t, "m1", 0)), a.look(t, a.insert(t, "m2", 0))
		wantResult(t, a.actor.Clear(t.Context(), first, false, markerstest.KeepNothing), dedup.Cleared, "")
		for what, do := range map[string]func() dedup.Outcome{
			"the image cannot be kept": func() dedup.Outcome {
				return a.actor.Clear(t.Context(), second, false, func(dedup.Sighting) error { return context.Canceled })
			},
			"another server was read": func() dedup.Outcome {
				other := second
				other.Server = "other"
				return a.actor.Clear(t.Context(), other, false, markerstest.KeepNothing)
			},
			"a live transaction holds it": func() dedup.Outcome {
				tx, err := a.Admin.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if _, err := tx.ExecContext(t.Context(), "SELECT 1 FROM message_dedup FOR UPDATE"); err != nil {
					t.Fatal(err)
				}
				return a.actor.Clear(t.Context(), second, false, markerstest.KeepNothing)
			},
		} {
			if wantResult(t, do(), dedup.Refused, ""); !act.KnowsTable(a.actor) {
				t.Errorf("%s: the table is forgotten", what)
			}
		}
		a.Exec(t, "ALTER TABLE message_dedup DROP COLUMN business_key")
		if a.actor.Clear(t.Context(), second, false, markerstest.KeepNothing); act.KnowsTable(a.actor) {
			t.Error("the table is remembered although it has changed")
		}
	})
}

func TestAnActionThatWaitsForItsTurnDoesNotRunOutOfTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		var wait sync.WaitGroup
		held, release := make(chan struct{}, act.ActConns), make(chan struct{})
		for i := range act.ActConns {
			seen := a.look(t, a.insert(t, fmt.Sprintf("m%d", i), 0))
			wait.Go(func() {
				a.actor.Clear(context.WithoutCancel(t.Context()), seen, false, func(dedup.Sighting) error {
					held <- struct{}{}
					<-release
					return nil
				})
			})
		}
		for range act.ActConns {
			<-held
		}
		stopped, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer stop()
		seen := a.look(t, a.insert(t, "late", 0))
		wantResult(t, a.actor.Clear(stopped, seen, false, markerstest.KeepNothing), dedup.NotDone, "stopped before its turn")
		outcome := make(chan dedup.Outcome, 1)
		go func() { outcome <- a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing) }()
		select {
		case early := <-outcome:
			t.Errorf("it did not wait for its turn: %+v", early)
			outcome <- early
		case <-time.After(act.StatementLimit + 500*time.Millisecond):
		}
		close(release)
		wantResult(t, <-outcome, dedup.Cleared, "")
		wait.Wait()
	})
}

func TestOurOwnSessionsAreNotNamedAsTheHolder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedupAlone(t, driver) // where others act, their sessions are named as they hold rows too
		mine, others := a.look(t, a.insert(t, "mine", 0)), a.look(t, a.insert(t, "others", 0))
		tx, err := a.Admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), "UPDATE message_dedup SET result = 'busy' WHERE message_id = 'others'"); err != nil {
			t.Fatal(err)
		}
		// While an action of ours holds one row, another meets that row, or one that somebody else holds. Each has an action of its own
		// to meet, which may take only so long.
		for _, meets := range []struct {
			seen  dedup.Sighting
			words string
		}{{mine, "a live transaction holds the row"}, {others, `"playground_admin@127.0.0.1`}} {
			outcome := a.actor.Clear(t.Context(), mine, false, func(dedup.Sighting) error {
				met := a.actor.Clear(t.Context(), meets.seen, false, markerstest.KeepNothing)
				if wantResult(t, met, dedup.Refused, meets.words); strings.Contains(met.Text, "user_") {
					t.Errorf("our own session is named: %s", met.Text)
				}
				return errors.New("not kept")
			})
			wantResult(t, outcome, dedup.Refused, "not kept")
		}
		wantResult(t, a.actor.Clear(t.Context(), mine, false, markerstest.KeepNothing), dedup.Cleared, "")
	})
}
