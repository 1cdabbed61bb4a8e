package records

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A disk keeps baselines and marks in memory, and answers nobody while it is stuck, whatever their patience.
type disk struct {
	mu    sync.Mutex
	lines map[string]dedup.Baseline
	err   error
	stuck chan struct{}
}

func (d *disk) change(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// wait waits until the disk is not stuck.
func (d *disk) wait() {
	d.mu.Lock()
	stuck := d.stuck
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
}

func (d *disk) Baselines(context.Context) (map[string]dedup.Baseline, error) {
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.lines), d.err
}

func (d *disk) LowerBaseline(_ context.Context, pipeline string, to dedup.Baseline) error {
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if line := d.lines[pipeline]; line.At.Equal(to.At) && (line.Count > to.Count || line.Split && !to.Split) {
		line.Count, line.Own, line.Split = min(line.Count, to.Count), min(line.Own, to.Own), line.Split && to.Split
		d.lines[pipeline] = line
	}
	return d.err
}

func (d *disk) MarksSince(context.Context, time.Time, int) ([]dedup.Mark, error) {
	d.wait()
	return nil, nil
}

// pass lets time pass, and what is due in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestABaselineThatFellStaysThereUntilTheDiskKnows: what is read before it was written must not raise it again.
func TestABaselineThatFellStaysThereUntilTheDiskKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := time.Now()
		d := &disk{lines: map[string]dedup.Baseline{"orders": {Count: 4, At: made}}}
		var beside sync.WaitGroup
		a := NewAcknowledged(d, &beside, slog.New(slog.DiscardHandler))
		count := func(depth float64) int64 {
			pass(time.Second)
			a.Read(t.Context())
			return a.Of("orders", dedup.Exact(dedup.Measured, dedup.Count, depth, time.Now(), ""), Shared{Known: true}).Count
		}
		kept := func() (n int64) {
			d.change(func() { n = d.lines["orders"].Count })
			return n
		}
		if got := count(4); got != 4 {
			t.Errorf("it begins at %d", got)
		}
		d.change(func() { d.err = errors.New("disk full") })
		count(1)
		d.change(func() { d.lines["orders"] = dedup.Baseline{Count: 4, At: made} }) // which the failed write did not change
		if got := count(3); got != 1 {
			t.Errorf("while the disk is full it rises to %d with the depth", got)
		}
		d.change(func() { d.err = nil })
		if got := count(3); got != 1 || kept() != 1 {
			t.Errorf("then it is %d, and kept as %d; want 1", got, kept())
		}
		d.change(func() { d.stuck = make(chan struct{}) })
		count(0)
		if got := count(3); got != 0 {
			t.Errorf("while the disk is stuck it rises to %d", got)
		}
		close(d.stuck)
		d.change(func() { d.stuck = nil })
		count(3)
		if got := count(3); got != 0 || kept() != 0 {
			t.Errorf("in the end it is %d, and kept as %d; want 0", got, kept())
		}
		d.change(func() { d.lines["orders"] = dedup.Baseline{Count: 3, At: made.Add(time.Minute)} })
		if got := count(3); got != 3 {
			t.Errorf("one that was made anew is %d", got)
		}
		beside.Wait()
	})
}

// TestADiskThatHangsIsToldOfOnce and keeps nobody from ending the program.
func TestADiskThatHangsIsToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{stuck: make(chan struct{})}
		var logged strings.Builder
		log := slog.New(slog.NewTextHandler(&logged, nil))
		var beside sync.WaitGroup
		a, m := NewAcknowledged(d, &beside, log), NewMarked(d, &beside, log)
		told := func() [2]int {
			return [2]int{strings.Count(logged.String(), "acknowledged dead letters are not read any more"), strings.Count(logged.String(), "marks are not read any more")}
		}
		for round := range 6 {
			a.Read(t.Context())
			m.Read(t.Context(), time.Now())
			want := [2]int{}
			if round >= 2 {
				want = [2]int{1, 1}
			}
			if got := told(); got != want {
				t.Errorf("round %d: told of %v times, want %v", round, got, want)
			}
			pass(tooLong/2 + time.Second)
		}
		began := time.Now()
		if Settled(&beside) || time.Since(began) != 2*timeout {
			t.Errorf("it waited %s for a disk that hangs", time.Since(began))
		}
		close(d.stuck)
		if !Settled(&beside) {
			t.Error("a disk that answers is not waited for")
		}
	})
}

// A lockedDisk can be read but not written.
type lockedDisk struct{ disk }

func (*lockedDisk) LowerBaseline(ctx context.Context, _ string, _ dedup.Baseline) error {
	<-ctx.Done()
	return ctx.Err()
}

func (d *lockedDisk) Baselines(ctx context.Context) (map[string]dedup.Baseline, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d.disk.Baselines(ctx)
}

// TestALineMadeAnewIsSeenWhileAnotherCannotBeWritten: the database is locked for writers only.
func TestALineMadeAnewIsSeenWhileAnotherCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := time.Now()
		d := &lockedDisk{disk{lines: map[string]dedup.Baseline{"orders": {Count: 4, At: made}}}}
		var beside sync.WaitGroup
		a := NewAcknowledged(d, &beside, slog.New(slog.DiscardHandler))
		round := func(name string, depth float64) *dedup.Baseline {
			pass(5 * time.Second)
			a.Read(t.Context())
			return a.Of(name, dedup.Exact(dedup.Measured, dedup.Count, depth, time.Now(), ""), Shared{Known: true})
		}
		round("orders", 1)
		d.change(func() { d.lines["emails"] = dedup.Baseline{Count: 7, At: made} })
		round("orders", 1)
		if line := round("emails", 7); line == nil || line.Count != 7 {
			t.Errorf("the new line is %+v", line)
		}
		if line := round("orders", 4); line == nil || line.Count != 1 {
			t.Errorf("the line that fell is %+v, want 1", line)
		}
		beside.Wait()
	})
}

func TestAReadingFromBeforeTheBaselineDoesNotLowerIt(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	var beside sync.WaitGroup
	a := NewAcknowledged(&disk{lines: map[string]dedup.Baseline{"orders": {Count: 9, At: at}}}, &beside, slog.New(slog.DiscardHandler))
	a.Read(t.Context())
	depth := func(n float64, at time.Time) dedup.Figure { return dedup.Exact(dedup.Measured, dedup.Count, n, at, "") }
	for _, tt := range []struct {
		depth dedup.Figure
		want  int64
	}{{depth(3, at.Add(-time.Second)), 9}, {dedup.Unknown(dedup.Count, "down"), 9}, {depth(12, at.Add(time.Second)), 9}, {depth(3, at.Add(time.Second)), 3}} {
		if got := a.Of("orders", tt.depth, Shared{Known: true}); got == nil || got.Count != tt.want {
			t.Errorf("with %+v the baseline is %+v, want %d", tt.depth, got, tt.want)
		}
	}
}
