package dedup

import (
	"testing"
	"time"

	"dedup-dashboard/internal/message"
)

var died = time.Date(2026, 11, 21, 3, 12, 7, 0, time.UTC)

func entry(change map[string]any) map[string]any {
	e := map[string]any{"queue": "orders", "reason": "rejected", "count": int64(2), "time": died}
	for k, v := range change {
		e[k] = v
	}
	return e
}

func TestSourceOfADeadLetter(t *testing.T) {
	letter := func(headers map[string]any) DeadLetter {
		return NewDeadLetter(QueueRef{Name: "dead"}, message.Message{Properties: message.Properties{Headers: headers}})
	}
	tests := []struct {
		name    string
		headers map[string]any
		queue   string
	}{
		{"the queue of the newest death", map[string]any{"x-death": []any{entry(map[string]any{"queue": "new"}), entry(nil)}, "x-first-death-queue": "old"}, "new"},
		{"the first death where the history is broken", map[string]any{"x-death": int64(1), "x-first-death-queue": "old"}, "old"},
		{"the next death where the newest has no queue", map[string]any{"x-death": []any{entry(map[string]any{"queue": true}), entry(nil)}}, "orders"},
		{"none", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := letter(tt.headers).Source(); got != tt.queue || ok != (tt.queue != "") {
				t.Errorf("got %q, %v, want %q", got, ok, tt.queue)
			}
		})
	}
	l := letter(map[string]any{"x-death": []any{entry(map[string]any{"time": died.Add(time.Hour)}), entry(nil)}})
	if !l.FirstDied().Equal(died) || !letter(nil).FirstDied().IsZero() {
		t.Errorf("first died %v and %v", l.FirstDied(), letter(nil).FirstDied())
	}
}

func TestAMessageFromAParkingQueueStillSaysWhereItDied(t *testing.T) {
	before := []message.Death{{Queue: "orders", Reason: message.DeathRejected, Count: 2}}
	headers := map[string]any{message.HeaderOriginalDeath: message.EncodeDeaths(before)}
	restored := NewDeadLetter(QueueRef{Vhost: "/", Name: "orders.dlq"}, message.Message{Properties: message.Properties{Headers: headers}})
	if source, ok := restored.Source(); !ok || source != "orders" {
		t.Errorf("it came from %q, %t", source, ok)
	}
	headers["x-death"] = []any{map[string]any{"queue": "refunds", "reason": message.DeathExpired, "count": int64(1)}}
	again := NewDeadLetter(QueueRef{Vhost: "/", Name: "orders.dlq"}, message.Message{Properties: message.Properties{Headers: headers}})
	if source, _ := again.Source(); source != "refunds" || len(again.Deaths) != 2 {
		t.Errorf("after a newer death it came from %q: %+v", source, again.Deaths)
	}
}
