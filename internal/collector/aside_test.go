package collector

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/topology"
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
		b.acknowledged.keeper, b.marks.keeper = disk, disk
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

// TestABaselineThatFellStaysThereUntilTheDiskKnows: what is read before it was written must not raise it again.
func TestABaselineThatFellStaysThereUntilTheDiskKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := time.Now()
		disk := &slowDisk{fakeBaselines: fakeBaselines{lines: map[string]dedup.Baseline{"orders": {Count: 4, At: made}}}}
		b := newBench(t, testInterval)
		a, p := &acknowledged{keeper: disk}, &pipeline{Pipeline: dedup.Pipeline{Name: "orders"}, broker: &brokerWatch{index: &topology.Index{}}}
		count := func(depth float64) int64 {
			pass(time.Second)
			a.read(t.Context(), &b.beside, b.log)
			return a.of(p, dedup.Exact(dedup.Measured, dedup.Count, depth, time.Now(), "")).Count
		}
		kept := func() (n int64) {
			disk.change(func() { n = disk.lines["orders"].Count })
			return n
		}
		if got := count(4); got != 4 {
			t.Errorf("it begins at %d", got)
		}
		disk.change(func() { disk.err = errors.New("disk full") })
		count(1)
		disk.change(func() { disk.lines["orders"] = dedup.Baseline{Count: 4, At: made} }) // which the failed write did not change
		if got := count(3); got != 1 {
			t.Errorf("while the disk is full it rises to %d with the depth", got)
		}
		disk.change(func() { disk.err = nil })
		if got := count(3); got != 1 || kept() != 1 {
			t.Errorf("then it is %d, and kept as %d; want 1", got, kept())
		}
		disk.change(func() { disk.stuck = make(chan struct{}) })
		count(0)
		if got := count(3); got != 0 {
			t.Errorf("while the disk is stuck it rises to %d", got)
		}
		close(disk.stuck)
		disk.change(func() { disk.stuck = nil })
		count(3)
		if got := count(3); got != 0 || kept() != 0 {
			t.Errorf("in the end it is %d, and kept as %d; want 0", got, kept())
		}
		disk.change(func() { disk.lines["orders"] = dedup.Baseline{Count: 3, At: made.Add(time.Minute)} })
		if got := count(3); got != 3 {
			t.Errorf("one that was made anew is %d", got)
		}
		b.beside.Wait()
	})
}

// TestADiskThatHangsIsToldOfOnce and keeps nobody from ending the program.
func TestADiskThatHangsIsToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowDisk{stuck: make(chan struct{})}
		var logged strings.Builder
		log := slog.New(slog.NewTextHandler(&logged, nil))
		var beside sync.WaitGroup
		a, m := &acknowledged{keeper: disk}, &marked{keeper: disk}
		told := func() [2]int {
			return [2]int{strings.Count(logged.String(), "acknowledged dead letters are not read any more"), strings.Count(logged.String(), "marks are not read any more")}
		}
		for round := range 6 {
			a.read(t.Context(), &beside, log)
			m.read(t.Context(), &beside, time.Now(), log)
			want := [2]int{}
			if round >= 2 {
				want = [2]int{1, 1}
			}
			if got := told(); got != want {
				t.Errorf("round %d: told of %v times, want %v", round, got, want)
			}
			pass(asideStuck/2 + time.Second)
		}
		began := time.Now()
		if settled(&beside, 2*asideTimeout) || time.Since(began) != 2*asideTimeout {
			t.Errorf("it waited %s for a disk that hangs", time.Since(began))
		}
		close(disk.stuck)
		if !settled(&beside, 2*asideTimeout) {
			t.Error("a disk that answers is not waited for")
		}
	})
}

// A lockedDisk can be read but not written.
type lockedDisk struct{ fakeBaselines }

func (*lockedDisk) LowerBaseline(ctx context.Context, _ string, _ dedup.Baseline) error {
	<-ctx.Done()
	return ctx.Err()
}

func (d *lockedDisk) Baselines(ctx context.Context) (map[string]dedup.Baseline, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d.fakeBaselines.Baselines(ctx)
}

// TestALineMadeAnewIsSeenWhileAnotherCannotBeWritten: the database is locked for writers only.
func TestALineMadeAnewIsSeenWhileAnotherCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := time.Now()
		disk := &lockedDisk{fakeBaselines{lines: map[string]dedup.Baseline{"orders": {Count: 4, At: made}}}}
		b := newBench(t, testInterval)
		a := &acknowledged{keeper: disk}
		round := func(name string, depth float64) *dedup.Baseline {
			pass(testInterval)
			a.read(t.Context(), &b.beside, b.log)
			return a.of(&pipeline{Pipeline: dedup.Pipeline{Name: name}, broker: &brokerWatch{index: &topology.Index{}}}, dedup.Exact(dedup.Measured, dedup.Count, depth, time.Now(), ""))
		}
		round("orders", 1)
		disk.change(func() { disk.lines["emails"] = dedup.Baseline{Count: 7, At: made} })
		round("orders", 1)
		if line := round("emails", 7); line == nil || line.Count != 7 {
			t.Errorf("the new line is %+v", line)
		}
		if line := round("orders", 4); line == nil || line.Count != 1 {
			t.Errorf("the line that fell is %+v, want 1", line)
		}
		b.beside.Wait()
	})
}
