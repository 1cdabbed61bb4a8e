package queue

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

var orders = dedup.QueueRef{Vhost: "/", Name: "orders"}

// A list is one reading of the queue: how many messages were acked and published, negative where the broker does not say; none where it is
// not listed, hidden where that list may hide it.
type list struct {
	acked, published int64
	none, hidden     bool
	node             string
}

func (l list) reading(i int) Reading {
	r := Reading{At: time.Unix(1_800_000_000, 0).Add(time.Duration(i) * time.Minute), Queues: map[dedup.QueueRef]*dedup.Queue{}, Complete: !l.hidden, Counting: true, Later: i > 0}
	if l.none {
		return r
	}
	q := &dedup.Queue{QueueRef: orders, Node: l.node, Consumers: new(int64)}
	if l.acked >= 0 {
		q.Counters.Ack = &l.acked
	}
	if l.published >= 0 {
		q.Counters.Publish = &l.published
	}
	r.Queues[orders] = q
	return r
}

func TestWhatABrokerCountsIsCountedOnAcrossGaps(t *testing.T) {
	for name, tt := range map[string]struct {
		lists       []list
		acks, gaps  float64
		acked       bool
		unpublished bool
		unborn      bool
	}{
		"the first reading is the baseline":  {[]list{{acked: 7}}, 0, 0, false, false, false},
		"it goes on":                         {[]list{{acked: 7}, {acked: 9}}, 2, 0, true, false, false},
		"nothing more was acked":             {[]list{{acked: 7}, {acked: 9}, {acked: 9}}, 2, 0, false, false, false},
		"a counter that begins anew":         {[]list{{acked: 7}, {acked: 2}}, 0, 1, false, false, false},
		"a queue that went and came":         {[]list{{acked: 7}, {none: true}, {acked: 3}}, 0, 2, false, false, false},
		"a queue that moved":                 {[]list{{acked: 7, node: "a"}, {acked: 9, node: "b"}}, 0, 1, false, false, false},
		"a queue that is declared now":       {[]list{{none: true}, {acked: 3}}, 3, 0, true, false, false},
		"a queue that a list hid at first":   {[]list{{none: true, hidden: true}, {acked: 3}}, 0, 1, false, false, false},
		"a queue that does not exist yet":    {[]list{{none: true}}, 0, 0, false, true, true},
		"no message was ever published":      {[]list{{acked: -1, published: -1}}, 0, 0, false, true, false},
		"a first value that may be too late": {[]list{{acked: -1}, {acked: -1}, {acked: 5}}, 5, 0, true, false, false},
	} {
		c := NewCounts("orders", []dedup.QueueRef{orders}, counter.NewBook())
		var f sample.Frame
		var acked bool
		for i, l := range tt.lists {
			f = sample.Frame{}
			_, acked = c.Observe(&f, l.reading(i))
		}
		if f.Acks != tt.acks || f.Gaps != tt.gaps || acked != tt.acked || f.Unpublished != tt.unpublished || f.Unborn != tt.unborn {
			t.Errorf("%s: %v acks with %v gaps, acked %v, unpublished %v, unborn %v", name, f.Acks, f.Gaps, acked, f.Unpublished, f.Unborn)
		}
	}
}

func TestSumsAreUnknownWhereOneQueueIs(t *testing.T) {
	at, three, two := time.Unix(1_800_000_000, 0), int64(3), int64(2)
	other := dedup.QueueRef{Vhost: "/", Name: "other"}
	queues := map[dedup.QueueRef]*dedup.Queue{orders: {QueueRef: orders, Ready: &three, Unacked: &two}, other: {QueueRef: other, Ready: &two, State: "down"}}
	d := GaugesOf([]dedup.QueueRef{orders, other}, queues, sample.LiveDepths{}, "main", at)
	if d[dedup.Ready].Value != 5 || d[dedup.Unacked].Known() || !strings.Contains(d[dedup.Unacked].Why, "queue other (state down)") {
		t.Errorf("%+v", d)
	}
	if d := GaugesOf([]dedup.QueueRef{{Vhost: "/", Name: "gone"}}, queues, sample.LiveDepths{}, "main", at); d[dedup.Ready].Known() || !strings.Contains(d[dedup.Ready].Why, "gone") {
		t.Errorf("of a queue that is not listed: %+v", d[dedup.Ready])
	}
	queues[orders].Type, queues[orders].Consumers = "classic", &two
	live := sample.LiveDepths{At: at.Add(-time.Second), Queues: map[dedup.QueueRef]*dedup.Queue{orders: {QueueRef: orders, Ready: new(int64), Messages: &three, Unacked: &three}}}
	d = GaugesOf([]dedup.QueueRef{orders}, queues, live, "main", at)
	if ready, consumers := d[dedup.Ready], d[dedup.Consumers]; ready.Value != 0 || !ready.At.Equal(live.At) || consumers.Value != 2 || !consumers.At.Equal(at) {
		t.Errorf("with newer depths %v ready at %v, %v consumers at %v", ready.Value, ready.At, consumers.Value, consumers.At)
	}
	queues[other].Policy = map[string]any{"message-ttl": 1000}
	if !Vanishing([]dedup.QueueRef{orders, other}, queues) || Vanishing([]dedup.QueueRef{orders}, queues) {
		t.Error("messages vanish where they expire, and nowhere else")
	}
}
