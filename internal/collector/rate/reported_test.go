package rate

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestReported(t *testing.T) {
	outcomes := func(v map[string]float64) map[string]sample.Increase {
		out := map[string]sample.Increase{}
		for k, n := range v {
			out[k] = sample.Increase{Delta: n, Known: true, Covered: time.Minute}
		}
		return out
	}
	tests := map[string]struct {
		sample Reported
		rate   float64 // negative: unknown
		n      float64
		why    string
	}{
		"150 of 10000 are 1.5 %":              {Reported{Present: true, Outcomes: outcomes(map[string]float64{"processed": 9850, "duplicate_done": 150})}, 0.015, 10000, ""},
		"returned in-flight hits are no part": {Reported{Present: true, Scheme: dedup.Scheme{OnInFlight: "nack"}, Outcomes: outcomes(map[string]float64{"processed": 90, "duplicate_done": 10, "duplicate_in_flight": 9000})}, 0.1, 100, ""},
		"acked in-flight hits are messages":   {Reported{Present: true, Scheme: dedup.Scheme{OnInFlight: "ack"}, Outcomes: outcomes(map[string]float64{"processed": 80, "duplicate_done": 10, "duplicate_in_flight": 10})}, 0.1, 100, ""},
		"acked failures are messages":         {Reported{Present: true, Scheme: dedup.Scheme{OnFail: "ack"}, Outcomes: outcomes(map[string]float64{"processed": 80, "duplicate_done": 10, "failed": 10})}, 0.1, 100, ""},
		"illegal states are acked":            {Reported{Present: true, Outcomes: outcomes(map[string]float64{"processed": 80, "duplicate_done": 10, "illegal_state": 10})}, 0.1, 100, ""},
		"reported acks count what outcomes cannot": {Reported{Present: true, Acked: sample.Increase{Delta: 200, Known: true},
			Outcomes: outcomes(map[string]float64{"processed": 150, "duplicate_done": 20, "failed": 60})}, 0.1, 200, ""},
		"nobody reports":              {Reported{}, -1, 0, "report no counters"},
		"no history yet":              {Reported{Present: true}, -1, 0, "no history"},
		"a window without messages":   {Reported{Present: true, Outcomes: outcomes(map[string]float64{"processed": 0})}, -1, 0, "no messages in the window"},
		"silence while broker counts": {Reported{Present: true, Outcomes: outcomes(map[string]float64{"processed": 0}), BrokerAcks: sample.Increase{Delta: 900, Known: true}}, -1, 0, "although the broker counted"},
		"a reset is said":             {Reported{Present: true, Dropped: true, Outcomes: outcomes(map[string]float64{"processed": 10})}, 0, 10, "were reset"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.sample.Window = 15 * time.Minute
			r := tt.sample.Estimate()
			if r.Rate.Known() != (tt.rate >= 0) || (tt.rate >= 0 && math.Abs(r.Rate.Value-tt.rate) > 1e-12) || r.Rate.N != tt.n {
				t.Errorf("rate %+v, want %v of %v", r.Rate, tt.rate, tt.n)
			}
			if !strings.Contains(r.Rate.Why, tt.why) {
				t.Errorf("why %q, want it to say %q", r.Rate.Why, tt.why)
			}
		})
	}
}
