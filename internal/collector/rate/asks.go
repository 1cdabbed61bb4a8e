package rate

import (
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// Asks are what the store counted of its consumers' questions in the time of a residual.
type Asks struct {
	// Hits are the questions that met a marker, at most, Least at least. Claims that are counted late make them too few, so that they bound no
	// duplicates. That more duplicates are counted shows that something else was acked, too.
	Hits, Least float64
	// Unasked are the deliveries that asked nothing, as few as chance allows and as many: messages that were moved or taken away by hand, that are of no
	// interest to their consumers, or that were rejected at once.
	Unasked [2]float64
	// Fetched are the deliveries that were fetched one by one since the store told how often it was asked.
	Fetched float64
	// Checked is true where each question was of a delivery, so that Unasked is known.
	Checked bool
}

// AsksOf counts them: each delivery asks the store once, and one that begins its work meets nothing. Where the store was asked more often than the queues
// delivered, others ask it, too, or work is tried several times within a delivery.
func AsksOf(readings []estimate.Joint, asked []sample.EventReading, s dedup.Scheme, r estimate.Residual) Asks {
	none := Asks{Hits: math.Inf(1), Fetched: r.Fetched}
	i := sort.Search(len(asked), func(i int) bool { return asked[i].At.After(r.From) }) - 1
	j := min(len(asked)-1, sort.Search(len(asked), func(j int) bool { return !asked[j].At.Before(r.To) }))
	if i < 0 || j <= i || !asked[i].AskedKnown || !asked[j].AskedKnown {
		return none
	}
	from, to := &asked[i], &asked[j]
	tail, ok := deliveredBetween(readings, to.At, r.To)
	begun := to.Claims - from.Claims
	if s.Mark == "after" {
		begun = to.Completions + to.Again - from.Completions - from.Again
	}
	hits := to.Asked - from.Asked - begun
	if hits < 0 || !ok {
		return none
	}
	// The two sides are counted a moment apart, and an answer may follow its question into the time.
	apart := askedApart + estimate.CountedApart(r.Delivered/max(1, r.Covered.Seconds()))
	out := Asks{Hits: hits + apart + tail.Delivered, Fetched: r.Fetched}
	before, okBefore := deliveredBetween(readings, from.At, r.From)
	if after, okAfter := deliveredBetween(readings, r.To, to.At); okBefore && okAfter && r.Covered == r.To.Sub(r.From) {
		out.Least = max(0, hits-apart-before.Delivered-after.Delivered)
	}
	less, ok := estimate.ResidualOf(deliveriesLessAsks(readings, asked[i:j+1]), to.At.Sub(from.At), estimate.Unacked{})
	if !ok || less.Sent < -2*less.Band-askedApart || 2*less.Covered < r.Covered {
		return out
	}
	out.Unasked = [2]float64{max(0, less.Sent-less.Band), max(0, less.Sent+less.Band) * (1 + tail.Delivered/max(1, less.Acked))}
	out.Fetched, out.Checked = tail.Fetched, true
	return out
}

// deliveredBetween is what the broker delivered from one time to another, and a little before and after; nothing where the second is no later, and not ok
// where it is not known.
func deliveredBetween(readings []estimate.Joint, from, until time.Time) (d estimate.Joint, ok bool) {
	i := sort.Search(len(readings), func(i int) bool { return readings[i].At.After(from) }) - 1
	j := sort.Search(len(readings), func(j int) bool { return !readings[j].At.Before(until) })
	switch {
	case !until.After(from):
		return d, true
	case i < 0 || j == len(readings) || readings[i].Run != readings[j].Run:
		return d, false
	}
	return estimate.Joint{Delivered: readings[j].Delivered - readings[i].Delivered, Fetched: readings[j].Fetched - readings[i].Fetched}, true
}

// deliveriesLessAsks are the readings in which the store told how often it was asked, with what had been delivered by then if that ran evenly between
// two others.
func deliveriesLessAsks(readings []estimate.Joint, asked []sample.EventReading) []estimate.Joint {
	var out []estimate.Joint
	for k := range asked {
		at := asked[k].At
		n := sort.Search(len(readings), func(i int) bool { return !readings[i].At.Before(at) })
		if n == len(readings) || n == 0 && readings[0].At.After(at) || !asked[k].AskedKnown {
			continue
		}
		b := &readings[n]
		delivered := b.Delivered
		if b.At.After(at) {
			a := &readings[n-1]
			if a.Run != b.Run {
				continue
			}
			delivered = a.Delivered + (b.Delivered-a.Delivered)*float64(at.Sub(a.At))/float64(b.At.Sub(a.At))
		}
		out = append(out, estimate.Joint{At: at, Run: b.Run, Acked: delivered, Settled: asked[k].Asked})
	}
	return out
}

// askedApart is by how many questions the two counts of one reading may be off.
const askedApart = 2
