package collector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/records"
	"dedup-dashboard/internal/dedup"
)

// A slowDisk keeps baselines and marks, and answers nobody while it is stuck, whatever their patience.
type slowDisk struct {
	fakeBaselines
	stuck chan struct{}
	marks []dedup.Mark
	// most is how many were asked at once.
	asked, most int
}

func (d *slowDisk) wait() {
	d.mu.Lock()
	stuck := d.stuck
	d.asked++
	d.most = max(d.most, d.asked)
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	d.change(func() { d.asked-- })
}

func (d *slowDisk) Baselines(ctx context.Context) (map[string]dedup.Baseline, error) {
	d.wait()
	return d.fakeBaselines.Baselines(ctx)
}

func (d *slowDisk) LowerBaseline(ctx context.Context, pipeline string, to dedup.Baseline) error {
	d.wait()
	return d.fakeBaselines.LowerBaseline(ctx, pipeline, to)
}

func (d *slowDisk) MarksSince(context.Context, time.Time, int) ([]dedup.Mark, error) {
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.marks, d.err
}

// TestASlowDiskDelaysNoRound stops the disk under a collector, and starts it again.
func TestASlowDiskDelaysNoRound(t *testing.T) {
	disk := &slowDisk{fakeBaselines: fakeBaselines{lines: map[string]dedup.Baseline{"orders": {Count: 4, By: "ann"}}}}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testInterval)
		b.acknowledged, b.marks = records.NewAcknowledged(disk, &b.beside, b.log), records.NewMarked(disk, &b.beside, b.log)
		for _, s := range b.sources {
			s.Attempt(t.Context())
		}
		b.brokers[0].read.ReadTopology(t.Context())
		round := func() (count int64, marks int) {
			t.Helper()
			began := time.Now()
			b.round(t.Context(), began)
			if took := time.Since(began); took > 20*time.Millisecond {
				t.Errorf("a round took %s", took)
			}
			p := b.pipeline(t, "orders")
			for _, e := range p.Events {
				if e.Kind == dedup.EventMark {
					marks++
				}
			}
			if p.Baseline == nil {
				return -1, marks
			}
			return p.Baseline.Count, marks
		}
		check := func(what string, wantCount int64, wantMarks int) {
			t.Helper()
			pass(testInterval)
			if count, marks := round(); count != wantCount || marks != wantMarks {
				t.Errorf("%s: %d acknowledged and %d marks, want %d and %d", what, count, marks, wantCount, wantMarks)
			}
		}
		check("a healthy disk is read in the round", 4, 0)
		disk.change(func() {
			disk.stuck, disk.marks = make(chan struct{}), []dedup.Mark{{At: time.Now(), Text: "deploy"}}
			disk.lines["orders"] = dedup.Baseline{Count: 3, By: "ann"}
		})
		check("a stuck one leaves what was known", 4, 0)
		check("for as long as it is stuck", 4, 0)
		close(disk.stuck)
		synctest.Wait()
		disk.change(func() { disk.stuck = nil })
		check("what came late is taken by the next round", 3, 1)
		if disk.most > 2 {
			t.Errorf("%d readings of the disk were under way at once, want one of each kind", disk.most)
		}
		b.beside.Wait()
	})
}
