package rate

import (
	"fmt"
	"math"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	IDGapSource  = "id gap"
	IDGapFormula = "[H - E, H] / messages; H ids without a row, E hits on rows whose work was not done"
	betterKeep   = "Keep the row of failed work with a status of its own: the ids without a row are then the duplicates alone."
	// UndoneReach is how long before the window a row may have been left undone whose message still comes again in the window.
	UndoneReach = 10 * time.Minute
	// staleInserts is the age from which the newest count of inserts says nothing of the present.
	staleInserts = 10 * time.Minute
)

// An IDGap is what the id gap is computed from: two counts of inserts in one epoch.
type IDGap struct {
	Window   time.Duration
	From, To dedup.InsertStats
	// Reach is the count that lies UndoneReach before From, or the oldest.
	Reach dedup.InsertStats
	// Unreached bounds the messages that had left a row undone before Reach.
	Unreached float64
	Scheme    dedup.Scheme
	// Back bounds the messages that came back, by the broker's counts.
	Back Returns
	// Server is the version of the store's server, as in "MariaDB 10.11.19".
	Server string
	Now    time.Time
	// Why is a refusal by the store or the pipeline; empty when there is none.
	Why string
	// Conflated says why hits may be of messages that found the row of another one; empty where none are.
	Conflated string
}

// An IDGapResult holds the figures that counts of inserts give.
type IDGapResult struct {
	Rate, Duplicates, Messages dedup.Figure
	// Swallowed are deliveries that met a row whose work was not done, Lost the messages that failed and were acked.
	Swallowed, Lost dedup.Figure
	Work            dedup.Figure
}

// insertGain is what the counts gained over a window.
type insertGain struct {
	ids, rows, hits, done, undone, failed float64
	// messages are the deliveries that were acked.
	messages float64
	// reached are the undone rows of the window and of UndoneReach before it, returned at most those of them whose message came back.
	reached, returned float64
}

func (s IDGap) gain() insertGain {
	g := insertGain{
		ids: float64(s.To.IDs - s.From.IDs), rows: float64(s.To.Rows - s.From.Rows), done: float64(s.To.Done - s.From.Done),
		undone: float64(s.To.Undone - s.From.Undone), failed: float64(s.To.Failed - s.From.Failed),
		reached: float64(s.To.Undone - s.Reach.Undone),
	}
	g.hits = g.ids - g.rows
	g.messages, g.returned = g.done+g.hits, g.reached
	if s.Scheme.OnFail == "ack" {
		g.messages += g.failed
		g.returned -= float64(s.To.Failed - s.Reach.Failed)
	}
	// A dead letter that was sent again may be of a row from before Reach.
	g.returned = min(g.returned+s.Unreached+s.Back.taken(), s.Back.All, s.Back.Redelivered+s.Back.Taken, s.Back.Left)
	return g
}

// swallowed is the most hits that met a row whose work was not done: each message that may have come back did so at most once, because that delivery was acked, and all of them were sent again no more often than others.
func (g insertGain) swallowed() float64 {
	if g.reached <= 0 && g.returned <= 0 {
		return 0
	}
	again := max(0, g.reached) * g.hits / max(1, g.rows)
	return min(g.hits, g.returned+again+3*math.Sqrt(again+1))
}

// Estimate computes the duplicate rate from the ids that failed inserts burned; see docs/figures.md.
func (s IDGap) Estimate() IDGapResult {
	g := s.gain()
	why := s.refusal(g)
	r := IDGapResult{
		Rate: s.figure(dedup.Ratio, why), Duplicates: s.figure(dedup.Count, why), Messages: s.figure(dedup.Count, why),
		Swallowed: s.figure(dedup.Count, why), Lost: s.figure(dedup.Count, why), Work: sqlWork(s, why),
	}
	if why != "" {
		return r
	}
	if s.To.Lower {
		return s.atMost(r, g)
	}
	undone, high := g.swallowed(), g.hits
	if s.Conflated != "" {
		undone = g.hits
	}
	low := max(0, g.hits-undone)
	r.Rate.Low, r.Rate.High, r.Rate.Hits, r.Rate.N = low/g.messages, high/g.messages, low, g.messages
	r.Rate.Value = r.Rate.Low
	quality := s.quality(r.Rate.High - r.Rate.Low)
	r.Rate.Quality = quality
	known := dedup.Derived
	if s.proven() {
		known = dedup.Measured
	}
	r.Messages.Quality, r.Messages.Value, r.Messages.Low, r.Messages.High, r.Messages.N = known, g.messages, g.messages, g.messages, g.messages
	r.Messages.Formula = "done rows + ids without a row + failed rows where failures are acked"
	r.Swallowed = spread(r.Swallowed, dedup.Derived, 0, undone, g.messages)
	r.Swallowed.Formula, r.Swallowed.Why = "E: hits on rows whose work was not done, at most", s.Conflated
	if s.Scheme.OnFail == "ack" {
		r.Lost = spread(r.Lost, known, g.failed, g.failed, g.messages)
		r.Lost.Formula = "rows whose work failed: their messages were acked"
	} else {
		r.Lost.Why = "consumers of this scheme do not ack failures"
	}
	if quality == dedup.QualityUnknown {
		r.Rate.Why = text.Reasons(tooWide(r.Rate, g.messages), s.Conflated)
		r.Duplicates.Why = r.Rate.Why
		return r
	}
	if s.Conflated != "" {
		r.Rate.Why = "at most: " + s.Conflated
		r.Duplicates.Why = r.Rate.Why
	}
	r.Duplicates = spread(r.Duplicates, quality, low, high, g.messages)
	return r
}

// atMost is the result where failed work deletes its row: the ids without one bound the duplicates from above only.
func (s IDGap) atMost(r IDGapResult, g insertGain) IDGapResult {
	r.Rate.High, r.Rate.N, r.Rate.Better = g.hits/g.ids, g.rows, betterKeep
	unknown := "work that failed leaves no row here, so that failures and duplicates are not told apart"
	r.Swallowed.Why, r.Lost.Why, r.Messages.Why = unknown, unknown, unknown
	if r.Rate.High > Widest {
		r.Rate.Why = fmt.Sprintf("at most %.2f %% of %s were duplicates: %s", 100*r.Rate.High, text.Counted(text.Whole(g.ids), "delivery attempt"), unknown)
		r.Duplicates.Why = r.Rate.Why
		return r
	}
	r.Rate.Quality, r.Rate.Why = dedup.Derived, "at most: "+unknown
	r.Duplicates = spread(r.Duplicates, dedup.Derived, 0, g.hits, g.rows)
	r.Duplicates.Why = r.Rate.Why
	return r
}

func spread(f dedup.Figure, q dedup.Quality, low, high, n float64) dedup.Figure {
	f.Quality, f.Value, f.Low, f.High, f.N, f.Hits = q, low, low, high, n, low
	return f
}

func tooWide(f dedup.Figure, n float64) string {
	return fmt.Sprintf("the interval is too wide: between %.2f %% and %.2f %% of %s were duplicates; the others met rows whose work was not done",
		100*f.Low, 100*f.High, text.Counted(text.Whole(n), "message"))
}

func (s IDGap) figure(unit dedup.Unit, why string) dedup.Figure {
	f := dedup.Unknown(unit, why)
	f.Window, f.Source, f.Formula = s.Window, IDGapSource, IDGapFormula
	if why != "" {
		f.Better = BetterReport
		return f
	}
	f.Covered, f.At = s.To.At.Sub(s.From.At), s.To.At
	return f
}

// quality judges the width of the interval of a rate.
func (s IDGap) quality(width float64) dedup.Quality {
	switch {
	case width > Widest:
		return dedup.QualityUnknown
	case width <= MeasuredWidest && s.proven():
		return dedup.Measured
	}
	return dedup.Derived
}

func (s IDGap) proven() bool { return !s.To.Lower && provenInserts(s.Scheme, s.Server) }

// refusal says why the counts cannot be vouched for, empty when they can.
func (s IDGap) refusal(g insertGain) string {
	switch {
	case s.Why != "":
		return s.Why
	case s.Scheme.Refuses(dedup.MethodIDGap) != "":
		return s.Scheme.Refuses(dedup.MethodIDGap)
	case !s.To.At.After(s.From.At) || s.To.Epoch != s.From.Epoch:
		return "inserts are not counted for long enough yet, or too rarely: the window holds fewer than two counts of them. " +
			"An insert counts once its work must have ended (insert_settle)"
	case s.To.At.Sub(s.From.At) > s.Window:
		return "the counts of inserts lie further apart than the window is long"
	case s.Now.Sub(s.To.At) > staleInserts+min(s.Window, time.Hour):
		return "inserts could not be counted since " + text.Clock(s.To.At, s.Now) + ": counting them takes too long, or they come faster than they can be counted"
	case g.hits < 0:
		return fmt.Sprintf("there are %s more than ids were given: rows are inserted with ids of their own", text.Counted(text.Whole(-g.hits), "row"))
	case g.ids == 0:
		return "nothing was inserted in the window"
	case g.messages <= 0 && !s.To.Lower:
		return "no message was acked in the window"
	}
	return ""
}

// sqlWork is the mean processing time by the times of done rows. At a resolution of R each difference is a whole number of R,
// whose mean is that of the true times; its standard deviation is R·√(p(1−p)/n), p the part of R that the mean leaves over.
func sqlWork(s IDGap, why string) dedup.Figure {
	f := s.figure(dedup.Seconds, why)
	f.Source, f.Formula, f.Better = "times in the rows", "mean of updated - created over rows that became done", "Let the consumers report latencies (docs/consumers.md)."
	n, sum := float64(s.To.Timed-s.From.Timed), (s.To.WorkSum - s.From.WorkSum).Seconds()
	switch {
	case why != "":
	case s.To.Resolution <= 0:
		f.Why = "the rows do not tell when their work began and when it ended, in times of one resolution"
	case n <= 0:
		f.Why = "no row became done in the window"
	case sum <= 0:
		f.Why = "no row shows a difference between its two times: nothing sets the time of the last change"
	default:
		mean, unit := sum/n, s.To.Resolution.Seconds()
		_, p := math.Modf(mean / unit)
		f = spread(f, dedup.Derived, mean, mean, n)
		if unit >= 1 { // work that begins in step with the clock crosses its seconds always or never
			f.Low, f.High = max(0, mean-unit), mean+unit
			if f.Low == 0 {
				f.Value = 0
			}
		}
		f.Hits, f.Error = 0, unit*math.Sqrt(p*(1-p)/n)
		f.Why = "a mean only"
		if unit >= 1 {
			f.Why += ": the times are in whole seconds"
		}
		if strings.HasPrefix(s.Server, "PostgreSQL") {
			f.AtLeast, f.Value, f.High = true, f.Low, f.Low
			f.Why += ", at least: now() is when a transaction began, and the work may lie within it"
		}
	}
	return f
}

// Stuck bounds the messages whose row says that work never ended.
func (s IDGap) Stuck(waiting float64) float64 {
	return max(0, float64(s.To.Undone-s.To.Failed-s.From.Undone+s.From.Failed)) + s.StuckBefore(waiting)
}

// StuckBefore bounds those of rows from before the window: no more came back in it than waited when it began.
func (s IDGap) StuckBefore(waiting float64) float64 {
	return min(max(0, float64(s.From.Undone-s.Reach.Undone))+s.Unreached, waiting)
}
