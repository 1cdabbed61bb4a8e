package act_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

// The grants of docs/stores.md.
var (
	actGrants = map[string][]string{
		"mysql":    {"GRANT SELECT, INSERT, DELETE ON message_dedup TO ACCOUNT", "GRANT PROCESS ON *.* TO ACCOUNT"},
		"postgres": {"GRANT SELECT, INSERT, DELETE, UPDATE (id) ON message_dedup TO ACCOUNT", "GRANT pg_read_all_stats TO ACCOUNT"},
	}
)

// acted is a table with a store that watches it and an actor.
type acted struct {
	*markerstest.Database
	cfg    markers.Config
	reader markers.Reader
	actor  markers.Actor
}

// openActed makes a store of the preset over the database, with an account to watch and one to act.
func openActed(t testing.TB, db *markerstest.Database, cfg markers.Config, watchDSN, actDSN string) *acted {
	t.Helper()
	cfg.Name, cfg.SQL = "orders", markers.SQL{Driver: db.Driver, DSN: secret.New(watchDSN)}
	cfg.Act.SQL.DSN = secret.New(actDSN)
	store := markerstest.OpenStore(t, cfg)
	return &acted{Database: db, cfg: cfg, reader: store, actor: newActor(t, cfg)}
}

func newActor(t testing.TB, cfg markers.Config) markers.Actor {
	t.Helper()
	actor, err := kinds.OpenActor(cfg, markerstest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = actor.Close() })
	return actor
}

// openDedup is message_dedup with the documented accounts.
func openDedup(t testing.TB, driver string) *acted {
	t.Helper()
	return openDedupOn(t, sqlServers.Database(t, driver))
}

// openDedupAlone is openDedup on a server that no other test uses: one whose transactions are all the test's own.
func openDedupAlone(t testing.TB, driver string) *acted {
	t.Helper()
	own := new(markerstest.SQLServers)
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	return openDedupOn(t, own.Database(t, driver))
}

func openDedupOn(t testing.TB, db *markerstest.Database) *acted {
	t.Helper()
	db.Exec(t, markerstest.DedupTables[db.Driver])
	cfg, _ := markers.Preset("sql-status-code")
	return openActed(t, db, cfg, db.User(t, markerstest.WatchGrants[db.Driver]...), db.User(t, actGrants[db.Driver]...))
}

// insert writes a row that was made an hour ago and returns its primary key.
func (a *acted) insert(t testing.TB, id string, status int) string {
	t.Helper()
	ago := "NOW() - INTERVAL 1 HOUR"
	if a.Driver == "postgres" {
		ago = "date_trunc('second', LOCALTIMESTAMP) - INTERVAL '1 hour'"
	}
	a.Exec(t, fmt.Sprintf("INSERT INTO message_dedup (message_id, business_key, status, created_at, updated_at) VALUES ('%s', 'order:%s', %d, %s, %s)", id, id, status, ago, ago))
	return a.one(t, "SELECT id FROM message_dedup WHERE message_id = '"+id+"'")
}

// one returns the only value of a query as text.
func (a *acted) one(t testing.TB, query string) string {
	t.Helper()
	var text sql.NullString
	if err := a.Admin.QueryRowContext(t.Context(), query).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text.String
}

func (a *acted) rows(t testing.TB) int {
	n, err := strconv.Atoi(a.one(t, "SELECT COUNT(*) FROM "+a.cfg.Table))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (a *acted) look(t testing.TB, key string) dedup.Sighting {
	t.Helper()
	seen, err := a.reader.Look(t.Context(), []string{key})
	if err != nil || len(seen) != 1 || seen[0] == nil {
		t.Fatalf("look at %q: %v, %v", key, seen, err)
	}
	return *seen[0]
}

func wantResult(t testing.TB, got dedup.Outcome, want dedup.Result, words string) {
	t.Helper()
	if got.Result != want || !strings.Contains(got.Text, words) {
		t.Fatalf("outcome %q %q; want %q with %q", got.Result, got.Text, want, words)
	}
}

// keeper keeps the images that an actor hands out.
type keeper struct{ images []dedup.Sighting }

func (k *keeper) keep(image dedup.Sighting) error {
	k.images = append(k.images, image)
	return nil
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, driver string)) {
	for _, driver := range markerstest.Drivers() {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			test(t, driver)
		})
	}
}

func TestARowThatIsAsItWasSeenIsClearedAndRestored(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		key := a.insert(t, "m1", 0)
		seen := a.look(t, key)
		if seen.State != dedup.Processing || seen.Type != "row" || seen.ID != "m1" {
			t.Fatalf("seen: %+v", seen)
		}
		whole := a.one(t, wholeRow[driver])
		var kept keeper
		wantResult(t, a.actor.Clear(t.Context(), seen, false, kept.keep), dedup.Cleared, "")
		if a.rows(t) != 0 || len(kept.images) != 1 {
			t.Fatalf("%d rows, %d images", a.rows(t), len(kept.images))
		}
		var image map[string]*string
		if err := json.Unmarshal(kept.images[0].Value, &image); err != nil || len(image) != 7 || *image["message_id"] != "m1" || image["result"] != nil {
			t.Errorf("image %s, %v", kept.images[0].Value, err)
		}
		wantResult(t, a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Gone, "")
		wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Restored, "")
		if got := a.one(t, wholeRow[driver]); got != whole {
			t.Errorf("restored %s, was %s", got, whole)
		}
		wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Refused, "there is a marker again")
		wantResult(t, a.actor.Clear(t.Context(), a.look(t, key), false, markerstest.KeepNothing), dedup.Cleared, "")
		a.insert(t, "m1", 0)
		wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Refused, "there is a marker again")
	})
}

var wholeRow = map[string]string{
	"mysql":    "SELECT CONCAT_WS('|', id, message_id, business_key, status, COALESCE(result, 'NULL'), created_at, updated_at) FROM message_dedup",
	"postgres": "SELECT message_dedup::text FROM message_dedup",
}

func TestARowThatChangedSinceItWasSeenIsLeftAlone(t *testing.T) {
	t.Parallel()
	changes := map[string]struct{ statement, words string }{
		"its work was done":         {"UPDATE message_dedup SET status = 1", "now done"},
		"it failed":                 {"UPDATE message_dedup SET status = 2", "now failed"},
		"its status makes no sense": {"UPDATE message_dedup SET status = 9", "now unknown"},
		"it was taken again":        {"UPDATE message_dedup SET created_at = '2026-01-02 03:04:05'", "created_at"},
		"its business key is NULL":  {"UPDATE message_dedup SET business_key = NULL", "business_key"},
		"its id differs in case":    {"UPDATE message_dedup SET message_id = 'M1'", "message_id"},
	}
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		for name, change := range changes {
			a.Exec(t, "DELETE FROM message_dedup")
			seen := a.look(t, a.insert(t, "m1", 0))
			a.Exec(t, change.statement)
			outcome := a.actor.Clear(t.Context(), seen, false, func(dedup.Sighting) error {
				t.Errorf("%s: an image was kept", name)
				return nil
			})
			wantResult(t, outcome, dedup.Changed, change.words)
			if outcome.Now == nil || outcome.Now.Key != seen.Key || a.rows(t) != 1 {
				t.Errorf("%s: now %+v, %d rows", name, outcome.Now, a.rows(t))
			}
		}
	})
}

func TestARowThatALiveTransactionHoldsIsRefusedWithItsHolder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedupAlone(t, driver)
		seen := a.look(t, a.insert(t, "m1", 0))
		tx, err := a.Admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), "UPDATE message_dedup SET result = 'busy' WHERE message_id = 'm1'"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		outcome := a.actor.Clear(t.Context(), seen, false, func(dedup.Sighting) error {
			t.Error("an image was kept of a row that is not ours to clear")
			return nil
		})
		wantResult(t, outcome, dedup.Refused, "a live transaction holds the row")
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %s to be refused", took)
		}
		wantResult(t, outcome, dedup.Refused, "playground_admin@127.0.0.1")
		wantResult(t, outcome, dedup.Refused, "open for ")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		wantResult(t, a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Cleared, "")
	})
}

func TestAClearWhoseImageCannotBeKeptDoesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		seen := a.look(t, a.insert(t, "m1", 0))
		outcome := a.actor.Clear(t.Context(), seen, false, func(dedup.Sighting) error { return errors.New("disk full") })
		wantResult(t, outcome, dedup.Refused, "disk full")
		if a.rows(t) != 1 {
			t.Error("the row is gone")
		}
	})
}

func TestTwoActorsClearTheSameRowsEachOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		const n = 500
		fill := map[string]string{
			"mysql":    fmt.Sprintf("INSERT INTO message_dedup (message_id, created_at, updated_at) WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < %d) SELECT CONCAT('m', i), '2026-01-01', '2026-01-01' FROM k", n),
			"postgres": fmt.Sprintf("INSERT INTO message_dedup (message_id, created_at, updated_at) SELECT 'm' || i, '2026-01-01', '2026-01-01' FROM generate_series(1, %d) i", n),
		}
		a.Exec(t, fill[driver])
		keys := make([]string, n)
		first, err := strconv.Atoi(a.one(t, "SELECT MIN(id) FROM message_dedup"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range keys {
			keys[i] = strconv.Itoa(first + i)
		}
		seen, err := a.reader.Look(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan map[dedup.Result]int)
		for _, actor := range []markers.Actor{a.actor, newActor(t, a.cfg)} {
			go func() {
				counts := map[dedup.Result]int{}
				for _, s := range seen {
					if s == nil {
						counts["not seen"]++
						continue
					}
					counts[actor.Clear(t.Context(), *s, false, markerstest.KeepNothing).Result]++
				}
				results <- counts
			}()
		}
		one, two := <-results, <-results
		// Whoever comes while the other holds the row is told so; each row was cleared by exactly one of them.
		if one[dedup.Cleared]+two[dedup.Cleared] != n || a.rows(t) != 0 {
			t.Errorf("outcomes %v and %v, %d rows left", one, two, a.rows(t))
		}
		for _, counts := range []map[dedup.Result]int{one, two} {
			if counts[dedup.Cleared]+counts[dedup.Gone]+counts[dedup.Refused] != n {
				t.Errorf("outcomes %v", counts)
			}
		}
	})
}
