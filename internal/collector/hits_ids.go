package collector

import (
	"math"
	"sort"
	"time"

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

// unackedRows is how many inserts of a span at least wrote a row while nobody acked their message, because the work failed: the row is not there any
// more, or says so where failures are not acked. Rows that are gone are those that the server counted less those that there are, of the ids that were
// counted in the span. Some of the inserts that it counted had ids from before or after these: no more than had not ended then, or had been given
// since. until is when the rows were counted to, zero where they are not.
func (p *pipeline) unackedRows(v view, span hitsSpan) (n float64, until time.Time) {
	rows, statements := p.store.inserts.readings, p.store.statements.readings
	i := sort.Search(len(rows), func(i int) bool { return rows[i].Next > span.FirstIDs[0] })
	j := sort.Search(len(rows), func(j int) bool { return rows[j].Next > span.LastIDs[1]+1 }) - 1
	if j <= i {
		return 0, time.Time{}
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
		return 0, time.Time{}
	}
	if n = most - float64(b.Rows-a.Rows); v.scheme.OnFail != "ack" {
		n += float64(b.Failed - a.Failed)
	}
	return n, b.At
}

// depthBefore is how many messages were in the source queues at a time, or when they were first read; +Inf where that is not known.
func (r reel) depthBefore(t time.Time) float64 {
	f, ok := r.before(t)
	if !ok {
		f = &r[0]
	}
	if f.Blind {
		return math.Inf(1)
	}
	return f.Depth
}

// leastByRows bounds the duplicates of a span from below by the rows that are there: what was acked and has no row of its own met one. Of what met a
// row some may not have met done work: those rows are there, too, but for those from before the span, those that closed channels left since rows were
// counted, of which each lost one delivery or all that it held, and what copies met. It is 0 where nothing tells so.
func (p *pipeline) leastByRows(v view, span hitsSpan, gain brokerGain, again comeAgain) float64 {
	frames, rows := reel(p.frames.frames), &p.store.inserts
	if !span.ByIDs || len(rows.readings) == 0 || len(frames) == 0 || v.stats.Pass == nil {
		return 0
	}
	unacked, until := p.unackedRows(v, span)
	s := idGapSample{Scheme: v.scheme, From: rows.at(span.From), To: rows.at(span.To)}
	each := float64(residualSample{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(s.From.At)}.lostPerChannel())
	if s.From.At.After(span.From) || each <= 0 || until.IsZero() {
		return 0
	}
	p.reachBack(&s)
	last, ok := frames.after(span.To.Add(counterLag))
	if !ok {
		last = &frames[len(frames)-1]
	}
	lately := gain.Closed
	if g, ok := p.brokerBetween(until, span.To); ok {
		lately = g.Closed
	}
	left := s.stuckBefore(p.waitingAround(s.From.At)) + lately*each + p.returned(s, last)
	return max(0, gain.Acked[0]-gain.Fetched-p.askedAround(v, span.From)-(span.Written-unacked)-left-copiesOf(v, span, again))
}
