package amqp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
)

// engineEnds are the ends of a mover as the requeue engine takes them.
type engineEnds struct{ mover *Mover }

func (e engineEnds) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.mover.Source(ctx, queue, take.Held, take.Single)
	if err != nil {
		return nil, err
	}
	return source, nil
}

func (e engineEnds) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	sink, err := e.mover.Sink(ctx, vhost, window)
	if err != nil {
		return nil, err
	}
	return sink, nil
}

// decider names the target of the n-th message, from 0.
type decider func(n int) string

// Decide implements requeue.Decider; each call of decider is for one more message.
func (d *counted) Decide(_ context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error) {
	decisions := make([]requeue.Decision, len(letters))
	for i := range decisions {
		decisions[i].Target = d.next(int(d.asked.Add(1)) - 1)
	}
	return decisions, nil
}

// Undecide implements requeue.Decider.
func (*counted) Undecide([]dedup.DeadLetter, []requeue.Decision) {}

type counted struct {
	next  decider
	asked atomic.Int64
}

func always(queue string) *counted {
	return &counted{next: func(int) string { return queue }}
}

// run runs the engine with short pauses between connections.
func (b *movingBroker) run(t *testing.T, m *Mover, queue dedup.QueueRef, n int, to *counted, change ...func(*requeue.Config)) requeue.Result {
	t.Helper()
	cfg := requeue.Config{Run: t.Name(), Queue: queue, Limit: int64(n), Timing: requeue.Timing{
		Backoff: 100 * time.Millisecond, MaxBackoff: time.Second, MaxAway: 5 * time.Minute, Linger: 3 * time.Second,
	}}
	if len(cfg.Run) > 200 {
		cfg.Run = cfg.Run[len(cfg.Run)-200:]
	}
	for _, c := range change {
		c(&cfg)
	}
	result, err := requeue.Run(t.Context(), engineEnds{m}, cfg, to, func(context.Context, []requeue.Settled) error { return nil })
	t.Logf("%+v, %v", result, err)
	return result
}

// conserved checks that each of n messages is in the dead-letter queue or in a target, and returns the copies beyond n.
func conserved(t *testing.T, channel *amqp.Channel, prefix string, n int, queues ...string) (extra int) {
	t.Helper()
	total := map[string]int{}
	for _, queue := range queues {
		for id, copies := range drainIDs(t, channel, queue) {
			total[id] += copies
		}
	}
	lost, copies := 0, 0
	for i := range n {
		id := fmt.Sprintf("%s-%d", prefix, i)
		if total[id] == 0 {
			lost++
		}
		copies += total[id]
		delete(total, id)
	}
	if lost > 0 || len(total) > 0 {
		t.Errorf("%d of %d messages are lost; strangers: %v", lost, n, maps.Keys(total))
	}
	t.Logf("%d messages, %d copies in %v, %d lost", n, copies, queues, lost)
	return copies - n
}

func (b *movingBroker) runs(t *testing.T) {
	t.Run("messages of every shape arrive as they were, without side copies", b.movesZoo)
	t.Run("a target that is missing keeps every message in the dead-letter queue, where the shovel loses all", b.missingTarget)
	t.Run("a target that is deleted in mid-run costs no message that was not in it", b.targetDeleted)
	t.Run("a full target takes what it can hold and no copy more", b.fullTarget)
	t.Run("several targets in turns get what is theirs", b.severalTargets)
	t.Run("a whole quorum queue is moved", b.movesQuorum)
	t.Run("failures destroy nothing in a quorum queue that counts returns", b.destroysNothing)
	t.Run("a dead-letter queue that is deleted under a run ends it", b.sourceDeleted)
	t.Run("a missing permission stops the run and loses nothing", b.missingPermission)
	t.Run("of two runs on one classic queue the second is told", b.twoRuns)
}

// missingTarget is the case of rabbitmq-server #16993.
func (b *movingBroker) missingTarget(t *testing.T) {
	channel := b.admin(t)
	const n = 500
	ours, theirs := declare(t, channel, "ours.dead", nil), declare(t, channel, "theirs.dead", nil)
	fill(t, channel, ours.Name, "m", n)
	fill(t, channel, theirs.Name, "m", n)

	result := b.run(t, b.mover, ours, n, always("deleted long ago"))
	if result.Moved != 0 || result.Stop != requeue.StopTarget || result.Reconnects != 0 {
		t.Errorf("%+v", result)
	}
	eventually(t, "all are back", func() bool { return depth(t, channel, ours.Name) == n })
	if extra := conserved(t, channel, "m", n, ours.Name); extra != 0 {
		t.Errorf("%d copies too many", extra)
	}

	const inside = "amqp:///%2F"
	b.shovel(t, map[string]any{
		"src-protocol": "amqp091", "src-uri": inside, "src-queue": theirs.Name, "src-prefetch-count": 1000, "src-delete-after": "queue-length",
		"dest-protocol": "amqp091", "dest-uri": inside, "dest-exchange": "amq.direct", "dest-exchange-key": "deleted long ago", "ack-mode": "on-confirm",
	})
	if left := depth(t, channel, theirs.Name); left != 0 {
		t.Errorf("the shovel left %d of %d: if it has learnt to look at returns, say so in docs/requeue.md", left, n)
	}
}

// shovel runs a dynamic shovel until it has deleted itself.
func (b *movingBroker) shovel(t *testing.T, value map[string]any) {
	t.Helper()
	must(t, b.rabbit.API(t.Context(), http.MethodPut, "/api/parameters/shovel/%2F/test", map[string]any{"value": value}, nil))
	eventually(t, "the shovel has ended", func() bool {
		var there []any
		must(t, b.rabbit.API(t.Context(), http.MethodGet, "/api/parameters/shovel", nil, &there))
		return len(there) == 0
	})
}

func (b *movingBroker) targetDeleted(t *testing.T) {
	channel, other := b.admin(t), b.admin(t)
	const n = 2000
	queue := declare(t, channel, "half.dead", nil)
	declare(t, channel, "half", nil)
	fill(t, channel, queue.Name, "m", n)
	target := &counted{next: func(i int) string {
		if i == n/2 {
			_, err := other.QueueDelete("half", false, false, false)
			if err != nil {
				t.Error(err)
			}
		}
		return "half"
	}}
	result := b.run(t, b.mover, queue, n, target)
	if result.Stop != requeue.StopTarget || result.Moved == 0 || result.Unknown != 0 {
		t.Errorf("%+v", result)
	}
	// What was confirmed was in the queue when it was deleted, or on its way into it; all else must be here.
	eventually(t, "all that was not moved is back", func() bool { return depth(t, channel, queue.Name) == n-int(result.Moved) })
	for id, copies := range drainIDs(t, channel, queue.Name) {
		if copies != 1 {
			t.Errorf("%d copies of %s", copies, id)
		}
	}
}

func (b *movingBroker) fullTarget(t *testing.T) {
	channel := b.admin(t)
	const n, room = 10000, 1000
	queue := declare(t, channel, "full.dead", nil)
	declare(t, channel, "bounded", amqp.Table{"x-max-length": int32(room), "x-overflow": "reject-publish"})
	fill(t, channel, queue.Name, "m", n)
	to := always("bounded")
	result := b.run(t, b.mover, queue, n, to)
	if asked := to.asked.Load(); asked > n/2 {
		t.Errorf("it went on until %d of %d messages were decided on", asked, n)
	}
	eventually(t, "the rest is back", func() bool { return depth(t, channel, queue.Name) == n-room })
	if there := depth(t, channel, "bounded"); there != room || result.Moved != room || result.Stop != requeue.StopTarget {
		t.Errorf("%d in the target; %+v", there, result)
	}
	if extra := conserved(t, channel, "m", n, queue.Name, "bounded"); extra != 0 {
		t.Errorf("%d copies too many", extra)
	}
}

func (b *movingBroker) severalTargets(t *testing.T) {
	channel := b.admin(t)
	const n = 2000
	queue := declare(t, channel, "several.dead", nil)
	declare(t, channel, "one", nil)
	declare(t, channel, "two", amqp.Table{"x-queue-type": "quorum"})
	fill(t, channel, queue.Name, "m", n)
	targets := []string{"one", "two", "missing"}
	result := b.run(t, b.mover, queue, n, &counted{next: func(i int) string {
		if i < 30 || i%100 == 0 {
			return targets[i%3]
		}
		return targets[i%2]
	}})
	if result.Returned == 0 || result.Moved != n-result.Returned {
		t.Errorf("%+v", result)
	}
	eventually(t, "what was returned is back", func() bool { return depth(t, channel, queue.Name) == int(result.Returned) })
	if extra := conserved(t, channel, "m", n, queue.Name, "one", "two"); extra != 0 {
		t.Errorf("%d copies too many", extra)
	}
}

func (b *movingBroker) movesQuorum(t *testing.T) {
	channel := b.admin(t)
	const n = 1000
	queue := declare(t, channel, "quorum.dead", amqp.Table{"x-queue-type": "quorum"})
	declare(t, channel, "from quorum", nil)
	fill(t, channel, queue.Name, "m", n)
	if result := b.run(t, b.mover, queue, n, always("from quorum")); result.Moved != n || result.Reconnects != 0 {
		t.Errorf("%+v", result)
	}
	if extra := conserved(t, channel, "m", n, queue.Name, "from quorum"); extra != 0 {
		t.Errorf("%d copies too many", extra)
	}
}

// destroysNothing fails over and over at a queue with a delivery limit, until the run says that it must not be taken from again.
func (b *movingBroker) destroysNothing(t *testing.T) {
	channel := b.admin(t)
	const n, limit = 100, dedup.MinDeliveryLimit
	small := declare(t, channel, "three.dead", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(3)})
	queue := declare(t, channel, "ten.dead", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(limit)})
	declare(t, channel, "from ten", nil)
	fill(t, channel, small.Name, "m", n)
	fill(t, channel, queue.Name, "m", n)
	run := func(queue dedup.QueueRef, limit int64) (requeue.Result, error) {
		cfg := requeue.Config{Run: "again and again", Queue: queue, Limit: n, DeliveryLimit: limit}
		return requeue.Run(t.Context(), engineEnds{b.mover}, cfg, undecided{}, func(context.Context, []requeue.Settled) error { return nil })
	}
	for range 4 {
		if result, err := run(small, 3); err == nil || result.Stop != "" {
			t.Errorf("a limit of 3 was accepted: %+v", result)
		}
	}
	allBack := func(q dedup.QueueRef) {
		eventually(t, "all are back", func() bool { return depth(t, channel, q.Name) == n })
	}
	// A run takes one to four messages, and what comes back goes behind what came back before: up to four take turns.
	const most = 4 * limit
	runs := 0
	for stop := requeue.Stop(""); stop != requeue.StopFragile; runs++ {
		allBack(queue) // or a run would take others than the last one gave back
		result, _ := run(queue, limit)
		if stop = result.Stop; stop != requeue.StopDecide && stop != requeue.StopFragile || runs > most {
			t.Fatalf("after %d runs: %+v", runs, result)
		}
	}
	allBack(small)
	allBack(queue)
	if runs < 4 {
		t.Errorf("it gave up after %d runs", runs)
	}
	result := b.run(t, b.mover, queue, n, always("from ten"), func(c *requeue.Config) { c.DeliveryLimit = limit })
	if result.Moved != n || result.Stop != requeue.StopLimit {
		t.Errorf("%+v", result)
	}
	if extra := conserved(t, channel, "m", n, queue.Name, "from ten"); extra != 0 {
		t.Errorf("%d copies too many", extra)
	}
}

// undecided cannot say what becomes of a message.
type undecided struct{}

func (undecided) Decide(context.Context, []dedup.DeadLetter) ([]requeue.Decision, error) {
	return nil, errors.New("the store is away")
}

// Undecide implements requeue.Decider.
func (undecided) Undecide([]dedup.DeadLetter, []requeue.Decision) {}

func (b *movingBroker) sourceDeleted(t *testing.T) {
	channel, other := b.admin(t), b.admin(t)
	const n = 2000
	queue := declare(t, channel, "vanishing.dead", nil)
	declare(t, channel, "kept", nil)
	fill(t, channel, queue.Name, "m", n)
	result := b.run(t, b.mover, queue, n, &counted{next: func(i int) string {
		if i == n/2 {
			if _, err := other.QueueDelete(queue.Name, false, false, false); err != nil {
				t.Error(err)
			}
		}
		return "kept"
	}}, func(c *requeue.Config) { c.MaxAway = time.Second })
	if result.Stop != requeue.StopConnection {
		t.Errorf("%+v", result)
	}
	if there := depth(t, channel, "kept"); int64(there) < result.Moved {
		t.Errorf("%d moved, %d arrived", result.Moved, there)
	}
}

func (b *movingBroker) missingPermission(t *testing.T) {
	channel := b.admin(t)
	const n = 200
	queue := declare(t, channel, "forbidden.dead", nil)
	declare(t, channel, "forbidden", nil)
	fill(t, channel, queue.Name, "m", n)
	must(t, b.rabbit.PutUser(t.Context(), "reader", "reader", ""))
	must(t, b.rabbit.PutPermissions(t.Context(), "/", "reader", servers.Permissions{Configure: "^$", Write: "^$", Read: "dead"}))
	reader := b.open(t, func(c *broker.Config) { c.Act.Username, c.Act.Password = "reader", secret.New("reader") })
	result := b.run(t, reader, queue, n, always("forbidden"))
	if result.Moved != 0 || result.Stop != requeue.StopConnection {
		t.Errorf("%+v", result)
	}
	eventually(t, "all are back", func() bool { return depth(t, channel, queue.Name) == n })
	if extra := conserved(t, channel, "m", n, queue.Name, "forbidden"); extra != 0 {
		t.Errorf("%d copies too many", extra)
	}
}

func (b *movingBroker) twoRuns(t *testing.T) {
	channel := b.admin(t)
	const n = 500
	queue := declare(t, channel, "shared.dead", nil)
	declare(t, channel, "shared", nil)
	fill(t, channel, queue.Name, "m", n)
	var second error
	result := b.run(t, b.mover, queue, n, &counted{next: func(i int) string {
		if i == n/2 {
			_, second = b.mover.Source(t.Context(), queue, 1, false)
		}
		return "shared"
	}})
	checkAct(t, second, broker.InUse, "another run")
	if result.Moved != n {
		t.Errorf("%+v", result)
	}
	if extra := conserved(t, channel, "m", n, queue.Name, "shared"); extra != 0 {
		t.Errorf("%d copies too many", extra)
	}
}
