package marker

import (
	"cmp"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// RecommendedTTL is the time to live that SetExpiry gives a marker when none is asked for. A processing or failed marker holds
// its message back until it expires: it gets twice the longest processing time, and never less than 5 minutes. Any other one stands
// for done work: it gets the time for which the scheme remembers that.
func RecommendedTTL(state dedup.State, maxProcessing time.Duration, s dedup.Scheme) time.Duration {
	if state == dedup.Processing || state == dedup.Failed {
		return max(2*maxProcessing, 5*time.Minute)
	}
	return memory(s)
}

// memory is for how long done work is remembered.
func memory(s dedup.Scheme) time.Duration { return cmp.Or(s.DoneTTL, 24*time.Hour) }

// ttl is the time to live that the plan gives a marker of a state.
func (r rules) ttl(state dedup.State) time.Duration {
	return cmp.Or(r.request.TTL, RecommendedTTL(state, r.view.evidence.MaxProcessing, r.scheme))
}

// expiring says what happens after a marker got an expiry: until then a processing one goes on to hold its message back.
func (r rules) expiring(it PlanItem) string {
	in := admin.Span(it.TTL)
	switch {
	case it.Seen.State != dedup.Processing:
		return "it expires " + in + " after it is carried out; from then on the message is new to its consumers"
	case r.scheme.Lock:
		return "the lock is still held for " + in + ": a delivery that waits for it runs after that"
	case r.scheme.OnInFlight == "ack":
		return "the message is still blocked for " + in + ": deliveries that meet the marker are acked without the work until then, and one that comes later runs"
	case r.scheme.OnInFlight == "wait":
		return "the message is still blocked for " + in + ": a delivery that waits for it runs after that"
	default:
		return "the message is still blocked for " + in + ": it loops in its queue until then, and runs at its next delivery after that"
	}
}
