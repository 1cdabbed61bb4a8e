package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/dedup"
)

// deadShared lets orders and emails have one dead-letter queue, and a queue of no pipeline lead there too where one is named.
func deadShared(stranger string) func(*testBench) {
	return func(b *testBench) {
		b.broker.set(func(f *fakeSource) {
			dead := func(q *dedup.Queue) {
				q.Arguments = map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dlq"}
			}
			if stranger == "" {
				f.sample.Queues[2] = newQueue("emails", dead)
			} else {
				f.sample.Queues = append(f.sample.Queues, newQueue(stranger, dead))
			}
		})
	}
}

func found(p *dedup.PipelineStatus, kind string) bool {
	for _, f := range p.Findings {
		if f.Kind == kind {
			return true
		}
	}
	return false
}

func TestNoPipelineIsToldTheLettersOfASharedQueueAsItsOwn(t *testing.T) {
	duringFrom(t, deadShared(""), func(t *testing.T, b *testBench) {
		for range 20 {
			pass(testInterval)
		}
		holdDead(b, 104)
		for range 3 {
			pass(testInterval)
		}
		pass(counter.LongWindowEvery)
		for _, of := range []struct{ name, other string }{{"orders", "emails"}, {"emails", "orders"}} {
			p := b.pipeline(t, of.name)
			if f := p.DeadLetters; f.Low != 0 || f.High != 104 || f.Quality != dedup.Derived || !strings.Contains(f.Why, "orders.dlq is shared with pipeline "+of.other) {
				t.Errorf("%s: dead letters %+v; want 0 to 104, shared with %s", of.name, f, of.other)
			}
			if f := p.Windows[2].DeadLetterInflow; f.Low != 0 || f.High <= 100 || !strings.Contains(f.Why, "shared") {
				t.Errorf("%s: inflow %+v; want from 0 to what arrived", of.name, f)
			}
			if s := p.DeadLetterQueues[0].Shared; len(s.Pipelines) != 1 || s.Pipelines[0] != of.other {
				t.Errorf("%s: shared with %+v", of.name, s)
			}
			if found(p, "dead_letters_wait") {
				t.Errorf("%s is told of dead letters that may all be another's", of.name)
			}
		}
		all := b.Snapshot().SharedQueues
		if len(all) != 1 || all[0].Subject() != "main:orders.dlq" || all[0].Depth.Value != 104 || len(all[0].Pipelines) != 2 {
			t.Fatalf("shared queues %+v; want orders.dlq once, with 104", all)
		}
		if f := all[0].Inflow; !f.Known() || f.N != 100 {
			t.Errorf("inflow of the queue %+v; want the 100 that arrived, once", f)
		}
		if v, ok := b.history.current("dedup_shared_dead_letters", "broker", "main", "vhost", "/", "queue", "orders.dlq"); !ok || v != 104 {
			t.Errorf("the history holds %v, %v of the queue", v, ok)
		}
		if _, ok := b.history.current("dedup_dead_letters", "pipeline", "orders", "vhost", "/", "queue", "orders.dlq"); ok {
			t.Error("the history counts them as those of orders too")
		}
	})
}

func TestAQueueOfNoPipelineSharesADeadLetterQueueToo(t *testing.T) {
	duringFrom(t, deadShared("legacy"), func(t *testing.T, b *testBench) {
		p := b.pipeline(t, "orders")
		if f := p.DeadLetters; f.Low != 0 || f.High != 4 || !strings.Contains(f.Why, "queue legacy of no pipeline") {
			t.Errorf("dead letters %+v; want 0 to 4, shared with queue legacy", f)
		}
		if all := b.Snapshot().SharedQueues; len(all) != 1 || len(all[0].Queues) != 1 || all[0].Queues[0] != "legacy" {
			t.Errorf("shared queues %+v", all)
		}
	})
}

func TestADelayQueueOfThePipelineItselfMakesNoSharedQueue(t *testing.T) {
	duringFrom(t, func(b *testBench) {
		b.broker.set(func(f *fakeSource) {
			f.sample.Queues = append(f.sample.Queues, newQueue("orders.retry", func(q *dedup.Queue) {
				q.Arguments = map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders", "x-message-ttl": int64(5000)}
			}))
		})
	}, func(t *testing.T, b *testBench) {
		if p := b.pipeline(t, "orders"); p.DeadLetters.Low != 4 || p.DeadLetters.High != 4 || len(b.Snapshot().SharedQueues) != 0 {
			t.Errorf("dead letters %+v, shared %+v; want 4 of its own", p.DeadLetters, b.Snapshot().SharedQueues)
		}
	})
}

func TestWhatOnePipelineAcknowledgesOfASharedQueueIsAcknowledgedForAll(t *testing.T) {
	duringFrom(t, deadShared(""), func(t *testing.T, b *testBench) {
		made := time.Now()
		b.keeper.change(func() {
			b.keeper.lines["emails"] = dedup.Baseline{Count: 4, Split: true, Acknowledged: 4, By: "ann", At: made}
		})
		pass(2 * testInterval)
		if q := b.Snapshot().SharedQueues[0]; q.Acknowledged != 4 {
			t.Errorf("acknowledged %d of 4", q.Acknowledged)
		}
		holdDead(b, 6)
		pass(2 * testInterval)
		if q := b.Snapshot().SharedQueues[0]; q.Acknowledged != 4 || q.Depth.Value != 6 {
			t.Errorf("acknowledged %d of %v; want 4 of 6", q.Acknowledged, q.Depth.Value)
		}
		holdDead(b, 1)
		pass(2 * testInterval)
		if p := b.pipeline(t, "emails"); p.Baseline == nil || p.Baseline.Count != 1 {
			t.Errorf("baseline %+v; want it to fall to 1", p.Baseline)
		}
	})
}

func TestASharedQueueIsUnknownWhileItsBrokerIsDown(t *testing.T) {
	duringFrom(t, deadShared(""), func(t *testing.T, b *testBench) {
		b.broker.set(func(f *fakeSource) { f.err = &dedup.Error{Kind: dedup.Unavailable, Public: "it refuses connections"} })
		pass(4 * testInterval)
		q := b.Snapshot().SharedQueues
		if len(q) != 1 || q[0].Depth.Known() || q[0].Inflow.Known() || len(q[0].Down) != 1 || !strings.Contains(q[0].Depth.Why, "refuses connections") {
			t.Errorf("shared queues %+v; want one of which nothing is known", q)
		}
		if p := b.pipeline(t, "orders"); !p.DeadLetterQueues[0].Shared.Any() {
			t.Error("that it is shared was forgotten")
		}
	})
}

func TestWhatArrivedInASharedQueueIsNotForgottenByARestart(t *testing.T) {
	h := newFakeHistory()
	labels := []string{"broker", "main", "vhost", "/", "queue", "orders.dlq"}
	count := func(arrive int64, want float64) {
		duringFrom(t, func(b *testBench) {
			deadShared("")(b)
			b.goOnFrom(h)
		}, func(t *testing.T, b *testBench) {
			holdDead(b, 4+arrive)
			for range 5 {
				pass(testInterval)
			}
			if v, _ := h.current("dedup_shared_dead_letters_arrived_total", labels...); v != want {
				t.Errorf("%v arrived in all, want %v", v, want)
			}
		})
	}
	count(7, 7)
	count(2, 9)
}

func TestASharedQueueHasANameWithoutASlash(t *testing.T) {
	for want, q := range map[string]dedup.SharedQueue{
		"main:orders.dlq":     {Broker: "main", QueueRef: dedup.QueueRef{Vhost: "/", Name: "orders.dlq"}},
		"main:shop:死信":        {Broker: "main", QueueRef: dedup.QueueRef{Vhost: "shop", Name: "死信"}},
		"main:a%2Fb:c%3Ad%00": {Broker: "main", QueueRef: dedup.QueueRef{Vhost: "a/b", Name: "c:d\x00"}},
		"main:%FF%25":         {Broker: "main", QueueRef: dedup.QueueRef{Vhost: "/", Name: "\xff%"}},
	} {
		if got := q.Subject(); got != want {
			t.Errorf("%q: subject %q, want %q", q.Name, got, want)
		}
	}
}
