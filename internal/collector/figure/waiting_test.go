package figure

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestTheOldestMessageIsDatedByItsPublisher(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	waits := func(kind string, n int64, age time.Duration) *dedup.Queue {
		q := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "orders"}, Type: kind, Messages: &n}
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
		f := OldestWaiting(tt.queues, now)
		if f.Known() != tt.known || f.Value != tt.value || f.AtLeast != tt.atLeast || !strings.Contains(f.Why, tt.words) || (f.Better != "") != tt.better || tt.words == "" && f.Why != "" {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}
