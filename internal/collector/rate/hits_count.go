package rate

import (
	"fmt"
	"math"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	uncountedFailures = "PostgreSQL counts no INSERT that fails, and consumers insert without ON CONFLICT DO NOTHING"
	BetterIDs         = "Let consumers insert with ON CONFLICT DO NOTHING and look at the number of rows, or give the table an id that a sequence gives (docs/stores.md)."
)

// StatementHits bounds what statements asked and met between two readings, of which so many at most were underway at the first: the table may have
// counted their writes then, and the server counts a statement when it ends.
func StatementHits(scheme dedup.Scheme, from, to *dedup.StatementStats, underway float64) HitsSpan {
	gain := func(count func(*dedup.StatementStats) int64) float64 { return float64(count(to) - count(from)) }
	inserts, met := gain(func(s *dedup.StatementStats) int64 { return s.Inserts }), gain(func(s *dedup.StatementStats) int64 { return s.Met })
	same, sameMet := gain(func(s *dedup.StatementStats) int64 { return s.Same }), gain(func(s *dedup.StatementStats) int64 { return s.SameMet })
	unfailed, unclear := gain(func(s *dedup.StatementStats) int64 { return s.Unfailed }), gain(func(s *dedup.StatementStats) int64 { return s.Unclear })
	questions, found := gain(func(s *dedup.StatementStats) int64 { return s.Questions }), gain(func(s *dedup.StatementStats) int64 { return s.Found })
	span := HitsSpan{From: from.At, To: to.At, FromTook: from.Took, ToTook: to.Took, What: "INSERT", Hits: [2]float64{met, met + unclear}, Asked: [2]float64{inserts, inserts + unclear}, Written: inserts - met + unclear + unfailed,
		Looks: gain(func(s *dedup.StatementStats) int64 { return s.Looks })}
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
			span.Why = fmt.Sprintf("%s reached the table that the server's digests do not show: MariaDB counts no server-side prepared statements", text.Counted(text.Whole(unseen), "insert"))
			span.Better = "Let consumers send INSERT as text (emulated prepares, interpolateParams=true), or have a column with AUTO_INCREMENT (docs/stores.md)."
		}
	}
	// An error at the table is of a row that is there, or of a lock that was waited for, maybe since before the time.
	if from.LockWaits != nil && to.LockWaits != nil {
		failed = min(failed, float64(*to.LockWaits-*from.LockWaits+from.LockWaiting))
	}
	span.Hits[0] = max(0, span.Hits[0]-failed)
	if scheme.InsertFirst {
		span.countIDs(from, to)
	}
	switch {
	case span.Why != "":
	case scheme.InsertFirst || questions < inserts+unfailed: // who looks first asks at least as often as he inserts
		switch {
		case to.Unfailed > 0 && !span.ByIDs: // in a time in which all fail none is counted
			span.Why, span.Better = uncountedFailures, BetterIDs
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

// AsksByReading reports whether consumers ask by a command that changes nothing, which the server tells of where it finds nothing.
func AsksByReading(s dedup.Scheme) bool { return s.Ask == "GET" || s.Ask == "EXISTS" }

// EventHits bounds what consumers asked and met between two readings, of which each counted questions and answers at one instant. Questions are
// those of the whole server.
func EventHits(scheme dedup.Scheme, readings []sample.EventReading, i, j int) HitsSpan {
	from, to := &readings[i], &readings[j]
	s := HitsSpan{From: from.At, To: to.At, FromTook: from.Took, ToTook: to.Took, What: scheme.Ask, OfServer: true, Failed: to.Failures - from.Failures}
	asked := to.Asked - from.Asked
	s.Asked, s.OnServer = [2]float64{asked, asked}, asked
	if !AsksByReading(scheme) {
		begun := to.Claims - from.Claims
		s.Missed = [2]float64{begun, begun}
	} else {
		if !from.MissedKnown {
			s.Why, s.Better = "the server has not told for long enough yet which questions found nothing", BetterReport
			return s
		}
		missed := to.Missed - from.Missed
		s.Missed = [2]float64{missed - (to.OwnMissed[1] - from.OwnMissed[0]), missed - (to.OwnMissed[0] - from.OwnMissed[1])}
	}
	s.Hits = [2]float64{max(0, asked-s.Missed[1]), max(0, asked-s.Missed[0])}
	return s
}
