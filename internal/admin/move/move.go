// Package move plans moves of dead letters: it freezes a selection, and says what a move would do with it and what speaks against that.
package move

import (
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// MaxPlanned is the most messages that a plan of a move lists one by one.
const MaxPlanned = 1000

// A Request asks for the plan of a move. Refs, Filter and Whole exclude one another.
type Request struct {
	Do       admin.Move
	Pipeline string
	// Queue is the dead-letter queue; of a restore too, whose messages come from its parking queue.
	Queue string
	// Scan is the scan that the selection was made from; empty for Whole.
	Scan string
	// Refs selects single messages of the scan.
	Refs []string
	// Filter selects all that match, in the whole queue: those of the scan, and those behind it. It is frozen with the plan.
	Filter string
	// Whole takes everything that was ready when the job began.
	Whole bool
	// Choices says what to do with each class; a class without one is kept as it is, except swallowed, blocks and unknown, which are
	// left out where messages can be left out.
	Choices map[preflight.Class]preflight.Choice
	// Canary is how many messages go first, to be judged before the rest; 0 for none, and PresetCanary for as many as are wise.
	Canary int
	// Most is the most messages to move, those nearest to the head of the queue; 0 for all that are selected.
	Most int64
	// Rate is the most messages per second; 0 for DefaultRate, negative for no limit.
	Rate float64
	// Edit replaces parts of the one message of Refs; nil for none.
	Edit *Edit
	// Target is the queue of the pipeline to which a requeue sends messages that do not say where they came from; without it they stay
	// where they are.
	Target string
}

// PresetCanary asks for the usual canary: a few messages where many are moved, none where few are.
const PresetCanary = -1

// DefaultRate is the most messages per second unless another rate is asked for.
const DefaultRate = 500

// An Edit is a change of one message before it is requeued.
type Edit struct {
	// Body, ContentType and MessageID take the place of what the message has; what is empty stays as it is.
	Body        []byte
	ContentType string
	MessageID   string
	// NoContentType and NoMessageID take the property away.
	NoContentType bool
	NoMessageID   bool
	// Headers holds headers that are set, Remove those that are taken away. Those that the broker or this dashboard owns cannot be.
	Headers map[string]string
	Remove  []string
}

// A Plan is a frozen selection with what will happen to it. Making one changes nothing.
type Plan struct {
	ID      string
	Made    time.Time
	By      string
	Request Request
	Broker  string
	Source  dedup.QueueRef
	// Parking is the queue that discarded messages go to; empty for a requeue.
	Parking string
	// Ready is the number of messages that were ready; Scanned how many of them were looked at, at ScannedAt; Matching how many of
	// those are selected.
	Ready     int64
	Scanned   int
	ScannedAt time.Time
	Matching  int
	// Nowhere counts the selected messages of which it is not known which queue to send them to, Worn those that were requeued too
	// often. They stay where they are, and are in no other count but Matching.
	Nowhere int
	Worn    int
	// Beyond counts the selected messages behind the Most that are moved. They are in no other count but Matching.
	Beyond int
	// Targets counts the selected messages that were looked at by the queue that they go to.
	Targets map[string]int
	Classes preflight.Tally
	// MayRepeat counts those that go although their work may have been done before, or was.
	MayRepeat int
	// Choices is what will be done with each class.
	Choices map[preflight.Class]preflight.Choice
	// LeftOut are the references of the messages that were selected one by one and are left out all the same, by their class; each as often
	// as there are messages. The job does not send them, whatever becomes of their markers meanwhile.
	LeftOut []string
	// Letters are the selected messages that were looked at, without bodies, at most MaxMovePlanned.
	Letters []PlannedLetter
	// Foretold are the classes of the selected messages that were looked at, by reference, of copies that of the first. One that is to do its
	// work is not in it. Plans of older versions have none.
	Foretold map[string]preflight.Class
	// Guards are what speaks against it. One that is Blocking refuses it.
	Guards []Guard
	// Confirm is what must be typed; empty when a reason is enough.
	Confirm string
	// Takes is an estimate of the time that it takes.
	Takes time.Duration
	// Needs is the role that may carry it out.
	Needs auth.Role
	// ClearsDone is true for a plan that clears the marker of done work of its one message; the id of that must be typed.
	ClearsDone bool
	// Most is the most messages that it moves: as many as were asked for, or as an operator may; 0 for no such bound.
	Most int64
	// UpTo is the most messages that the job may move: those that were looked at and are selected, and of a filter or a whole queue
	// all that were not looked at, for any of them may be selected; never more than Most. What is left out of single messages is not in it.
	UpTo int64
	// Selective is true when messages are taken one by one, so that others can be left where they are.
	Selective bool
	// MayLeave is true where messages of a class can be left out.
	MayLeave bool
	// IDChange says what an edit does to the message id; empty without an edit.
	IDChange string
	// KeyedRefs is true when references are made with the key of the installation; plans of older versions have plain ones.
	KeyedRefs bool
	// Sends says what an edit sends without holding any of it; nil without one.
	Sends *Fingerprint
	// Edited is the edit as PlannedMove returns it to admins; nil without one, or when it is not kept any more. It is in memory alone.
	Edited *EditedLetter `json:"-"`
}

// A Fingerprint tells which message was meant, without a byte of it.
type Fingerprint struct {
	// Ref is its reference, over body, properties and headers; BodyHash the keyed hash of its body in hex, Bytes the length of that.
	Ref      string
	BodyHash string
	Bytes    int
}

// An EditedLetter is an edit with the message that it changes, as it was.
type EditedLetter struct {
	Edit Edit
	Was  deadletter.Letter
}

// A PlannedLetter is one message of a plan, without its body and headers.
type PlannedLetter struct {
	Ref         string
	ID          string
	BusinessKey string
	Target      string
	// Stays says why it is not sent whatever is chosen; empty when it can be.
	Stays string
	Bytes int
	// Expected is when it is consumed if the plan is started at once; Prediction is what happens to it then.
	Expected   time.Time
	Prediction preflight.Prediction
	// Choice is what will be done with it.
	Choice preflight.Choice
}

// A Guard is something that speaks against a move.
type Guard struct {
	Text     string
	Blocking bool
	// Fits is how many messages it would not speak against; nil where their number does not matter.
	Fits *int64
	// Job is the job that is in the way; empty where none is.
	Job string
}
