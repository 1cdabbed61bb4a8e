package window

import (
	"math/rand/v2"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
)

// TestWhatIsUnackedAtBothEndsBoundsAcksInBatches: the broker's samples are seconds old, and what was delivered since and not acked is added.
func TestWhatIsUnackedAtBothEndsBoundsAcksInBatches(t *testing.T) {
	var p *Pipeline
	begin := func() {
		p = &Pipeline{}
		for s := range 121 { // 30 deliveries a second, acked each 10 s
			at := time.Unix(1000+int64(s), 0)
			p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at, Delivered: sample.LiveSum{Count: 30 * float64(s)}, Acked: sample.LiveSum{Count: 300 * float64(s/10)}})
			if s%5 == 1 {
				p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at, DepthFrom: at, Ended: at, Unacked: 30 * float64(s%10)})
			}
		}
	}
	ends := func(from, to int64) *[2]float64 {
		return p.Traffic.unackedEnds([]estimate.Stretch{{From: time.Unix(1000+from, 0), To: time.Unix(1000+to, 0)}})
	}
	begin()
	for name, c := range map[string]struct{ from, to int64 }{"after acks": {40, 100}, "before acks": {39, 99}, "at the newest reading": {35, 120}} {
		got := ends(c.from, c.to)
		if got == nil || got[0] < 30*float64(c.from%10) || got[1] < 30*float64(c.to%10) || max(got[0], got[1]) > 340 {
			t.Errorf("%s: %v", name, got)
		}
	}
	one, other := ends(40, 60), ends(70, 100)
	both := p.Traffic.unackedEnds([]estimate.Stretch{{From: time.Unix(1040, 0), To: time.Unix(1060, 0)}, {From: time.Unix(1070, 0), To: time.Unix(1100, 0)}})
	if both == nil || both[0] != one[0]+other[0] || both[1] != one[1]+other[1] {
		t.Errorf("of two stretches: %v, of each %v and %v", both, one, other)
	}
	if got := ends(5, 100); got != nil {
		t.Errorf("before the broker was read long enough: %v", *got)
	}
	p.Traffic.Frames = nil
	if got := ends(40, 100); got != nil {
		t.Errorf("nobody saw how many were unacked: %v", *got)
	}
	begin()
	for i := range p.Traffic.Frames {
		p.Traffic.Frames[i].Blind = true
	}
	if got := ends(40, 100); got != nil {
		t.Errorf("samples that are blind: %v", *got)
	}
}

// TestWhatWaitedAtBothEndsIsHeldInAnyRhythm of acks, samples and readings.
func TestWhatWaitedAtBothEndsIsHeldInAnyRhythm(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 7))
	held, n := 0, 0
	for range 500 {
		p := &Pipeline{}
		flush, consumers, sampled := 0.5+6*r.Float64(), 1+r.IntN(3), 5*r.Float64()
		var waiting, next [3]float64
		for i := range next {
			next[i] = flush * r.Float64()
		}
		var delivered, acked float64
		unacked := map[int64]float64{}
		for tick := range 9000 { // of 10 ms
			now := float64(tick) / 100
			if r.Float64() < 0.3 {
				delivered++
				waiting[r.IntN(consumers)]++
			}
			for i := range next {
				if now >= next[i] {
					acked, waiting[i], next[i] = acked+waiting[i], 0, next[i]+flush
				}
			}
			at := time.Unix(1000, 0).Add(time.Duration(tick) * 10 * time.Millisecond)
			if now >= sampled {
				sampled += 5
				p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at, DepthFrom: at, Ended: at, Unacked: delivered - acked})
			}
			if tick%100 == 0 {
				unacked[at.Unix()] = delivered - acked
				p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at, Delivered: sample.LiveSum{Count: delivered}, Acked: sample.LiveSum{Count: acked}})
			}
		}
		from, to := int64(1020+r.IntN(20)), int64(1060+r.IntN(25))
		ends := p.Traffic.unackedEnds([]estimate.Stretch{{From: time.Unix(from, 0), To: time.Unix(to, 0)}})
		if ends == nil {
			t.Fatal("nothing is known of the ends")
		}
		n++
		if fewer := unacked[from] - unacked[to]; fewer <= ends[0] && -fewer <= ends[1] {
			held++
		}
	}
	if t.Logf("%d of %d", held, n); float64(held) < 0.99*float64(n) {
		t.Errorf("%d of %d windows hold what waited", held, n)
	}
}
