package rate

import (
	"math"

	"dedup-dashboard/internal/collector/sample"
)

// repeats bounds B: the completions between the cuts that were not acked. Each of them is redelivered or still in the
// queue; and where consumers settle each by itself its channel was closed, or it is still unacked.
func repeats(s Residual, from, to Cut) (float64, string) {
	best := math.Inf(1)
	settled := to.At.Add(s.ClockError)
	span := s.Frames.Span(settled, s.Frames[len(s.Frames)-1].Began)
	for i := range span {
		f := &span[i]
		later, ok := s.Frames.Counted(f.Ended)
		if !ok || f.Blind || f.DepthFrom.Before(settled) {
			continue
		}
		if lost, ok := lostAcks(s, from, f, later); ok && !s.Vanishing {
			best = min(best, later.Redeliveries-from.Before.Redeliveries+f.Depth+lost)
		}
		if !s.Scheme.AcksEach { // of several that were returned at once, the work of some may be done
			continue
		}
		closed, known := s.Own.Most(from.Before, later)
		if each := s.LostPerChannel(); known && each > 0 && later.Gets == from.Before.Gets {
			best = min(best, closed*float64(each)+s.UnackedWork(f))
		}
	}
	if math.IsInf(best, 1) {
		if s.Vanishing {
			return 0, "messages can leave the queue by a time to live or a length limit, and nothing bounds the redeliveries"
		}
		return 0, "the broker was not read often enough since the last pass over the store"
	}
	return best, ""
}

// lostAcks bounds the acks between a cut and the depth of a frame that the broker never showed. A channel that died with
// the count of a redelivery took that of its ack along. The third frame is the first that shows all that came before
// the depth.
func lostAcks(s Residual, from Cut, f, later *sample.Frame) (most float64, ok bool) {
	if noneClosed(s.Own, from, later) {
		return 0, true
	}
	_, most, ok = s.Meter.Acks.Lost(from.Before.Ended, later.Began)
	if !ok {
		most = math.Inf(1)
	}
	before, there := s.Frames.Before(f.DepthFrom)
	if there && f.Whole {
		shown := max(0, before.Acks-from.AcksHigh)
		most = min(most, max(0, leftBy(s, from, f, later, before)-shown))
	}
	return most, !math.IsInf(most, 1)
}

// leftBy bounds from above the messages that left the source queues by an ack between a cut and the depth of a frame; later shows all
// that was published before that depth, and before is a frame from before it. It is +Inf where nothing bounds them.
func leftBy(s Residual, from Cut, f, later, before *sample.Frame) float64 {
	best, lost := math.Inf(1), math.Inf(1)
	least, _, known := s.Frames.DeadLettered(before)
	to := balance{Buried: bounds{Low: least}, DeadGaps: before.DeadGaps, Known: known}
	to.Gone.High, to.Gaps = later.Publishes-f.Depth, later.Gaps
	if from.Published.comparable(to) {
		if _, unpublished, ok := s.Meter.Publishes.Lost(from.Published.From, later.Began); ok {
			lost = unpublished
			best = from.Published.most(to, 0) + lost
		}
	}
	settled, ok := s.Frames.Told(f.Ended, enteredIntake().lag)
	if !ok || !settled.EnteredKnown {
		return best
	}
	published := balance{Gone: bounds{Low: before.Publishes - f.Depth}, Gaps: before.Gaps, DeadGaps: to.DeadGaps, Known: known}
	to.Gone.High, to.Gaps = settled.Entered-f.Depth, settled.EnteredGaps
	if from.Entered.comparable(to) && !from.Entered.lacks(to, from.Published, published) {
		best = min(best, from.Entered.most(to, lost))
	}
	return best
}
