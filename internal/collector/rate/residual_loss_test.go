package rate

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestAnEndOfTheWindowIsWhereTheMeterRan: the newest reading of the nodes failed.
func TestAnEndOfTheWindowIsWhereTheMeterRan(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var s Residual
	for i := range 40 {
		at := start.Add(time.Duration(i) * 5 * time.Second)
		s.Frames = append(s.Frames, sample.Frame{Began: at, Ended: at, DepthFrom: at.Add(-time.Second), Whole: true, Publishes: 10, Acks: 10, Closures: float64(i)})
		if i != 20 {
			gaps := 0.0
			if i > 20 {
				gaps = 1 // a node was restarted
			}
			s.Meter.Publishes = append(s.Meter.Publishes, sample.LossReading{Began: at, Ended: at, Gaps: gaps})
		}
	}
	s.Pass = &dedup.Pass{}
	for i, worth := range map[int]int{0: 0, 10: 2, 18: 2, 19: 1, 20: 1, 21: 1, 30: 2} {
		if c, ok := cutAt(s, s.Frames[i].Ended.Add(2*time.Second)); !ok || c.Worth != worth {
			t.Errorf("reading %d: worth %d (%v), want %d", i, c.Worth, ok, worth)
		}
	}
	if c, ok := bestCut(s, s.Frames[15].Ended, s.Frames[21].Ended, true); !ok || c.Worth != 2 {
		t.Errorf("the end is at %s, worth %d", c.At.Sub(start), c.Worth)
	}
}

func TestTheMeterTightensTheAcksOfTheResidual(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var frames []sample.Frame
	var lost sample.LostCounts
	closures, acked := 0.0, 0.0
	for i := range 20 {
		at := start.Add(time.Duration(i) * 5 * time.Second)
		lost.Acks = append(lost.Acks, sample.LossReading{Began: at, Ended: at.Add(100 * time.Millisecond), True: acked, Counted: acked})
		frames = append(frames, sample.Frame{Began: at, Ended: at.Add(100 * time.Millisecond), Acks: acked, Closures: closures})
		if i > 6 && i < 12 {
			acked += 40
			closures++
		}
	}
	end := func(i, j int) Cut {
		return Cut{At: frames[i].Ended, AcksLow: frames[i].Acks, AcksHigh: frames[j].Acks, Before: &frames[i], After: &frames[j]}
	}
	from, to := end(3, 5), end(14, 16)
	if _, why := ackBounds(sample.LostCounts{}, nil, from, to); !strings.Contains(why, "nothing tells how many") {
		t.Errorf("without a meter: %q", why)
	}
	acks, why := ackBounds(lost, nil, from, to)
	if why != "" || acks != [2]float64{200, 200} {
		t.Errorf("%v, %q; want exactly the 200 that were acked", acks, why)
	}
	unseen, ok := lostAcks(Residual{Frames: frames, Meter: lost}, from, &frames[15], &frames[17])
	if !ok || unseen != 0 {
		t.Errorf("%v, %v", unseen, ok)
	}
}

// A completion whose ack was lost is redelivered after the window; the channel that acks it then dies with both counts.
func TestAnAckThatIsLostAfterTheWindowIsARepeat(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var frames sample.Frames
	for i := range 12 {
		at := start.Add(time.Duration(i) * 5 * time.Second)
		f := sample.Frame{Began: at, Ended: at, DepthFrom: at.Add(-time.Second), Whole: true}
		if i >= 4 {
			f.Publishes, f.Acks, f.Depth, f.Unacked, f.Closures = 100, 99, 1, 1, 1
		}
		if i >= 9 {
			f.Depth, f.Unacked, f.Closures = 0, 0, 2 // acked by a channel whose counts nobody saw
		}
		frames = append(frames, f)
	}
	var published sample.LossReadings
	for _, f := range frames {
		published = append(published, sample.LossReading{Began: f.Began, Ended: f.Ended, True: f.Publishes, Counted: f.Publishes})
	}
	s := Residual{Frames: frames, Pass: &dedup.Pass{}, Interval: 5 * time.Second, Meter: sample.LostCounts{Publishes: published}}
	from, ok1 := cutAt(s, frames[2].Ended)
	to, ok2 := cutAt(s, frames[6].Ended)
	if !ok1 || !ok2 || !from.Published.Known || !to.Published.Known {
		t.Fatal("the ends of the window are not bounded")
	}
	b, why := repeats(s, from, to)
	if b < 1 || why != "" {
		t.Errorf("at most %v repeats (%s), want 1 or more", b, why)
	}
}
