package collector

import (
	"testing"
	"time"
)

// TestABatchBetweenTwoRestsHasANarrowInterval shows, where no machine can be slow, that pipelines like those of the sample
// shop get an interval that can be judged half a minute after their last message.
func TestABatchBetweenTwoRestsHasANarrowInterval(t *testing.T) {
	const seeds = 20
	for name, tt := range map[string]simTraffic{
		"payments":               {rate: 120, length: 7 * time.Second, resend: 0.02, lostAck: 0.0004, fail: 0.002, reject: 0.005},
		"emails":                 {rate: 35, length: 7 * time.Second, resend: 0.02, lostAck: 0.001, fail: 0.006, poison: 0.001, reject: 0.008},
		"inventory":              {rate: 60, length: 7 * time.Second, resend: 0.015, lostAck: 0.001, fail: 0.003, reject: 0.016},
		"a batch of ten minutes": {rate: 20, length: 10 * time.Minute, resend: 0.02, lostAck: 0.001, fail: 0.003},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				tt.seed, tt.quietBefore, tt.quietAfter, tt.passAt = seed, 30*time.Second, 30*time.Second, 28*time.Second
				tt.interval, tt.channels, tt.live = 2*time.Second, 2, 1
				shop := runSim(tt)
				s := judged(shop, 15*time.Minute)
				f := residual(s)
				duplicates, messages := shop.truth(0, shop.now)
				if want := duplicates / messages; f.N > 0 && (want < f.Low-1e-9 || want > f.High+1e-9) {
					t.Errorf("seed %d: truth %v is outside [%v, %v]", seed, want, f.Low, f.High)
				}
				if !f.Known() || f.Width() > residualWidest {
					t.Errorf("seed %d: [%v, %v] of %v: %s", seed, f.Low, f.High, f.N, f.Why)
				}
			}
		})
	}
}
