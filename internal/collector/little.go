package collector

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// littleFewest is the L*n below which the estimate is worth nothing: its band would be wider than 15 %.
const littleFewest = 100

// littleSparsest is the longest mean time between two samples of the unacked messages that still gives a number.
const littleSparsest = 2 * time.Second

// littleRedelivered is the share of redeliveries among the deliveries from which on there is no number: messages that
// are held and returned wait in the mean although nobody acks them.
const littleRedelivered = 0.05

// littleSteady is how many times the unacked messages may differ between the first and the last third of the window.
const littleSteady = 3

// littleRest is for how long nothing may have been delivered nor held for the queue to be at rest: twice as long as the
// broker's counters come late.
const littleRest = 10 * time.Second

// A littleSample is what Little's law is applied to.
type littleSample struct {
	Window time.Duration
	Frames reel
}

// little estimates the mean ack latency by Little's law: mean unacked / rate of manual deliveries. Its band is
// 1.5 / sqrt(L*n), the largest error that was measured against a known truth.
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
	delivered, n := last.Deliveries-first.Deliveries, last.UnackedCount-first.UnackedCount
	if why := littleRefusal(s, first, last); why != "" {
		f.Why = why
		return f
	}
	if !s.Frames.restedAtEnds(first, last) && unsteady(s.Frames, first, last) {
		f.Why = "the unacked messages were not steady in the window, as after an outage: their first and last third differ more than threefold"
		return f
	}
	mean := (last.UnackedSum - first.UnackedSum) / n
	if mean*n < littleFewest {
		f.Why = "too few in flight to estimate"
		return f
	}
	f.Quality, f.N = dedup.Estimated, delivered
	f.Value = mean / (delivered / last.Began.Sub(first.Began).Seconds())
	f.Error = f.Value * 1.5 / math.Sqrt(mean*n)
	f.Low, f.High = f.Value, f.Value
	f.Why = "mean, includes prefetch wait"
	return f
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
	case n == 0 || elapsed > time.Duration(n)*littleSparsest:
		return "unacked messages cannot be sampled each second: the broker has too many queues, answers too slowly, or gives no live totals"
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

// meanUnacked is the mean of the samples between two frames, and false when there are none.
func meanUnacked(from, to frame) (float64, bool) {
	n := to.UnackedCount - from.UnackedCount
	return (to.UnackedSum - from.UnackedSum) / n, n > 0
}

// loopShare is how many redeliveries to an ack are more than restarts of consumers make.
const loopShare = 3

// looping reports whether redeliveries outnumber acks so far that messages must be going round.
func looping(redeliveries, acks float64) bool { return redeliveries > loopShare*acks+10 }
