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
	line := dedup.Baseline{Count: 12, Acknowledged: 12, By: "ann", At: made, Reason: "known, OPS-1"}
	b := db.Baselines()
	check := func(what string, want map[string]dedup.Baseline) {
		t.Helper()
		got, err := b.Baselines(t.Context())
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %+v, %v; want %+v", what, got, err, want)
		}
		for name, w := range want {
			if g := got[name]; !g.At.Equal(w.At) || g.Count != w.Count || g.Acknowledged != w.Acknowledged || g.By != w.By || g.Reason != w.Reason {
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

	do(b.LowerBaseline(t.Context(), "orders", made.Add(-time.Hour), 1))
	do(b.LowerBaseline(t.Context(), "orders", made, 20))
	check("neither an older one nor a higher count lowers it", map[string]dedup.Baseline{"orders": line})
	do(b.LowerBaseline(t.Context(), "orders", made, 5))
	line.Count = 5
	check("lowered", map[string]dedup.Baseline{"orders": line})

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
