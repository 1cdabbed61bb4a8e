package estimate

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestAnswersHoldTheMean simulates what is held with known times, and holds each number and each bound against the truth of its
// own window. The ways between broker and consumer are not simulated, so that bands are tried without their reach for them.
func TestAnswersHoldTheMean(t *testing.T) {
	for _, window := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute} {
		bands, bounds := judge{t: t, window: window, what: "bands"}, judge{t: t, window: window, what: "bounds"}
		for i, w := range workloads() {
			r := w.simulate(rand.New(rand.NewPCG(uint64(i), uint64(window))), 40*window.Seconds())
			r.windowsOf(window, func(tape reel) {
				f, p95 := meanAnd95(Latency{Window: window, Tape: tape})
				truth, longer := r.truth(f.At.Add(-f.Covered), f.At, p95.High)
				switch {
				case math.IsNaN(truth):
				case f.AtMost():
					bounds.add(truth <= f.High)
				case f.Known():
					bands.add(f.Low+ways*f.Value <= truth && truth <= f.High)
				case truth > 0:
					t.Errorf("windows of %v, %s: nothing is known of deliveries that were acked: %s", window, w.name, f.Why)
				}
				if p95.Known() && longer > 0.05 {
					t.Errorf("windows of %v, %s: %.1f %% took longer than %v s, said to be the 95th percentile at most", window, w.name, 100*longer, p95.High)
				}
			})
			bands.end(w.name)
			bounds.end(w.name)
		}
		bands.all()
		bounds.all()
	}
}

// TestABoundHoldsWhereSamplesComeLateInBursts: they meet the rest of a burst alone.
func TestABoundHoldsWhereSamplesComeLateInBursts(t *testing.T) {
	const window = 5 * time.Minute
	w := workload{"bursts of 200 at once, each 10 s", 0.1, 200, 0.3, true, 1, false}
	j := judge{t: t, window: window, what: "bounds"}
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 7))
		all := w.deliveries(r, 10*window.Seconds())
		simulateMet(r, all, nil, 10*window.Seconds(), sampling{late: 0.7}).windowsOf(window, func(tape reel) {
			f, _ := meanAnd95(Latency{Window: window, Tape: tape})
			truth, _ := run{tape, all}.truth(f.At.Add(-f.Covered), f.At, 0)
			j.add(truth <= f.High)
		})
	}
	j.end(w.name)
	j.all()
}

// TestAnswersHoldTheMeanOfQuorumQueues: the broker renews what it says of them each 5 s, so that five samples are one.
func TestAnswersHoldTheMeanOfQuorumQueues(t *testing.T) {
	for _, window := range []time.Duration{5 * time.Minute, 15 * time.Minute} {
		bands, bounds := judge{t: t, window: window, what: "bands"}, judge{t: t, window: window, what: "bounds"}
		for i, w := range workloads() {
			if w.beat { // a beat of theirs and the broker's own meet always, or never
				continue
			}
			r := rand.New(rand.NewPCG(uint64(i), uint64(window)))
			all := w.deliveries(r, 40*window.Seconds())
			simulateMet(r, all, nil, 40*window.Seconds(), sampling{renewed: 5}).windowsOf(window, func(tape reel) {
				f, _ := meanAnd95(Latency{Window: window, Tape: tape})
				switch truth, _ := (run{tape, all}).truth(f.At.Add(-f.Covered), f.At, 0); {
				case math.IsNaN(truth):
				case f.AtMost():
					bounds.add(truth <= f.High)
				case f.Known():
					bands.add(f.Low+ways*f.Value <= truth && truth <= f.High)
				}
			})
			bands.end(w.name)
			bounds.end(w.name)
		}
		bands.all()
		bounds.all()
	}
}

// A judge counts the answers of one kind.
type judge struct {
	t         *testing.T
	window    time.Duration
	what      string
	one, each coverage
}

func (j *judge) add(held bool) { j.one.add(held) }

// end judges one workload: chance may miss more of a few.
func (j *judge) end(name string) {
	if j.one.n > 0 && testing.Verbose() {
		j.t.Logf("windows of %v, %s: %v of %v %s held the truth", j.window, name, j.one.held, j.one.n, j.what)
	}
	if j.one.n >= 20 && j.one.held < 0.85*j.one.n {
		j.t.Errorf("windows of %v, %s: %v of %v %s held the truth", j.window, name, j.one.held, j.one.n, j.what)
	}
	j.each.held, j.each.n, j.one = j.each.held+j.one.held, j.each.n+j.one.n, coverage{}
}

// all judges all workloads, by the lower limit of their coverage where there are answers enough for one.
func (j *judge) all() {
	if c := j.each; c.held < 0.95*c.n || c.n > 60 && c.low() < 0.93 {
		j.t.Errorf("windows of %v: %v of %v %s held the truth, lower limit %.3f", j.window, c.held, c.n, j.what, c.low())
	}
}
