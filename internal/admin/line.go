package admin

import (
	"context"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A line is one dead-letter queue of a pipeline, or its parking queue, with what is known around it.
type line struct {
	pipeline dedup.Pipeline
	ids      dedup.IDSource
	broker   *MovingBroker
	// store is nil for a scheme without markers.
	store *PreflightStore
	// dead is the dead-letter queue as the newest round saw it, status its pipeline.
	dead   dedup.DeadLetterQueue
	status *dedup.PipelineStatus
	info   dedup.BrokerInfo
	nodes  []dedup.Node
	at     time.Time
	// queue is where messages are taken from: the dead-letter queue, or with parked its parking queue.
	queue  dedup.QueueRef
	parked bool
	// chosen is where somebody sends letters that do not say where they came from; empty when nobody chose.
	chosen string
	// homes are the queues that letters may be sent to, each with the pipeline that has it.
	homes map[string]string
	// ours reports whether a run is one of this dashboard; nil believes every header.
	ours func(run string) bool
	// sole is true when no other pipeline has the dead-letter queue, and this one has a single source queue.
	sole bool
	// fragile are the queues that nothing more may be taken out of.
	fragile *fragileQueues
	// refs makes the references of its messages.
	refs dedup.RefKey
}

// pipelinesOver counts the pipelines that have a dead-letter queue.
func pipelinesOver(snap *dedup.Snapshot, broker string, dead dedup.QueueRef) int {
	n := 0
	for i := range snap.Pipelines {
		if shares(&snap.Pipelines[i], broker, dead) {
			n++
		}
	}
	return n
}

// sendingTo returns the line with the target that somebody chose.
func (l line) sendingTo(target string, do Move) (line, error) {
	switch {
	case target == "":
		return l, nil
	case do != Requeue:
		return l, invalid("Only a requeue can be sent to a chosen queue")
	case !slices.Contains(l.pipeline.Queues, target):
		return l, invalid("Queue " + printable(target, 255) + " is no queue of pipeline " + l.pipeline.Name + ": messages are sent to those alone")
	}
	l.chosen = target
	return l, nil
}

// parking returns the line of the parking queue.
func (l line) parking() (line, error) {
	parking, err := dedup.ParkingQueue(l.dead.QueueRef)
	if err != nil {
		return line{}, err
	}
	l.queue, l.parked = parking, true
	return l, nil
}

// declareParking makes sure that the parking queue is there and loses nothing; a conflict says why it cannot be used.
func (l line) declareParking(ctx context.Context) error {
	parking, err := l.broker.Mover.DeclareParking(ctx, l.dead.QueueRef)
	if err != nil {
		return &dedup.Error{Kind: dedup.Conflict, Public: "The parking queue cannot be used: " + words(err), Err: err}
	}
	if why := dedup.MayDrop(parking); why != "" {
		return conflict("The parking queue could lose what is put there: %s; take its policies off", why)
	}
	return nil
}

// queueTimeout bounds the live reading of one queue.
const queueTimeout = 5 * time.Second

// live reads a queue of the line's broker.
func (l line) live(ctx context.Context, ref dedup.QueueRef) (dedup.Queue, error) {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	q, err := l.broker.Watch.Queue(ctx, ref)
	if err != nil {
		kind := dedup.Unavailable
		if dedup.KindOf(err) == dedup.NotFound {
			kind = dedup.NotFound
		}
		return dedup.Queue{}, &dedup.Error{Kind: kind, Public: "Queue " + printable(ref.Name, 255) + " cannot be read: " + words(err), Err: err}
	}
	return q, nil
}

// source reads the queue that messages are taken from, with its depth of this moment: the management API is some seconds late.
func (l line) source(ctx context.Context) (dedup.Queue, error) {
	q, err := l.live(ctx, l.queue)
	if err != nil {
		return dedup.Queue{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	ready, err := l.broker.Mover.Ready(ctx, l.queue)
	if err != nil {
		return dedup.Queue{}, &dedup.Error{Kind: dedup.Unavailable, Public: "The depth of queue " + printable(l.queue.Name, 255) + " cannot be read: " + words(err), Err: err}
	}
	q.Ready = &ready
	return q, nil
}

// wholeRisk says whether the whole of a queue may be moved, by its kind and by how earlier runs ended.
func (l line) wholeRisk(q dedup.Queue) dedup.ReturnRisk {
	if why := l.fragile.why(l.info, l.broker.Name, q); why != "" {
		return dedup.ReturnRisk{Why: why}
	}
	return dedup.MovesWhole(l.info, q)
}

// words is the text of an error for people.
func words(err error) string {
	if kind := dedup.KindOf(err); kind == dedup.Internal {
		return "the broker's answer could not be used; look at the program's log"
	}
	return dedup.PublicText(err)
}

// target is how the audit names a queue.
func (l line) target() string { return queueTarget(l.pipeline.Broker, l.queue) }

func queueTarget(broker string, q dedup.QueueRef) string {
	return broker + "/" + printable(q.Vhost, 255) + "/" + printable(q.Name, maxTarget)
}

// wait estimates how long a message waits in the source queues before it is consumed: their depth over the messages that were
// acked in the shortest window that knows.
func (l line) wait() time.Duration {
	if !l.status.Ready.Known() || l.status.Ready.Value <= 0 {
		return 0
	}
	for _, w := range l.status.Windows {
		if w.Messages.Known() && w.Messages.Value > 0 && w.Window > 0 {
			return min(time.Duration(l.status.Ready.Value/w.Messages.Value*float64(w.Window)), 24*time.Hour)
		}
	}
	return 0
}

// patience is how long the first messages are watched: twice the 99th percentile of the work, or the longest honest work
// where that is not known, and never less than the least.
func (l line) patience(least time.Duration) time.Duration {
	for _, w := range l.status.Windows {
		if w.WorkP99.Known() {
			return max(least, time.Duration(2*w.WorkP99.Value*float64(time.Second)))
		}
	}
	return max(least, l.pipeline.MaxProcessing)
}
