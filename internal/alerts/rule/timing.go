package rule

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// AtOnce, as a span of a custom rule's Timing, is no time at all: there, 0 says that nothing was given.
const AtOnce time.Duration = -1

// Timing says how long a tier must be reached before it fires, and how long what holds it must be gone before it falls.
type Timing struct {
	Warning, Severe, Emergency time.Duration
	KeepFiring                 time.Duration
}

// DefaultTiming is that of a rule that gives none.
func DefaultTiming() Timing {
	return Timing{Warning: 2 * time.Minute, Severe: 2 * time.Minute, Emergency: time.Minute, KeepFiring: 5 * time.Minute}
}

// For returns how long the tier must be reached before it fires.
func (t Timing) For(tier dedup.Tier) time.Duration {
	switch tier {
	case dedup.Emergency:
		return t.Emergency
	case dedup.Severe:
		return t.Severe
	default:
		return t.Warning
	}
}

// with returns the timing with the spans that another one gives.
func (t Timing) with(o Timing) Timing {
	t.Warning, t.Severe = given(o.Warning, t.Warning), given(o.Severe, t.Severe)
	t.Emergency, t.KeepFiring = given(o.Emergency, t.Emergency), given(o.KeepFiring, t.KeepFiring)
	return t
}

// given returns the span that a rule gives, or else the one that holds.
func given(span, otherwise time.Duration) time.Duration {
	switch span {
	case 0:
		return otherwise
	case AtOnce:
		return 0
	default:
		return span
	}
}
