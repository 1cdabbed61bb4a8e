package amqp

import (
	"context"
	"fmt"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// suspended asks a queue whose process does not answer: everything must end within a few seconds of its context.
func (b *movingBroker) suspended(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "suspended.dead", nil)
	parking := declare(t, channel, "dedup.parking.suspended.dead", nil)
	fill(t, channel, queue.Name, "m", 10)
	b.described(t, queue)
	b.toQueue(t, queue, "suspend")
	b.toQueue(t, parking, "suspend")
	defer b.toQueue(t, parking, "resume")
	defer b.toQueue(t, queue, "resume")
	for name, ask := range map[string]func(context.Context) error{
		"a look":      func(ctx context.Context) error { _, err := b.mover.Peek(ctx, queue, 5, 1<<20); return err },
		"the depth":   func(ctx context.Context) error { _, err := b.mover.Ready(ctx, queue); return err },
		"the parking": func(ctx context.Context) error { _, err := b.mover.DeclareParking(ctx, queue); return err },
		"a run": func(ctx context.Context) error {
			cfg := requeue.Config{Run: "deaf", Queue: queue, Limit: 10, Single: true, Timing: requeue.Timing{Drain: time.Second}}
			result, err := requeue.Run(ctx, engineEnds{b.mover}, cfg, always("x"), func(context.Context, []requeue.Settled) error { return nil })
			if result.Stop == requeue.StopCancelled {
				err = ctx.Err()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			began := time.Now()
			if err := ask(ctx); err == nil {
				t.Error("it was answered")
			}
			if took := time.Since(began); took > 40*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// toQueue suspends or resumes the process of a queue.
func (b *movingBroker) toQueue(t *testing.T, queue dedup.QueueRef, do string) {
	t.Helper()
	_, err := b.rabbit.Eval(context.WithoutCancel(t.Context()), fmt.Sprintf(
		`{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"%s">>)), sys:%s(amqqueue:get_pid(Q)).`, queue.Name, do))
	must(t, err)
}
