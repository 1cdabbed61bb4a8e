package collector

import (
	"errors"
	"testing"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/window"
	"dedup-dashboard/internal/dedup"
)

// TestOnlyPipelinesThatDoNotReportAreToldTo runs the collector over consumers that report, stopped to, or never did.
func TestOnlyPipelinesThatDoNotReportAreToldTo(t *testing.T) {
	seen := func(b *testBench) {
		acking(0, 0, 0)(b)
		b.store.set(func(f *fakeSource) {
			f.reported = dedup.Reported{Present: true, Outcomes: map[string]int64{"processed": 7}}
		})
	}
	for name, tt := range map[string]struct {
		prepare, spoil func(*testBench)
		method         dedup.Method
		better         string
	}{
		"never reported": {acking(0, 0, 0), acking(9, 9, 0), dedup.MethodResidual, rate.BetterReport},
		"reporting": {seen, func(b *testBench) {
			acking(9, 9, 0)(b)
			b.store.set(func(f *fakeSource) { f.reported.Outcomes = map[string]int64{"processed": 16} })
		}, dedup.MethodResidual, ""},
		"stopped": {seen, acking(1000, 1000, 0), dedup.MethodReported, window.BetterResume},
		"a store that is down": {seen, func(b *testBench) {
			b.store.set(func(f *fakeSource) { f.err = errors.New("connection refused") })
			pass(3 * testInterval)
		}, dedup.MethodReported, window.BetterBack},
		"a store that is down, and nobody ever reported": {acking(0, 0, 0), func(b *testBench) {
			b.store.set(func(f *fakeSource) { f.err = errors.New("connection refused") })
			pass(3 * testInterval)
		}, dedup.MethodReported, window.BetterStore},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := provoked(t, tt.prepare, tt.spoil).Pipeline("orders")
			for _, w := range p.Windows {
				for _, e := range w.Estimates {
					if e.Method == tt.method && (e.Rate.Known() || e.Rate.Better != tt.better) {
						t.Errorf("%s of %s: %q with %q, want %q", e.Method, w.Window, e.Rate.Why, e.Rate.Better, tt.better)
					}
				}
				if tt.better != rate.BetterReport && w.Swallowed.Better == rate.BetterReport {
					t.Errorf("Swallowed advises to report")
				}
			}
		})
	}
}
