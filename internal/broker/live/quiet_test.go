package live

import (
	"fmt"
	"testing"
)

// TestAChannelThatHoldsSomethingAndDoesNotAckIsQuiet: each second a channel takes and acks something, and another takes and acks nothing.
func TestAChannelThatHoldsSomethingAndDoesNotAckIsQuiet(t *testing.T) {
	delivered := func(channel string, n int) string {
		return fmt.Sprintf("rabbitmq_detailed_channel_messages_delivered_ack_total{channel=%q,vhost=\"/\",queue=\"a\"} %d\n", channel, n)
	}
	n := nodeOf(t, "a")
	quiet := func(want int64) {
		t.Helper()
		if got := n.total(n.queues[ref("a")]).Quiet; want == 0 && !got.IsZero() || want > 0 && got.Unix() != want {
			t.Errorf("quiet since %v, want second %d", got, want)
		}
	}
	second := int64(0)
	next := func(rows ...string) {
		second++
		answer := told(int(second), 9, 3, rows...)
		for i, row := range rows {
			var channel, queue string
			var acked int
			if _, err := fmt.Sscan(row, &channel, &queue, &acked); err != nil {
				t.Fatal(err)
			}
			if i < 2 { // the third holds nothing
				acked++
			}
			answer += delivered(channel, acked)
		}
		take(t, n, second, nil, nil, answer)
	}
	next("1 a 50", "2 a 7", "3 a 9")
	quiet(0) // nobody knows yet when either last acked
	next("1 a 51", "2 a 8", "3 a 9")
	quiet(2)
	next("1 a 52", "2 a 8", "3 a 9")
	next("1 a 53", "2 a 8", "3 a 9")
	quiet(2) // the second one hangs
	next("1 a 53", "2 a 9", "3 a 9")
	quiet(4) // it goes on, and the first one waits
}
