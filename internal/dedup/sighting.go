package dedup

import (
	"strings"
	"time"
)

// NoExpiry is the ExpiresMillis of what never expires.
const NoExpiry = -1

// A Sighting is a marker exactly as a store held it at one moment: what a compare-and-clear compares with, and what an
// undo restores.
type Sighting struct {
	Marker
	// At is when it was read by our clock, Clock the same moment by the store's.
	At    time.Time
	Clock time.Time
	// Server identifies the server that was read: a change of server before an action refuses the action.
	Server string
	// Type is string, hash or row.
	Type string
	// Value is the exact value: the bytes of a string; a JSON object of field to value of a hash, sorted by field; a JSON
	// object of column to text or null of a row. A sighting that was taken for watching holds the columns of the marker
	// alone; the image that an action keeps holds every column.
	Value []byte
	// ExpiresMillis is the exact expiry in milliseconds since 1970 by the store's clock, or NoExpiry.
	ExpiresMillis int64
	// Retry is the retry counter of the same message, nil when there is none.
	Retry *RetryCounter
	// Other is set where the store takes the id that was asked for and that of this marker for one, although they differ.
	Other *OtherID `json:",omitempty"`
}

// An OtherID is the id that was asked for where a marker with another one was found: a consumer that asks for it meets that marker.
type OtherID struct {
	Asked string
	// MayBeOwn says that the store cannot keep the id as it was asked for, being too long, or a number with leading zeros: the marker
	// may be that of the same message after all.
	MayBeOwn bool
}

// CounterAlone reports whether the sighting is a retry counter without a marker, as a search by ids returns it.
func (s Sighting) CounterAlone() bool {
	return s.State == Failed && s.Retry != nil && s.Retry.Key == s.Key
}

// A RetryCounter is the failure counter of one message.
type RetryCounter struct {
	Key           string
	Value         string
	ExpiresMillis int64
}

// Result is what became of one action on one marker.
type Result string

// The results of an action.
const (
	// Cleared, ExpirySet and Restored were done, and seen to be done.
	Cleared   Result = "cleared"
	ExpirySet Result = "expiry set"
	Restored  Result = "restored"
	// Changed: the marker is not what was seen; nothing was done.
	Changed Result = "changed meanwhile"
	// Gone: there is no such marker any more; nothing was done.
	Gone Result = "gone"
	// Refused: acting would not be safe, or the store does not allow it; nothing was done.
	Refused Result = "refused"
	// NotDone: the store could not be reached; nothing was done.
	NotDone Result = "not done"
	// UnknownOutcome: the connection was lost in the act, and re-reading could not tell.
	UnknownOutcome Result = "unknown outcome"
)

// An Outcome is the result of one action on one marker, in words.
type Outcome struct {
	Result Result
	// Text completes the result: "now done since 03:12:07"; empty where there is nothing to add.
	Text string
	// Now is what is there after the action, where it could be read.
	Now *Sighting
}

// counterLeft begins the text of a clear that left the retry counter.
const counterLeft = "but not its retry counter: "

// ClearedAlone is the outcome of a clear that should have taken the retry counter along and did not, in a store that cannot do both at once.
func ClearedAlone(why string) Outcome { return Outcome{Result: Cleared, Text: counterLeft + why} }

// CounterLeft reports whether a clear left the retry counter that it should have taken along: a consumer may give the message up by it.
func (o Outcome) CounterLeft() bool {
	return o.Result == Cleared && strings.HasPrefix(o.Text, counterLeft)
}
