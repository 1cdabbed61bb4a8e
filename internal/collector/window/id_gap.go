package window

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// An idGap makes figures of the inserts of the pipeline's table.
type idGap struct {
	p       *Pipeline
	traffic *Traffic
	store   *Store
	view    View
}

// figures computes what the inserts of the pipeline's table tell of one window. A store that never told of any is none for
// this source, which stands in the list of the sources alone.
func (g idGap) figures(w time.Duration) rate.IDGapResult {
	if g.store == nil || !g.store.Inserts.Told {
		why := g.view.StoreDown
		if why == "" {
			why = "the store is no table whose ids tell of failed inserts"
		}
		return rate.IDGapResult{Rate: rate.Refused(w, rate.IDGapSource, rate.IDGapFormula, why, "")}
	}
	t := &g.store.Inserts
	s := rate.IDGap{Window: w, Scheme: g.view.Scheme, Server: g.view.Stats.Health.Version, Now: g.view.Now, Why: text.Reasons(g.view.StoreDown, t.Why, g.view.Uncounted), Conflated: finding.Conflated(g.view.Stats.Pass, g.view.Stats.Facts, g.p.Config.IDFrom)}
	if s.Why == "" && g.p.Partner != "" {
		s.Why = fmt.Sprintf("the store is shared with pipeline %s", text.Name(g.p.Partner))
	}
	if len(t.Readings) > 0 {
		s.To = t.Newest()
		s.From = t.Since(s.To.At.Add(-w))
		s.From = g.readBefore(s.From, s.To)
		g.reachBack(&s)
		s.Back = g.traffic.cameBack(s.Reach.At, s.From.At, s.To.Last)
		s.Back.Left = g.leftUndone(s, g.view.Several)
		s.Why = text.Reasons(s.Why, g.strangers(s))
	}
	return s.Estimate()
}

// strangers says that the ids are not those of one insert for each delivery; empty where they may be. What had been delivered when the time began may
// have been inserted in it.
func (g idGap) strangers(s rate.IDGap) string {
	gain, ok := g.traffic.between(s.From.At, s.To.At)
	if !ok || !g.view.CountsDeliveries || !g.view.CountsAcks {
		return ""
	}
	ids, out := float64(s.To.IDs-s.From.IDs), g.traffic.unackedAround(s.From.At)
	slack := 2 + 3*math.Sqrt(ids)
	switch {
	case ids > gain.Delivered[1]+out+slack:
		return fmt.Sprintf("%s given while the broker delivered %s: others insert, too, or a delivery inserts several times", text.Counted(text.Whole(ids), "id")+" "+text.Agree(text.Whole(ids), "was", "were"),
			text.Counted(text.Whole(gain.Delivered[1]), "message"))
	case gain.Acked[0]-gain.Fetched-out > ids+slack:
		return fmt.Sprintf("%s acked while %s given: some consumers do not insert, or not first", text.Counted(text.Whole(gain.Acked[0]), "message")+" "+text.Agree(text.Whole(gain.Acked[0]), "was", "were"),
			text.Counted(text.Whole(ids), "id")+" "+text.Agree(text.Whole(ids), "was", "were"))
	}
	return ""
}

// reachBack sets the count that lies rate.UndoneReach before the first of a sample. Where inserts were counted for less long, or the broker was read for
// less long, no more messages had left a row undone before than there were messages when that began.
func (g idGap) reachBack(s *rate.IDGap) {
	reach := s.From.At.Add(-rate.UndoneReach)
	if s.Reach = g.store.Inserts.At(reach); !s.Reach.At.After(reach) {
		return
	}
	if len(g.traffic.Frames) > 0 && !s.From.At.Before(g.traffic.Frames[0].Ended) && s.Reach.At.Before(g.traffic.Frames[0].Ended) {
		s.Reach = g.store.Inserts.Since(g.traffic.Frames[0].Ended)
	}
	s.Unreached = g.traffic.depthAt(s.Reach.At)
}

// readBefore returns the first count of inserts before which the broker was read, where that costs less than a quarter of the time from one until
// another, else that one: what the broker did before its first reading is unknown.
func (g idGap) readBefore(from, to dedup.InsertStats) dedup.InsertStats {
	if len(g.traffic.Frames) == 0 {
		return from
	}
	first := g.traffic.Frames[0].Ended
	if lost := first.Sub(from.At); lost > 0 && lost < to.At.Sub(from.At)/4 {
		return g.store.Inserts.Since(first)
	}
	return from
}

// leftUndone bounds the messages that left a row undone behind and came back between two counts of inserts: a dead letter must be taken out, a channel
// that is closed leaves no more than it had in work, each with its row, a failed row whose message is not among the dead letters may have been
// returned, and what waited at the begin may have come back before. It rests on this: each dead letter that came meanwhile is of a failed row.
func (g idGap) leftUndone(s rate.IDGap, several string) float64 {
	perChannel := rate.Residual{Scheme: s.Scheme, Several: several, Prefetch: g.traffic.Prefetches.Since(s.From.At)}.LostPerChannel()
	frames := g.traffic.Frames
	first, okFirst := frames.Before(s.From.At)
	last, okLast := frames.Counted(s.To.Last)
	if perChannel <= 0 || !okFirst || !okLast || first.Blind {
		return math.Inf(1)
	}
	closed, known := g.traffic.Own.Most(first, last)
	if !known {
		closed = math.Inf(1)
	}
	if g, ok := g.traffic.Flows.Between(s.From.At, s.To.Last.Add(sample.LateCounts)); ok {
		closed = min(closed, g.Closed)
	}
	waiting := g.traffic.waitingAround(s.From.At)
	return min(closed*float64(perChannel)+waiting, s.Stuck(waiting)) + g.returned(s, last)
}

// returned bounds the messages whose work failed or that were dead letters, and that came back until a frame.
func (g idGap) returned(s rate.IDGap, last *sample.Frame) float64 {
	frames := g.traffic.Frames
	reached, ok := frames.Before(s.Reach.At)
	if !ok {
		reached = &frames[0]
	}
	if !g.view.DeadKnown || reached.DeadGaps != last.DeadGaps {
		return math.Inf(1) // dead letters may have been taken that nobody counted
	}
	taken := last.DeadSettled - reached.DeadSettled
	failed := 0.0
	if s.Scheme.OnFail != "ack" {
		failed = float64(s.To.Failed - s.From.Failed)
		if !g.view.diesUnaided() {
			failed = max(0, failed-frames.DeadLetteredLeast(s.From.At.Add(g.p.Config.MaxProcessing), s.To.At))
		}
	}
	return failed + taken
}
