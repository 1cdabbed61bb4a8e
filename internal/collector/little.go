package collector

import (
	"fmt"
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// littleFewest is the L*n below which the estimate is worth nothing: the band of steady traffic alone would be wider than 15 %.
const littleFewest = 100

// littleSparsest is the longest mean time between two samples of the unacked messages that still gives a number.
const littleSparsest = 2 * time.Second

// littleRedelivered is the share of redeliveries among the deliveries from which on there is no number: messages that
// are held and returned wait in the mean although nobody acks them.
const littleRedelivered = 0.05

// littleSteady is how many times the unacked messages may differ between the first and the last third of the window.
const littleSteady = 3

// littleLate is how late the broker's counters come; a queue where nothing was delivered nor held for littleRest is at rest.
const (
	littleLate = 5 * time.Second
	littleRest = 2 * littleLate
)

// littleAsked is the share of the time of asking for the unacked messages that is taken off a wait, and that the wait may err by
// in turn. What waits on a busy broker because it is being asked is in every sample, and in none of the seconds between: a queue
// is asked half way through on average, and by then nothing that arrived since may have been acked, or all of it.
const littleAsked = 0.25

// littleWidest is the relative half width of a band from which on there is no number.
const littleWidest = 0.15

// A littleSample is what Little's law is applied to.
type littleSample struct {
	Window time.Duration
	Frames reel
}

// little estimates the mean ack latency by Little's law: mean unacked over time / rate of manual deliveries.
func little(s littleSample) dedup.Figure {
	f := dedup.Unknown(dedup.Seconds, "")
	f.Window, f.Source = s.Window, "Little's law"
	f.Formula = "mean unacked / rate of manual deliveries and gets"
	f.Better = "Let the consumers report ack latencies (docs/consumers.md)."
	if len(s.Frames) < 2 {
		f.Why = "the broker was not read often enough yet"
		return f
	}
	last := s.Frames[len(s.Frames)-1]
	first := s.Frames[0]
	if p, ok := s.Frames.before(last.Ended.Add(-s.Window)); ok {
		first = *p
	}
	f.Covered, f.At = min(last.Began.Sub(first.Began), s.Window), last.Began
	if why := littleRefusal(s, first, last); why != "" {
		f.Why = why
		return f
	}
	if why := s.Frames.uneven(first, last); why != "" {
		f.Why = why
		return f
	}
	mean := (last.UnackedArea - first.UnackedArea) / (last.UnackedSpan - first.UnackedSpan)
	n, delivered := last.UnackedCount-first.UnackedCount, last.Deliveries-first.Deliveries
	if mean*n < littleFewest {
		f.Why = "too few in flight to estimate"
		return f
	}
	wait := mean / (delivered / last.Began.Sub(first.Began).Seconds())
	// At most half of the wait, so that something stays: such a band is refused.
	asked := min(wait/2, littleAsked*(last.UnackedTook-first.UnackedTook)/n)
	wait -= asked
	band := s.Frames.littleBand(first, last) + asked/wait
	if band > littleWidest {
		f.Why = fmt.Sprintf("the unacked messages changed too fast for their samples, or the broker was too slow to tell them: the mean is only known within %.0f %%", 100*band)
		return f
	}
	f.Quality, f.N = dedup.Estimated, delivered
	f.Value = wait
	f.Error = f.Value * band
	f.Low, f.High = f.Value, f.Value
	f.Why = "mean, includes prefetch wait"
	return f
}

// littleBand is the relative half width of the band of an estimate, of two parts that are added. One is twice the standard
// error of the integral of the unacked messages, and at least 1.5 / sqrt(L*n), the largest error that was measured against a
// known truth while nothing stalled. The other is what the broker's counters can lack at the end of the span or have too much from
// before its beginning, because they come late: nothing, where as much was delivered at both ends.
func (r reel) littleBand(first, last frame) float64 {
	area, span := last.UnackedArea-first.UnackedArea, last.UnackedSpan-first.UnackedSpan
	n := last.UnackedCount - first.UnackedCount
	sampling := max(2*math.Sqrt(max(0, last.UnackedNoise-first.UnackedNoise))/area, 1.5/math.Sqrt(area/span*n))
	begun, ok := r.after(first.Began.Add(littleRest))
	if !ok {
		begun = &last
	}
	ending, ok := r.before(last.Began.Add(-littleRest))
	if !ok || ending.Began.Before(first.Began) {
		ending = &first
	}
	late := littleLate.Seconds() * math.Abs(deliveryRate(*ending, last)-deliveryRate(first, *begun))
	return sampling + late/(last.Deliveries-first.Deliveries)
}

// deliveryRate is that of manual deliveries between two frames, each second.
func deliveryRate(from, to frame) float64 {
	if !to.Began.After(from.Began) {
		return 0
	}
	return (to.Deliveries - from.Deliveries) / to.Began.Sub(from.Began).Seconds()
}

func littleRefusal(s littleSample, first, last frame) string {
	delivered, n := last.Deliveries-first.Deliveries, last.UnackedCount-first.UnackedCount
	elapsed, again := last.Began.Sub(first.Began), last.Redeliveries-first.Redeliveries
	switch {
	case last.AutoAcks != first.AutoAcks:
		return "messages are delivered with automatic acks: there is no ack to wait for"
	case last.Gaps != first.Gaps:
		return "the broker's counters were reset in the window" + untilAbout(s.Frames.lastGap().Add(s.Window), last.Began)
	case delivered <= 0:
		return "no deliveries in the window"
	case again >= littleRedelivered*delivered:
		return fmt.Sprintf("%.0f %% of deliveries were redelivered, whose waiting would be counted in", 100*min(again/delivered, 1))
	case n == 0 || last.UnackedSpan <= first.UnackedSpan || elapsed > time.Duration(n)*littleSparsest:
		return "unacked messages cannot be sampled each second: the broker has too many queues, answers too slowly, or gives no live totals"
	}
	// The broker counts on while nobody samples: the deliveries of a gap would be divided into what was held besides it.
	if unseen := elapsed.Seconds() - (last.UnackedSpan - first.UnackedSpan); unseen > occupancyGap.Seconds() {
		return fmt.Sprintf("the unacked messages could not be sampled for %d s of the window, whose deliveries the broker counted", whole(unseen))
	}
	return ""
}

// restedAtEnds reports whether the queue was at rest where a span begins and where it ends. Then every wait that its samples
// saw is that of a delivery that it counted, from the first moment to the last, however unsteady it was in between.
func (r reel) restedAtEnds(first, last frame) bool {
	begun, ok := r.after(first.Began.Add(littleRest))
	if !ok || begun.Began.After(last.Began) {
		return false
	}
	ending, ok := r.before(last.Began.Add(-littleRest))
	if !ok || ending.Began.Before(first.Began) {
		return false
	}
	return atRest(first, *begun) && atRest(*ending, last)
}

// atRest reports whether nothing was delivered and nothing held between two frames, as far as samples tell that are as
// frequent as an estimate needs.
func atRest(from, to frame) bool {
	n := to.UnackedCount - from.UnackedCount
	return n > 0 && to.Began.Sub(from.Began) <= time.Duration(n)*littleSparsest && to.UnackedSum == from.UnackedSum &&
		to.Deliveries == from.Deliveries
}

// unsteady reports whether the mean of the unacked samples in the first third of the window and that in the last third
// differ more than littleSteady times. Little's law holds for a system that ends as it began; after an outage it
// counts the waiting of a pile whose deliveries lie before the window, or deliveries whose waiting lies after it.
func unsteady(r reel, first, last frame) bool {
	third := last.Began.Sub(first.Began) / 3
	early, ok := r.after(first.Began.Add(third))
	if !ok {
		return false
	}
	late, ok := r.before(last.Began.Add(-third))
	if !ok || !late.Began.After(first.Began) {
		return false
	}
	begin, beginKnown := meanUnacked(first, *early)
	end, endKnown := meanUnacked(*late, last)
	return beginKnown && endKnown && max(begin, end) > littleSteady*min(begin, end)
}

// uneven says why what was held in the window does not tell how long deliveries waited that were acked; empty when it does.
func (r reel) uneven(first, last frame) string {
	if !r.restedAtEnds(first, last) && unsteady(r, first, last) {
		return "the unacked messages were not steady in the window, as after an outage: their first and last third differ more than threefold"
	}
	if share := r.humps(first, last); last.Redeliveries > first.Redeliveries && share > littleWidest {
		return fmt.Sprintf("%.0f %% of the waiting lies in a short part of the window, as during an outage, and some of it is of deliveries that were redelivered instead of acked", 100*share)
	}
	return ""
}

// littleParts is the number of parts of a window that are compared.
const littleParts = 12

// humps returns the share of the waiting that lies in humps: what was held in a part of the window beyond littleSteady times as much
// as in the median one of those in which anything was held. Little's law holds for a hump too, but what was held in it may have been
// taken back instead of acked.
func (r reel) humps(first, last frame) float64 {
	var held []float64
	each := last.Began.Sub(first.Began) / littleParts
	from := first
	for i := 1; i <= littleParts; i++ {
		to := last
		if f, ok := r.before(first.Began.Add(time.Duration(i) * each)); ok && i < littleParts {
			to = *f
		}
		if area := to.UnackedArea - from.UnackedArea; area > 0 {
			held = append(held, area)
		}
		from = to
	}
	if len(held) == 0 {
		return 0
	}
	slices.Sort(held)
	typical, all, hump := held[(len(held)-1)/2], 0.0, 0.0
	for _, area := range held {
		all += area
		hump += max(0, area-littleSteady*typical)
	}
	return hump / all
}

// meanUnacked is the mean of the samples between two frames, and false when there are none.
func meanUnacked(from, to frame) (float64, bool) {
	n := to.UnackedCount - from.UnackedCount
	return (to.UnackedSum - from.UnackedSum) / n, n > 0
}

// loopShare is how many redeliveries to an ack are more than restarts of consumers make.
const loopShare = 3

// looping reports whether redeliveries outnumber acks so far that messages must be going round.
func looping(redeliveries, acks float64) bool { return redeliveries > loopShare*acks+10 }
