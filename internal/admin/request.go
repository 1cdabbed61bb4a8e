package admin

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

const (
	minReason = 3
	maxReason = 500
	// MaxToken is the most bytes of an idempotency token.
	MaxToken = 128
)

// PlanLife is how long a plan may be carried out.
const PlanLife = 15 * time.Minute

// CheckReason returns the reason without surrounding space. It must be of a length, in one line, and without characters
// that hide or reorder text.
func CheckReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	if n := utf8.RuneCountInString(reason); n < minReason || n > maxReason {
		return "", Invalid(fmt.Sprintf("Give a reason of %d to %d characters", minReason, maxReason))
	}
	hidden := func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) }
	if !utf8.ValidString(reason) || strings.IndexFunc(reason, hidden) >= 0 {
		return "", Invalid("Give the reason in one line, without control characters")
	}
	return reason, nil
}

// A ClearForRequest asks to clear markers whose messages are about to be requeued: they lie in a dead-letter queue, so that no
// delivery of them is out.
type ClearForRequest struct {
	Store string
	Keys  []string
	// Single allows that the marker of done work is cleared: it was planned so, and confirmed by typing the id.
	Single bool
	// AlsoRetry clears the retry counters along with the markers.
	AlsoRetry bool
	Reason    string
}

// Snapshots gives what the newest round knows; nil before the first one.
type Snapshots interface {
	Snapshot() *dedup.Snapshot
}

// MaxTerm is the longest message id or business key that can be looked up, in bytes.
const MaxTerm = 512
