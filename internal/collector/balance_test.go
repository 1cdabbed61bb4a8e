package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// TestWhatQueuesTookInIsCountedWhereAllTell: a reading is of two queues, nil where one does not tell.
func TestWhatQueuesTookInIsCountedWhereAllTell(t *testing.T) {
	type reading [2]*int64
	at := func(a, b int64) reading { return reading{&a, &b} }
	five := int64(5)
	tests := map[string]struct {
		readings       []reading
		entered, gaps  float64
		known, untaken bool
	}{
		"the first reading is the baseline":              {[]reading{at(7, 3)}, 0, 0, true, false},
		"both go on":                                     {[]reading{at(7, 3), at(9, 3), at(9, 8)}, 7, 0, true, false},
		"both are empty":                                 {[]reading{at(0, 0), at(0, 0)}, 0, 0, true, true},
		"young queues do not tell yet":                   {[]reading{{}, {}}, 0, 0, false, true},
		"young queues begin to tell":                     {[]reading{{}, at(4, 5)}, 9, 0, true, false},
		"one never tells, as a quorum queue":             {[]reading{{&five}, {&five}}, 0, 0, false, false},
		"a queue that was started again counts anew":     {[]reading{at(7, 3), at(2, 3), at(2, 4)}, 1, 2, true, false},
		"what a queue took in while it did not tell":     {[]reading{at(5, 3), {nil, &five}, at(8, 5)}, 2, 2, true, false},
		"what the other took in meanwhile is not forgot": {[]reading{at(5, 3), {&five}}, 0, 1, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			refs := []dedup.QueueRef{{Vhost: "/", Name: "a"}, {Vhost: "/", Name: "b"}}
			p := &pipeline{refs: refs, queues: map[dedup.QueueRef]*queueCounters{refs[0]: {}, refs[1]: {}}, broker: &brokerWatch{}}
			var f frame
			for _, r := range tt.readings {
				f = frame{EnteredKnown: true, Unentered: true}
				for i, ref := range refs {
					p.takeEntered(&f, ref, &dedup.Queue{QueueRef: ref, Entered: r[i]})
				}
			}
			if p.entered != tt.entered || p.enteredGaps != tt.gaps || f.EnteredKnown != tt.known || f.Unentered != tt.untaken {
				t.Errorf("took in %v with %v gaps, known %v, none %v; want %v, %v, %v, %v",
					p.entered, p.enteredGaps, f.EnteredKnown, f.Unentered, tt.entered, tt.gaps, tt.known, tt.untaken)
			}
		})
	}
}

// TestWhatWasPutAmongTheDeadLettersIsNoDeadLetter: three messages are published into the dead-letter queue, which shows them at once and
// their counter 5 s later; 40 messages come and are acked, and three of 43 are rejected in the end.
func TestWhatWasPutAmongTheDeadLettersIsNoDeadLetter(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var s residualSample
	for i := range 14 {
		at := start.Add(time.Duration(i) * 5 * time.Second)
		f := frame{Began: at, Ended: at, DepthFrom: at.Add(-time.Second), Whole: true, Unpublished: i < 5}
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
		s.Meter.Acks = append(s.Meter.Acks, meterFrame{Began: at, Ended: at})
	}
	s.Pass, s.Interval = &dedup.Pass{}, 5*time.Second
	for _, begin := range []int{0, 1, 2, 3} {
		from, ok1 := cutAt(s, s.Frames[begin].Ended)
		to, ok2 := cutAt(s, s.Frames[9].Ended)
		if !ok1 || !ok2 || !to.Published.Known {
			t.Fatalf("begin %d: the ends are not bounded: %v, %v, %+v", begin, ok1, ok2, to)
		}
		if left := s.Meter.left(from, to); left[0] > 40 {
			t.Errorf("begin %d: at least %v messages left the queues, want at most 40", begin, left[0])
		}
	}
}

// TestWhatEnteredLateIsShownLater: a message enters just before a depth that misses it no more, is acked, and is shown 10 s later.
func TestWhatEnteredLateIsShownLater(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var s residualSample
	for i := range 14 {
		at := start.Add(time.Duration(i) * 5 * time.Second)
		f := frame{Began: at, Ended: at, DepthFrom: at, Whole: true, EnteredKnown: true, Entered: 100, Closures: float64(i)}
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
	if left := leftBy(s, from, &s.Frames[8], &s.Frames[9]); left != 1 {
		t.Errorf("at most %v messages left the queues, want 1", left)
	}
}

func TestAYoungTapeTellsWhatEnteredOnlyFromNothing(t *testing.T) {
	for _, untaken := range []bool{true, false} {
		start := time.Unix(1_800_000_000, 0)
		var r reel
		for i := range 8 {
			at := start.Add(time.Duration(i) * 5 * time.Second)
			r = append(r, frame{Began: at, Ended: at, DepthFrom: at.Add(-2 * time.Second), Whole: true, EnteredKnown: i > 0 || !untaken, Unentered: untaken})
		}
		if b := enteredIntake().between(r, start, start); b.Known != untaken {
			t.Errorf("nothing had entered %v: known %v", untaken, b.Known)
		}
	}
}
