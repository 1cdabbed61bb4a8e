package window

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
)

// TestWhatIsOutIsBoundedByTheSampleBefore simulates bursts whose deliveries are sampled and counted each second, at different moments.
func TestWhatIsOutIsBoundedByTheSampleBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	begin := time.Unix(1_800_000_000, 0)
	second := func(s float64) time.Time { return begin.Add(time.Duration(s * 1e9)) }
	var from, to []float64 // of each delivery
	for burst := 3.0; burst < 600; burst += 10 {
		for range 200 {
			at := burst + 2*r.Float64()
			from, to = append(from, at), append(to, at+0.3*r.ExpFloat64())
		}
	}
	count := func(of []float64, at float64) (n float64) {
		for _, x := range of {
			if x <= at {
				n++
			}
		}
		return n
	}
	p := &Pipeline{}
	var samples []sample.OutSample
	for s := 0.0; s < 600; s += 0.9 + 0.2*r.Float64() {
		at := s + 0.3
		samples = append(samples, sample.OutSample{Began: second(at - 0.01*r.Float64()), Ended: second(at + 0.01*r.Float64()), Unacked: count(from, at) - count(to, at)})
		p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: second(s), Began: second(s - 0.01), Ended: second(s + 0.01), Delivered: sample.LiveSum{Count: count(from, s)}, Acked: sample.LiveSum{Count: count(to, s)}})
		if r.Float64() < 0.2 {
			p.Traffic.Flows.AddOut(samples)
			samples = nil
		}
	}
	p.Traffic.Flows.AddOut(samples)
	known, quiet := 0, 0
	for range 2000 {
		at := 2 + 590*r.Float64()
		out, most := count(from, at)-count(to, at), p.Traffic.Flows.OutAt(second(at))
		if most < out {
			t.Fatalf("%v were out at %v, said to be at most %v", out, at, most)
		}
		if !math.IsInf(most, 1) {
			known++
		}
		if in := math.Mod(at, 10); most <= 2 && in > 7.5 {
			quiet++
		}
	}
	if known < 1900 || quiet < 400 {
		t.Errorf("known of %d of 2000 times, and %d between bursts show to be quiet", known, quiet)
	}
	// A window that ends in a burst ends before it instead.
	n := len(p.Traffic.Flows.Readings)
	at := func(i int) time.Time { return p.Traffic.Flows.Readings[i].At }
	for last := n - 25; last < n-2; last++ {
		begin, end := rate.QuietEnds(p.Traffic.unrest, at, 20, last, rate.QuietReach)
		for _, i := range []int{begin, end} {
			if in := math.Mod(at(i).Sub(second(0)).Seconds(), 10); in > 2.5 && in < 6 && p.Traffic.unrest(at(i)) > rate.QuietEnough {
				t.Errorf("the window of %d to %d has an end %v s after a burst began", begin, end, in-3)
			}
		}
	}
}

// TestASteadyWindowEndsAtItsNewestReading: there is nothing to be gained by waiting.
func TestASteadyWindowEndsAtItsNewestReading(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	p := &Pipeline{}
	for i := range 100 {
		at := begin.Add(time.Duration(i) * time.Second)
		p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at, Began: at, Ended: at, Delivered: sample.LiveSum{Count: 20 * float64(i)}, Acked: sample.LiveSum{Count: 20 * float64(i)}})
	}
	at := func(i int) time.Time { return p.Traffic.Flows.Readings[i].At }
	if a, b := rate.QuietEnds(p.Traffic.unrest, func(i int) time.Time { return p.Traffic.Flows.Readings[:1][i].At }, 0, 0, rate.QuietReach); a != 0 || b != 0 {
		t.Errorf("of a single reading: from %d to %d", a, b)
	}
	for _, last := range []int{97, 98, 99} { // whether the traffic goes on shows in the next reading
		if a, b := rate.QuietEnds(p.Traffic.unrest, at, 10, last, rate.QuietReach); a != 10 || b != 97 {
			t.Errorf("from %d to %d of %d, want 10 to 97", a, b, last)
		}
	}
}

// TestAWindowInSteadyTrafficMovesOnWithEveryRound: messages come at random times, so that some seconds are quieter than others.
func TestAWindowInSteadyTrafficMovesOnWithEveryRound(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 50))
		p, count, next := &Pipeline{}, 0.0, 0.0
		newest := func() int {
			last := len(p.Traffic.Flows.Readings) - 1
			_, end := rate.QuietEnds(p.Traffic.unrest, func(i int) time.Time { return p.Traffic.Flows.Readings[i].At }, max(0, last-300), last, rate.QuietReach)
			return end
		}
		for i, before := 0, 0; i < 200; i++ {
			for ; next <= float64(i); next += r.ExpFloat64() / 50 {
				count++
			}
			at := begin.Add(time.Duration(i) * time.Second)
			p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at, Began: at, Ended: at, Delivered: sample.LiveSum{Count: count}, Acked: sample.LiveSum{Count: count}})
			if i < 20 || i%5 != 0 {
				continue
			}
			end := newest()
			if end <= before {
				t.Errorf("seed %d: the window of second %d ends at %d, the one before at %d", seed, i, end, before)
			}
			before = end
		}
	}
}

// BenchmarkQuieterEnds is what a window of a busy pipeline costs more for ends at quiet moments.
func BenchmarkQuieterEnds(b *testing.B) {
	begin := time.Unix(1_800_000_000, 0)
	p := &Pipeline{}
	for i := range 1200 {
		at := begin.Add(time.Duration(i) * time.Second)
		if n := 20 * float64(i); i%5 == 0 {
			p.Traffic.Frames.Add(sample.Frame{Began: at, Ended: at, DepthFrom: at, Unacked: 2, Acks: n})
		}
		p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at, Began: at, Ended: at, Delivered: sample.LiveSum{Count: 20 * float64(i)}, Acked: sample.LiveSum{Count: 20 * float64(i)}})
	}
	at := func(i int) time.Time { return p.Traffic.Flows.Readings[i].At }
	for b.Loop() {
		rate.QuietEnds(p.Traffic.unrest, at, 890, 1190, rate.QuietReach)
	}
}
