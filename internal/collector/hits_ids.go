package collector

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	uncountedFailures = "PostgreSQL counts no INSERT that fails, and consumers insert without ON CONFLICT DO NOTHING"
	betterIDs         = "Let consumers insert with ON CONFLICT DO NOTHING and look at the number of rows, or give the table an id that a sequence gives (docs/stores.md)."
	// leastCompared is how far back at least the statements are held against the rows that they wrote.
	leastCompared = 10 * time.Minute
	// insertEnds is how long after its id was given an insert may end.
	insertEnds = 5 * time.Second
	// rowsApart is by how many rows both may differ for what was under way.
	rowsApart = 3
)

// countIDs takes what a sequence gave for the inserts, of which the server counts only those that wrote a row: each takes an id, and keeps it where it
// fails. It changes nothing where ids and statements cannot be compared.
func (s *hitsSpan) countIDs(from, to *dedup.StatementStats) {
	if from.IDs == nil || to.IDs == nil || to.Unfailed == 0 || to.OwnIDs != from.OwnIDs || to.Drops != from.Drops {
		return
	}
	given := [2]float64{max(0, float64(to.IDs[0]-from.IDs[1])), float64(to.IDs[1] - from.IDs[0])}
	if given[1] < s.Written { // rows have ids of their own, or one insert may have written many
		return
	}
	s.ByIDs, s.Asked = true, given
	s.Hits = [2]float64{max(0, given[0]-s.Written), given[1] - s.Written}
}

// meetRows holds the statements against the rows that the ids have once their inserts are old enough, and says why they cannot tell hits: nobody
// counts what wrote the rows, or inserts fail that nobody takes for hits.
func (p *pipeline) meetRows(v view, span hitsSpan) (why, better string) {
	rows, statements := &p.store.inserts, &p.store.statements
	if !span.ByIDs {
		return "", ""
	}
	if len(rows.Readings) == 0 {
		return uncountedFailures, betterIDs
	}
	b := rows.At(span.To)
	a := rows.At(b.At.Add(-max(leastCompared, span.To.Sub(span.From))))
	begun := statements.Readings[0].At
	if len(p.flows.readings) > 0 && begun.Before(p.flows.readings[0].At) {
		begun = p.flows.readings[0].At
	}
	from, to, ok := statements.Around(a.At, b.Last.Add(insertEnds), begun)
	if ok && a.At.Before(from.At) {
		a = rows.Since(from.At)
	}
	if !ok || b.IDs <= a.IDs {
		return "the rows that inserts wrote are not counted for long enough yet to hold the server's counts against them", rate.BetterReport
	}
	all := statementSpan(v, from, to, 0)
	if !all.ByIDs {
		return uncountedFailures, betterIDs
	}
	if more := float64(b.Rows-a.Rows) - all.Written; more > rowsApart {
		return fmt.Sprintf("there are %s more than the server counted inserts: some are written in a way that it does not count", counted(whole(more), "row")), betterIDs
	}
	if strange := p.failedOtherwise(v, all, float64(b.Done-a.Done)); strange > 0 {
		return fmt.Sprintf("at least %s failed and nobody acked: for another cause than a row that is there", counted(whole(strange), "insert")), rate.BetterReport
	}
	return "", ""
}

// failedOtherwise is how many inserts of a span failed at least for another cause than a row that is there, of which so many did their work: nobody acked
// them, no failure took their row back, and no closed channel held them.
func (p *pipeline) failedOtherwise(v view, span hitsSpan, done float64) float64 {
	g, ok := p.brokerBetween(span.From.Add(-span.FromTook), span.To)
	each := rate.Residual{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(span.From)}.LostPerChannel()
	if !ok || !g.Live || g.Closed > 0 && each <= 0 {
		return 0
	}
	return span.Asked[0] - g.Acked[1] - (span.Written - done) - g.Closed*float64(each) - p.unackedAround(span.To)
}

// leftRows bounds the hits of a span that met a row whose work was not done, or whose consumer died before the ack, of which so many died: as leftUndone
// does by the rows that were there a settling time ago, and by the channels that were closed, of which each lost one delivery, or all that it held.
// It is +Inf where nothing bounds them. A failure must leave no row, or not come back.
func (p *pipeline) leftRows(v view, span hitsSpan, gain brokerGain, died float64) float64 {
	frames, rows := p.frames, &p.store.inserts
	if !span.ByIDs || len(rows.Readings) == 0 || len(frames) == 0 || v.scheme.OnFail != "ack" && v.scheme.OnFail != "delete" {
		return math.Inf(1)
	}
	s := rate.IDGap{Scheme: v.scheme, From: rows.At(span.From), To: rows.At(span.To)}
	each := float64(rate.Residual{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(s.From.At)}.LostPerChannel())
	if s.From.At.After(span.From) || each <= 0 {
		return math.Inf(1)
	}
	reach := s.From.At.Add(-rate.UndoneReach)
	if s.Reach = rows.At(reach); s.Reach.At.After(reach) {
		s.Unreached = frames.DepthBefore(s.Reach.At)
	}
	last, ok := frames.After(span.To.Add(sample.CounterLag))
	if !ok {
		last = &frames[len(frames)-1]
	}
	closed := gain.Closed
	if g, ok := p.brokerBetween(s.From.At, span.To); ok {
		closed = max(closed, g.Closed)
	}
	lately := closed
	if g, ok := p.brokerBetween(s.To.At, span.To); ok {
		lately = min(lately, g.Closed)
	}
	waiting := p.waitingAround(s.From.At)
	return min(closed*each+s.StuckBefore(waiting), s.Stuck(waiting)+lately*each+died) + p.returned(s, last)
}
