package window

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestWhatClosedChannelsHeldWaitsUntilSomebodyTakesIt: all consumers die at second 100, and the next one comes at 160.
func TestWhatClosedChannelsHeldWaitsUntilSomebodyTakesIt(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	for name, c := range map[string]struct {
		ready   func(s int) float64
		blind   bool
		to      int
		waiting float64
	}{
		"nobody has taken it for a minute":         {func(s int) float64 { return 40 }, false, 158, 4},
		"nothing waited before they died":          {func(s int) float64 { return map[bool]float64{true: 40}[s >= 100] }, false, 158, 4},
		"it was taken, and nothing waits any more": {func(s int) float64 { return map[bool]float64{true: 40}[s >= 100 && s < 165] }, false, 180, 0},
		"more was delivered since than waited":     {func(s int) float64 { return 40 }, false, 280, 0},
		"nobody knows what waits":                  {func(s int) float64 { return 0 }, true, 280, math.Inf(1)},
	} {
		p := &Pipeline{}
		for s := 0; s <= 300; s++ {
			n := float64(s)
			if s > 100 {
				n = 100 + float64(max(0, s-160))
			}
			r := sample.LiveReading{At: at(s), Acked: sample.LiveSum{Count: n}, Delivered: sample.LiveSum{Count: n}}
			if s > 100 {
				r.Closed = 4
			}
			p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, r)
			if s%5 == 0 {
				p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at(s), Ended: at(s), DepthFrom: at(s), Depth: 7 + c.ready(s), Unacked: 7, Blind: c.blind})
			}
		}
		if got := p.Traffic.closedSinceTaken(at(50), at(c.to).Add(time.Second/2)); got != c.waiting {
			t.Errorf("%s: what %v channels held may wait, want %v", name, got, c.waiting)
		}
	}
}

// TestWhoCouldHoldMoreBoundsWhatWasUnackedUntilHeLeft: a consumer with a large prefetch left just after the time.
func TestWhoCouldHoldMoreBoundsWhatWasUnackedUntilHeLeft(t *testing.T) {
	p := &Pipeline{}
	p.Traffic.Capacities.Add(time.Unix(1000, 0), 500)
	p.Traffic.Capacities.Add(time.Unix(1100, 0), 10)
	for _, c := range []struct {
		second int64
		most   float64
	}{{1090, 501}, {1110, 501}, {1200, 11}} {
		if got := p.Traffic.unackedAround(time.Unix(c.second, 0)); got != c.most {
			t.Errorf("at %d at most %v were unacked, want %v", c.second, got, c.most)
		}
	}
}

// A lookFirst simulates consumers that look for the row of a message, work, and insert it: what the store and the broker count of them, and the
// duplicates that were acked.
type lookFirst struct {
	now                                      float64
	queue                                    []int
	held                                     [2][]int // by each channel, oldest first
	busy                                     [2]float64
	done                                     map[int]bool
	hits, wrote, acked, back, closed, copies float64
	// asked is how many deliveries met a row and died.
	asked float64
}

// step runs for 10 ms. Every so many seconds a consumer dies, who goes on with what it holds for a moment.
func (l *lookFirst) step(r *rand.Rand, next *int, later map[int][]int, deaths float64) {
	l.now += 0.01
	tick := int(l.now * 100)
	if r.Float64() < 0.15 {
		*next++
		l.queue = append(l.queue, *next)
		if r.Float64() < 0.04 {
			at := tick + 50 + r.IntN(750)
			later[at] = append(later[at], *next)
		}
	}
	l.queue = append(l.queue, later[tick]...)
	for i := range l.held {
		for len(l.held[i]) < 10 && len(l.queue) > 0 {
			l.held[i], l.queue = append(l.held[i], l.queue[0]), l.queue[1:]
		}
		if deaths > 0 && r.Float64() < 0.01/deaths {
			l.die(r, i)
		}
		for len(l.held[i]) > 0 && l.busy[i] <= l.now {
			l.handle(r, i)
		}
	}
}

// handle acks what is there, and begins or ends the work on what is not.
func (l *lookFirst) handle(r *rand.Rand, i int) {
	id := l.held[i][0]
	switch {
	case l.busy[i] > 0: // its work ends
		l.busy[i] = 0
		l.wrote++
		l.done[id] = true
	case l.done[id]:
		l.hits++
		l.copies++
	default:
		l.busy[i] = l.now + 0.01 + 0.09*r.Float64()
		return
	}
	l.acked++
	l.held[i] = l.held[i][1:]
}

func (l *lookFirst) die(r *rand.Rand, i int) {
	for k, id := range l.held[i] {
		if met := l.done[id] && (k > 0 || l.busy[i] == 0); met {
			l.hits++
			l.asked++
		}
		if r.IntN(2) == 0 {
			break
		}
	}
	if len(l.held[i]) > 0 {
		l.closed++
	}
	l.back += float64(len(l.held[i]))
	l.queue = append(append([]int(nil), l.held[i]...), l.queue...)
	l.held[i], l.busy[i] = nil, 0
}

// TestDyingConsumersThatLookFirstAreWithinTheHits: what asked and died has asked twice for one ack.
func TestDyingConsumersThatLookFirstAreWithinTheHits(t *testing.T) {
	scheme := dedup.Scheme{Kind: "sql-table", Mark: "after"}
	for name, c := range map[string]struct{ deaths, widest float64 }{"each 4 s one dies": {4, 0.004}, "each 15 s one dies": {15, 0.004}, "none dies": {0, 0}} {
		windows, held, twice, widest := 0, 0, 0.0, 0.0
		for seed := range uint64(40) {
			r := rand.New(rand.NewPCG(seed, 9))
			l, next, later := &lookFirst{done: map[int]bool{}}, 0, map[int][]int{}
			for range 5 {
				a, waiting := *l, float64(len(l.held[0])+len(l.held[1]))
				for range 30000 {
					l.step(r, &next, later, c.deaths)
				}
				acked, hits := l.acked-a.acked, l.hits-a.hits
				gain := sample.Gain{Live: true, Acked: [2]float64{acked, acked}, Redelivered: l.back - a.back, Closed: l.closed - a.closed}
				span := rate.HitsSpan{Hits: [2]float64{hits, hits}, Written: l.wrote - a.wrote}
				h := estimate.Hits{Least: span.MeetWritten(scheme, gain, waiting), Messages: gain.Acked}
				died := 0.0
				if gain.Closed > 0 {
					died = gain.DiedAsking(10, 10, 1)
				}
				h.Hits, h.Undone = span.Hits, rate.UndoneRows(scheme, nil, span, gain, rate.HitsAgain{Died: died, Returned: gain.Redelivered + waiting})
				low, _, high := h.Duplicates()
				windows++
				if truth := l.copies - a.copies; low <= truth && truth <= high {
					held++
				}
				twice += l.asked - a.asked
				widest = max(widest, (high-low)/acked)
			}
		}
		if windows != held || widest > c.widest {
			t.Errorf("%s: the truth is held in %d of %d windows, at most %.2f %% wide", name, held, windows, 100*widest)
		}
		t.Logf("%s: %.0f deliveries met a row and died; held in %d of %d windows, at most %.2f %% wide", name, twice, held, windows, 100*widest)
	}
}
