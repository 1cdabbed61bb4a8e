package deadletter

import (
	"context"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// A Queue is one dead-letter queue of a pipeline, or its parking queue, with what is known around it.
type Queue struct {
	Pipeline dedup.Pipeline
	IDs      message.IDSource
	Broker   *Broker
	// Store is nil for a scheme without markers.
	Store *preflight.Store
	// Dead is the dead-letter queue as the newest round saw it, status its pipeline.
	Dead   dedup.DeadLetterQueue
	status *dedup.PipelineStatus
	Info   dedup.BrokerInfo
	Nodes  []dedup.Node
	at     time.Time
	// Ref is where messages are taken from: the dead-letter queue, or with parked its parking queue.
	Ref    dedup.QueueRef
	Parked bool
	// chosen is where somebody sends letters that do not say where they came from; empty when nobody chose.
	chosen string
	// Homes are the queues that letters may be sent to, each with the pipeline that has it.
	Homes map[string]string
	// ours reports whether a run is one of this dashboard; nil believes every header.
	ours func(run string) bool
	// sole is true when no other pipeline has the dead-letter queue, and this one has a single source queue.
	sole bool
	// Fragile are the queues that nothing more may be taken out of.
	Fragile *fragileQueues
	// Refs makes the references of its messages.
	Refs message.RefKey
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

// SendingTo returns the line with the target that somebody chose.
func (l Queue) SendingTo(target string, do admin.Move) (Queue, error) {
	switch {
	case target == "":
		return l, nil
	case do != admin.Requeue:
		return l, admin.Invalid("Only a requeue can be sent to a chosen queue")
	case !slices.Contains(l.Pipeline.Queues, target):
		return l, admin.Invalid("Queue " + admin.Printable(target, 255) + " is no queue of pipeline " + l.Pipeline.Name + ": messages are sent to those alone")
	}
	l.chosen = target
	return l, nil
}

// Parking returns the line of the parking queue.
func (l Queue) Parking() (Queue, error) {
	parking, err := dedup.ParkingQueue(l.Dead.QueueRef)
	if err != nil {
		return Queue{}, err
	}
	l.Ref, l.Parked = parking, true
	return l, nil
}

// DeclareParking makes sure that the parking queue is there and loses nothing; a conflict says why it cannot be used.
func (l Queue) DeclareParking(ctx context.Context) error {
	parking, err := l.Broker.Mover.DeclareParking(ctx, l.Dead.QueueRef)
	if err != nil {
		return &dedup.Error{Kind: dedup.Conflict, Public: "The parking queue cannot be used: " + ErrorText(err), Err: err}
	}
	if why := dedup.MayDrop(parking); why != "" {
		return admin.Conflict("The parking queue could lose what is put there: %s; take its policies off", why)
	}
	return nil
}

// queueTimeout bounds the live reading of one queue.
const queueTimeout = 5 * time.Second

// Live reads a queue of the line's broker.
func (l Queue) Live(ctx context.Context, ref dedup.QueueRef) (dedup.Queue, error) {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	q, err := l.Broker.Watch.Queue(ctx, ref)
	if err != nil {
		kind := dedup.Unavailable
		if dedup.KindOf(err) == dedup.NotFound {
			kind = dedup.NotFound
		}
		return dedup.Queue{}, &dedup.Error{Kind: kind, Public: "Queue " + admin.Printable(ref.Name, 255) + " cannot be read: " + ErrorText(err), Err: err}
	}
	return q, nil
}

// Source reads the queue that messages are taken from, with its depth of this moment: the management API is some seconds late.
func (l Queue) Source(ctx context.Context) (dedup.Queue, error) {
	q, err := l.Live(ctx, l.Ref)
	if err != nil {
		return dedup.Queue{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	ready, err := l.Broker.Mover.Ready(ctx, l.Ref)
	if err != nil {
		return dedup.Queue{}, &dedup.Error{Kind: dedup.Unavailable, Public: "The depth of queue " + admin.Printable(l.Ref.Name, 255) + " cannot be read: " + ErrorText(err), Err: err}
	}
	q.Ready = &ready
	return q, nil
}

// WholeRisk says whether the whole of a queue may be moved, by its kind and by how earlier runs ended.
func (l Queue) WholeRisk(q dedup.Queue) dedup.ReturnRisk {
	if why := l.Fragile.why(l.Info, l.Broker.Name, q); why != "" {
		return dedup.ReturnRisk{Why: why}
	}
	return dedup.MovesWhole(l.Info, q)
}

// ErrorText is the text of an error for people.
func ErrorText(err error) string {
	if kind := dedup.KindOf(err); kind == dedup.Internal {
		return "the broker's answer could not be used; look at the program's log"
	}
	return dedup.PublicText(err)
}

// Target is how the audit names a queue.
func (l Queue) Target() string { return QueueTarget(l.Pipeline.Broker, l.Ref) }

// QueueTarget is how the audit names a queue of a broker.
func QueueTarget(broker string, q dedup.QueueRef) string {
	return broker + "/" + admin.Printable(q.Vhost, 255) + "/" + admin.Printable(q.Name, admin.MaxTarget)
}

// Wait estimates how long a message waits in the source queues before it is consumed: their depth over the messages that were
// acked in the shortest window that knows.
func (l Queue) Wait() time.Duration {
	if !l.status.Gauges[dedup.Ready].Known() || l.status.Gauges[dedup.Ready].Value <= 0 {
		return 0
	}
	for _, w := range l.status.Windows {
		if w.Messages.Known() && w.Messages.Value > 0 && w.Window > 0 {
			return min(time.Duration(l.status.Gauges[dedup.Ready].Value/w.Messages.Value*float64(w.Window)), 24*time.Hour)
		}
	}
	return 0
}

// Patience is how long the first messages are watched: twice the 99th percentile of the work, or the longest processing time
// where that is not known, and never less than the least.
func (l Queue) Patience(least time.Duration) time.Duration {
	for _, w := range l.status.Windows {
		if w.WorkP99.Known() {
			return max(least, time.Duration(2*w.WorkP99.Value*float64(time.Second)))
		}
	}
	return max(least, l.Pipeline.MaxProcessing)
}

// PerMinute is how many messages the pipeline works off per minute; 0 when not known.
func (l Queue) PerMinute() float64 {
	for _, w := range l.status.Windows {
		if w.Messages.Known() && w.Messages.Value > 0 && w.Window > 0 {
			return w.Messages.Value / w.Window.Minutes()
		}
	}
	return 0
}
