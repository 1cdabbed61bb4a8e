package journal

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestABaselineIsReplacedLoweredRemovedAndSurvives(t *testing.T) {
	dir, log := t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := Open(t.Context(), dir, log)
	if err != nil {
		t.Fatal(err)
	}
	made := time.UnixMilli(1_800_000_000_123)
	line := dedup.Baseline{Count: 12, Own: 7, Split: true, Acknowledged: 12, By: "ann", At: made, Reason: "known, OPS-1"}
	b := db.Baselines()
	check := func(what string, want map[string]dedup.Baseline) {
		t.Helper()
		got, err := b.Baselines(t.Context())
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %+v, %v; want %+v", what, got, err, want)
		}
		for name, w := range want {
			if g := got[name]; !g.At.Equal(w.At) || g.Count != w.Count || g.Own != w.Own || g.Split != w.Split || g.Acknowledged != w.Acknowledged || g.By != w.By || g.Reason != w.Reason {
				t.Errorf("%s: %s is %+v, want %+v", what, name, g, w)
			}
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(b.SetBaseline(t.Context(), "orders", dedup.Baseline{Count: 3, Acknowledged: 3, By: "bob", At: made.Add(-time.Hour), Reason: "older"}))
	do(b.SetBaseline(t.Context(), "orders", line))
	check("replaced", map[string]dedup.Baseline{"orders": line})

	do(b.LowerBaseline(t.Context(), "orders", dedup.Baseline{Count: 1, Split: true, At: made.Add(-time.Hour)}))
	do(b.LowerBaseline(t.Context(), "orders", dedup.Baseline{Count: 20, Own: 20, Split: true, At: made}))
	check("neither an older one nor a higher count lowers it", map[string]dedup.Baseline{"orders": line})
	line.Count, line.Own = 5, 2
	do(b.LowerBaseline(t.Context(), "orders", line))
	check("lowered", map[string]dedup.Baseline{"orders": line})
	line.Own, line.Split = 0, false
	do(b.LowerBaseline(t.Context(), "orders", line))
	check("its parts are not known any more", map[string]dedup.Baseline{"orders": line})

	do(db.Close())
	db, err = Open(t.Context(), dir, log)
	do(err)
	t.Cleanup(func() { _ = db.Close() })
	b = db.Baselines()
	check("after a restart", map[string]dedup.Baseline{"orders": line})

	was, ok, err := b.RemoveBaseline(t.Context(), "orders")
	if err != nil || !ok || was.Count != 5 || was.By != "ann" {
		t.Errorf("removed %+v, %v, %v", was, ok, err)
	}
	if _, ok, err := b.RemoveBaseline(t.Context(), "orders"); ok || err != nil {
		t.Errorf("removed twice: %v, %v", ok, err)
	}
	check("removed", map[string]dedup.Baseline{})
}

// TestABaselineFromBeforeTheOwnPartWasKeptIsReadAsOneOfWhichItIsNotKnown, and stays so when it falls.
func TestABaselineFromBeforeTheOwnPartWasKeptIsReadAsOneOfWhichItIsNotKnown(t *testing.T) {
	dir, log := t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := Open(t.Context(), dir, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range []string{
		"ALTER TABLE dead_letter_baselines DROP COLUMN own", "DROP TABLE measurements", "DROP TABLE alert_acks_ended", "PRAGMA user_version = 12",
		"INSERT INTO dead_letter_baselines (pipeline, count, acknowledged, made_by, made_at, reason) VALUES ('orders', 9, 12, 'ann', 1800000000000, 'old')",
	} {
		if _, err := db.main.ExecContext(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(t.Context(), dir, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, count := range []int64{9, 4} {
		all, err := db.Baselines().Baselines(t.Context())
		line := all["orders"]
		if err != nil || line.Count != count || line.Split || line.Acknowledged != 12 {
			t.Fatalf("%+v, %v; want %d whose parts are not known", line, err, count)
		}
		line.Count = 4
		if err := db.Baselines().LowerBaseline(t.Context(), "orders", line); err != nil {
			t.Fatal(err)
		}
	}
}
