package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
)

func TestTheMeanOfRetriesIsOfMessagesThatAreNotDone(t *testing.T) {
	stats := func(change func(*dedup.Pass)) dedup.StoreStats {
		p := &dedup.Pass{Ended: time.Unix(1000, 0)}
		change(p)
		p.GaveUp.Freeze()
		return dedup.StoreStats{Pass: p}
	}
	some := stats(func(p *dedup.Pass) {
		p.Retrying, p.RetrySum, p.UndatedGaveUp = 3, 14, 1
		p.GaveUp.Add(time.Unix(900, 0))
	})
	for _, tt := range []struct {
		name   string
		sample figure.Markers
		value  float64
		words  string
	}{
		{"counters of messages that wait and that were given up", figure.Markers{Scheme: nackScheme, Stats: some}, 14.0 / 5, "of messages that failed and are not done"},
		{"nothing failed", figure.Markers{Scheme: nackScheme, Stats: stats(func(*dedup.Pass) {})}, 0, "no message that failed"},
		{"no pass", figure.Markers{Scheme: nackScheme}, 0, "no complete pass"},
		{"a scheme without counters", figure.Markers{Stats: some}, 0, "counts no failures"},
		{"a store that is down", figure.Markers{Scheme: nackScheme, Stats: some, Down: "store is down"}, 0, "store is down"},
	} {
		f := tt.sample.MeanRetries(time.Hour)
		if f.Value != tt.value || f.Known() != (tt.value > 0) || !strings.Contains(f.Why, tt.words) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}

// TestTheLastActivityIsTheLastAck: a message that cannot proceed is delivered again and again, which is no progress.
func TestTheLastActivityIsTheLastAck(t *testing.T) {
	acked := func(deliver, ack, auto int64) time.Duration {
		first := time.Time{}
		snap := provoked(t, func(b *testBench) { acking(5, 5, 0)(b); first = time.Now() }, spoilQueue(func(q *dedup.Queue) {
			q.Counters = dedup.QueueCounters{Ack: &ack, Deliver: &deliver, Redeliver: &deliver, Publish: ptr(5), DeliverNoAck: &auto, Get: ptr(0), GetNoAck: ptr(0)}
		}))
		p, _ := snap.Pipeline("orders")
		if p.LastActivity.IsZero() {
			return 0
		}
		return p.LastActivity.Sub(first)
	}
	if got := acked(900, 5, 0); got != 0 {
		t.Errorf("deliveries alone count as progress, %s after the start", got)
	}
	if acked(900, 6, 0) == 0 || acked(900, 5, 1) == 0 {
		t.Error("an ack, or an automatic one, does not count")
	}
}
