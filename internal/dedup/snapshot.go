package dedup

import (
	"slices"
	"time"
)

// A Snapshot holds everything known at the end of one round. It is immutable once published.
type Snapshot struct {
	Round     uint64
	At        time.Time
	Interval  time.Duration
	Brokers   []BrokerStatus
	Stores    []StoreStatus
	Pipelines []PipelineStatus // in the order of the configuration
	Sources   []SourceHealth
	// SharedQueues are the dead-letter queues that are judged by themselves.
	SharedQueues []SharedQueue
	// SharedKnown is true once it is known of every broker which they are.
	SharedKnown bool
}

// Pipeline returns the status of the named pipeline and whether there is one.
func (s *Snapshot) Pipeline(name string) (*PipelineStatus, bool) {
	for i := range s.Pipelines {
		if s.Pipelines[i].Pipeline.Name == name {
			return &s.Pipelines[i], true
		}
	}
	return nil, false
}

// With returns the snapshot with further events of pipelines, by their names. The snapshot itself is never changed.
func (s *Snapshot) With(events map[string][]Event) *Snapshot {
	if len(events) == 0 {
		return s
	}
	copied := *s
	copied.Pipelines = slices.Clone(s.Pipelines)
	for i := range copied.Pipelines {
		p := &copied.Pipelines[i]
		p.Events = append(slices.Clip(p.Events), events[p.Pipeline.Name]...)
	}
	return &copied
}

// EventsOf joins the events of a pipeline, its broker and its stores, oldest first and each once.
func (s *Snapshot) EventsOf(p *PipelineStatus) []Event {
	all := slices.Clone(p.Events)
	for i := range s.Brokers {
		if s.Brokers[i].Name == p.Pipeline.Broker {
			all = append(all, s.Brokers[i].Events...)
		}
	}
	for i := range s.Stores {
		if name := s.Stores[i].Name; name == p.Pipeline.Store || name == p.Pipeline.ReportedStore {
			all = append(all, s.Stores[i].Events...)
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.At.Compare(b.At) })
	return slices.CompactFunc(all, func(a, b Event) bool { return a.At.Equal(b.At) && a.Kind == b.Kind && a.Text == b.Text })
}

// SourceHealth says whether a source answers. A source is stale once its last success is older than three intervals.
type SourceHealth struct {
	// Name is unique: "broker main", "store orders", "reported orders".
	Name string
	Kind string // broker, totals, store, reported
	// Tried is whether a first attempt has ended, well or badly.
	Tried       bool
	OK          bool
	LastTry     time.Time
	LastSuccess time.Time
	// Since is when OK last changed, as far as it was seen. A restart of the dashboard changes neither it nor LastSuccess.
	Since time.Time
	Took  time.Duration
	// Err is the last error in words that say what to do; empty when OK.
	Err string
	// Note says what to bear in mind of a source that is OK: "nothing reported yet"; empty when there is nothing.
	Note string
	// Missed counts ticks that were skipped because a reading was still under way.
	Missed uint64
	// Away is the longest absence of the dashboard since the last answer: what was meanwhile nobody knows. It is zero while OK, and
	// where there was none that is longer than a source may be silent.
	Away Absence
}

// BrokerStatus is one broker at a glance.
type BrokerStatus struct {
	Name   string
	Health SourceHealth
	Info   BrokerInfo
	State  BrokerState
	// Queues is the number of queues seen, nil while unknown.
	Queues *int64
	// Deaths are its dead letters by reason; nil where its Prometheus plugin is not asked.
	Deaths   *BrokerDeaths
	Problems []Problem
	Events   []Event
}

// StoreStatus is one store at a glance.
type StoreStatus struct {
	Name   string
	Scheme Scheme
	Health SourceHealth
	Stats  StoreStats
	Events []Event
	// Pipelines names the pipelines that keep their markers here, in the order of the configuration.
	Pipelines []string
	// Evidence is what the broker says of all those pipelines together, for the verdict on a marker.
	Evidence Evidence
}

// PipelineStatus is everything known of one pipeline.
type PipelineStatus struct {
	Pipeline Pipeline
	// Windows holds the figures of each span of Windows(), in that order.
	Windows []WindowFigures
	// Gauges are the levels of the source queues now; one that is absent is unknown.
	Gauges map[GaugeName]Figure
	// OldestWaiting is the age of the oldest message in the source queues, where publishers set the timestamp property.
	OldestWaiting Figure
	// DeadLetters is the depth over all dead-letter queues. Where some are shared it is an interval: of theirs none or all may be the
	// pipeline's.
	DeadLetters      Figure
	DeadLetterQueues []DeadLetterQueue
	// BrokerDeaths are the dead letters of the whole broker by reason; nil where they are not asked for.
	BrokerDeaths *BrokerDeaths
	// SharingUnknown is true until the broker's topology was read: who else has the dead-letter queues is not known, and DeadLetters
	// counts all that lies in them.
	SharingUnknown bool
	// Baseline is what of DeadLetters was acknowledged; nil when nothing was.
	Baseline *Baseline
	// DeadLetterRoutes is the topology: every way that a dead letter of the pipeline can take, at most MaxRoutes; RoutesLeftOut
	// counts the others.
	DeadLetterRoutes []DeadLetterRoute
	RoutesLeftOut    int
	// Markers counts markers by state; a state that the scheme does not know is absent.
	Markers          map[State]Figure
	MarkersNoExpiry  Figure
	OldestProcessing Figure
	// Stuck counts processing markers by verdict, of the listed ones; a marker is stuck when it is probably dead, orphan or looping.
	Stuck    Figure
	Verdicts map[Verdict]Figure
	// PassAge is the age of the last complete pass, Coverage the share of the pass under way.
	PassAge  Figure
	Coverage Figure
	// Effects are the double effects that the pipeline's effect check found; nil where none is configured.
	Effects *EffectCheck
	// Spark is the duplicate rate of the last hour, at most 60 points.
	Spark []Point
	// LastActivity is when a message was last seen to be acked; zero when none was.
	LastActivity time.Time
	Findings     []Finding
	Events       []Event
	// Sources names the sources that this pipeline depends on; Down those that are stale, with their reasons.
	Sources []string
	Down    []SourceHealth
}

// WindowFigures are the figures of one pipeline over one span.
type WindowFigures struct {
	Window        time.Duration
	Messages      Figure
	Duplicates    Figure
	DuplicateRate Figure
	// CrossCheck is the next valid source of the duplicate rate; unknown when there is none.
	CrossCheck Figure
	// Estimates are what each source says of the duplicate rate, best first, those that refuse included.
	Estimates []Estimate
	// ProducerSent and Redelivered split the duplicates by where they come from: a second message, or the same one again.
	ProducerSent Figure
	Redelivered  Figure
	// Swallowed are deliveries that were acked although their work was not done; Looping are redeliveries of messages that
	// cannot proceed; DoubleEffects are messages whose work was done twice. None of them is a duplicate.
	Swallowed     Figure
	Looping       Figure
	DoubleEffects Figure
	// Lost are messages that left without their work: given up, failed and acked, or dropped for want of a dead-letter exchange.
	Lost Figure
	// MeanRetries is the mean number of failures of the messages that have failed and are not done.
	MeanRetries Figure
	// AckTimeouts and ConsumerRestarts are per hour.
	AckTimeouts      Figure
	ConsumerRestarts Figure
	// LostPerChannel is the most deliveries whose work was done that one closed channel can have left unacked in the span of the
	// duplicate rate: 1 where consumers settle each delivery before the next, else their largest prefetch; 0 where no bound is known.
	LostPerChannel int64
	// MostClosed bounds from above the pipeline's channels that were closed in that span; nil where the broker did not count them all.
	MostClosed *float64
	// Redeliveries is redeliveries / deliveries of the broker: a loop signal, never a duplicate rate.
	Redeliveries Figure
	InFlightHits Figure
	Failures     Figure
	FailureRate  Figure
	GaveUp       Figure
	AckMean      Figure
	AckP50       Figure
	AckP95       Figure
	AckP99       Figure
	WorkMean     Figure
	WorkP50      Figure
	WorkP95      Figure
	WorkP99      Figure
	// DeadLetterInflow is per hour; an interval as DeadLetters.
	DeadLetterInflow Figure
}

// A DeadLetterQueue is a dead-letter queue of a pipeline and how it was found.
type DeadLetterQueue struct {
	QueueRef
	Type string
	// Found is how it was found: "listed", "argument x-dead-letter-exchange of orders", "policy dlx of orders".
	Found     string
	Depth     Figure
	Consumers Figure
	// Shared is who else has messages there.
	Shared Sharing
}

// Store returns the status of a store, and whether there is one of this name.
func (s *Snapshot) Store(name string) (*StoreStatus, bool) {
	for i := range s.Stores {
		if s.Stores[i].Name == name {
			return &s.Stores[i], true
		}
	}
	return nil, false
}

// PipelinesOf names the pipelines of a store, from its status or, before that says so, from the pipelines.
func (s *Snapshot) PipelinesOf(store string) []string {
	if st, ok := s.Store(store); ok && len(st.Pipelines) > 0 {
		return st.Pipelines
	}
	var names []string
	for i := range s.Pipelines {
		if s.Pipelines[i].Pipeline.Store == store {
			names = append(names, s.Pipelines[i].Pipeline.Name)
		}
	}
	return names
}
