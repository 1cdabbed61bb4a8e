package deadletter

import (
	"context"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// A queueReader reads one queue live with the watching credentials. A queue that is not there is an error of kind not found.
type queueReader interface {
	Queue(ctx context.Context, ref dedup.QueueRef) (dedup.Queue, error)
}

// A Mover takes messages out of queues with the acting credentials. Its errors are *dedup.Error where they can be shown.
type Mover interface {
	requeue.Ends
	// Peek takes messages from the head of a queue, at most limit and maxBytes of bodies, and puts them back.
	Peek(ctx context.Context, queue dedup.QueueRef, limit int, maxBytes int64) (dedup.Peek, error)
	// Ready returns how many messages of a queue are ready at this moment; what the watching account reads is some seconds late.
	Ready(ctx context.Context, queue dedup.QueueRef) (int64, error)
	// DeclareParking declares the parking queue of a dead-letter queue and returns it with its effective policy. It fails where the
	// queue could drop a message.
	DeclareParking(ctx context.Context, deadLetters dedup.QueueRef) (dedup.Queue, error)
}

// A Broker is one broker as the acting side sees it.
type Broker struct {
	Name  string
	Watch queueReader
	// Mover is nil without acting credentials: then nothing is looked at and nothing moved.
	Mover Mover
}
