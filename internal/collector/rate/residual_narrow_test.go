package rate

import (
	"testing"
	"time"

	"dedup-dashboard/lab/shoptest"
)

// TestABatchBetweenTwoRestsHasANarrowInterval shows, where no machine can be slow, that pipelines like those of the sample
// shop get an interval that can be judged half a minute after their last message.
func TestABatchBetweenTwoRestsHasANarrowInterval(t *testing.T) {
	const seeds = 20
	for name, tt := range map[string]shoptest.Traffic{
		"payments":               {Rate: 120, Length: 7 * time.Second, Resend: 0.02, LostAck: 0.0004, Fail: 0.002, Reject: 0.005},
		"emails":                 {Rate: 35, Length: 7 * time.Second, Resend: 0.02, LostAck: 0.001, Fail: 0.006, Poison: 0.001, Reject: 0.008},
		"inventory":              {Rate: 60, Length: 7 * time.Second, Resend: 0.015, LostAck: 0.001, Fail: 0.003, Reject: 0.016},
		"a batch of ten minutes": {Rate: 20, Length: 10 * time.Minute, Resend: 0.02, LostAck: 0.001, Fail: 0.003},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				tt.Seed, tt.QuietBefore, tt.QuietAfter, tt.PassAt = seed, 30*time.Second, 30*time.Second, 28*time.Second
				tt.Interval, tt.Channels, tt.Live = 2*time.Second, 2, 1
				shop := shoptest.Run(tt)
				s := judged(shop, 15*time.Minute)
				f := residual(s)
				duplicates, messages := shop.SettledBetween(0, shop.Now)
				if want := duplicates / messages; f.N > 0 && (want < f.Low-1e-9 || want > f.High+1e-9) {
					t.Errorf("seed %d: truth %v is outside [%v, %v]", seed, want, f.Low, f.High)
				}
				if !f.Known() || f.Width() > Widest {
					t.Errorf("seed %d: [%v, %v] of %v: %s", seed, f.Low, f.High, f.N, f.Why)
				}
			}
		})
	}
}
