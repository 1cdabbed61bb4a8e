package consumer

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestChangesOfTheNumberOfConsumersAreTold(t *testing.T) {
	var events event.Log
	w := NewWatch("orders", []dedup.QueueRef{ordersQueue}, counter.NewBook(), &events)
	at := time.Unix(1_800_000_000, 0)
	for _, r := range []struct {
		n     int64
		known bool
	}{{2, true}, {2, true}, {0, false}, {2, true}, {0, true}} {
		at = at.Add(time.Minute)
		w.Note(r.n, r.known, at)
	}
	if all := event.Merge(&events); len(all) != 1 || all[0].Text != "Consumers went from 2 to 0" || !w.None() {
		t.Errorf("told are %+v; none: %v", all, w.None())
	}
}

func TestAQueueThatNobodyConsumesForLongIsFound(t *testing.T) {
	w := NewWatch("orders", []dedup.QueueRef{ordersQueue}, counter.NewBook(), &event.Log{})
	at := time.Unix(1_800_000_000, 0)
	none, waiting := int64(0), int64(5)
	queues := map[dedup.QueueRef]*dedup.Queue{ordersQueue: {QueueRef: ordersQueue, Consumers: &none, Ready: &waiting, Unacked: &none, Messages: &waiting}}
	w.NoteQueues(queues, at)
	if found := w.Findings(); len(found) != 0 {
		t.Errorf("at once: %+v", found)
	}
	w.NoteQueues(queues, at.Add(finding.DesertedLeast+time.Minute))
	if found := w.Findings(); len(found) != 1 || !strings.Contains(found[0].Text, "Nobody consumes queue orders") {
		t.Errorf("for long: %+v", found)
	}
}

func TestATopologyIsFollowedOnceAndAnOldOneNotAtAll(t *testing.T) {
	var events event.Log
	w := NewWatch("orders", []dedup.QueueRef{ordersQueue}, counter.NewBook(), &events)
	at := time.Unix(1_800_000_000, 0)
	read := func(version uint64, unread string, channels ...string) {
		at = at.Add(time.Minute)
		w.Follow(&dedup.Topology{At: at, Consumers: subscribed(channels...)}, version, unread)
	}
	read(1, "", "a", "b")
	read(2, "", "a", "c")
	read(2, "", "d", "e")
	if w.restarted.Total != 1 || !w.restarted.Open || len(event.Merge(&events)) != 1 {
		t.Errorf("%v restarts, told %+v", w.restarted.Total, event.Merge(&events))
	}
	stored := counter.Batch{}
	if w.Store(stored, &Timeouts{}); len(stored) != 1 {
		t.Errorf("stored %v", stored)
	}
	read(3, "refused", "f", "g")
	if w.Store(counter.Batch{}, &Timeouts{}); w.restarted.Total != 1 || w.restarts.known {
		t.Errorf("%v restarts, known: %v", w.restarted.Total, w.restarts.known)
	}
}

func TestWhatConsumersMayHoldIsBoundedByTheirPrefetch(t *testing.T) {
	consumer := func(channel string, prefetch int64, manual bool) dedup.Consumer {
		return dedup.Consumer{Queue: ordersQueue, Channel: channel, Prefetch: prefetch, AckRequired: manual}
	}
	for name, tt := range map[string]struct {
		list            List
		counted         int64
		bound, capacity int64
		automatic       bool
	}{
		"nobody":                      {nil, 0, 0, 0, false},
		"two channels":                {List{consumer("a", 10, true), consumer("b", 20, true)}, 2, 20, 30, false},
		"two on one channel":          {List{consumer("a", 10, true), consumer("a", 20, true)}, 2, 30, 30, false},
		"one without a bound":         {List{consumer("a", 10, true), consumer("b", 0, true)}, 2, sample.Unbounded, 0, false},
		"one with automatic acks":     {List{consumer("a", 10, true), consumer("b", 5, false)}, 2, 10, 0, true},
		"the queue counts more of it": {List{consumer("a", 10, true)}, 2, 10, 0, false},
	} {
		queues := map[dedup.QueueRef]*dedup.Queue{ordersQueue: {QueueRef: ordersQueue, Consumers: &tt.counted}}
		bound, capacity := tt.list.ChannelBound(), tt.list.Capacity([]dedup.QueueRef{ordersQueue}, queues)
		if bound != tt.bound || capacity != tt.capacity || tt.list.AutoAcks() != tt.automatic {
			t.Errorf("%s: a channel holds %d, all %d, automatic acks %v", name, bound, capacity, tt.list.AutoAcks())
		}
	}
}
