package rate

import (
	"math"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestWhatQueuesTookInIsCountedWhereAllTell: a reading is of two queues, nil where one does not tell.

// TestWhatWasPutAmongTheDeadLettersIsNoDeadLetter: three messages are published into the dead-letter queue, which shows them at once and
// their counter 5 s later; 40 messages come and are acked, and three of 43 are rejected in the end.
func TestWhatWasPutAmongTheDeadLettersIsNoDeadLetter(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var s Residual
	for i := range 14 {
		at := start.Add(time.Duration(i) * 5 * time.Second)
		f := sample.Frame{Began: at, Ended: at, DepthFrom: at.Add(-time.Second), Whole: true, Unpublished: i < 5}
		if i >= 1 {
			f.Dead = 3
		}
		if i >= 2 {
			f.DeadPublished = 3
		}
		if i >= 6 {
			f.Publishes, f.Acks, f.Dead = 43, 40, 6
		}
		s.Frames = append(s.Frames, f)
		s.Meter.Acks = append(s.Meter.Acks, sample.LossReading{Began: at, Ended: at})
	}
	s.Pass, s.Interval = &dedup.Pass{}, 5*time.Second
	bounded := 0
	for _, begin := range []int{0, 1, 2, 3} {
		from, ok1 := cutAt(s, s.Frames[begin].Ended)
		to, ok2 := cutAt(s, s.Frames[9].Ended)
		if !ok1 || !ok2 || !to.Published.Known {
			t.Fatalf("begin %d: the ends are not bounded: %v, %v, %+v", begin, ok1, ok2, to)
		}
		left := left(s.Meter, from, to)
		if left[0] > 40 {
			t.Errorf("begin %d: at least %v messages left the queues, want at most 40", begin, left[0])
		}
		if left[0] >= 37 {
			bounded++
		}
	}
	if bounded == 0 {
		t.Error("no begin bounds the acks from below: nothing was tested")
	}
}

// TestDeadLettersThatWereNotFollowedProveNothing: 500 were put among the dead letters by hand long ago.
func TestDeadLettersThatWereNotFollowedProveNothing(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * 5 * time.Second) }
	for name, tt := range map[string]struct {
		change func(sample.Frames)
		known  bool
	}{
		"followed all the time":                  {func(sample.Frames) {}, true},
		"counts were missed before a later one":  {func(r sample.Frames) { r[6].DeadGaps, r[7].DeadGaps = 1, 1 }, false},
		"counts were missed since an earlier":    {func(r sample.Frames) { r[2].DeadGaps, r[3].DeadGaps = 7, 7 }, false},
		"they were not known":                    {func(r sample.Frames) { r[4].Whole = false }, false},
		"one of the queues was away for a while": {func(r sample.Frames) { r[6].Whole, r[6].Dead = false, 0 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var r sample.Frames
			for i := range 8 {
				r = append(r, sample.Frame{Began: at(i), Ended: at(i), DepthFrom: at(i).Add(-time.Second), Whole: true, Dead: 510, DeadPublished: 500})
			}
			tt.change(r)
			low, high, ok := r.DeadLettered(&r[4])
			if ok != tt.known || ok && (low != 10 || high != 10) {
				t.Errorf("%v..%v, %v; want 10, %v", low, high, ok, tt.known)
			}
		})
	}
}

// TestWhatSomebodyPutAmongTheDeadLettersMayBeLostCounts: 100 appeared among the dead letters, and channels took along at most so many counts.
func TestWhatSomebodyPutAmongTheDeadLettersMayBeLostCounts(t *testing.T) {
	from := balance{Gone: bounds{500, 500}, Buried: bounds{20, 20}, Known: true}
	to := balance{Gone: bounds{900, 900}, Buried: bounds{120, 120}, Known: true}
	for lost, want := range map[float64]float64{0: 300, 30: 330, 100: 400, math.Inf(1): 400} {
		if most := from.most(to, lost); most != want {
			t.Errorf("%v lost: at most %v, want %v", lost, most, want)
		}
	}
	unmetered := left(sample.LostCounts{}, Cut{Entered: from, Before: &sample.Frame{}}, Cut{Entered: to, After: &sample.Frame{}})
	if unmetered[1] != 400 {
		t.Errorf("nobody meters what was lost: at most %v, want 400", unmetered[1])
	}
}

// TestAQueueThatCountsOnTooLowIsNotBelieved: its process was started again and had taken in more than before when it was next read.
func TestAQueueThatCountsOnTooLowIsNotBelieved(t *testing.T) {
	at := func(gone float64) Cut {
		b := balance{Gone: bounds{gone, gone}, Known: true}
		return Cut{Published: balance{Gone: bounds{gone, gone}, Known: true}, Entered: b, Before: &sample.Frame{}, After: &sample.Frame{}}
	}
	from, to := at(0), at(400)
	if left := left(sample.LostCounts{}, from, to); left[1] != 400 {
		t.Errorf("at most %v, want 400", left[1])
	}
	to.Entered.Gone = bounds{100, 100}
	if left := left(sample.LostCounts{}, from, to); !math.IsInf(left[1], 1) {
		t.Errorf("at most %v, want no bound", left[1])
	}
}

// TestWhatEnteredLateIsShownLater: a message enters just before a depth that misses it no more, is acked, and is shown 10 s later.
func TestWhatEnteredLateIsShownLater(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var s Residual
	for i := range 14 {
		at := start.Add(time.Duration(i) * 5 * time.Second)
		f := sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: true, EnteredKnown: true, Entered: 100, Closures: float64(i)}
		if i >= 10 {
			f.Entered = 101
		}
		s.Frames = append(s.Frames, f)
	}
	s.Pass = &dedup.Pass{}
	from, ok := cutAt(s, s.Frames[2].Ended)
	if !ok || !from.Entered.Known {
		t.Fatalf("the cut is not bounded: %+v", from)
	}
	if left := leftBy(s, from, &s.Frames[8], &s.Frames[9], &s.Frames[7]); left != 1 {
		t.Errorf("at most %v messages left the queues, want 1", left)
	}
}

func TestAYoungTapeTellsWhatEnteredOnlyFromNothing(t *testing.T) {
	for _, untaken := range []bool{true, false} {
		start := time.Unix(1_800_000_000, 0)
		var r sample.Frames
		for i := range 8 {
			at := start.Add(time.Duration(i) * 5 * time.Second)
			r = append(r, sample.Frame{Began: at, Ended: at, DepthFrom: at.Add(-2 * time.Second), Whole: true, EnteredKnown: i > 0 || !untaken, Unentered: untaken})
		}
		if b := enteredIntake().between(r, start, start); b.Known != untaken {
			t.Errorf("nothing had entered %v: known %v", untaken, b.Known)
		}
	}
}
