package rate

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/shoptest"
)

// TestAckedFailuresAreTakenOffTheLowEnd: consumers give messages up without a counter that tells so.
func TestAckedFailuresAreTakenOffTheLowEnd(t *testing.T) {
	shop := shoptest.Run(shoptest.Traffic{Seed: 5, Rate: 40, Length: 4 * time.Minute, QuietBefore: 40 * time.Second, QuietAfter: 40 * time.Second,
		Resend: 0.03, Fail: 0.03, Poison: 0.01, Interval: 5 * time.Second, PassAt: 20 * time.Second, Channels: 4, Live: 1})
	given := func(from, to time.Time) float64 {
		return shoptest.Within(shop.GivenUp, from.Sub(shoptest.Epoch())-sample.SettleDelay, to.Sub(shoptest.Epoch()))
	}
	events, pass := heard(shop, shoptest.Listener{Interval: 5 * time.Second}, 15*time.Minute), judged(shop, 15*time.Minute)
	for i := range events.Readings {
		events.Readings[i].GaveUp = 0
	}
	events.Scheme.GiveUp, pass.Scheme.GiveUp = 0, 0
	for name, of := range map[string]func(known func(from, to time.Time) float64) dedup.Figure{
		"store events": func(known func(from, to time.Time) float64) dedup.Figure {
			s := events
			s.OtherAcks = known
			return s.Estimate().Rate
		},
		"residual": func(known func(from, to time.Time) float64) dedup.Figure {
			s := pass
			s.OtherAcks = known
			return s.Estimate().Rate
		},
	} {
		holds := func(f dedup.Figure) bool {
			truth := shop.TruthOf(f)
			rate := truth.Duplicates / truth.Settled
			return rate >= f.Low-1e-9 && rate <= f.High+1e-9
		}
		blind, told := of(nil), of(given)
		if holds(blind) {
			t.Errorf("%s: what is not known does no harm: %+v", name, blind)
		}
		if !holds(told) || blind.High > 0 && told.High != blind.High || !strings.Contains(told.Why, "of the duplicates may be acks of work that failed") {
			t.Errorf("%s: %+v", name, told)
		}
		none := of(func(_, _ time.Time) float64 { return 0 })
		if none != blind {
			t.Errorf("%s: %+v where none are proven, %+v where nobody asks", name, none, blind)
		}
		if all := of(func(_, _ time.Time) float64 { return math.Inf(1) }); all.Low != 0 || !holds(all) || !strings.Contains(all.Why, "nothing tells how much") {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
