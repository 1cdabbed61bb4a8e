// Package schemes holds consumers that keep to one dedup scheme each, command by command and with its mistakes, so that what
// is predicted of a message can be held against what becomes of it.
package schemes

import (
	"context"
	"errors"
	"time"
)

// A Settlement is how a consumer settles a delivery.
type Settlement string

// The settlements.
const (
	// Acked: the message is out of the queue.
	Acked Settlement = "acked"
	// Requeued: it was returned with requeue, and is delivered again.
	Requeued Settlement = "requeued"
	// Rejected: it was rejected without requeue, and becomes a dead letter.
	Rejected Settlement = "rejected"
)

// A Consumer handles deliveries by the rules of one scheme.
type Consumer interface {
	// Handle works on the message with this id and says how it settles the delivery, and whether the work was begun. An error
	// means that the consumer died or lost its store, and settled nothing.
	Handle(ctx context.Context, id string) (s Settlement, ran bool, err error)
}

// Work is what a consumer does with a message, once its scheme lets it.
type Work func(ctx context.Context, id string) error

// ErrDied makes a consumer end in the middle of its work, as a kill does: it writes nothing more and settles nothing.
var ErrDied = errors.New("the consumer was killed")

// The times to live that the schemes in Redis give.
const (
	processingTTL = 300 * time.Second
	doneTTL       = 86400 * time.Second
)

// orDefault is the life of a processing marker: 300 s unless it was set.
func orDefault(ttl time.Duration) time.Duration {
	if ttl == 0 {
		return processingTTL
	}
	return ttl
}
