package amqp

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/servers"
)

func TestRunsSurviveTheirBroker(t *testing.T) {
	t.Parallel()
	b := startMovingBroker(t, servers.RabbitMQOptions{})
	t.Run("an alarm of memory pauses a run, and nothing of ours is stuck", b.alarmPauses)
	t.Run("publishing into an alarm ends within the deadline of a write", b.alarmBoundsWrites)
	t.Run("the broker's application is stopped and started in mid-run", func(t *testing.T) {
		extra, result := b.outage(t, func(ctx context.Context, gone func()) error {
			_, err := b.rabbit.Eval(ctx, "rabbit:stop().")
			gone()
			if err != nil {
				return err
			}
			_, err = b.rabbit.Eval(ctx, "rabbit:start().")
			return err
		})
		if extra > 256*result.Reconnects {
			t.Errorf("%d copies after %d lost connections", extra, result.Reconnects)
		}
	})
	t.Run("the broker is killed in mid-run and started again", func(t *testing.T) {
		// A broker that is killed forgets the acks that its queue has not written yet, of however many messages; these it hands out
		// again. So nobody can bound the copies, and none may be lost.
		extra, _ := b.outage(t, func(ctx context.Context, gone func()) error {
			b.rabbit.Kill()
			gone()
			return b.rabbit.Restart(ctx)
		})
		t.Logf("%d copies", extra)
	})
}

// outage runs a move while the broker goes away, which it is once gone was called, and comes back, and returns how many copies
// were made.
func (b *movingBroker) outage(t *testing.T, away func(ctx context.Context, gone func()) error) (extra int, result requeue.Result) {
	const n = 3000
	channel := b.admin(t)
	queue := declare(t, channel, "outage.dead", nil)
	declare(t, channel, "outage", nil)
	fill(t, channel, queue.Name, "m", n)
	over, gone := make(chan error, 1), make(chan struct{})
	to := &counted{next: func(i int) string {
		switch {
		case i == n/3:
			go func() { over <- away(context.WithoutCancel(t.Context()), func() { close(gone) }) }()
		case i > 2*n/3:
			<-gone // on a busy machine the broker takes its time to go
		}
		return "outage"
	}}
	// At this rate much of the run is left when the broker goes.
	result = b.run(t, b.mover, queue, n, to, func(c *requeue.Config) { c.Rate = 400 })
	must(t, <-over)
	if result.Stop != requeue.StopLimit && result.Stop != requeue.StopEmpty || result.Reconnects == 0 {
		t.Errorf("%+v", result)
	}
	channel = b.admin(t)
	eventually(t, "what was held is back", func() bool {
		return depth(t, channel, queue.Name)+depth(t, channel, "outage") >= n
	})
	extra = conserved(t, channel, "m", n, queue.Name, "outage")
	for _, q := range []string{queue.Name, "outage"} {
		_, err := channel.QueueDelete(q, false, false, false)
		must(t, err)
	}
	return extra, result
}

// alarm sets off the memory alarm, or ends it.
func (b *movingBroker) alarm(ctx context.Context, on bool) error {
	mark := "0.4"
	if on {
		mark = "0.00001"
	}
	_, err := b.rabbit.Eval(ctx, "vm_memory_monitor:set_vm_memory_high_watermark("+mark+").")
	return err
}

func (b *movingBroker) alarmPauses(t *testing.T) {
	const n = 3000
	channel := b.admin(t)
	queue := declare(t, channel, "alarm.dead", nil)
	declare(t, channel, "alarm", nil)
	fill(t, channel, queue.Name, "m", n)
	var waited atomic.Pointer[string]
	to := &counted{next: func(i int) string {
		if i == n/2 {
			if err := b.alarm(t.Context(), true); err != nil {
				t.Error(err)
			}
		}
		return "alarm"
	}}
	over := make(chan error, 1)
	result := b.run(t, b.mover, queue, n, to, func(c *requeue.Config) {
		c.Waiting = func(why string) {
			if why != "" && waited.CompareAndSwap(nil, &why) {
				go func() { over <- b.alarm(context.WithoutCancel(t.Context()), false) }()
			}
		}
	})
	must(t, <-over)
	if why := waited.Load(); why == nil || !strings.Contains(*why, "low on memory") {
		t.Error("nobody was told that the broker is low on memory")
	}
	if result.Moved != n || result.Reconnects != 0 {
		t.Errorf("%+v", result)
	}
	if extra := conserved(t, channel, "m", n, queue.Name, "alarm"); extra != 0 {
		t.Errorf("%d copies too many", extra)
	}
}

// alarmBoundsWrites publishes on, as one does who has not looked, until the broker's socket is full.
func (b *movingBroker) alarmBoundsWrites(t *testing.T) {
	channel := b.admin(t)
	declare(t, channel, "stuck", nil)
	sink, err := b.mover.Sink(t.Context(), "/", 10000)
	must(t, err)
	must(t, b.alarm(t.Context(), true))
	defer func() { must(t, b.alarm(context.WithoutCancel(t.Context()), false)) }()
	large := message.Message{Body: make([]byte, 1<<20)}
	published := 0
	var longest time.Duration
	for err == nil && published < 1000 {
		began := time.Now()
		err = sink.Publish(t.Context(), "stuck", large)
		longest = max(longest, time.Since(began))
		published++
	}
	if err == nil || longest < writeTimeout/2 || longest > writeTimeout+20*time.Second {
		t.Errorf("after %d messages: %v; the longest took %s", published, err, longest)
	}
	checkAct(t, err, broker.Timeout, "alarm")
	if sink.Blocked() == "" {
		t.Error("a blocked broker was not noticed")
	}
	for range published - 1 {
		began := time.Now()
		a, err := sink.Answer(t.Context())
		if err != nil || a.Outcome != message.AnswerLost && a.Outcome != message.Confirmed || time.Since(began) > 10*time.Second {
			t.Fatalf("%+v, %v after %s", a, err, time.Since(began))
		}
	}
	began := time.Now()
	must(t, sink.Close())
	if took := time.Since(began); took > closeTimeout+10*time.Second {
		t.Errorf("closing took %s", took)
	}
}
