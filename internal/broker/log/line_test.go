package log

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

const (
	line310 = "2026-11-22 02:26:34.612229+00:00 [warning] <0.863.0> Consumer 1 on channel 1 has timed out waiting for delivery acknowledgement. Timeout used: 2000 ms. This timeout value can be configured, see consumers doc guide to learn more\n"
	line313 = "2026-11-22 02:26:34.612229+00:00 [warning] <0.863.0> Consumer 'ctag1.abc' on channel 1 and queue 'orders' in vhost '/' has timed out waiting for a consumer acknowledgement of a delivery with delivery tag = 7. Timeout used: 1800000 ms.\n"
)

func TestTheLogTellsOfAckTimeouts(t *testing.T) {
	named := func(tag, queue, vhost string) string {
		return "Consumer '" + tag + "' on channel 1 and queue '" + queue + "' in vhost '" + vhost + "' has timed out waiting for a consumer acknowledgement of a delivery with delivery tag = 7."
	}
	for _, tt := range []struct {
		name, line string
		queue      dedup.QueueRef
		ok         bool
	}{
		{"of 3.10, which names no queue", line310, dedup.QueueRef{}, true},
		{"of 3.13, which names it", line313, dedup.QueueRef{Vhost: "/", Name: "orders"}, true},
		{"in JSON", `{"time":"2026","level":"warning","msg":"Consumer 'c' on channel 1 and queue 'a\"b' in vhost 'v' has timed out waiting for a consumer acknowledgement of a delivery with delivery tag = 7"}`, dedup.QueueRef{Vhost: "v", Name: `a"b`}, true},
		{"without a prefix", named("c", "it's", "/"), dedup.QueueRef{Vhost: "/", Name: "it's"}, true},
		{"of a queue that is named like another vhost", named("c", "x' in vhost 'y", "/"), dedup.QueueRef{}, true},
		{"with a tag that is named like another queue", named("c' on channel 1 and queue 'payments", "orders", "/"), dedup.QueueRef{}, true},
		{"of the channel that was closed: the warning has counted", "2026 [error] <0.1.0> operation none caused a channel exception precondition_failed: delivery acknowledgement on channel 1 timed out.", dedup.QueueRef{}, false},
		{"but not in a name that quotes one", "2026 [warning] <0.1.0> closing connection 'Consumer 1 on channel 1 has timed out waiting for delivery acknowledgement'", dedup.QueueRef{}, false},
		{"nor far behind", strings.Repeat("x ", 300) + "Consumer 1 on channel 1 has timed out waiting for delivery acknowledgement", dedup.QueueRef{}, false},
		{"nor in a line without end", line310 + strings.Repeat("x", maxLogLine), dedup.QueueRef{}, false},
		{"nor in nothing", "", dedup.QueueRef{}, false},
		{"nor in other JSON", `{"msg":17}`, dedup.QueueRef{}, false},
	} {
		if queue, ok := ackTimeout([]byte(tt.line)); queue != tt.queue || ok != tt.ok {
			t.Errorf("%s: %+v, %v", tt.name, queue, ok)
		}
	}
}

func FuzzAckTimeout(f *testing.F) {
	for _, line := range []string{line310, line313, `{"msg":"Consumer 1 on channel 1 has timed out waiting for delivery acknowledgement"}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		queue, ok := ackTimeout(line)
		if !ok && queue != (dedup.QueueRef{}) {
			t.Errorf("%q names %+v and is no timeout", line, queue)
		}
		if ok && !strings.Contains(string(line), "timed out") && !strings.HasPrefix(strings.TrimSpace(string(line)), "{") {
			t.Errorf("%q is taken for a timeout", line)
		}
	})
}

func FuzzAckTimeoutNamesAQueueForSure(f *testing.F) {
	f.Add("ctag", "orders", "/")
	f.Add("c' on channel 1 and queue 'b", "a' in vhost 'c", "d")
	f.Fuzz(func(t *testing.T, tag, name, vhost string) {
		line := "Consumer '" + tag + "' on channel 3 and queue '" + name + "' in vhost '" + vhost + "' has timed out waiting for a consumer acknowledgement of a delivery"
		if queue, ok := ackTimeout([]byte(line)); ok && queue != (dedup.QueueRef{}) && queue != (dedup.QueueRef{Vhost: vhost, Name: name}) {
			t.Errorf("%q names %+v", line, queue)
		}
	})
}
