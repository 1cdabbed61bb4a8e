package window

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
)

// statements are what the statements on the pipeline's table met.
func (h hits) statements() hitsSource {
	t := &h.store.Statements
	switch {
	case !t.Told:
		return hitsSource{why: "the store's server does not count statements"}
	case t.Why != "":
		return hitsSource{why: t.Why, better: t.Better}
	case len(t.Readings) < 2:
		return hitsSource{why: "statements were counted only once yet", better: rate.BetterReport}
	}
	return hitsSource{n: len(t.Readings), at: func(i int) time.Time { return t.Readings[i].At },
		between: func(i, j int) rate.HitsSpan {
			return rate.StatementHits(h.view.Scheme, &t.Readings[i], &t.Readings[j], h.traffic.unackedAround(t.Readings[i].At))
		}}
}

// unseen bounds the hits of questions that the server does not show, where consumers look before they insert and inserts alone are counted: of a SELECT
// that cannot be read, of a replica or of a cache. What was acked and never inserted met one; so did what came again after its consumer had inserted it and
// died; and where such SELECTs show, what was inserted and not acked yet may hide as many more.
func (h hits) unseen(span rate.HitsSpan, gain sample.Gain, died float64) float64 {
	const few = 3 // messages that are on their way at the ends
	if span.OfServer || span.What != "INSERT" || h.view.Scheme.InsertFirst {
		return 0
	}
	acked := (gain.Acked[0] + gain.Acked[1]) / 2
	if math.IsInf(acked, 1) { // channels took counts along
		acked = gain.Acked[0]
	}
	beyond := acked - (span.Asked[0]+span.Asked[1])/2 - gain.Fetched
	if looks := span.Looks > 0 && 2*span.Looks >= span.Asked[1]; !looks && beyond <= h.askedAround(span.From)+few {
		return 0
	}
	return max(0, gain.Acked[1]-span.Asked[0]) + h.askedAround(span.To) + died
}

// comeAgain bounds what came again of a span's hits on rows. An insert that failed for another cause was not acked, and wrote no row. Where more rows
// are gone than deliveries were not acked, something else deletes them, and they tell nothing.
func (h hits) comeAgain(span rate.HitsSpan, gain sample.Gain, died float64, held rate.RowsHeld) rate.HitsAgain {
	rows := &h.store.Inserts
	a := rate.HitsAgain{Died: died, Returned: h.returned(span, gain), Before: h.traffic.waitingAround(span.From) + gain.Taken,
		Unacked: max(0, span.Asked[1]-gain.Acked[0]+gain.Fetched+h.askedAround(span.From))}
	if h.view.DeadKnown { // what came back was redelivered, taken out, or out already
		a.Before = min(a.Before, gain.Redelivered+gain.Taken+h.traffic.unackedAround(span.From))
	}
	if gain.Closed > 0 {
		a.Waiting = min(died, h.traffic.waitingAround(span.To))
	}
	if len(rows.Readings) > 0 {
		from, to := rows.At(span.From.Add(-rate.UndoneReach)), rows.At(span.To)
		a.Undone = min(1, float64(to.Undone-from.Undone)/float64(max(1, to.Rows-from.Rows)))
	} else if h.view.Stats.Pass != nil {
		a.Undone = min(1, float64(h.store.Growth.Failed(h.view.Stats.Pass))/max(1, span.Asked[1]))
	}
	if held.Unacked <= a.Unacked {
		a.Rows = held
	}
	if span.ByIDs {
		a.Strange = max(0, a.Unacked-a.Rows.Unacked)
	}
	return a
}

// askedAround is the most deliveries that had asked and were unacked at about a time: one for each consumer that works on one after the other.
func (h hits) askedAround(at time.Time) float64 {
	asked := h.traffic.unackedAround(at)
	if (rate.Residual{Scheme: h.view.Scheme, Several: h.view.Several}).Trusted() {
		asked = min(asked, h.traffic.consumersMost(at.Add(-depthAround)))
	}
	return asked
}

// returned bounds the hits of a span that consumers returned, or that met what a delivery which was returned had left. Each was redelivered, as far as
// that is told, was dead-lettered, was taken out of dead letters, or waits to be redelivered, ready or out; and each was delivered and not acked, as
// were those whose claim was given back, or its message waited when the span began.
func (h hits) returned(span rate.HitsSpan, gain sample.Gain) float64 {
	dead := math.Inf(1)
	if h.view.DeadKnown {
		dead = h.traffic.Frames.DeadLetteredMost(span.From, span.To)
	}
	return gain.Taken + min(gain.Redelivered+h.traffic.waitingAround(span.To)+dead, h.unacked(span, gain)+h.traffic.readyAround(span.From))
}

// unacked bounds the hits of a span that were not acked.
func (h hits) unacked(span rate.HitsSpan, gain sample.Gain) float64 {
	failed := span.Failed
	if h.view.failuresAcked { // perhaps all of them
		failed = 0
	}
	return max(0, gain.Delivered[1]-gain.Acked[0]+gain.Fetched+h.traffic.unackedAround(span.From)-failed)
}

// leastByRows bounds the duplicates of a span from below by the rows that are there: what was acked and has no row of its own met one. Of what met a
// row some may not have met done work: those rows are there, too, but for those from before the span, those that closed channels left since rows were
// counted, of which each lost one delivery or all that it held, and what copies met. It is 0 where nothing tells so.
func (h hits) leastByRows(span rate.HitsSpan, gain sample.Gain, again rate.HitsAgain) float64 {
	frames, rows := h.traffic.Frames, &h.store.Inserts
	if !span.ByIDs || len(rows.Readings) == 0 || len(frames) == 0 || h.view.Stats.Pass == nil {
		return 0
	}
	s := rate.IDGap{Scheme: h.view.Scheme, From: rows.At(span.From), To: rows.At(span.To)}
	each := float64(rate.Residual{Scheme: h.view.Scheme, Several: h.view.Several, Prefetch: h.traffic.Prefetches.Since(s.From.At)}.LostPerChannel())
	if s.From.At.After(span.From) || each <= 0 || again.Rows.Until.IsZero() {
		return 0
	}
	gap := h.p.idGap(h.view)
	gap.reachBack(&s)
	last, ok := frames.Counted(span.To)
	if !ok {
		last = &frames[len(frames)-1]
	}
	// What a channel left behind before the span, and comes back in it, waited when it began.
	before := min(s.StuckBefore(h.traffic.waitingAround(s.From.At))+h.traffic.closedBetween(s.From.At, span.From)*each, h.traffic.waitingAround(span.From))
	closed := min(gain.Closed, h.traffic.closedBetween(again.Rows.Until, span.To))
	left := before + closed*each + gap.returned(s, last)
	return max(0, gain.Acked[0]-gain.Fetched-h.askedAround(span.From)-(span.Written-again.Rows.Unacked)-left-rate.CopiesOf(h.view.Scheme, h.view.Stats.Pass, span, again))
}
