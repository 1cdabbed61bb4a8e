package rule

import (
	"cmp"
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Limits are the limits at which a tier is entered: a value at or above one reaches its tier. A nil one is not given, and its
// tier is never reached.
type Limits struct {
	Warning, Severe, Emergency *float64
	// Leave is the share of a limit below which its tier is left; 0 is the usual 0.8.
	Leave float64
}

// Limit returns a limit for Limits.
func Limit(limit float64) *float64 { return &limit }

// leave returns the value below which a tier is left that is entered at a limit.
func (l Limits) leave(limit float64) float64 {
	if l.Leave == 0 {
		return limit * 8 / 10 // in this order 0.1 becomes 0.08, and not a little more
	}
	return limit * l.Leave
}

// all are the limits of warning, severe and emergency.
func (l *Limits) all() [3]**float64 { return [3]**float64{&l.Warning, &l.Severe, &l.Emergency} }

func (l Limits) of(t dedup.Tier) *float64 {
	if t < dedup.Warning {
		return nil
	}
	return *l.all()[t-dedup.Warning]
}

func (l Limits) any() bool { return l.Warning != nil || l.Severe != nil || l.Emergency != nil }

// lowest returns the lowest tier that the limits have; warning where they have none.
func (l Limits) lowest() dedup.Tier {
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		if l.of(t) != nil {
			return t
		}
	}
	return dedup.Warning
}

// tiers judges a value: enters by the limits, holds by the shares of them at which a tier is left. The limit is that of the tier
// entered, and for normal the lowest one, which the value is below.
func (l Limits) tiers(value float64) (enters, holds dedup.Tier, limit float64) {
	return l.decide(value, func(*float64, float64) bool { return true })
}

// ratioTiers judges a ratio over n events like a duplicate rate: beside the value a tier takes three hits, and a Wilson 95 % lower
// bound above the limit of the tier below it, for the lowest tier above half its own.
func (l Limits) ratioTiers(value, n float64) (enters, holds dedup.Tier, limit float64) {
	const leastHits = 3
	hits := math.Round(value * n)
	lower := WilsonLower(hits, n)
	return l.decide(value, func(below *float64, own float64) bool {
		if below == nil {
			return hits >= leastHits && lower > own/2
		}
		return hits >= leastHits && lower > *below
	})
}

// decide finds the highest tier whose limit the value reaches and of which one can be sure, given the limit below it and its own.
func (l Limits) decide(value float64, sure func(below *float64, own float64) bool) (enters, holds dedup.Tier, limit float64) {
	enters, holds = dedup.Normal, dedup.Normal
	var below, left *float64
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		own := l.of(t)
		if own == nil {
			continue
		}
		if below == nil {
			limit = *own
		}
		leave := l.leave(*own)
		if value >= *own && sure(below, *own) {
			enters, limit = t, *own
		}
		if value >= leave && sure(left, leave) { // which is so wherever the tier is entered
			holds = t
		}
		below, left = own, &leave
	}
	return enters, holds, limit
}

// check says what is wrong with limits. Those of a rule that is switched off may be missing.
func (l Limits) check(say func(string, ...any), disabled bool) {
	if !l.any() && !disabled {
		say("limits: none is given; give at least one of warning, severe and emergency")
	}
	if l.Leave < 0 || l.Leave > 1 || math.IsNaN(l.Leave) {
		say("limits.leave: %v is no share of a limit; write a number above 0 and up to 1", l.Leave)
	}
	last, lastTier := math.Inf(-1), dedup.Normal
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		limit := l.of(t)
		if limit == nil {
			continue
		}
		if !Finite(*limit) || *limit <= 0 {
			say("limits: %s is %v; write a number above 0", t, *limit)
		} else if *limit < last {
			say("limits: %s (%v) is below %s (%v); write them in rising order", t, *limit, lastTier, last)
		}
		last, lastTier = *limit, t
	}
}

// with returns the limits with those that another one gives.
func (l Limits) with(o Limits) Limits {
	for i, given := range o.all() {
		if *given != nil {
			*l.all()[i] = *given
		}
	}
	l.Leave = cmp.Or(o.Leave, l.Leave)
	return l
}

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
