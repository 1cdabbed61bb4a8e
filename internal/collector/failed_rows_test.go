package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
)

func TestThePageOfAPipelineWithATableShowsItsFailedRows(t *testing.T) {
	duringFrom(t, func(b *testBench) {
		b.other.set(func(f *fakeSource) {
			f.scheme = dedup.Scheme{Kind: "sql-table", Preset: "sql-status-name", Mark: "before", OnInFlight: "ack", OnFailed: "ack", OnFail: "keep", States: []dedup.State{dedup.Done, dedup.Failed}}
			p := &dedup.Pass{Started: time.Now(), Ended: time.Now(), Matched: 72, States: map[dedup.State]int64{dedup.Failed: 72}}
			for range 72 {
				p.FailedAt.Add(time.Now().Add(-2 * time.Second))
			}
			p.FailedAt.Freeze()
			f.stats = dedup.StoreStats{Pass: p}
		})
	}, func(t *testing.T, b *testBench) {
		pass(2 * testInterval)
		for _, w := range b.pipeline(t, "emails").Windows {
			if !w.Failures.Known() || w.Failures.Value != 72 || w.Failures.Source != figure.FailedRowsSource {
				t.Errorf("%s: %+v", w.Window, w.Failures)
			}
		}
	})
}
