package collector

import (
	"fmt"
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
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
		between: func(i, j int) hitsSpan {
			return statementSpan(v, &t.Readings[i], &t.Readings[j], p.unackedAround(t.Readings[i].At))
		}}
}

// statementSpan bounds what statements asked and met between two readings, of which so many at most were underway at the first: the table may have
// counted their writes then, and the server counts a statement when it ends.
func statementSpan(v view, from, to *dedup.StatementStats, underway float64) hitsSpan {
	gain := func(count func(*dedup.StatementStats) int64) float64 { return float64(count(to) - count(from)) }
	inserts, met := gain(func(s *dedup.StatementStats) int64 { return s.Inserts }), gain(func(s *dedup.StatementStats) int64 { return s.Met })
	same, sameMet := gain(func(s *dedup.StatementStats) int64 { return s.Same }), gain(func(s *dedup.StatementStats) int64 { return s.SameMet })
	unfailed, unclear := gain(func(s *dedup.StatementStats) int64 { return s.Unfailed }), gain(func(s *dedup.StatementStats) int64 { return s.Unclear })
	questions, found := gain(func(s *dedup.StatementStats) int64 { return s.Questions }), gain(func(s *dedup.StatementStats) int64 { return s.Found })
	span := hitsSpan{From: from.At, To: to.At, FromTook: from.Took, ToTook: to.Took, What: "INSERT", Hits: [2]float64{met, met + unclear}, Asked: [2]float64{inserts, inserts + unclear}, Written: inserts - met + unclear + unfailed}
	if unclear > 0 && (from.Writes == nil || to.Writes == nil) { // each may have written several rows
		span.Written = math.Inf(1)
	}
	failed := gain(func(s *dedup.StatementStats) int64 { return s.Failed })
	// Writes that are in no digest may have met a row, those of a digest that never reached the table did not. The table's writes and the digests are
	// counted one after the other.
	if from.Writes != nil && to.Writes != nil {
		writes := float64(*to.Writes - *from.Writes)
		least, most := writes-float64(to.Writing), writes+float64(from.Writing)
		refused := gain(func(s *dedup.StatementStats) int64 { return s.Refused })
		early := min(failed, max(0, inserts-most-underway-refused)) // at least
		unseen := max(0, most-inserts)                              // at most
		span.Hits = [2]float64{met - min(max(0, inserts-least), failed), span.Hits[1] - early + unseen}
		failed -= early
		span.Written += unseen
		span.Asked = [2]float64{min(inserts, least), max(span.Asked[1], most)}
		if unseen := writes - inserts - unclear; unseen > 0.05*writes+3 {
			span.Why = fmt.Sprintf("%s reached the table that the server's digests do not show: MariaDB counts no server-side prepared statements", counted(whole(unseen), "insert"))
			span.Better = "Let consumers send INSERT as text (emulated prepares, interpolateParams=true), or have a column with AUTO_INCREMENT (docs/stores.md)."
		}
	}
	// An error at the table is of a row that is there, or of a lock that was waited for, maybe since before the time.
	if from.LockWaits != nil && to.LockWaits != nil {
		failed = min(failed, float64(*to.LockWaits-*from.LockWaits+from.LockWaiting))
	}
	span.Hits[0] = max(0, span.Hits[0]-failed)
	if v.scheme.InsertFirst {
		span.countIDs(from, to)
	}
	switch {
	case span.Why != "":
	case v.scheme.InsertFirst || questions < inserts+unfailed: // who looks first asks at least as often as he inserts
		switch {
		case to.Unfailed > 0 && !span.ByIDs: // in a time in which all fail none is counted
			span.Why, span.Better = uncountedFailures, betterIDs
		case same > 0 && sameMet == 0:
			span.Why = "consumers insert with ON DUPLICATE KEY UPDATE, and connections that count rows they found hide what it met"
			span.Better = "Let consumers connect with useAffectedRows=true (JDBC), without CLIENT_FOUND_ROWS."
		}
	default:
		span.What, span.Asked = "SELECT", [2]float64{questions, questions}
		span.Hits = [2]float64{found + span.Hits[0], found + span.Hits[1]}
		if to.Unfailed > 0 && !span.ByIDs { // those that found nothing and inserted nothing either may have lost a race
			span.Hits[1] = max(span.Hits[0], questions-unfailed-(inserts-met))
		}
	}
	return span
}

// meetWritten raises the fewest hits to what acks show, and returns the fewest duplicates by the same: what was acked and wrote no row met one,
// whatever else failed or died. Those that were out when the time began may have written theirs before.
func (s *hitsSpan) meetWritten(scheme dedup.Scheme, g sample.Gain, waiting float64) (duplicates float64) {
	if s.OfServer || !g.Live {
		return 0
	}
	met := g.Acked[0] - g.Fetched - s.Written - waiting
	s.Hits[0] = max(s.Hits[0], min(s.Hits[1], met))
	undone := scheme.OnInFlight == "ack" && !scheme.Transactional && scheme.Mark != "after" // it may have met work that was not done
	if undone || met > s.Hits[1] {                                                          // rows were written that nobody counted
		return 0
	}
	return max(0, met)
}

// A comeAgain bounds the hits of a span that are no duplicates, by what became of their deliveries.
type comeAgain struct {
	Died     float64 // whose consumer died before the ack
	Returned float64 // that were returned, see returnedHits
	Left     float64 // that met a row that work left undone; +Inf where nothing bounds them
	Strange  float64 // inserts that failed for another cause than a row that is there, and look like hits
	Unacked  float64 // questions of deliveries that were not acked
}

// comeAgain bounds what came again of a span's hits on rows. An insert that failed for another cause was not acked, and wrote no row.
func (p *pipeline) comeAgain(v view, span hitsSpan, gain sample.Gain, died float64) comeAgain {
	a := comeAgain{Died: died, Returned: p.returnedHits(span, gain), Left: p.leftRows(v, span, gain, died),
		Unacked: max(0, span.Asked[1]-gain.Acked[0]+gain.Fetched+p.askedAround(v, span.From))}
	if span.ByIDs {
		a.Strange = max(0, a.Unacked-p.takenBack(span))
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

// returnedHits bounds the hits of a span that consumers returned. Each was redelivered, as far as that is told, or waits to be, ready or out; and each
// was delivered and not acked.
func (p *pipeline) returnedHits(span hitsSpan, gain sample.Gain) float64 {
	return min(gain.Redelivered+p.waitingAround(span.To), gain.Delivered[1]-gain.Acked[0]+gain.Fetched+p.unackedAround(span.From))
}

// undoneRows bounds the hits that are no duplicates: those that met a row whose work was not done, and those that came again.
func undoneRows(v view, span hitsSpan, gain sample.Gain, again comeAgain) [2]float64 {
	s, hits := v.scheme, span.Hits[1]
	switch {
	case s.Mark == "after" && slices.Contains(s.States, dedup.Failed): // what failed and is sent again meets its own row, more often than a copy does
		return [2]float64{0, hits}
	case span.ByIDs && s.OnInFlight == "wait": // a wait for a lock may have failed, too: its message comes back
		return [2]float64{0, min(hits, again.Died+gain.Taken+again.Returned+again.Strange)}
	case s.Transactional || s.Mark == "after":
		return [2]float64{0, min(hits, again.Died+again.Strange)}
	}
	if s.OnInFlight != "ack" { // what met work in flight came back
		return [2]float64{0, min(hits, again.Returned+again.Strange)}
	}
	if v.stats.Pass == nil {
		return [2]float64{0, hits}
	}
	// What came back had not been acked, or was a dead letter that somebody took out; what a producer sent again met such rows no more often than there are.
	var undone, all float64
	for state, n := range v.stats.Pass.States {
		if all += float64(n); state != dedup.Done {
			undone += float64(n)
		}
	}
	copies := 0.0
	if all > 0 {
		copies = hits * undone / all
	}
	if s.OnFail == "delete" { // of work that failed no row is left: it is among what was not acked
		copies = max(copies, hits*min(1, again.Unacked/max(1, span.Asked[1])))
	}
	return [2]float64{0, min(hits, min(gain.Redelivered+gain.Taken, again.Left)+again.Strange+copies+3*math.Sqrt(copies+1))}
}
