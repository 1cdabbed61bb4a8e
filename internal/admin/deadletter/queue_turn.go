package deadletter

import (
	"context"
	"sync"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// lookWait is how long a look waits for a queue that another look has.
const lookWait = 5 * time.Second

// queueTurns lets one look or one run of a job at a time have a queue: a look holds what it has taken until it puts it back, and who
// comes meanwhile finds the queue empty.
type queueTurns struct {
	mu    sync.Mutex
	turns map[string]admin.Turnstile
}

// Enter waits for the turn at a queue of a broker. The turn is given back by what it returns.
func (q *queueTurns) Enter(ctx context.Context, broker string, queue dedup.QueueRef) (leave func(), err error) {
	key := QueueTarget(broker, queue)
	q.mu.Lock()
	turn := q.turns[key]
	if turn == nil {
		turn = make(admin.Turnstile, 1)
		q.turns[key] = turn
	}
	q.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return turn.Leave, nil
	case <-ctx.Done():
		return nil, &dedup.Error{Kind: dedup.Conflict, Public: "Messages of queue " + admin.Printable(queue.Name, 255) + " are in hand: a look or a job is under way; try again in a moment", Err: ctx.Err()}
	}
}
