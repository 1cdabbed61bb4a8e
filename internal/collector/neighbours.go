package collector

import (
	"cmp"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// An explanation is what the neighbours of the duplicates are told from.
type explanation struct {
	now                   time.Time
	scheme                dedup.Scheme
	stats                 dedup.StoreStats
	brokerDown, storeDown string
	// partner is another pipeline that keeps its markers in the same store; empty when there is none.
	partner string

	gap      rate.IDGapResult
	hits     rate.HitsResult
	live     rate.LiveResult
	events   rate.EventsResult
	residual rate.ResidualResult
	reported rate.ReportedResult
	// vouched is the time since which the rows of the store are vouched for.
	vouched time.Time
	// span is what the store's events told; spanKnown is false when they told nothing.
	span      sample.EventSpan
	spanKnown bool
	// frames, reportedDuplicates (by now), slip, own and meter bound the duplicates of a span of time: see fitSplit.
	frames             sample.Frames
	reportedDuplicates float64
	slip               time.Duration
	own                *sample.OwnClosures
	meter              sample.LossReadings
}

// inserts fills in what the rows of a table tell and nobody reports.
func (x explanation) inserts(out *dedup.WindowFigures) {
	if x.gap.Swallowed.Known() && !x.reported.InFlight.Known() {
		out.Swallowed = x.gap.Swallowed
	}
	if x.gap.Lost.Known() && !x.reported.Failures.Known() {
		out.Lost = x.gap.Lost
		out.Lost.AtLeast, out.Lost.Why = true, text.Reasons(lostNote, out.Lost.Why)
	}
	if x.gap.Work.Known() && !out.WorkMean.Known() {
		out.WorkMean = x.gap.Work
	}
}

// counts fills in the duplicates, and the messages, behind the rate that was chosen.
func (x explanation) counts(out *dedup.WindowFigures) {
	const settled = "d + U + G; duplicates, completions and messages given up"
	t, nacks := x.events.Terms, x.events.Told && x.scheme.OnInFlight != "ack"
	switch {
	case out.DuplicateRate.Source == rate.IDGapSource && out.DuplicateRate.Known():
		out.Duplicates = x.gap.Duplicates
	case out.DuplicateRate.Source == rate.HitsSource && out.DuplicateRate.Known():
		out.Duplicates.Low, out.Duplicates.Value, out.Duplicates.High = x.hits.Hits.Duplicates()
		out.Messages = x.hits.Messages(out.DuplicateRate)
	case out.DuplicateRate.Source == rate.LiveSource && out.DuplicateRate.Known():
		if x.live.Told {
			low, likely, high := x.live.Residual.Duplicates(x.live.Lost)
			out.Duplicates.Low, out.Duplicates.Value, out.Duplicates.High = low, likely, high
		}
		out.Messages = x.live.Messages()
	case out.DuplicateRate.Source == rate.EventsSource && out.DuplicateRate.Known():
		out.Duplicates = x.between(out, dedup.Count, t.Duplicates[0], t.Duplicates[1], "hits less those that came back, within the acks less the completions")
		if nacks {
			out.Messages = x.between(out, dedup.Count, t.Duplicates[0]+t.Settled(), t.Duplicates[1]+t.Settled(), settled)
		}
	case out.DuplicateRate.Source == rate.ResidualSource && out.DuplicateRate.Known():
		out.Duplicates.High = max(out.Duplicates.Low, x.residual.Separate[1]+x.residual.Repeats)
	}
	if nacks && !out.InFlightHits.Known() {
		out.InFlightHits = out.Looping
	}
}

// between is an interval from the bounds of the store-events estimate.
func (x explanation) between(out *dedup.WindowFigures, u dedup.Unit, low, high float64, formula string) dedup.Figure {
	told := x.events.Rate
	f := dedup.Figure{Quality: dedup.Derived, Unit: u, Source: rate.EventsSource, Formula: formula, Window: out.Window, Covered: told.Covered, At: told.At}
	f.Low = max(0, low)
	f.High = max(f.Low, high)
	f.Value, f.N, f.Hits = f.Low, x.events.Terms.Asked, f.Low
	if f.Low == f.High {
		f.Quality = rate.EventQuality(x.scheme)
	}
	return f
}

func unknownCount(out *dedup.WindowFigures, why, better string) dedup.Figure {
	f := dedup.Unknown(dedup.Count, why)
	f.Window, f.Better = out.Window, better
	return f
}

// better is how to learn more of the neighbours.
func (x explanation) better() string {
	if x.scheme.Notifies() && x.stats.Events == nil {
		return rate.BetterEvents
	}
	return rate.BetterReport
}

// failures fills in the failures and their rate from the store's events where nobody reports them.
func (x explanation) failures(out *dedup.WindowFigures) {
	if out.Failures.Known() || !x.spanKnown || x.scheme.OnFail != "delete" || x.scheme.Mark != "before" {
		return
	}
	failed, done := x.span.To.Failures-x.span.From.Failures, x.span.To.Completions-x.span.From.Completions
	q := rate.EventQuality(x.scheme)
	out.Failures = x.span.Figure(q, dedup.Count, failed, failed+done, rate.EventsSource, "claims that consumers deleted")
	if failed+done == 0 {
		out.FailureRate.Why, out.FailureRate.Source = "no attempts in the window", rate.EventsSource
		return
	}
	if x.scheme.OnInFlight == "ack" {
		return // such a scheme shows no completions
	}
	out.FailureRate = x.span.Figure(q, dedup.Ratio, failed/(failed+done), failed+done, rate.EventsSource, "failures / (completions + failures)")
	out.FailureRate.Hits = failed
}

// doubleEffects counts completions of work that had been done, as far as the store shows them.
func (x explanation) doubleEffects(out *dedup.WindowFigures) dedup.Figure {
	if !x.spanKnown {
		return unknownCount(out, cmp.Or(x.storeDown, "a store shows double work only while its events are listened to; an effect check shows what it did"), x.better())
	}
	v := x.span.To.Twice - x.span.From.Twice
	f := x.span.Figure(dedup.Derived, dedup.Count, v, x.span.To.Completions-x.span.From.Completions, rate.EventsSource, "work that was claimed twice and completed twice")
	f.AtLeast = true
	f.Why = text.Reasons("at least: work that was done twice without a second claim and a second completion does not show", rate.AgainWords(x.span.To.Again-x.span.From.Again-v))
	return f
}

// fill fills in where the duplicates come from, and what is counted apart from them.
func (x explanation) fill(out *dedup.WindowFigures) {
	x.failures(out)
	x.failedRows(out)
	x.origins(out)
	out.Looping, out.Swallowed = x.looping(out), x.swallowed(out)
	out.DoubleEffects, out.Lost = x.doubleEffects(out), x.lost(out)
	x.inserts(out)
	x.counts(out)
	x.fitSplit(out)
}
