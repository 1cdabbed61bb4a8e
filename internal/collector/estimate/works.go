package estimate

import (
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	workedSource = "work by store events, and samples of unacked messages"
	workedLow    = "work from claim to completion / acks"
	// workSeen is how many samples should have met work under way before they tell whether it is acked before it ends: of fewer, some early acks pass.
	workSeen = 30
	// workMet is how many should have met work of the newest time.
	workMet = 8
)

// Works are those that a store saw from claim to completion between two times.
type Works struct {
	From, To time.Time
	Times    dedup.Sketch
}

// withWork narrows what the samples tell by the work: a delivery is held at least from its claim to its completion. Where work says more than
// the samples leave, one of both is not what it seems, and the samples stand.
func (l *Latency) withWork(s *stretch, out *Latencies) {
	if l.Work == nil || s.cuts > 0 || s.auto > 0 || !l.heldAtWork(s) {
		return
	}
	w, ok := l.Work(s.from.At, s.to.Held.At)
	h := handled{Works: w, most: s.most(), unpaired: s.unpaired(w.To), slip: l.Slip.Seconds()}
	if !ok || h.count() == 0 || h.count() > h.most+h.unpaired {
		return
	}
	low := h.mean()
	if low <= 0 || low >= out.Mean.High {
		return
	}
	out.Mean = above(out.Mean, low)
	outside := out.Mean.High - low
	for q, f := range map[float64]*dedup.Figure{0.50: &out.P50, 0.95: &out.P95, 0.99: &out.P99} {
		*f = h.quantile(q, *f, out.Mean, outside, s.settled())
	}
}

// above returns a mean that is at least so long: a number where the rest of its band is narrow.
func above(mean dedup.Figure, low float64) dedup.Figure {
	number := mean.InBand()
	mean.Low = max(mean.Low, low)
	middle := (mean.Low + mean.High) / 2
	switch {
	case number && mean.Value > mean.Low:
	case number, (mean.High-mean.Low)/2 <= littleWidest*middle:
		mean.Value = middle
		if !number {
			mean.Why = "includes prefetch wait"
		}
	default:
		mean.Low = roundDown(mean.Low)
		mean.Value, mean.Why = mean.Low, "within bounds: the low one is the work alone, spread over all acks"
	}
	if mean.Error = 0; mean.Value > mean.Low {
		mean.Error = (mean.High - mean.Low) / 2
	}
	if low >= mean.Low { // else the samples say more
		mean.Source, mean.Formula = workedSource, "at least "+workedLow+"; at most "+mean.Formula
	}
	return mean
}

// heldAtWork reports whether samples met deliveries that were held while work was under way, in the window as in all that is kept: whoever acks before
// the work is seen to hold less than it takes.
func (l *Latency) heldAtWork(s *stretch) bool {
	n := l.Tape.Len()
	to := l.Tape.Moment(n - 1)
	w, ok := l.Work(l.Tape.Moment(0).At, to.Held.At)
	if !ok {
		return false
	}
	i := sort.Search(n, func(i int) bool { return l.Tape.Moment(i).At.After(w.From) })
	from := l.Tape.Moment(max(0, i-1))
	if from.Held.At.IsZero() || w.Times.Sum().Seconds() < workSeen*s.each() || !l.holds(w, from, to) {
		return false
	}
	// The newest time that should have met enough of it, the window at least: consumers may have changed since.
	for ago := s.to.At.Sub(s.from.At); ; ago *= 2 {
		i := sort.Search(n, func(i int) bool { return l.Tape.Moment(i).At.After(s.to.At.Add(-ago)) })
		begin := l.Tape.Moment(max(0, i-1))
		if !begin.At.After(from.At) || begin.Held.At.IsZero() {
			return true // that is all, which was looked at
		}
		if newest, ok := l.Work(begin.At, s.to.Held.At); ok && newest.Times.Sum().Seconds() >= workMet*s.each() {
			return l.holds(newest, begin, s.to)
		}
	}
}

// holds reports whether as much was held between two moments as work took, but for what chance takes off the samples. Messages that hang are left out, which a channel that acks and holds one at a time has none of.
func (l *Latency) holds(w Works, from, to Moment) bool {
	s := sampledBetween(&from.Held, &to.Held)
	if s.count == 0 || s.span == 0 {
		return false
	}
	work, held, each := w.Times.Sum().Seconds(), s.area, s.each()
	if !l.AllAck || !l.Single {
		held -= to.Held.under(from.At, to.At, 0)
	}
	chance := each * (2*math.Sqrt(max(0, held)/each) + 2)
	return held >= work/2-2*each && held+chance >= work
}

// most is the most messages that were acked in the window, by acks or by deliveries, whichever are more: with those of its last moments that are
// not counted yet, if they came as often as those before.
func (s *stretch) most() float64 {
	n := max(s.delivered, s.acked)
	_, last := s.ends(rest)
	return n + s.unsure + s.from.Less + s.to.More + s.late.Seconds()*max(n/s.seconds, rateIn(last))
}

// unpaired is the most works that ended by a time and that no ack of the window belongs to: their deliveries came back, or are held still.
func (s *stretch) unpaired(by time.Time) float64 {
	gone := s.delivered - s.acked + s.from.Held.Last - s.to.Held.Last
	return math.Ceil(max(s.redelivered, gone, 0) + s.to.Held.stood(by))
}

// handled are works of which some have no ack in the window, and the most acks that there are.
type handled struct {
	Works
	most, unpaired, slip float64
}

func (h *handled) count() float64 { return float64(h.Times.Count()) }

// sum is the least time that the works with an ack took together, whichever those are.
func (h *handled) sum() float64 {
	unpaired, _, _ := h.Times.Longest(int64(min(h.unpaired, h.count())))
	return max(0, (h.Times.Sum()-unpaired).Seconds()-2*h.slip*math.Sqrt(h.count()))
}

// mean is the least mean of all acks: those without work are acked at once.
func (h *handled) mean() float64 { return h.sum() / h.most }

// quantile bounds one of all acks. From below: so many of them took longer as works did. From above: no more than a share of them had work that
// took longer than a time, and of the others so many were held for longer than that by a multiple of what lies outside the work on average.
func (h *handled) quantile(q float64, f, mean dedup.Figure, outside, least float64) dedup.Figure {
	beyond := 1 - q
	high := mean.High / beyond
	for _, part := range []float64{0, 0.25, 0.5, 0.75} {
		k := max(1, math.Floor(part*beyond*least))
		if part > 0 && k > part*beyond*least {
			continue
		}
		if _, _, work := h.Times.Longest(int64(k)); k <= h.count() {
			high = min(high, work.Seconds()+h.slip+outside/((1-part)*beyond))
		}
	}
	if high = roundUp(high); f.AtMost() {
		high = min(high, f.High)
	}
	_, low, _ := h.Times.Longest(int64(math.Ceil(beyond*h.most + h.unpaired)))
	out := atMost(f, high, mean.N, "between the quantile of the work among all acks, and that of the work plus a multiple of what lies outside it on average", "")
	out.Low = min(roundDown(max(0, low.Seconds()-h.slip)), high)
	out.Value, out.Source, out.Better, out.Why = out.Low, workedSource, mean.Better, "no distribution of ack latencies is known: it lies between these"
	if half, middle := (out.High-out.Low)/2, (out.High+out.Low)/2; half <= littleWidest*middle {
		out.Value, out.Error, out.Why = middle, half, "includes prefetch wait"
	}
	return out
}

// roundDown rounds a lower bound in seconds down to as many digits as are printed, so that it still holds then.
func roundDown(v float64) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	if v >= 0.1 {
		unit /= 10
	}
	return math.Floor(v/unit+1e-9) * unit
}
