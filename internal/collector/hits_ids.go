package collector

import (
	"math"
	"sort"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	uncountedFailures = "PostgreSQL counts no INSERT that fails, and consumers insert without ON CONFLICT DO NOTHING"
	betterIDs         = "Let consumers insert with ON CONFLICT DO NOTHING and look at the number of rows, or give the table an id that a sequence gives (docs/stores.md)."
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
	s.ByIDs, s.Asked, s.FirstIDs, s.LastIDs = true, given, *from.IDs, *to.IDs
	s.Hits = [2]float64{max(0, given[0]-s.Written), given[1] - s.Written}
}

// takenBack is how many inserts of a span at least wrote a row that is not there any more, because their work failed: the rows that the server counted
// less those that there are, of the ids that were counted in the span. Some of the inserts that it counted had ids from before or after these: no more
// than had not ended then, or had been given since. It is 0 where rows are not counted.
func (p *pipeline) takenBack(span hitsSpan) float64 {
	rows, statements := p.store.inserts.Readings, p.store.statements.Readings
	i := sort.Search(len(rows), func(i int) bool { return rows[i].Next > span.FirstIDs[0] })
	j := sort.Search(len(rows), func(j int) bool { return rows[j].Next > span.LastIDs[1]+1 }) - 1
	if j <= i {
		return 0
	}
	a, b := &rows[i], &rows[j]
	most, before := math.Inf(-1), math.Inf(1)
	for k := range statements {
		s := &statements[k]
		if k > 0 && s.OwnIDs != statements[k-1].OwnIDs { // rows were written whose ids are elsewhere
			before = math.Inf(1)
		}
		if s.IDs != nil {
			wrote := float64(s.Unfailed + s.Inserts - s.Met - s.Unclear)
			most = max(most, wrote-float64(max(0, s.IDs[1]+1-b.Next))-before)
			before = min(before, wrote+float64(max(a.Next-1, s.IDs[1])-s.IDs[0]))
		}
	}
	if math.IsInf(most, -1) {
		return 0
	}
	return most - float64(b.Rows-a.Rows)
}

// leftRows bounds the hits of a span that met a row whose work was not done, or whose consumer died before the ack, of which so many died: as leftUndone
// does by the rows that were there a settling time ago, and by the channels that were closed, of which each lost one delivery, or all that it held.
// It is +Inf where nothing bounds them. A failure must leave no row, or not come back.
func (p *pipeline) leftRows(v view, span hitsSpan, gain sample.Gain, died float64) float64 {
	frames, rows := p.frames, &p.store.inserts
	if !span.ByIDs || len(rows.Readings) == 0 || len(frames) == 0 || v.scheme.OnFail != "ack" && v.scheme.OnFail != "delete" {
		return math.Inf(1)
	}
	s := rate.IDGap{Scheme: v.scheme, From: rows.At(span.From), To: rows.At(span.To)}
	each := float64(rate.Residual{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(s.From.At)}.LostPerChannel())
	if s.From.At.After(span.From) || each <= 0 {
		return math.Inf(1)
	}
	p.reachBack(&s)
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
