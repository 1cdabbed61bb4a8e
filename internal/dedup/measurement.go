package dedup

import (
	"math"
	"time"
)

// MeasurementState is how far a measurement has come.
type MeasurementState string

// The states of a measurement. Incomplete ones saw too little of what the broker counted, so that they tell no figure.
const (
	MeasurementRunning     MeasurementState = "running"
	MeasurementDone        MeasurementState = "done"
	MeasurementIncomplete  MeasurementState = "incomplete"
	MeasurementFailed      MeasurementState = "failed"
	MeasurementInterrupted MeasurementState = "interrupted"
)

// Final reports whether nothing more will change.
func (s MeasurementState) Final() bool { return s != MeasurementRunning }

// A Measurement is one trace session of a pipeline: each of its deliveries was seen, and joined with the marker of its message.
type Measurement struct {
	ID       string
	Pipeline string
	Broker   string
	Queues   []QueueRef
	// By is who started it.
	By      string
	Started time.Time
	// Began is when tracing was on; zero while somebody must switch it on first, with Commands.
	Began time.Time
	Ended time.Time
	// Length is how long the deliveries were to be traced.
	Length time.Duration
	State  MeasurementState
	// Why says in few words why it failed, is incomplete, or ended before its time. Commands are the lines for a shell that switch tracing on
	// and off, where a person must.
	Why      string
	Commands []string
	// Seen counts the deliveries that were traced so far, while it runs.
	Seen int64
	// Result is nil until there is one.
	Result *SessionResult
	// Live is what the live figure said of the same time; nil where it said nothing.
	Live *Calibration
}

// A Calibration compares the live duplicate rate of a time with what a session counted in it.
type Calibration struct {
	// Method is the source of the live figure, Window the time that it was taken over; Low, Value and High are ratios.
	Method           Method
	Window           time.Duration
	Low, Value, High float64
	// Off is the live value less the counted one, in ratio: 0.001 is a tenth of a point.
	Off float64
	// Held is true where the live band, widened by that of the session, holds what was counted.
	Held bool
}

// A SessionResult is what came of a session. Counts are of messages that were delivered in it and settled by its end.
type SessionResult struct {
	// Began and Ended bound the time that was traced. Traced are the deliveries seen, Counted those that the broker counted meanwhile.
	Began, Ended    time.Time
	Traced, Counted float64
	// Messages are the deliveries that were acked, Duplicates those of them whose work had been done before.
	Messages, Duplicates int64
	// Band is the half width, in messages, that holds the error of the count: deliveries of which the time cannot tell what they met.
	Band float64
	// AtMost is true where the markers of the scheme cannot tell lost work from done work: there are at most so many duplicates.
	AtMost bool
	// Sent and Redelivered are the parts of Duplicates: copies that a producer sent, and what came again because its ack was lost.
	Sent, Redelivered int64
	// InFlight are deliveries that were acked while their work was under way elsewhere, Swallowed those whose work was never done.
	InFlight, Swallowed int64
	// Failures are the times that work failed, Retries the deliveries that came again before work was done, Doubled the times that work
	// that was done was done again.
	Failures, Retries, Doubled int64
	// Unsettled are deliveries that had no outcome by the end, NoID those of messages without an id.
	Unsettled, NoID int64
	// WhyNoID is why the last one of them had none.
	WhyNoID string
	// Events is true where the store's events told of each completion; else the times of markers did.
	Events bool
	// Latency are the times from delivery to completion of first work; LatencyWhy says why there are none.
	Latency    SessionLatency
	LatencyWhy string
	// Repeated are the ids that were duplicated, the most often first; RepeatedIDs counts them, with those that are left out.
	Repeated    []RepeatedID
	RepeatedIDs int64
	// Origins says by which way the copies of duplicated messages came, those of most duplicates first.
	Origins []Origin
}

// Rate is the share of duplicates, with the band of its count.
func (r *SessionResult) Rate() (low, value, high float64) {
	if r.Messages <= 0 {
		return 0, 0, 1
	}
	n, d := float64(r.Messages), float64(r.Duplicates)
	if r.AtMost {
		return 0, 0, min(1, (d+r.Band)/n)
	}
	return max(0, (d-r.Band)/n), d / n, min(1, (d+r.Band)/n)
}

// Sampling is the 95 % Wilson interval of the rate: how far that of a longer time may be off by chance, however exact the count is.
func (r *SessionResult) Sampling() (low, high float64) {
	const z = 1.959963984540054
	n := float64(r.Messages)
	if n <= 0 {
		return 0, 1
	}
	p := float64(r.Duplicates) / n
	middle, spread := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (middle-spread)/(1+z*z/n)), min(1, (middle+spread)/(1+z*z/n))
}

// SessionLatency is a distribution of ack latencies in seconds; N is 0 where there is none.
type SessionLatency struct {
	N                   int64
	Mean, P50, P95, P99 float64
	// Resolution is that of the times of markers, in seconds.
	Resolution float64
	// Bounds are the upper ends of the bars in seconds, Counts has one more, for what is longer.
	Bounds []float64
	Counts []int64
}

// A RepeatedID is a message of which at least one delivery was a duplicate.
type RepeatedID struct {
	ID string
	// Deliveries are those that were traced, Duplicates those that were duplicates, of which Redelivered came again because an ack was lost.
	Deliveries, Duplicates, Redelivered int64
	First                               time.Time
	// Before is true where the work was done before the session; Gap is the longest time from one copy to the next one, Done that from the
	// completion of the work to its first duplicate, 0 where it is not known.
	Before    bool
	Gap, Done time.Duration
	// Origins are the ways that its copies came by.
	Origins []Origin
}

// An Origin is a way by which copies came into the queue. A trace names the consumer's connection, not the publisher's.
type Origin struct {
	Exchange, RoutingKey, UserID, AppID string
	Headers                             map[string]string `json:",omitempty"`
	// Copies are the deliveries that came by it, Duplicates those of them that were duplicates.
	Copies, Duplicates int64
}

// A StoreEvent is what a notification of a store told of one message.
type StoreEvent struct {
	ID   string
	Kind StoreEventKind
	At   time.Time
}

// StoreEventKind is what happened to a marker.
type StoreEventKind uint8

// What can happen to a marker.
const (
	MarkerClaimed StoreEventKind = iota
	MarkerCompleted
	MarkerFailed
)
