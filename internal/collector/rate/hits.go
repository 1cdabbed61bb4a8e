package rate

import (
	"fmt"
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	HitsSource  = "store hits"
	HitsFormula = "(H - I) / A; H questions that met a marker, I those of work that was not done, A acks"
)

// A HitsSpan is what a store counted between two of its readings. Pairs are bounds.
type HitsSpan struct {
	From, To time.Time
	// FromTook and ToTook are how long before these times the counts may be true.
	FromTook, ToTook time.Duration
	// Asked are the questions of consumers, one for each delivery, Hits those that met a marker.
	Asked, Hits [2]float64
	// Missed are the questions that met none, and OfServer is true where Asked are those of everybody on the server. Failed are the claims that
	// consumers gave back.
	Missed   [2]float64
	OfServer bool
	Failed   float64
	// OnServer are the questions of everybody, where OfServer.
	OnServer float64
	// Written are at most the inserts that wrote their row, where inserts were counted. ByIDs is true where those that wrote none are the ids that a
	// sequence gave beyond these.
	Written float64
	ByIDs   bool
	// FirstIDs and LastIDs bound, where ByIDs, the last ids whose inserts had ended when the span began and when it ended.
	FirstIDs, LastIDs [2]int64
	// Looks are SELECTs that may be questions, too, and do not tell what they met.
	Looks float64
	// What is how consumers ask.
	What string
	// Why says why the span tells nothing, and Better what would help.
	Why, Better string
}

// A HitsResult is the estimate from store hits. Told is false when there is none.
type HitsResult struct {
	Rate dedup.Figure
	Told bool
	Hits estimate.Hits
	// Apart are bounds of the rate where acks less completions exclude them, so that either is false; nil where they do not.
	Apart *[2]float64
}

// Figure is a rate of the span of which nothing is known yet.
func (s HitsSpan) Figure(w time.Duration) dedup.Figure {
	return dedup.Figure{Unit: dedup.Ratio, Source: HitsSource, Formula: HitsFormula, Window: w, Covered: s.To.Sub(s.From), At: s.To, Better: BetterReport}
}

// OfHits is the rate of hits, and how far it is to be believed.
func OfHits(f dedup.Figure, h estimate.Hits, proven bool) HitsResult {
	low, likely, high, ok := h.Rate()
	if !ok {
		f.Why = "no message was acked in the window"
		return HitsResult{Rate: f}
	}
	f.Low, f.Value, f.High, f.N = low, likely, high, math.Round((h.Messages[0]+h.Messages[1])/2)
	if math.IsInf(h.Messages[1], 1) { // acks were lost, and nothing says how many
		f.N = h.Messages[0]
	}
	f.Hits = likely * f.N
	out := HitsResult{Told: true, Hits: h}
	switch width := f.High - f.Low; {
	case width > Widest && width*f.N > LiveWidest:
		f.Why = fmt.Sprintf("the interval is too wide: between %.2f %% and %.2f %% of %s were duplicates", 100*f.Low, 100*f.High, text.Counted(text.Whole(f.N), "message"))
	case width <= MeasuredWidest && proven:
		f.Quality = dedup.Measured
	default:
		f.Quality = dedup.Derived
	}
	out.Rate = f
	return out
}

// Strangers names questions that do not fit the broker's counts: then others ask too, or not all consumers do.
func (s HitsSpan) Strangers(g sample.Gain, waiting [2]float64) string {
	slack := func(n float64) float64 { return 2 + 3*math.Sqrt(n)/10 }
	switch {
	case s.OfServer && s.Hits[1] <= 0 && s.Missed[0] > s.Asked[1]+waiting[0]+slack(s.Asked[1]):
		return fmt.Sprintf("the store shows %s, but %s was called only %s times: something else asks for the markers or writes them",
			text.Counted(text.Whole(s.Missed[0]), "message"), s.What, text.Grouped(text.Whole(s.Asked[1])))
	case s.Asked[0] > g.Delivered[1]+waiting[0]+slack(g.Delivered[1]):
		return fmt.Sprintf("%s was sent %s times while the broker delivered %s: others ask too", s.What, text.Grouped(text.Whole(s.Asked[0])), text.Counted(text.Whole(g.Delivered[1]), "message"))
	case s.Asked[1]+waiting[0]+slack(s.Asked[1]) < g.Acked[0], s.Asked[1] <= 0 && g.Acked[0] > 0:
		return fmt.Sprintf("%s were acked while %s was sent %s times: some consumers do not ask this store, or in a way that it does not count",
			text.Counted(text.Whole(g.Acked[0]), "message"), s.What, text.Grouped(text.Whole(s.Asked[1])))
	}
	return ""
}

// UnseenWords says that hits may not show; empty where all do.
func UnseenWords(n float64) string {
	switch {
	case n == 0:
		return ""
	case math.IsInf(n, 1):
		return "some were acked without an INSERT, while channels took counts along: consumers may look first, in a way that the server does not tell"
	}
	return fmt.Sprintf("up to %s acked without an INSERT: consumers may look first, in a way that the server does not tell", text.Counted(text.Whole(math.Ceil(n)), "message")+" "+text.Agree(text.Whole(math.Ceil(n)), "was", "were"))
}

// Messages are those behind the rate: as many as were acked.
func (r HitsResult) Messages(rate dedup.Figure) dedup.Figure {
	f := rate
	f.Unit, f.Formula, f.Why, f.Hits = dedup.Count, "acks of the source queues", "", 0
	f.Quality, f.Low, f.Value, f.High = dedup.Derived, r.Hits.Messages[0], rate.N, r.Hits.Messages[1]
	return f
}

// countIDs takes what a sequence gave for the inserts, of which the server counts only those that wrote a row: each takes an id, and keeps it where it
// fails. It changes nothing where ids and statements cannot be compared.
func (s *HitsSpan) countIDs(from, to *dedup.StatementStats) {
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

// MeetWritten raises the fewest hits to what acks show, and returns the fewest duplicates by the same: what was acked and wrote no row met one,
// whatever else failed or died. Those that were out when the time began may have written theirs before.
func (s *HitsSpan) MeetWritten(scheme dedup.Scheme, g sample.Gain, waiting float64) (duplicates float64) {
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

// RowsHeld is what the rows of a span's ids tell of the inserts that were counted.
type RowsHeld struct {
	// Unacked is how many inserts at least wrote a row while nobody acked their message, because the work failed: the row is not there any more, or
	// says so where failures are not acked.
	Unacked float64
	// Uncounted is how many rows at least the server counted no insert of.
	Uncounted float64
	// Until is when the rows were counted to; zero where they are not.
	Until time.Time
}

// HoldRows compares the rows that the server counted inserts of with those that there are, of the ids that were counted in the span. Some of the
// inserts that it counted had ids from before or after these, and some of these inserts it had counted before, or did after: no more than had not
// ended then, or had been given since.
func (s HitsSpan) HoldRows(scheme dedup.Scheme, rows []dedup.InsertStats, statements []dedup.StatementStats) RowsHeld {
	i := sort.Search(len(rows), func(i int) bool { return rows[i].Next > s.FirstIDs[0] })
	j := sort.Search(len(rows), func(j int) bool { return rows[j].Next > s.LastIDs[1]+1 }) - 1
	if !s.ByIDs || j <= i {
		return RowsHeld{}
	}
	a, b := &rows[i], &rows[j]
	least, most, leastBefore, mostBefore := math.Inf(-1), math.Inf(1), math.Inf(1), math.Inf(-1)
	for k := range statements {
		t := &statements[k]
		if k > 0 && t.OwnIDs != statements[k-1].OwnIDs { // rows were written whose ids are elsewhere
			leastBefore = math.Inf(1)
		}
		if t.IDs == nil {
			continue
		}
		wrote := [2]float64{float64(t.Unfailed + t.Inserts - t.Met - t.Unclear), float64(t.Unfailed + t.Inserts - t.Met + t.Unclear)}
		least = max(least, wrote[0]-float64(max(0, t.IDs[1]+1-b.Next))-leastBefore)
		most = min(most, wrote[1]+float64(max(b.Next-1, t.IDs[1])-t.IDs[0])-mostBefore)
		leastBefore = min(leastBefore, wrote[0]+float64(max(a.Next-1, t.IDs[1])-t.IDs[0]))
		mostBefore = max(mostBefore, wrote[1]-float64(max(0, t.IDs[1]+1-a.Next)))
	}
	if math.IsInf(least, -1) {
		return RowsHeld{}
	}
	there := float64(b.Rows - a.Rows)
	held := RowsHeld{Unacked: least - there, Uncounted: max(0, there-most), Until: b.At}
	if scheme.OnFail != "ack" {
		held.Unacked += float64(b.Failed - a.Failed)
	}
	return held
}

// Strangers says that rows were inserted in a way that the server does not count; empty where none were. Some may have been under way.
func (h RowsHeld) Strangers() string {
	const few = 3
	if h.Uncounted <= few {
		return ""
	}
	return fmt.Sprintf("there are %s more than the server counted inserts: some are written in a way that it does not count", text.Counted(text.Whole(h.Uncounted), "row"))
}
