package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/dedup"
)

// TestLiveCountsOutlastSecondsThatAreMissing: what fails now and then cuts out its seconds, and nothing is told of the present for long
// after the last.
func TestLiveCountsOutlastSecondsThatAreMissing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		age  time.Duration
		ok   bool
		why  string
	}{
		{"the newest second failed", time.Second, false, ""},
		{"the newest 20 failed", 20 * time.Second, false, ""},
		{"none for a minute, and none now", time.Minute, false, "cannot be read: it answers 404"},
		{"none for a minute, though the broker answers", time.Minute, true, "not counted together since"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			scheme := dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour}
			c := &Collector{}
			p := &pipeline{Pipeline: dedup.Pipeline{Name: "orders"}, broker: &brokerWatch{}, autoAcks: &tally{},
				store: &storeWatch{store: namedStore{&fakeSource{scheme: scheme}, "orders"}}, joint: &jointPair{}, live: newLiveWatch("main", unanswered{}, Config{Interval: 5 * time.Second, Timeout: 2 * time.Second}, func() {})}
			p.live.src.health = dedup.SourceHealth{Tried: true, OK: tt.ok, Err: "it answers 404", LastSuccess: now}
			for i := range 60 {
				at := now.Add(-tt.age - time.Duration(60-i)*time.Second)
				p.joints.readings = append(p.joints.readings, estimate.Joint{At: at, Acked: float64(100 * i), Settled: float64(97 * i)})
			}
			r := c.liveEstimate(p, view{now: now, scheme: scheme, stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}}, time.Minute)
			if known := r.Rate.Known(); known != (tt.why == "") || !strings.Contains(r.Rate.Why, tt.why) {
				t.Errorf("%+v", r.Rate)
			}
			if r.Rate.Known() && (r.Rate.Low > 0.03 || r.Rate.High < 0.03 || !r.Rate.InBand()) {
				t.Errorf("%+v", r.Rate)
			}
		})
	}
}
