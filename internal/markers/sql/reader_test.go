package sql_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

func TestASightingHoldsTheColumnsOfTheMarkerAsTheServerWritesThem(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], "INSERT INTO message_dedup (message_id, business_key, status, result, created_at, updated_at) VALUES ('<m>', NULL, 0, 'secret', '2026-03-01 10:00:00', '2026-03-01 10:00:01')")
		reader := openTable(t, db, "sql-status-code", nil).(markers.Reader)
		found, err := reader.Lookup(t.Context(), "<m>")
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		s := found[0]
		columns := map[string]*string{}
		if err := json.Unmarshal(s.Value, &columns); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(columns)); !slices.Equal(got, []string{"business_key", "created_at", "id", "message_id", "status", "updated_at"}) {
			t.Errorf("columns %v", got)
		}
		if columns["business_key"] != nil || *columns["status"] != "0" || *columns["updated_at"] != "2026-03-01 10:00:01" || *columns["message_id"] != "<m>" || *columns["id"] != s.Key {
			t.Errorf("value %s", s.Value)
		}
		if s.Type != "row" || s.ExpiresMillis != dedup.NoExpiry || s.Server == "" || time.Until(s.Clock).Abs() > time.Minute || s.At.IsZero() || s.Retry != nil {
			t.Errorf("sighting %+v", s)
		}
	})
}

func TestALookupUsesIndexesAlone(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, "CREATE TABLE m (k BIGINT PRIMARY KEY, id BIGINT, biz VARCHAR(20))", "INSERT INTO m VALUES (1, 77, '77'), (2, 0, 'order:1'), (3, 5, 'order:1')")
		adapt := func(c *markers.Config) {
			c.Table, c.Columns = "m", markers.Columns{ID: markers.ColumnList{"id"}, BusinessKey: "biz"}
		}
		lookup := func(term string) (string, error) {
			found, err := openTable(t, db, "sql-unique-row", adapt).(markers.Reader).Lookup(t.Context(), term)
			var ids []string
			for _, s := range found {
				ids = append(ids, s.ID)
			}
			return strings.Join(ids, " "), err
		}
		if _, err := lookup("77"); err == nil || !strings.Contains(dedup.PublicText(err), `no index of its table begins with column "id"`) {
			t.Errorf("without any index: %v", err)
		}
		db.Exec(t, "CREATE INDEX i ON m (id)")
		for term, want := range map[string]string{"77": "77", "order:1": "", "no number": "", "": "", "1e1": "", "x\x00y": "", "99999999999999999999999999": ""} {
			if got, err := lookup(term); err != nil || got != want {
				t.Errorf("with an index on ids, %q finds %q, %v; want %q", term, got, err, want)
			}
		}
		db.Exec(t, "CREATE INDEX b ON m (biz, k)")
		for term, want := range map[string]string{"77": "77", "order:1": "0 5"} {
			if got, err := lookup(term); err != nil || got != want {
				t.Errorf("with both indexes, %q finds %q, %v; want %q", term, got, err, want)
			}
		}
	})
}

func TestAPageShowsWhatIsAskedForAndSaysWhatItCost(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		fillTable(t, db, 25_000)
		reader := openTable(t, db, "sql-status-code", nil).(markers.Reader)
		started := time.Now()
		page, err := reader.Browse(t.Context(), dedup.MarkerQuery{State: dedup.Processing, Limit: 50})
		took := time.Since(started)
		shown := len(page.Markers)
		if err != nil || shown == 0 || page.Examined/100 != int64(shown) || page.Markers[0].ID != "message-000000000100" {
			t.Errorf("page of %d, %d examined, %v", shown, page.Examined, err)
		}
		if shown != 50 && took < time.Second { // a page that takes longer ends before it is full
			t.Errorf("%d markers in %s", shown, took)
		}
		next, err := reader.Browse(t.Context(), dedup.MarkerQuery{State: dedup.Processing, Limit: 50, Cursor: page.Next})
		if err != nil || len(next.Markers) == 0 || next.Markers[0].ID != fmt.Sprintf("message-%012d", 100*(shown+1)) {
			t.Errorf("next page %+v, %v", next.Markers[:min(1, len(next.Markers))], err)
		}
		rare, err := reader.Browse(t.Context(), dedup.MarkerQuery{Match: "order:12400", Limit: 50})
		if err != nil || rare.Examined > 20_000 || len(rare.Markers) != 0 || rare.Next == "" {
			t.Errorf("a page that ran out of budget: %d examined, %d markers, next %q, %v", rare.Examined, len(rare.Markers), rare.Next, err)
		}
		var found []string
		for cursor := rare.Next; cursor != ""; cursor = rare.Next {
			if rare, err = reader.Browse(t.Context(), dedup.MarkerQuery{Match: "order:12400", Limit: 50, Cursor: cursor}); err != nil {
				t.Fatal(err)
			}
			for _, m := range rare.Markers {
				found = append(found, m.ID)
			}
		}
		if fmt.Sprint(found) != "[message-000000024800 message-000000024801]" {
			t.Errorf("found %v", found)
		}
		for _, q := range []dedup.MarkerQuery{{Limit: 0}, {Limit: 201}, {Limit: 1, Cursor: "x"}, {Limit: 1, Cursor: "kno number"}, {Limit: 1, Cursor: "k' OR 1=1"}, {Limit: 1, Cursor: "k99999999999999999999999999"}} {
			if page, err := reader.Browse(t.Context(), q); dedup.KindOf(err) != dedup.Invalid && !(len(page.Markers) == 0 && err == nil && strings.HasSuffix(q.Cursor, "999")) {
				t.Errorf("%+v gives %v", q, err)
			}
		}
	})
}

func TestSessionsThatHoldUpOthersAreNamed(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, "CREATE TABLE t_order (id BIGINT PRIMARY KEY, status VARCHAR(8), version INT)", "INSERT INTO t_order VALUES (1, '1', 5), (2, '1', 5)")
		store := openTable(t, db, "sql-unique-row", func(c *markers.Config) {
			c.Table, c.Columns, c.Sweep.Every = "t_order", markers.Columns{ID: markers.ColumnList{"id"}}, time.Second
		})
		passesOf(t, store)()
		waits := func() *dedup.LockWaits {
			stats, err := store.Stats(t.Context())
			if err != nil || stats.Waits == nil {
				t.Fatalf("waits %+v, %v", stats.Waits, err)
			}
			return stats.Waits
		}
		if w := waits(); w.Waiters != 0 || w.Longest != 0 || len(w.Holders) != 0 {
			t.Errorf("at rest: %+v", w)
		}
		holder, err := db.Admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		lock := "SELECT status FROM t_order WHERE id = 1 FOR UPDATE"
		if _, err := holder.ExecContext(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() {
			_, err := db.Admin.ExecContext(t.Context(), "UPDATE t_order SET version = version + 1 WHERE id = 1 AND version = 5")
			waited <- err
		}()
		eventually(t, func() string {
			if w := waits(); w.Waiters != 1 || w.Longest < time.Second || w.LongestTransaction < w.Longest || len(w.Holders) != 1 || !strings.Contains(w.Holders[0], "playground_admin from ") {
				return fmt.Sprintf("waits %+v", w)
			}
			return ""
		})
		if err := holder.Rollback(); err != nil {
			t.Error(err)
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
		eventually(t, func() string {
			if w := waits(); w.Waiters != 0 {
				return fmt.Sprintf("afterwards: %+v", w)
			}
			return ""
		})
	})
}

func TestOurReadsWaitForNobodyAndHoldUpNobody(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		fillTable(t, db, 5000)
		store := openTable(t, db, "sql-status-code", nil)
		writer, err := db.Admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = writer.Rollback() }()
		if _, err := writer.ExecContext(t.Context(), "UPDATE message_dedup SET status = 2"); err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		pass := markerstest.MustPass(t, store)
		if pass.States[dedup.Failed] != 0 || pass.Examined != 5000 || time.Since(started) > 40*time.Second {
			t.Errorf("beside an open transaction: %v in %v", pass.States, time.Since(started))
		}
	})
}
