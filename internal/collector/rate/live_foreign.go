package rate

import (
	"fmt"
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// deliveriesLessClaims are the readings with deliveries in place of acks, and claims in place of what was settled.
func deliveriesLessClaims(readings []estimate.Joint) []estimate.Joint {
	out := make([]estimate.Joint, len(readings))
	for i, r := range readings {
		out[i] = estimate.Joint{At: r.At, Run: r.Run, Calm: r.Calm, Acked: r.Delivered, Settled: r.Claims}
	}
	return out
}

// ForeignAcks says that more was acked beyond what the store settled than consumers can have met as done: each delivery asks the store once,
// and one that begins its work is none. So are messages that were moved or taken away by hand, those of consumers that ask no store, and
// failures that are published anew and acked. It is empty where nothing shows it, and not checked where the store does not tell how often it
// was asked, or was asked more often than the queues delivered: then others ask it, too. So many acks may be of failures anyhow.
func ForeignAcks(readings []estimate.Joint, asked []sample.EventReading, s dedup.Scheme, w time.Duration, unacked estimate.Unacked, failed float64) (why string, checked bool) {
	if len(asked) < 2 {
		return "", false
	}
	last := asked[len(asked)-1]
	n := sort.Search(len(readings), func(i int) bool { return readings[i].At.After(last.At) })
	r, ok := estimate.ResidualOf(readings[:n], w, unacked)
	i := sort.Search(len(asked), func(i int) bool { return asked[i].At.After(r.From) }) - 1
	last = asked[min(len(asked)-1, sort.Search(len(asked), func(i int) bool { return !asked[i].At.Before(r.To) }))]
	if !ok || i < 0 || !asked[i].AskedKnown || !last.AskedKnown {
		return "", false
	}
	begun := last.Claims - asked[i].Claims
	if s.Mark == "after" {
		begun = last.Completions + last.Again - asked[i].Completions - asked[i].Again
	}
	calls := last.Asked - asked[i].Asked
	hits := calls - begun
	beside := (last.At.Sub(asked[i].At) - r.To.Sub(r.From)).Seconds() * r.Delivered / r.Covered.Seconds()
	r.Failed = failed
	least, _, _ := r.Duplicates(0)
	switch {
	case hits < 0 || calls > r.Delivered+r.Unsure+beside+3*math.Sqrt(calls+1):
		return "", false
	case least <= hits+unacked.Mean+3*math.Sqrt(hits+unacked.Mean+1):
		return "", true
	}
	return fmt.Sprintf("by acks and completions at least %s were duplicates, but consumers met markers in the store only %s: messages were acked without asking it, or failed ones were",
		text.Counted(text.Whole(least), "message"), text.Counted(text.Whole(hits), "time")), true
}
