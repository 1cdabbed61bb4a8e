package rate

import (
	"math"
	"slices"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A HitsAgain bounds the hits of a span that are no duplicates, by what became of their deliveries.
type HitsAgain struct {
	Died     float64 // whose consumer died before the ack
	Waiting  float64 // those of Died whose messages wait
	Returned float64 // that were returned
	Before   float64 // messages that waited when the span began or were taken out of dead letters since: they may meet a row from before it
	Strange  float64 // inserts that failed for another cause than a row that is there, and look like hits
	Unacked  float64 // questions of deliveries that were not acked
	Undone   float64 // the share of the rows that were written lately whose work was not done
	Rows     RowsHeld
}

// UndoneRows bounds the hits that are no duplicates: those that met a row whose work was not done, and those that came again.
//
// Where ids count the inserts, one that met a row was not acked itself, or was acked because it took the work of that row over. Then whoever wrote the
// row was not acked, and wrote no second one: so both kinds together are no more than the inserts without an ack, but for rows from before the span.
// Those are met by messages that waited then, were taken out since, or are copies.
func UndoneRows(s dedup.Scheme, pass *dedup.Pass, span HitsSpan, gain sample.Gain, again HitsAgain) [2]float64 {
	hits := span.Hits[1]
	switch {
	case s.Mark == "after" && slices.Contains(s.States, dedup.Failed): // what failed and is sent again meets its own row, more often than a copy does
		return [2]float64{0, hits}
	case span.ByIDs && s.OnInFlight == "wait": // a wait for a lock may have failed, too: its message comes back
		return [2]float64{0, min(hits, again.Died+gain.Taken+again.Returned+again.Strange)}
	case s.Transactional || s.Mark == "after":
		return [2]float64{0, min(hits, again.Died+again.Strange)}
	}
	if s.OnInFlight != "ack" { // what met work in flight came back
		undone := again.Returned + again.Strange + again.Before // what was left undone before the span may be acked in it
		if span.ByIDs && s.OnFail != "ack" && pass != nil {
			undone = min(undone, again.unacked(s)+again.Before+CopiesOf(s, pass, span, again))
		}
		return [2]float64{0, min(hits, undone)}
	}
	if pass == nil {
		return [2]float64{0, hits}
	}
	// What came back had not been acked, or was a dead letter that somebody took out.
	return [2]float64{0, min(hits, gain.Redelivered+gain.Taken+again.Waiting+again.Strange+CopiesOf(s, pass, span, again))}
}

// unacked bounds the inserts that were not acked and did not write a row that their own failure deleted: nobody takes that one over.
func (a HitsAgain) unacked(s dedup.Scheme) float64 {
	if s.OnFail == "delete" {
		return max(0, a.Unacked-a.Rows.Unacked)
	}
	return a.Unacked
}

// CopiesOf bounds the hits of messages that a producer sent again and that met a row whose work was not done: they met such rows no more often than
// there are. Of work that failed and deleted its row none is left: it is among what was not acked.
func CopiesOf(s dedup.Scheme, pass *dedup.Pass, span HitsSpan, again HitsAgain) float64 {
	var undone, all float64
	for state, n := range pass.States {
		if all += float64(n); state != dedup.Done {
			undone += float64(n)
		}
	}
	share := max(undone/max(1, all), again.Undone)
	if s.OnFail == "delete" {
		share = max(share, min(1, again.Unacked/max(1, span.Asked[1])))
	}
	if share == 0 { // of however many hits
		return 3
	}
	copies := span.Hits[1] * share
	return copies + 3*math.Sqrt(copies+1)
}
