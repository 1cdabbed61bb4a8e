// Package deadletter looks at dead-letter queues, and shows their messages, masked, with what a requeue would do to each.
package deadletter

import (
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// A Letter is a dead letter as a scan saw it, with everything that is known of it.
type Letter struct {
	dedup.DeadLetter
	// ID is the message id under the pipeline's rule; empty when it has none, and NoID says why.
	ID   string
	NoID string
	// Target is the queue that a requeue sends it to; empty when the death history does not say, and NoTarget says why.
	Target   string
	NoTarget string
	// TargetNote says how the target was found where no death says it; empty otherwise.
	TargetNote string
	// Exception is the kind of failure that a framework wrote into the headers, Failure its message; empty when none did.
	Exception string
	Failure   string
	// Requeues is how often this dashboard has requeued it, by its headers. Foreign says why these are not believed; empty when they are.
	Requeues int
	Foreign  string
	// Size is the length of the whole body in bytes, Hash its SHA-256 in hex, whatever Body holds.
	Size int
	Hash string
	// Masked is true when values in Body are hidden. Hidden says why there is no Body at all; empty when there is, or it is empty.
	// MaskedNames are words of the names of the members of Body whose values are hidden, each once, the first ones.
	Masked      bool
	Hidden      string
	MaskedNames []string
	// Marker is what the store holds of it, without the value; nil when it has no marker or the store could not be asked.
	Marker     *dedup.Sighting
	Prediction preflight.Prediction
	// deferred is the body of a letter in a list, which has no Body; nil elsewhere.
	deferred *deferredBody
	// Alone is what would become of it if it alone were requeued, where another of the look with its id stands before it; nil elsewhere.
	Alone *preflight.Prediction
	// Evidence makes the prediction for another time; nil where it does not depend on that.
	Evidence *preflight.Evidence
}

// A ScanRequest asks for a look at the head of a dead-letter queue. Looking has side effects: the page that offers it says so.
type ScanRequest struct {
	Pipeline string
	Queue    string
	// Limit is the most messages, 1 to MaxScan.
	Limit int
}

// MaxScan is the most messages that a scan holds, MaxScanBytes the most bytes of their bodies.
const (
	MaxScan      = 10_000
	MaxScanBytes = 32 << 20
)

// ScanLife is how long a scan is kept, in memory alone. A page shows the newest scan of a queue; a few older ones are kept for whoever
// has their messages open.
const ScanLife = 15 * time.Minute

// A Scan is what the head of a dead-letter queue held at one moment.
type Scan struct {
	ID       string
	Pipeline string
	Queue    dedup.QueueRef
	By       string
	At       time.Time
	Took     time.Duration
	// Ready is the number of messages that were ready; Letters are those that were looked at, oldest first. They are masked for everybody, and
	// without their bodies, which DeadLetters.Letter shows.
	Ready   int64
	Letters []Letter
	// Short says why fewer were looked at than were asked for; empty when not.
	Short string
	// Effects are what the look did to the queue, in words.
	Effects []string
	// StoreFailed says why no marker could be looked up; empty when they could.
	StoreFailed string
	Classes     preflight.Tally
	// NewerBy and NewerAt say who has looked at the queue since, and when; empty and zero for the newest scan.
	NewerBy string
	NewerAt time.Time
}

// A QueueView is a dead-letter queue as its page shows it.
type QueueView struct {
	Pipeline string
	Queue    dedup.DeadLetterQueue
	// Absent is the dead-letter queue whose first discard makes this parking queue, where there is none yet; else empty.
	Absent string
	// WhyNoScan says why it must not be looked at, WhyNotSelective why messages cannot be picked out of it, WhyNoMove why nothing
	// can be moved out of it at all; each is empty when it can.
	WhyNoScan       string
	WhyNotSelective string
	WhyNoMove       string
	// Effects are what a look will do to the queue, in words, to be shown before it.
	Effects []string
	// Scan is the newest one that is still kept; nil when there is none.
	Scan *Scan
	// Job is the job that is moving its messages now; empty when there is none.
	Job string
	// OperatorLimit is the most messages that an operator may requeue with one job.
	OperatorLimit int
}

// A GroupKey says what letters are grouped by.
type GroupKey string

// The keys of groups.
const (
	ByReason    GroupKey = "reason"
	BySource    GroupKey = "source"
	ByRoute     GroupKey = "route"
	ByException GroupKey = "exception"
	ByType      GroupKey = "type"
	ByHour      GroupKey = "hour"
)

// GroupKeys returns every key in the order in which pages show them.
func GroupKeys() []GroupKey {
	return []GroupKey{ByReason, BySource, ByRoute, ByException, ByType, ByHour}
}

// A Group is the letters of a scan that share a value.
type Group struct {
	// Value is what they share, "" where they have none.
	Value string
	// Filter is the filter that selects exactly this group.
	Filter string
	Count  int
	Bytes  int64
	// First and Last are the oldest and newest of the times at which letters of the group died last; zero when none is known.
	First   time.Time
	Last    time.Time
	Classes preflight.Tally
}

// NewestDeath is what is kept of the deaths of a letter once it is moved: the requeued message begins a history of its own.
func NewestDeath(l Letter) *message.Death {
	if len(l.Deaths) == 0 {
		return nil
	}
	d := l.Deaths[0]
	return &message.Death{Queue: d.Queue, Reason: d.Reason, Count: d.Count, Time: d.Time}
}

// Goes reports whether a requeue moves a letter unless somebody chooses otherwise: to its own queue, or to target where it does not say
// which that is; "" for none.
func (l Letter) Goes(target string) bool {
	if l.Target == "" {
		l.Target = target
	}
	return l.Target != "" && l.Stays() == "" && !slices.Contains(preflight.UnsafeClasses(), l.Prediction.Class)
}

// GuardedAt is from how many requeues on a message is left where it is.
const GuardedAt = 3

// Stays says why a letter is not requeued whatever is chosen; empty when it can be.
func (l *Letter) Stays() string {
	switch {
	case l.Target == "":
		return l.NoTarget
	case l.Requeues >= GuardedAt:
		return fmt.Sprintf("it was requeued %d times already", l.Requeues)
	}
	return ""
}
