package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// A worker that takes its messages by basic.get holds them on a connection that is no consumer's: whatever consumers do,
// it may live. The broker's raw counters say that there is or was one, however long ago and before whatever restart.
func TestClosedConnectionsSayNothingOfAWorkerThatGets(t *testing.T) {
	takes := func(n *int64) func(*dedup.Queue) { return func(q *dedup.Queue) { q.Counters.Get = n } }
	tests := map[string]struct {
		// before and after are what the queue counts before and after closings were learned.
		before, after func(*dedup.Queue)
		mode          string
		closed        bool
	}{
		"nobody gets":                                 {takes(nil), takes(nil), "basic", true},
		"nobody has got a message yet":                {takes(ptr(0)), takes(ptr(0)), "basic", true},
		"somebody got one before the dashboard ran":   {takes(ptr(1)), takes(ptr(1)), "basic", false},
		"somebody gets once closings were learned":    {takes(nil), takes(ptr(1)), "basic", false},
		"somebody gets without acks":                  {takes(nil), func(q *dedup.Queue) { q.Counters.GetNoAck = ptr(3) }, "basic", false},
		"a broker without rates cannot tell":          {takes(nil), takes(nil), "none", false},
		"the queue is hidden once closings are known": {takes(nil), func(q *dedup.Queue) { q.Name = "renamed" }, "basic", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set := func(b *testBench, change func(*dedup.Queue)) {
				b.broker.set(func(f *fakeSource) {
					q := f.sample.Queues[0]
					q.Consumers = ptr(1)
					change(&q)
					f.sample.Queues = append([]dedup.Queue{q}, f.sample.Queues[1:]...)
					f.sample.Info.RatesMode = tt.mode
					f.topology.Consumers = []dedup.Consumer{{Queue: ordersRef(), Channel: "c", Connection: "worker", AckRequired: true}}
					f.topology.Connections = []dedup.Connection{{Name: "worker", Opened: time.Now().Add(-time.Hour)}}
				})
			}
			duringFrom(t, func(b *testBench) { set(b, tt.before) }, func(t *testing.T, b *testBench) {
				pass(source.TopologyInterval + 2*testInterval)
				set(b, tt.after)
				pass(source.TopologyInterval + 2*testInterval)
				b.store.set(func(f *fakeSource) { f.stats.Pass = stuckPass(1, 2*time.Hour) })
				pass(2 * testInterval)
				if e := b.Snapshot().Stores[0].Evidence; e.Missing != "" || e.ClosedSince.IsZero() == tt.closed {
					t.Errorf("closed since %s (missing %q), want closings to testify: %v", e.ClosedSince, e.Missing, tt.closed)
				}
			})
		})
	}
}

// The broker's counters are late: that nobody took a message by basic.get is only known of the time before sample.CounterLag.
func TestClosingsWaitForTheCountersOfGets(t *testing.T) {
	since := at(100)
	s := &storeQueues{closings: sample.Closings{All: []sample.Closing{{At: at(90), Since: at(5)}, {At: at(101), Since: since}}, Trusted: true}, calms: newCalms()}
	queues := brokerWith(0, 0, 0, nil)
	for _, tt := range []struct {
		second float64
		want   time.Time
	}{{50, at(5)}, {102, at(5)}, {105, at(5)}, {106, since}, {200, since}} {
		s.noteGets(queues, at(tt.second), true)
		if got := s.closings.Until(at(300), s.ungot); !got.Since.Equal(tt.want) {
			t.Errorf("a reading at %v s: closed since %s, want %s", tt.second, got.Since, tt.want)
		}
	}
	s.noteGets(queues, at(400), false)
	if !s.ungot.Equal(at(200 - sample.CounterLag.Seconds())) {
		t.Errorf("a reading without counters tells of the gets until %s", s.ungot)
	}
	queues[ordersRef()].Counters.Get = ptr(1)
	s.noteGets(queues, at(500), true)
	queues[ordersRef()].Counters.Get = ptr(0) // deleted and declared anew
	s.noteGets(queues, at(600), true)
	if got := s.closings.Until(at(700), s.ungot); !got.Since.IsZero() {
		t.Errorf("what was learned before somebody got a message testifies again: %+v", got)
	}
}

var calmStart = time.Date(2026, 3, 4, 3, 0, 0, 0, time.UTC)

// at is a second of these tests.
func at(s float64) time.Time { return calmStart.Add(time.Duration(s * float64(time.Second))) }

// depths is a broker with these numbers of messages: ready and unacked of the source queue, and a dead-letter queue.
func brokerWith(ready, unacked, dead int64, change func(map[dedup.QueueRef]*dedup.Queue)) map[dedup.QueueRef]*dedup.Queue {
	source := newQueue("orders", func(q *dedup.Queue) { q.Ready, q.Unacked, q.Messages = ptr(ready), ptr(unacked), ptr(ready+unacked) })
	dlq := newQueue("orders.dlq", func(q *dedup.Queue) { q.Messages = ptr(dead) })
	all := map[dedup.QueueRef]*dedup.Queue{source.QueueRef: &source, dlq.QueueRef: &dlq}
	if change != nil {
		change(all)
	}
	return all
}

func ordersRef() dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: "orders"} }

func newCalms() *sample.Calms {
	return &sample.Calms{Sources: []dedup.QueueRef{ordersRef()}, Dead: []dedup.QueueRef{{Vhost: "/", Name: "orders.dlq"}}}
}

// What people are told of the dead-letter queues is of now, whenever it was that nothing was out.
func TestTheNewestDepthOfTheDeadLetterQueuesIsTold(t *testing.T) {
	s := &storeQueues{broker: &brokerWatch{read: &source.BrokerReader{}}, calms: newCalms()}
	s.calms.Take(brokerWith(0, 0, 34, nil), at(1), at(1.1), false)
	for second, dead := range []int64{122, 208} {
		s.calms.Take(brokerWith(675, 12, dead, nil), at(float64(10+second)), at(float64(10+second)+0.1), false)
		e := dedup.Evidence{At: at(100)}
		s.testify(&e, true)
		if e.DeadLetters == nil || *e.DeadLetters != 34 || e.DeadLettersNow == nil || *e.DeadLettersNow != dead || *e.Ready != 675 {
			t.Errorf("with %d dead letters: %v then, %v now", dead, e.DeadLetters, e.DeadLettersNow)
		}
		if s.testify(&e, false); *e.DeadLettersNow != 2*dead {
			t.Errorf("with a second broker: %d", *e.DeadLettersNow)
		}
	}
	s.calms.Take(brokerWith(0, 1, 0, func(q map[dedup.QueueRef]*dedup.Queue) {
		delete(q, dedup.QueueRef{Vhost: "/", Name: "orders.dlq"})
	}), at(20), at(20.1), false)
	if s.calms.Last.Dead != nil {
		t.Errorf("a queue that does not show holds %d", *s.calms.Last.Dead)
	}
}
