package window

import (
	"cmp"
	"slices"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// A View is what one pipeline's sources show in a round, and what keeps them from it.
type View struct {
	Now time.Time
	// BrokerDown, StoreDown and ReportDown say why a source cannot be shown; empty when it can.
	BrokerDown, StoreDown, ReportDown string
	// Uncounted says why the broker, which answers, counts nothing of the pipeline; empty where it does.
	Uncounted string
	Scheme    dedup.Scheme
	Stats     dedup.StoreStats
	// Several says how it is known that consumers work on several deliveries at once; see Pipeline.Several.
	Several string
	// Info is what the broker says of itself, Queues the source queues in their order: nil for one that it does not list.
	Info   dedup.BrokerInfo
	Queues []*dedup.Queue
	// CountsAcks and CountsDeliveries: the broker counts them for the source queues.
	CountsAcks, CountsDeliveries bool
	// Capacity is the most deliveries that the consumers can hold; 0 when it is not known.
	Capacity int64
	// Vanishing: messages can leave a source queue without being redelivered.
	Vanishing bool
	// DeadKnown: every way of a dead letter is known.
	DeadKnown bool
	// failuresAcked: it is proven that consumers ack failures; see ackedFailures.
	failuresAcked bool
	// ignores: it is proven that deliveries are acked that did not ask the store.
	ignores bool
	// unasked is how many messages a second are acked without a question to the store, at most.
	unasked float64
	Live    LiveState
	Reports Reports
	// Sharers are the other stores on the same server whose consumers ask with the same command.
	Sharers []string
}

// A LiveState is how the reading of live counts goes, where they are joined with a store's.
type LiveState struct {
	// Down says why they cannot be read, Why why the newest reading told of no queue, Better what would help.
	Down, Why, Better string
}

// Reports are what consumers report.
type Reports struct {
	// Known: somebody reads them. Present: they were there at least once.
	Known, Present bool
	// Dropped is when counts were last dropped, Duplicates how many were reported since the dashboard started.
	Dropped    time.Time
	Duplicates float64
}

// limited reports whether a source queue may dead-letter or drop a message for having come back too often: a delivery
// limit, which quorum queues have by default from RabbitMQ 4.0 on.
func (v *View) limited() bool {
	return slices.ContainsFunc(v.Queues, func(q *dedup.Queue) bool { return q != nil && q.Type == "quorum" })
}

// diesUnaided reports whether messages of a source queue can become dead letters without a consumer's doing.
func (v *View) diesUnaided() bool {
	return slices.ContainsFunc(v.Queues, func(q *dedup.Queue) bool { return q == nil || topology.DiesUnaided(q, "") })
}

// strange says that nothing in the store is a marker of the pipeline's consumers, empty where something is: then each ack would look like that of a
// duplicate, whose marker is there. Events were seen of it so many times.
func (v *View) strange(events float64) string {
	if e := v.Stats.Events; e == nil || events > 0 || e.Claims+e.Completions > 0 {
		return ""
	}
	if pass := v.Stats.Pass; pass != nil {
		for state, n := range pass.States {
			if state != dedup.StateUnknown && n > 0 {
				return ""
			}
		}
	}
	return rate.NoneDone
}

// noCounts says why there are no counts of the broker; empty where there are some.
func (v View) noCounts() string { return cmp.Or(v.BrokerDown, v.Uncounted) }
