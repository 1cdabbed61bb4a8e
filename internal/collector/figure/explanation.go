package figure

import (
	"cmp"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// An Explanation is what the neighbours of the duplicates are told from.
type Explanation struct {
	Now                   time.Time
	Scheme                dedup.Scheme
	Stats                 dedup.StoreStats
	BrokerDown, StoreDown string
	// Partner is another pipeline that keeps its markers in the same store; empty when there is none.
	Partner string

	Gap      rate.IDGapResult
	Hits     rate.HitsResult
	Live     rate.LiveResult
	Events   rate.EventsResult
	Residual rate.ResidualResult
	Reported rate.ReportedResult
	// Vouched is the time since which the rows of the store are vouched for.
	Vouched time.Time
	// Span is what the store's events told; spanKnown is false when they told nothing.
	Span      sample.EventSpan
	SpanKnown bool
	// Frames, reportedDuplicates (by now), slip, own and meter bound the duplicates of a span of time: see fitSplit.
	Frames             sample.Frames
	ReportedDuplicates float64
	Slip               time.Duration
	Own                *sample.OwnClosures
	Meter              sample.LossReadings
}

// fromRows fills in what the rows of a table tell and nobody reports.
func (x Explanation) fromRows(out *dedup.WindowFigures) {
	if x.Gap.Swallowed.Known() && !x.Reported.InFlight.Known() {
		out.Swallowed = x.Gap.Swallowed
	}
	if x.Gap.Lost.Known() && !x.Reported.Failures.Known() {
		out.Lost = x.Gap.Lost
		out.Lost.AtLeast, out.Lost.Why = true, text.Reasons(lostNote, out.Lost.Why)
	}
	if x.Gap.Work.Known() && !out.WorkMean.Known() {
		out.WorkMean = x.Gap.Work
	}
}

// counts fills in the duplicates, and the messages, behind the rate that was chosen.
func (x Explanation) counts(out *dedup.WindowFigures) {
	const settled = "d + U + G; duplicates, completions and messages given up"
	t, nacks := x.Events.Terms, x.Events.Told && x.Scheme.OnInFlight != "ack"
	switch {
	case out.DuplicateRate.Source == rate.IDGapSource && out.DuplicateRate.Known():
		out.Duplicates = x.Gap.Duplicates
	case out.DuplicateRate.Source == rate.HitsSource && out.DuplicateRate.Known():
		out.Duplicates.Low, out.Duplicates.Value, out.Duplicates.High = x.Hits.Hits.Duplicates()
		out.Messages = x.Hits.Messages(out.DuplicateRate)
	case out.DuplicateRate.Source == rate.LiveSource && out.DuplicateRate.Known():
		if x.Live.Told && x.Hits.Apart == nil {
			low, likely, high := x.Live.Residual.Duplicates(x.Live.Lost)
			out.Duplicates.Low, out.Duplicates.Value, out.Duplicates.High = low, likely, high
		}
		out.Messages = x.Live.Messages()
	case x.Hits.Apart != nil: // the count is that of the rate
	case out.DuplicateRate.Source == rate.EventsSource && out.DuplicateRate.Known():
		out.Duplicates = x.between(out, dedup.Count, t.Duplicates[0], t.Duplicates[1], "hits less those that came back, within the acks less the completions")
		if nacks {
			out.Messages = x.between(out, dedup.Count, t.Duplicates[0]+t.Settled(), t.Duplicates[1]+t.Settled(), settled)
		}
	case out.DuplicateRate.Source == rate.ResidualSource && out.DuplicateRate.Known():
		out.Duplicates.High = max(out.Duplicates.Low, x.Residual.Separate[1]+x.Residual.Repeats)
	}
	if nacks && !out.InFlightHits.Known() {
		out.InFlightHits = out.Looping
	}
}

// between is an interval from the bounds of the store-events estimate.
func (x Explanation) between(out *dedup.WindowFigures, u dedup.Unit, low, high float64, formula string) dedup.Figure {
	told := x.Events.Rate
	f := dedup.Figure{Quality: dedup.Derived, Unit: u, Source: rate.EventsSource, Formula: formula, Window: out.Window, Covered: told.Covered, At: told.At}
	f.Low = max(0, low)
	f.High = max(f.Low, high)
	f.Value, f.N, f.Hits = f.Low, x.Events.Terms.Asked, f.Low
	if f.Low == f.High {
		f.Quality = rate.EventQuality(x.Scheme)
	}
	return f
}

func unknownCount(out *dedup.WindowFigures, why, better string) dedup.Figure {
	f := dedup.Unknown(dedup.Count, why)
	f.Window, f.Better = out.Window, better
	return f
}

// better is how to learn more of the neighbours.
func (x Explanation) better() string {
	if x.Scheme.Notifies() && x.Stats.Events == nil {
		return rate.BetterEvents
	}
	return rate.BetterReport
}

// failures fills in the failures and their rate from the store's events where nobody reports them.
func (x Explanation) failures(out *dedup.WindowFigures) {
	if out.Failures.Known() || !x.SpanKnown || x.Scheme.OnFail != "delete" || x.Scheme.Mark != "before" {
		return
	}
	failed, done := x.Span.To.Failures-x.Span.From.Failures, x.Span.To.Completions-x.Span.From.Completions
	q := rate.EventQuality(x.Scheme)
	out.Failures = x.Span.Figure(q, dedup.Count, failed, failed+done, rate.EventsSource, "claims that consumers deleted")
	if failed+done == 0 {
		out.FailureRate.Why, out.FailureRate.Source = "no attempts in the window", rate.EventsSource
		return
	}
	if x.Scheme.OnInFlight == "ack" {
		return // such a scheme shows no completions
	}
	out.FailureRate = x.Span.Figure(q, dedup.Ratio, failed/(failed+done), failed+done, rate.EventsSource, "failures / (completions + failures)")
	out.FailureRate.Hits = failed
}

// doubleEffects counts completions of work that had been done, as far as the store shows them.
func (x Explanation) doubleEffects(out *dedup.WindowFigures) dedup.Figure {
	if !x.SpanKnown {
		return unknownCount(out, cmp.Or(x.StoreDown, "a store shows double work only while its events are listened to; an effect check shows what it did"), x.better())
	}
	v := x.Span.To.Twice - x.Span.From.Twice
	f := x.Span.Figure(dedup.Derived, dedup.Count, v, x.Span.To.Completions-x.Span.From.Completions, rate.EventsSource, "work that was claimed twice and completed twice")
	f.AtLeast = true
	f.Why = text.Reasons("at least: work that was done twice without a second claim and a second completion does not show", rate.AgainWords(x.Span.To.Again-x.Span.From.Again-v))
	return f
}

// Fill fills in where the duplicates come from, and what is counted apart from them.
func (x Explanation) Fill(out *dedup.WindowFigures) {
	x.failures(out)
	x.failedRows(out)
	x.origins(out)
	out.Looping, out.Swallowed = x.Looping(out), x.Swallowed(out)
	out.DoubleEffects, out.Lost = x.doubleEffects(out), x.lost(out)
	x.fromRows(out)
	x.counts(out)
	x.fitSplit(out)
}
