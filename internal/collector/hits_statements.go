package collector

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
)

// statementHits are what the statements on the pipeline's table met.
func (p *pipeline) statementHits(v view) hitsSource {
	t := &p.store.statements
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
			return rate.StatementHits(v.scheme, &t.Readings[i], &t.Readings[j], p.unackedAround(t.Readings[i].At))
		}}
}

// comeAgain bounds what came again of a span's hits on rows. An insert that failed for another cause was not acked, and wrote no row. Where more rows
// are gone than deliveries were not acked, something else deletes them, and they tell nothing.
func (p *pipeline) comeAgain(v view, span rate.HitsSpan, gain sample.Gain, died float64, held rate.RowsHeld) rate.HitsAgain {
	rows := &p.store.inserts
	a := rate.HitsAgain{Died: died, Returned: p.returnedHits(span, gain), Before: p.waitingAround(span.From) + gain.Taken,
		Unacked: max(0, span.Asked[1]-gain.Acked[0]+gain.Fetched+p.askedAround(v, span.From))}
	if gain.Closed > 0 {
		a.Waiting = min(died, p.waitingAround(span.To))
	}
	if len(rows.Readings) > 0 {
		from, to := rows.At(span.From.Add(-rate.UndoneReach)), rows.At(span.To)
		a.Undone = min(1, float64(to.Undone-from.Undone)/float64(max(1, to.Rows-from.Rows)))
	} else if v.stats.Pass != nil {
		a.Undone = min(1, float64(p.store.growth.Failed(v.stats.Pass))/max(1, span.Asked[1]))
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
func (p *pipeline) askedAround(v view, at time.Time) float64 {
	asked := p.unackedAround(at)
	if (rate.Residual{Scheme: v.scheme, Several: v.several}).Trusted() {
		asked = min(asked, p.consumersMost(at.Add(-depthAround)))
	}
	return asked
}

// returnedHits bounds the hits of a span that consumers returned. Each was redelivered, as far as that is told, was dead-lettered, or waits to be
// redelivered, ready or out; and each was delivered and not acked, as were those whose claim was given back.
func (p *pipeline) returnedHits(span rate.HitsSpan, gain sample.Gain) float64 {
	dead := math.Inf(1)
	if p.found.Complete {
		dead = p.frames.DeadLetteredMost(span.From, span.To)
	}
	return min(gain.Redelivered+p.waitingAround(span.To)+dead, p.unackedHits(span, gain))
}

// unackedHits bounds the hits of a span that were not acked.
func (p *pipeline) unackedHits(span rate.HitsSpan, gain sample.Gain) float64 {
	return max(0, gain.Delivered[1]-gain.Acked[0]+gain.Fetched+p.unackedAround(span.From)-span.Failed)
}
