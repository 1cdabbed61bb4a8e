package dedup

import (
	"sort"
	"time"
)

// State is the state of a marker.
type State string

// The states of a marker. A scheme without states has only present. Unknown markers could not be decoded; they are
// counted and never cleared.
const (
	Processing   State = "processing"
	Done         State = "done"
	Failed       State = "failed"
	Present      State = "present"
	StateUnknown State = "unknown"
)

// States returns every state in the order in which pages show them.
func States() []State { return []State{Processing, Done, Failed, Present, StateUnknown} }

// A Marker is one record in a dedup store.
type Marker struct {
	Store string
	ID    string
	// Key is the raw key of the record, as the store holds it.
	Key string
	// TooLong is the beginning of a key that is longer than what can be acted on, escaped; Key and ID are empty then.
	TooLong string
	State   State
	// Status is the status as the store writes it, decoded: processing, 0, PAID; empty where the scheme has none.
	Status string
	// BusinessKey names what the message is about, where the store keeps it beside the id.
	BusinessKey string
	// Owner names who holds a lock: client:thread of Redisson, or a token.
	Owner string
	// Attempts is how often the message has failed so far; nil where the store does not count it.
	Attempts *int64
	// Since is when the state began, by the store's clock; zero when it cannot be known.
	Since time.Time
	// FirstSeen is when, by our clock, a pass first saw the marker as it still is; zero in a live reading, but of a marker that was
	// given its expiry later than it was set.
	FirstSeen time.Time
	// Expires is the absolute expiry by the store's clock; zero when the marker never expires.
	Expires time.Time
	// ExpirySet is when, by our clock, an operation of ours gave a marker without expiry the one that it has; zero for any other
	// marker. FirstSeen is then since when it is known to be there.
	ExpirySet time.Time
	// Detail says what is odd about a marker, such as why it is unknown. It holds nothing of the value.
	Detail string
	// Sample is the beginning of a value that could not be decoded, at most 80 bytes, quoted with control characters escaped.
	// It may be payload: it is shown to admins alone, and never kept.
	Sample string `json:"-"`
}

// Name is what pages call a marker: its id, else its key, else how a key begins that is too long.
func (m Marker) Name() string {
	switch {
	case m.ID != "":
		return m.ID
	case m.Key != "":
		return m.Key
	}
	return m.TooLong
}

// A Scheme is what a dedup store's owner decided: how a marker is written, and what consumers do on a hit.
type Scheme struct {
	Preset string
	Kind   string
	// Mark is "before" or "after" the work.
	Mark string
	// OnInFlight is "ack", "nack" or "wait": what a consumer does with a delivery whose marker is processing. One that waits looks
	// again when the marker has ended.
	OnInFlight string
	// OnFail is "delete", "keep" or "ack".
	OnFail string
	// OnFailed is "ack", "nack" or "run": what a consumer does with a delivery whose marker is failed.
	OnFailed string
	// Transactional is true where marker and work are written in one transaction: a failure leaves no marker.
	Transactional bool
	// Business is true where markers are business rows whose status moves on by declared transitions.
	Business      bool
	ProcessingTTL time.Duration
	DoneTTL       time.Duration
	// StuckAfter is the age from which a business row in a status that is not terminal counts as stuck; zero where the
	// scheme does not say.
	StuckAfter time.Duration
	// GiveUp is the number of failures after which the message is acked without its work; zero means never.
	GiveUp int
	// States are the states that markers of the scheme can show, in the order of States().
	States []State
	// AcksEach is true where consumers settle each delivery of a channel before they take up the next one, so that at most one
	// completed delivery of a channel waits for its ack.
	AcksEach bool
	// Unasked is true where consumers ack some messages without asking for their marker.
	Unasked bool
	// InsertFirst is true where each delivery tries exactly one insert before its work, so that a hit burns an id.
	InsertFirst bool
	// DatesClaim is true where the time of a marker is that at which work began, whatever state it is in since.
	DatesClaim bool
	// Ask is the command that a consumer sends exactly once for each delivery, as SETNX; empty where there is none or it is not
	// known.
	Ask string
	// Lock is true for a lock without a marker: it stops two deliveries at once, not one after the other.
	Lock bool
	// Blind says why "0 stuck" proves nothing in this scheme; empty when a stuck marker shows.
	Blind string
}

// StoreStats is what is known of a store: its last complete pass, the pass under way, and its health.
type StoreStats struct {
	// Pass is the last complete pass over the store; nil until there was one.
	Pass *Pass
	// Met tells which processing markers are asked for again and again; nil where that was not seen of any, or cannot be.
	Met      *Met
	Progress Progress
	Health   StoreHealth
	// Facts is what the store's own layout says; nil where there is nothing to say or it could not be read.
	Facts *StoreFacts
	// Events are what the store's notifications told; nil where nobody asked for them or the kind has none.
	Events *StoreEvents
	// Inserts are what the rows of a table tell of their inserts; nil where the kind has none.
	Inserts *InsertStats
	// Statements are what the server counted of the statements on a table; nil where nobody asked it.
	Statements *StatementStats
	// Waits are the lock waits on a table of markers or business rows; nil where they cannot be seen.
	Waits *LockWaits
}

// StoreFacts is what the layout of a store says about its markers.
type StoreFacts struct {
	// IDLength is the most characters that the id column holds; 0 when unbounded.
	IDLength int64
	// IDIgnores names what two ids may differ in and still be one to the id column; Collation names the column's collation.
	IDIgnores []IDDifference
	Collation string
	// TwoIDs is the newest message whose id found the row of another; nil when none did in the last 24 hours.
	TwoIDs *TwoIDs
	// NullIDs counts rows whose id column is NULL: a unique key admits many of them; nil when it was not counted.
	NullIDs *int64
}

// IDDifference is something in which two ids may differ, in words for people.
type IDDifference string

// The differences between two ids that collations ignore.
const (
	CaseDiffers   IDDifference = "case"
	AccentsDiffer IDDifference = "accents"
	WidthDiffers  IDDifference = "width"
	FormsDiffer   IDDifference = "Unicode normal form"
	BlanksDiffer  IDDifference = "trailing blanks"
)

// TwoIDs are two ids that a store took for one.
type TwoIDs struct {
	At time.Time
	// Asked is the id of a message, Row that of the row which it found.
	Asked, Row string
	// MayBeOwn is that of OtherID.
	MayBeOwn bool
}

// LockWaits are transactions that wait for row locks of others at one moment.
type LockWaits struct {
	At time.Time
	// Waiters counts waiting transactions, Longest is the longest wait so far.
	Waiters int64
	Longest time.Duration
	// LongestTransaction is the age of the oldest open transaction that holds or awaits a lock of the table.
	LongestTransaction time.Duration
	// Holders describe the sessions that hold up others: user, host, seconds; at most 20.
	Holders []string
}

// A Pass is one complete walk over a store. Every marker that was present throughout was seen at least once.
type Pass struct {
	// Started and Ended are by our clock; ClockOffset is the store's clock minus ours at the start.
	Started     time.Time
	Ended       time.Time
	ClockOffset time.Duration
	// Examined counts keys or rows that were looked at, Matched those that are markers of this store.
	Examined int64
	Matched  int64
	// Misfits counts keys that match finds although its id expression does not fit them: they are none of Matched. Misfit is the
	// first of them, escaped.
	Misfits int64
	Misfit  string
	// ValuesRead counts values that were fetched, which touches the store's LRU clock.
	ValuesRead int64
	States     map[State]int64
	// NoExpiry counts markers that never expire, by state.
	NoExpiry map[State]int64
	// OldestProcessing are the longest processing markers, oldest first, at most MaxListed; without expiry first.
	OldestProcessing []Marker
	// FailedMarkers are failed markers, Permanent markers of any state without an expiry where the scheme sets one; each
	// at most MaxListed, the oldest first where their age is known.
	FailedMarkers []Marker
	Permanent     []Marker
	// Expiries counts markers by what is left of their lives, in the classes of ExpiryBounds; the last counts longer
	// lives, and NoExpiry those that never end. Nil where nothing expires.
	Expiries []int64
	// Expired counts rows whose expiry has passed although they are still there: the purge does not run.
	Expired int64
	// HashIDs counts ids that are 32 hex digits, as md5(body) makes them; LongestID is the length of the longest id in
	// characters, LongID a sample of it.
	HashIDs   int64
	LongestID int64
	LongID    string
	// IDsDiffer is what ids of a table may differ in alone, as x-ABC and x-abc do; IDInBoth is one of those that differ in case.
	IDsDiffer []IDDifference
	IDInBoth  string
	// Repeated are business keys that several message ids carry, a sample of at most 50; RepeatedKeys counts them.
	Repeated     []Repeat
	RepeatedKeys int64
	// Undecodable are samples of unknown markers, at most 20.
	Undecodable []Marker
	// Completions are done markers by the second of their completion, by the store's clock.
	Completions Timeline
	// FailedAt are failed rows of a table by the second of their last change, or of their insert; UndatedFailures are those without a time.
	FailedAt        Timeline
	UndatedFailures int64
	// UndatedCompletions are done markers whose completion time cannot be known: they have no expiry.
	UndatedCompletions int64
	// GaveUp are messages that were acked after too many failures, by the second of the last failure. GaveUpMarkers are at
	// most MaxListed of them, the oldest first: the retry counter is the marker, its state is failed, Since is the last failure.
	GaveUp        Timeline
	GaveUpMarkers []Marker
	// GaveUpAgain counts how often messages of GaveUp were given up before their last failure, as when they were sent again: a retry
	// counter tells how often, and when the last time was.
	GaveUpAgain int64
	// UndatedGaveUp are given-up messages whose time cannot be known: their retry counter has no expiry.
	UndatedGaveUp int64
	// Retrying counts retry counters below the limit. RetrySum is the sum of all retry counters, those of given-up messages too.
	Retrying int64
	RetrySum int64
	// Touched tells of done markers that were asked for again; nil where the scheme does not allow to tell.
	Touched *Touched
}

// Touched says how many of a sample of done markers were asked for again later than 3 s after they were done: each was met
// by at least one more delivery. It is a lower bound, since a marker that is met sooner does not show.
type Touched struct {
	// Sampled counts the markers that were looked at, each done for at least 10 minutes; Touched those of them.
	Sampled int64
	Touched int64
	// Why says why nothing can be told, in words for people; empty when the counts hold.
	Why string
}

// Unfit reports whether the pass found keys of the store and could take no id out of any: what it did not count is not known
// to be none.
func (p *Pass) Unfit() bool { return p != nil && p.Matched == 0 && p.Misfits > 0 }

// Met are processing markers that were asked for several times between two moments by our clock, neither by their owners nor by us:
// by deliveries of their messages.
type Met struct {
	From, To time.Time
	// Expires holds the expiry of each by its key: a claim that was made anew has another.
	Expires map[string]time.Time
}

// MaxListed bounds each list of markers that a pass keeps.
const MaxListed = 1000

// A Repeat is one business key with several message ids.
type Repeat struct {
	BusinessKey string
	IDs         []string // at most 10
	Count       int64
}

// ExpiryBounds are the upper bounds of the classes of remaining life in Pass.Expiries; one more class follows for longer.
func ExpiryBounds() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour, 7 * 24 * time.Hour}
}

// Progress is the pass under way.
type Progress struct {
	Started time.Time
	// Coverage is the share of the store walked so far, 0..1, an estimate.
	Coverage float64
	Examined int64
	// Waiting says why the walk is slow: its own duty cycle, the store's latency, a ceiling; empty when it is not.
	Waiting string
}

// StoreHealth is the store seen from outside the markers. Nil means that the store did not say.
type StoreHealth struct {
	At      time.Time
	Version string
	Role    string
	RunID   string
	// Nodes are the run IDs of the primaries of a cluster, by the IDs of the nodes; RunID is empty then.
	Nodes          map[string]string
	LatencyP99     time.Duration
	Keys           *int64
	MemoryUsed     *int64
	MemoryMax      *int64
	EvictionPolicy string
	EvictedKeys    *int64
	// CPU is how many cores the server has used since the reading before: 0.5 is half of one; nil after the first reading.
	CPU *float64
}

// A Timeline counts events by the second.
type Timeline struct {
	// counts maps a Unix second to the events in it.
	counts map[int64]uint32
	// sums holds cumulative counts by second, built by Freeze.
	seconds []int64
	sums    []int64
}

// Add counts one event at t. It must not be called after Freeze.
func (t *Timeline) Add(at time.Time) {
	if t.counts == nil {
		t.counts = make(map[int64]uint32)
	}
	t.counts[at.Unix()]++
}

// Freeze sorts the timeline so that Between is cheap; the timeline is read-only afterwards.
func (t *Timeline) Freeze() {
	t.seconds = make([]int64, 0, len(t.counts))
	for s := range t.counts {
		t.seconds = append(t.seconds, s)
	}
	sort.Slice(t.seconds, func(i, j int) bool { return t.seconds[i] < t.seconds[j] })
	t.sums = make([]int64, len(t.seconds))
	var sum int64
	for i, s := range t.seconds {
		sum += int64(t.counts[s])
		t.sums[i] = sum
	}
	t.counts = nil
}

// Between returns the events with from <= second < to. It is valid after Freeze.
func (t Timeline) Between(from, to time.Time) int64 {
	return t.before(to) - t.before(from)
}

// FirstSince returns the second of the earliest event at or after from, and the zero time when there is none. It is
// valid after Freeze.
func (t Timeline) FirstSince(from time.Time) time.Time {
	i := sort.Search(len(t.seconds), func(i int) bool { return t.seconds[i] >= from.Unix() })
	if i == len(t.seconds) {
		return time.Time{}
	}
	return time.Unix(t.seconds[i], 0)
}

// Total returns all events. It is valid after Freeze.
func (t Timeline) Total() int64 {
	if len(t.sums) == 0 {
		return 0
	}
	return t.sums[len(t.sums)-1]
}

func (t Timeline) before(at time.Time) int64 {
	i := sort.Search(len(t.seconds), func(i int) bool { return t.seconds[i] >= at.Unix() })
	if i == 0 {
		return 0
	}
	return t.sums[i-1]
}
