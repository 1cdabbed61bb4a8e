package alerts

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// The bounds of an acknowledgement. It says that somebody works on it: for longer there are silences.
const (
	maxAck     = 7 * 24 * time.Hour
	maxAckNote = 1000
)

// NewAck returns an acknowledgement of an alert as it is now, until a time. Seen is the tier that it was shown with to whom acknowledges
// it, unknown where nobody says. An alert that does not fire, or is worse than what was seen, cannot be acknowledged: that is an error of
// kind conflict. What is wrong with the rest is one of kind invalid.
func NewAck(a *Alert, by, note string, seen dedup.Tier, now, until time.Time) (Ack, error) {
	invalid := func(text string) (Ack, error) {
		return Ack{}, &dedup.Error{Kind: dedup.Invalid, Public: text}
	}
	note = strings.TrimSpace(note)
	switch {
	case !a.State.Fires():
		return Ack{}, &dedup.Error{Kind: dedup.Conflict, Public: "The alert does not fire any more: there is nothing to acknowledge"}
	case WorseThanSeen(a.State, seen):
		text := "It is %s now, you acknowledged %s: look at it, and acknowledge it as it is"
		return Ack{}, &dedup.Error{Kind: dedup.Conflict, Public: fmt.Sprintf(text, a.State.Tier, seen)}
	case strings.TrimSpace(by) == "":
		return invalid("An acknowledgement needs the name of who gives it")
	case len(note) > maxAckNote || !utf8.ValidString(note):
		return invalid(fmt.Sprintf("The note is longer than %d bytes, or no text", maxAckNote))
	case !until.After(now):
		return invalid("The acknowledgement ends before it begins: choose a later end")
	case until.Sub(now) > maxAck:
		return invalid("An acknowledgement lasts for 7 days at most: make a silence for longer")
	}
	return Ack{By: by, Note: note, At: now, Until: until, Tier: a.State.Tier}, nil
}

// WorseThanSeen reports whether an alert fires at a worse tier than the one that somebody saw; never where that is unknown.
func WorseThanSeen(s State, seen dedup.Tier) bool {
	return seen > dedup.TierUnknown && s.Fires() && s.Tier > seen
}

// Holds reports whether the acknowledgement still stands: the alert fires, at no worse a tier than the one that was acknowledged,
// and its time is not over.
func (a *Ack) Holds(s State, at time.Time) bool {
	return a != nil && s.Fires() && s.Tier <= a.Tier && at.Before(a.Until)
}

// An AckEnd says why an acknowledgement ended.
type AckEnd string

// Why acknowledgements end.
const (
	AckOver      AckEnd = "time"       // its time was over
	AckResolved  AckEnd = "resolved"   // the alert fires no more
	AckWorse     AckEnd = "worse"      // it fires at a worse tier
	AckTakenBack AckEnd = "taken_back" // somebody took it back
	AckReplaced  AckEnd = "replaced"   // another one took its place
)

// An EndedAck is an acknowledgement that holds no more.
type EndedAck struct {
	Key rule.Key
	Ack
	Ended time.Time
	Why   AckEnd
	// EndedBy is who took it back, or gave the one that took its place; empty for every other end.
	EndedBy string
}

// EndedAs returns an acknowledgement that an alert, as it is at a time, has no longer. By is who took it back.
func (a *Ack) EndedAs(now *Alert, at time.Time, by string) EndedAck {
	ended := EndedAck{Key: now.Key, Ack: *a, Ended: at}
	switch s := now.State; {
	case now.Ack != nil:
		ended.Why, ended.EndedBy = AckReplaced, now.Ack.By
	case !s.Fires():
		ended.Why = AckResolved
	case s.Tier > a.Tier:
		ended.Why = AckWorse
	case !at.Before(a.Until):
		ended.Why, ended.Ended = AckOver, a.Until
	default:
		ended.Why, ended.EndedBy = AckTakenBack, by
	}
	return ended
}
