package collector

import (
	"fmt"
	"math"
	"sort"
	"time"

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
	if from.IDs == nil || to.IDs == nil || to.Unfailed == 0 || to.OwnIDs != from.OwnIDs || to.Unclear != from.Unclear || to.Drops != from.Drops {
		return
	}
	given := [2]float64{max(0, float64(to.IDs[0]-from.IDs[1])), float64(to.IDs[1] - from.IDs[0])}
	if given[1] < s.Written { // rows have ids of their own
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
	if len(rows.readings) == 0 {
		return uncountedFailures, betterIDs
	}
	b := rows.at(span.To)
	a := rows.at(b.At.Add(-max(leastCompared, span.To.Sub(span.From))))
	if begun := statements.readings[0].At; a.At.Before(begun) {
		a = rows.since(begun)
	}
	from, to, ok := statements.around(a.At, b.Last.Add(insertEnds))
	if !ok || b.IDs <= a.IDs {
		return "the rows that inserts wrote are not counted for long enough yet to hold the server's counts against them", betterReport
	}
	all := statementSpan(v, from, to, 0)
	if !all.ByIDs {
		return uncountedFailures, betterIDs
	}
	if more := float64(b.Rows-a.Rows) - all.Written; more > rowsApart {
		return fmt.Sprintf("there are %s more than the server counted inserts: some are written in a way that it does not count", counted(whole(more), "row")), betterIDs
	}
	if strange := p.failedOtherwise(v, all, float64(b.Done-a.Done)); strange > 0 {
		return fmt.Sprintf("at least %s failed and nobody acked: for another cause than a row that is there", counted(whole(strange), "insert")), betterReport
	}
	return "", ""
}

// failedOtherwise is how many inserts of a span failed at least for another cause than a row that is there, of which so many did their work: nobody acked
// them, no failure took their row back, and no closed channel held them.
func (p *pipeline) failedOtherwise(v view, span hitsSpan, done float64) float64 {
	g, ok := p.brokerBetween(span.From.Add(-span.FromTook), span.To)
	each := residualSample{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(span.From)}.lostPerChannel()
	if !ok || g.Closed > 0 && each <= 0 {
		return 0
	}
	return span.Asked[0] - g.Acked[1] - (span.Written - done) - g.Closed*float64(each) - p.unackedAround(span.To)
}

// around returns the newest reading before a time, else the first one, and the oldest that was asked for after another; not ok where there is none.
func (t *statementTape) around(from, to time.Time) (first, last *dedup.StatementStats, ok bool) {
	i := sort.Search(len(t.readings), func(i int) bool { return !t.readings[i].At.Before(from) })
	j := sort.Search(len(t.readings), func(i int) bool { return !t.readings[i].At.Add(-t.readings[i].Took).Before(to) })
	if i = max(i-1, 0); j == len(t.readings) || j <= i {
		return nil, nil, false
	}
	return &t.readings[i], &t.readings[j], true
}

// leftRows bounds the hits of a span that met a row whose work was not done, as leftUndone does by the rows that were there a settling time ago, and by
// the channels that were closed since; +Inf where nothing bounds them. A failure must leave no row, or not come back.
func (p *pipeline) leftRows(v view, span hitsSpan, gain brokerGain) float64 {
	frames, rows := reel(p.frames.frames), &p.store.inserts
	if !span.ByIDs || len(rows.readings) == 0 || len(frames) == 0 || v.scheme.OnFail != "ack" && v.scheme.OnFail != "delete" {
		return math.Inf(1)
	}
	s := idGapSample{Scheme: v.scheme, From: rows.at(span.From), To: rows.at(span.To)}
	each := residualSample{Scheme: v.scheme, Several: v.several, Prefetch: p.prefetchSince(s.From.At)}.lostPerChannel()
	if s.From.At.After(span.From) || each <= 0 {
		return math.Inf(1)
	}
	s.Reach = rows.at(s.From.At.Add(-undoneReach))
	last, ok := frames.after(span.To.Add(counterLag))
	if !ok {
		last = &frames[len(frames)-1]
	}
	left := gain.Closed * float64(each)
	lately := left
	if g, ok := p.brokerBetween(s.To.At, span.To); ok {
		lately = min(left, g.Closed*float64(each))
	}
	return p.leftBy(s, last, left, lately)
}
