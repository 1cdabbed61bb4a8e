package marker

import (
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// A List names one of the lists of markers that a pass keeps: what a frozen filter selects from.
type List string

// The lists of a pass.
const (
	ProcessingList List = "processing"
	FailedList     List = "failed"
	PermanentList  List = "no-expiry"
	GaveUpList     List = "gave-up"
)

// A MarkerFilter selects from a list of the last complete pass. It is frozen when the plan is made: markers that match
// later are not touched.
type MarkerFilter struct {
	List List
	// Verdict keeps the markers with this verdict; empty keeps all.
	Verdict dedup.Verdict
	// Match keeps the markers whose id or business key contains it; empty keeps all.
	Match string
}

// A PlanRequest asks for a plan: what to do, to which markers. Keys, Filter and Operation exclude one another.
type PlanRequest struct {
	Deed  admin.Deed
	Store string
	Keys  []string
	// Filter selects all that match, at most MaxPlanned.
	Filter *MarkerFilter
	// Operation is the clear that a restore undoes; Items are numbers of its items, all when empty.
	Operation string
	Items     []int
	// AlsoRetry clears the retry counters along with the markers.
	AlsoRetry bool
	// TTL is the time to live that SetExpiry sets, at least a minute; 0 for what RecommendedTTL says of each marker.
	TTL time.Duration
}

// MaxPlanned is the most markers of one plan.
const MaxPlanned = 1000

// A Plan is a frozen selection with what will happen to each marker. Making one changes nothing.
type Plan struct {
	ID      string
	Made    time.Time
	By      string
	Request PlanRequest
	Items   []PlanItem
	// LeftOut are markers that were selected and will not be touched, with the reason.
	LeftOut []LeftOut
	// Truncated counts markers that matched the filter beyond MaxPlanned.
	Truncated int
	// Undecoded counts markers of the list that were left out and are not named: they could not be decoded.
	Undecoded int
	// Confirm is what must be typed to carry the plan out; empty when a reason is enough.
	Confirm string
	// Takes is an estimate of the time that carrying out takes: Redis markers without expiry are watched for 5 s each before they are
	// cleared or given one, 16 at once.
	Takes time.Duration
}

// A PlanItem is one marker of a plan, exactly as it was seen.
type PlanItem struct {
	// Seen comes without the value, which may hold payload: a plan is kept longer than any payload may be.
	Seen dedup.Sighting
	// Hash is the SHA-256 of the value in hex, Size its length in bytes.
	Hash    string
	Size    int64
	Verdict dedup.Verdict
	// Reasons are the evidence of the verdict, in words.
	Reasons []string
	// TTL is the time to live that SetExpiry gives the marker; 0 for other deeds.
	TTL time.Duration
	// Effect says what happens next: "the message loops in its queue and runs at its next delivery".
	Effect string
	// Interrupted is an earlier restore of the same image whose outcome is not known; empty when there is none.
	Interrupted string
}

// LeftOut is a marker that a plan does not touch.
type LeftOut struct {
	Key string
	ID  string
	Why string
}

// An Operation is a plan that is being or was carried out.
type Operation struct {
	ID     string
	Plan   Plan
	By     string
	Reason string
	// Started and Ended are by our clock; Ended is zero while it runs.
	Started time.Time
	Ended   time.Time
	// Interrupted is true when the program ended in the middle: items without an outcome were not begun, except the one
	// or few whose outcome is unknown.
	Interrupted bool
	// Stopped says why items were left that were not tried: the audit could not be written; empty when none were. Of one that
	// is neither running nor ended it says that the outcomes are still to be completed.
	Stopped string
	// Outcomes holds one outcome per item of the plan, in their order.
	Outcomes []ItemOutcome
	// Undone names the operation that restored what this one cleared; empty when there is none.
	Undone string
}

// An ItemOutcome is what became of one item of a plan; a zero At means that it was not tried, or not yet.
type ItemOutcome struct {
	Item int
	At   time.Time
	// Begun is true while the item is under way: it was tried and its outcome is not known yet.
	Begun bool
	// Outcome.Now comes without the value.
	Outcome dedup.Outcome
	// Restorable is until when the marker can be restored; zero when it cannot.
	Restorable time.Time
}
