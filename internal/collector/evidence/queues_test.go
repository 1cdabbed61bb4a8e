package evidence

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

var calmStart = time.Date(2026, 3, 4, 3, 0, 0, 0, time.UTC)

// at is a second of these tests.
func at(s float64) time.Time { return calmStart.Add(time.Duration(s * float64(time.Second))) }

// brokerWith is a broker with these numbers of messages: ready and unacked of the source queue, and a dead-letter queue.
func brokerWith(ready, unacked, dead int64, change func(map[dedup.QueueRef]*dedup.Queue)) map[dedup.QueueRef]*dedup.Queue {
	source := dedup.Queue{QueueRef: ordersRef(), Type: "classic", Ready: ptr(ready), Unacked: ptr(unacked), Messages: ptr(ready + unacked), Consumers: ptr(2)}
	dlq := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "orders.dlq"}, Type: "classic", Messages: ptr(dead)}
	all := map[dedup.QueueRef]*dedup.Queue{source.QueueRef: &source, dlq.QueueRef: &dlq}
	if change != nil {
		change(all)
	}
	return all
}

func ptr(n int64) *int64 { return &n }

func ordersRef() dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: "orders"} }

func newQueues() *Queues {
	sources := []dedup.QueueRef{ordersRef()}
	return &Queues{sources: sources, calms: sample.Calms{Sources: sources, Dead: []dedup.QueueRef{{Vhost: "/", Name: "orders.dlq"}}}}
}

// The broker's counters are late: that nobody took a message by basic.get is only known of the time before sample.CounterLag.
func TestClosingsWaitForTheCountersOfGets(t *testing.T) {
	since := at(100)
	s := newQueues()
	s.closings = sample.Closings{All: []sample.Closing{{At: at(90), Since: at(5)}, {At: at(101), Since: since}}, Trusted: true}
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

// What people are told of the dead-letter queues is of now, whenever it was that nothing was out.
func TestTheNewestDepthOfTheDeadLetterQueuesIsTold(t *testing.T) {
	s := newQueues()
	s.Take(brokerWith(0, 0, 34, nil), at(1), at(1.1))
	for second, dead := range []int64{122, 208} {
		s.Take(brokerWith(675, 12, dead, nil), at(float64(10+second)), at(float64(10+second)+0.1))
		e := dedup.Evidence{At: at(100)}
		s.Testify(&e, true)
		if e.DeadLetters == nil || *e.DeadLetters != 34 || e.DeadLettersNow == nil || *e.DeadLettersNow != dead || *e.Ready != 675 {
			t.Errorf("with %d dead letters: %v then, %v now", dead, e.DeadLetters, e.DeadLettersNow)
		}
		if s.Testify(&e, false); *e.DeadLettersNow != 2*dead {
			t.Errorf("with a second broker: %d", *e.DeadLettersNow)
		}
	}
	s.Take(brokerWith(0, 1, 0, func(q map[dedup.QueueRef]*dedup.Queue) {
		delete(q, dedup.QueueRef{Vhost: "/", Name: "orders.dlq"})
	}), at(20), at(20.1))
	if s.calms.Last.Dead != nil {
		t.Errorf("a queue that does not show holds %d", *s.calms.Last.Dead)
	}
}
