package estimate_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
)

// lossy is a queue of 10 messages a second for two minutes with a duplicate each other second, read each second, whose broker loses acks.
func lossy(lost func(second int) float64, unsure func(second int) float64) []estimate.Joint {
	var readings []estimate.Joint
	var acked, settled, missing float64
	for s := range 121 {
		if s > 0 {
			acked, settled = acked+10+float64(s%2), settled+10
			missing += lost(s)
		}
		readings = append(readings, estimate.Joint{At: trafficBegan.Add(time.Duration(s) * time.Second), Acked: acked - missing, Unsure: unsure(s), Settled: settled, Delivered: acked})
	}
	return readings
}

// TestAcksThatWentMissingSecondsBeforeTheyWereToldAreWithinTheBounds: what is told late was lost in readings that are further back than the
// neighbouring one, and takes off what is known of duplicates elsewhere.
func TestAcksThatWentMissingSecondsBeforeTheyWereToldAreWithinTheBounds(t *testing.T) {
	const duplicates = 60
	for name, c := range map[string]struct {
		lost, unsure func(second int) float64
		missing      float64
	}{
		"over three seconds, told four seconds after": {func(s int) float64 {
			if s > 60 && s <= 63 {
				return 6
			}
			return 0
		}, func(s int) float64 {
			if s >= 67 {
				return 40
			}
			return 0
		}, 18},
		"over three seconds, told at once": {func(s int) float64 {
			if s > 60 && s <= 63 {
				return 6
			}
			return 0
		}, func(s int) float64 {
			if s >= 63 {
				return 40
			}
			return 0
		}, 18},
		"of three channels in a row": {func(s int) float64 {
			if s >= 60 && s < 66 {
				return 8
			}
			return 0
		}, func(s int) float64 { return 40 * float64(max(0, min(3, (s-58)/3))) }, 48},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := estimate.ResidualOf(lossy(c.lost, c.unsure), 2*time.Minute, estimate.Unacked{})
			low, _, high := r.Duplicates(0)
			if !ok || low > duplicates || high < duplicates {
				t.Errorf("%g to %g duplicates, of %d; %g unsure, %g lost", low, high, duplicates, r.Unsure, c.missing)
			}
			if r.Unsure > c.missing+20 {
				t.Errorf("%g are unsure, %g were lost", r.Unsure, c.missing)
			}
		})
	}
}
