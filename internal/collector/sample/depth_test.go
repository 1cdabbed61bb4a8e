package sample

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestDepthsAreLiveOnlyWhereEveryQueueAnswersItself(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	number := func(n int64) *int64 { return &n }
	source := dedup.QueueRef{Vhost: "/", Name: "emails"}
	dead := dedup.QueueRef{Vhost: "/", Name: "emails.dlq"}
	for _, tt := range []struct {
		name     string
		deadType string
		asked    time.Time
		missing  bool
		depth    float64
		from     time.Time
	}{
		{"all classic", "classic", at.Add(-time.Second), false, 3, at.Add(-time.Second)},
		{"a quorum queue among them", "quorum", at.Add(-time.Second), false, 40, at.Add(-DepthLag)},
		{"a queue that did not answer", "classic", at.Add(-time.Second), true, 40, at.Add(-DepthLag)},
		{"an answer older than the sample can be", "classic", at.Add(-time.Minute), false, 40, at.Add(-DepthLag)},
		{"an answer from after the sample, as when the clock was set back", "classic", at.Add(time.Minute), false, 40, at.Add(-DepthLag)},
		{"never asked", "classic", time.Time{}, false, 40, at.Add(-DepthLag)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := map[dedup.QueueRef]*dedup.Queue{
				source: {QueueRef: source, Messages: number(3), Unacked: number(1)},
				dead:   {QueueRef: dead, Messages: number(7), Unacked: number(0)},
			}
			if tt.missing {
				delete(live, dead)
			}
			queues := map[dedup.QueueRef]*dedup.Queue{
				source: {QueueRef: source, Type: "classic", Messages: number(40), Unacked: number(4)},
				dead:   {QueueRef: dead, Type: tt.deadType, Messages: number(5), Unacked: number(0)},
			}
			var f Frame
			f.Measure([]dedup.QueueRef{source}, queues, false, DepthsOf(LiveDepths{tt.asked, live}, at, []dedup.QueueRef{source, dead}, queues))
			if f.Depth != tt.depth || !f.DepthFrom.Equal(tt.from) || !f.Whole || f.Blind {
				t.Errorf("depth %v from %v, whole %v, blind %v; want %v from %v", f.Depth, f.DepthFrom, f.Whole, f.Blind, tt.depth, tt.from)
			}
		})
	}
}
