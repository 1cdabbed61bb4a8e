package collector

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
)

func TestTheOldestMessageIsDatedByItsPublisher(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	waits := func(kind string, n int64, age time.Duration) *dedup.Queue {
		q := queue("orders", func(q *dedup.Queue) { q.Type, q.Messages = kind, ptr(n) })
		if age != math.MaxInt64 {
			at := now.Add(-age)
			q.HeadTimestamp = &at
		}
		return &q
	}
	const undated = math.MaxInt64
	for _, tt := range []struct {
		name    string
		queues  []*dedup.Queue
		known   bool
		value   float64
		atLeast bool
		words   string
		better  bool
	}{
		{"nothing waits", []*dedup.Queue{waits("classic", 0, undated)}, false, 0, false, "no message waits", false},
		{"the older of two", []*dedup.Queue{waits("classic", 3, time.Minute), waits("classic", 1, time.Hour)}, true, 3600, false, "", false},
		{"an empty queue keeps no old stamp", []*dedup.Queue{waits("classic", 0, time.Hour), waits("classic", 1, time.Minute)}, true, 60, false, "", false},
		{"without a timestamp", []*dedup.Queue{waits("classic", 3, undated)}, false, 0, false, "carries no timestamp", true},
		{"a quorum queue", []*dedup.Queue{waits("quorum", 3, undated)}, false, 0, false, "does not tell the oldest message of queue orders, which is of type quorum", true},
		{"one of two is dated", []*dedup.Queue{waits("quorum", 3, undated), waits("classic", 1, time.Minute)}, true, 60, true, "at least: RabbitMQ does not tell", true},
		{"a publisher whose clock is ahead", []*dedup.Queue{waits("classic", 3, -time.Hour)}, true, 0, false, "clock is at least 1 h ahead", false},
		{"a stamp of 1970", []*dedup.Queue{waits("classic", 3, now.Sub(time.Unix(0, 0)))}, false, 0, false, "carries no timestamp", true},
		{"a queue that is not listed", []*dedup.Queue{nil}, false, 0, false, "does not say", true},
	} {
		f := oldestWaiting(tt.queues, now)
		if f.Known() != tt.known || f.Value != tt.value || f.AtLeast != tt.atLeast || !strings.Contains(f.Why, tt.words) || (f.Better != "") != tt.better || tt.words == "" && f.Why != "" {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}

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
