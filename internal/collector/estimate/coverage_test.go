package estimate

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestTheBandHoldsTheMean simulates what is held with known times. The ways between broker and consumer are not part of it, so
// that the band is tried without its reach for them.
func TestTheBandHoldsTheMean(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute} {
		var all coverage
		for i, w := range workloads() {
			var one coverage
			r := w.simulate(rand.New(rand.NewPCG(uint64(i), uint64(window))), 40*window.Seconds())
			r.windowsOf(window, func(tape reel) {
				f := Latency{Window: window, Tape: tape}.Mean()
				if f.Low >= f.Value {
					return
				}
				truth := r.truth(f.At.Add(-f.Covered), f.At)
				one.add(f.Low+ways*f.Value <= truth && truth <= f.High)
			})
			all.held, all.n = all.held+one.held, all.n+one.n
			if one.n >= 20 && one.held < 0.85*one.n {
				t.Errorf("windows of %v, %s: %v of %v bands held the truth", window, w.name, one.held, one.n)
			}
		}
		if share := all.held / all.n; share < 0.95 || all.low() < 0.93 {
			t.Errorf("windows of %v: %v of %v bands held the truth, lower limit %.3f", window, all.held, all.n, all.low())
		}
	}
}
