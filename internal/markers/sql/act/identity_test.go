package act_test

import (
	"fmt"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

// astray returns an actor whose account reaches another table than the one that is watched.
func (a *acted) astray(t *testing.T, dsn string) markers.Actor {
	t.Helper()
	cfg := a.cfg
	cfg.Act.SQL.DSN = secret.New(dsn)
	return newActor(t, cfg)
}

// wantAstray makes sure that no action of the actor does anything, and that none takes the row for gone.
func (a *acted) wantAstray(t *testing.T, astray markers.Actor, words string) {
	t.Helper()
	key := a.insert(t, "m1", 0)
	seen := a.look(t, key)
	wantResult(t, astray.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, words)
	if a.rows(t) != 1 {
		t.Fatal("the row is gone")
	}
	var kept keeper
	wantResult(t, a.actor.Clear(t.Context(), seen, false, kept.keep), dedup.Cleared, "")
	wantResult(t, astray.Restore(t.Context(), kept.images[0]), dedup.Refused, words)
	wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Restored, "")
}

func TestAnAccountThatReachesAnotherTableDoesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		t.Run("of another database", func(t *testing.T) {
			a, other := openDedup(t, driver), openDedup(t, driver)
			a.wantAstray(t, a.astray(t, other.AdminDSN()), `act.sql.dsn leads to database "`+other.Name)
			other.insert(t, "m1", 0)
			wantResult(t, a.astray(t, other.AdminDSN()).Clear(t.Context(), a.look(t, a.one(t, "SELECT id FROM message_dedup")), false, markerstest.KeepNothing), dedup.Refused, other.Name)
			if a.rows(t) != 1 || other.rows(t) != 1 {
				t.Error("a row is gone")
			}
		})
		t.Run("of another server", func(t *testing.T) {
			var elsewhere markerstest.SQLServers
			t.Cleanup(func() {
				if err := elsewhere.Stop(); err != nil {
					t.Error(err)
				}
			})
			a, other := openDedup(t, driver), elsewhere.Database(t, driver)
			other.Exec(t, markerstest.DedupTables[driver])
			a.wantAstray(t, a.astray(t, other.AdminDSN()), "another server answers")
		})
	})
}

func TestAnAccountWithAnotherSearchPathDoesNothing(t *testing.T) {
	t.Parallel()
	a := openDedup(t, "postgres")
	a.Exec(t, "CREATE SCHEMA other", "CREATE TABLE other.message_dedup (LIKE message_dedup INCLUDING ALL)")
	dsn := a.User(t, "GRANT USAGE ON SCHEMA other TO ACCOUNT", "GRANT ALL ON ALL TABLES IN SCHEMA other TO ACCOUNT", "GRANT ALL ON message_dedup TO ACCOUNT",
		"ALTER ROLE ACCOUNT SET search_path = other")
	a.wantAstray(t, a.astray(t, dsn), "the acting account reaches table \"other.message_dedup/")
}

func TestAnUndoOutlivesAFailover(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		var kept keeper
		wantResult(t, a.actor.Clear(t.Context(), a.look(t, a.insert(t, "m1", 0)), false, kept.keep), dedup.Cleared, "")
		image := kept.images[0]
		image.Server = "the server before the failover"
		cfg := a.cfg
		cfg.SQL.DSN = secret.New(strings.Replace(a.cfg.SQL.DSN.Reveal(), a.Addr(), "127.0.0.1:1", 1))
		wantResult(t, newActor(t, cfg).Restore(t.Context(), image), dedup.NotDone, "the watching account cannot say which table it reads")
		wantResult(t, a.actor.Restore(t.Context(), image), dedup.Restored, "")
		seen := a.look(t, a.one(t, "SELECT id FROM message_dedup"))
		seen.Server = image.Server
		wantResult(t, a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, "another server answers")
	})
}

// inPlace are consumers that take a row again by an UPDATE, this long from now: the key and the time of creation stay the same.
var inPlace = map[string]string{
	"mysql":    "UPDATE message_dedup SET status = 0, updated_at = NOW() + INTERVAL %d SECOND WHERE message_id = 'm1'",
	"postgres": "UPDATE message_dedup SET status = 0, updated_at = date_trunc('second', LOCALTIMESTAMP) + %d * INTERVAL '1 second' WHERE message_id = 'm1'",
}

func TestARowThatIsTakenAgainInPlaceIsNeverCleared(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		key := a.insert(t, "m1", 0)
		seen := a.look(t, key)
		take := func(in int) { a.Exec(t, fmt.Sprintf(inPlace[driver], in)) }
		take(60) // the row does not age while a busy machine looks at it
		again := a.look(t, key)
		wantResult(t, a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Changed, "updated_at")
		// Within the same second another consumer would leave no trace.
		wantResult(t, a.actor.Clear(t.Context(), again, false, markerstest.KeepNothing), dedup.Refused, "younger than 2s")
		take(-3)
		wantResult(t, a.actor.Clear(t.Context(), a.look(t, key), false, markerstest.KeepNothing), dedup.Cleared, "")
	})
}

func TestARowWhoseLastChangeNoColumnTellsIsNotClearedWhereRowsAreTakenAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		for _, onFail := range []string{"keep", "ack", "delete"} {
			db := sqlServers.Database(t, driver)
			db.Exec(t, markerstest.DedupTables[driver])
			cfg, _ := markers.Preset("sql-status-code")
			cfg.Columns.Updated, cfg.OnFail = "", onFail
			a := openActed(t, db, cfg, db.AdminDSN(), db.AdminDSN())
			outcome := a.actor.Clear(t.Context(), a.look(t, a.insert(t, "m1", 0)), false, markerstest.KeepNothing)
			if onFail == "keep" {
				wantResult(t, outcome, dedup.Refused, "columns.updated")
				cfg = a.cfg
				cfg.Retakes = "never"
				outcome = newActor(t, cfg).Clear(t.Context(), a.look(t, a.one(t, "SELECT id FROM message_dedup")), false, markerstest.KeepNothing)
			}
			wantResult(t, outcome, dedup.Cleared, "")
		}
	})
}

func TestARowWhoseTimesAreDaysMustBeTwoDaysOld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		db := sqlServers.Database(t, driver)
		db.Exec(t, "CREATE TABLE message_dedup (message_id VARCHAR(64) PRIMARY KEY, status INT NOT NULL, updated_at DATE)",
			"INSERT INTO message_dedup VALUES ('old', 0, CURRENT_DATE - INTERVAL '3' DAY), ('new', 0, CURRENT_DATE)")
		cfg, _ := markers.Preset("sql-status-code")
		cfg.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, Status: "status", Updated: "updated_at"}
		a := openActed(t, db, cfg, db.AdminDSN(), db.AdminDSN())
		wantResult(t, a.actor.Clear(t.Context(), a.look(t, "new"), false, markerstest.KeepNothing), dedup.Refused, "younger than 48h")
		wantResult(t, a.actor.Clear(t.Context(), a.look(t, "old"), false, markerstest.KeepNothing), dedup.Cleared, "")
	})
}
