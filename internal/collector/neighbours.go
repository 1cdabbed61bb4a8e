package collector

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
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
		out.Lost.AtLeast, out.Lost.Why = true, joinReasons(lostNote, out.Lost.Why)
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

// origins splits the duplicates: those that are messages of their own, as a producer that sends again makes them, and those
// that are one message delivered again after a lost ack.
func (x explanation) origins(out *dedup.WindowFigures) {
	const (
		sentFormula  = "A - U - G; acks less first completions and messages given up"
		againFormula = "duplicates less those sent again, at most the completions whose ack can have been lost"
	)
	var separate [2]float64
	var again [2]float64
	told, source := x.residual.Rate, rate.ResidualSource
	switch t := x.events.Terms; {
	case x.live.Told:
		r := x.live.Residual
		told, source = x.live.Rate, rate.LiveSource
		separate = [2]float64{r.Sent - r.Band - r.Doubled, r.Sent + r.Band + r.Unsure + r.Again}
		again = [2]float64{0, min(x.live.Lost, r.Redelivered)}
	case x.events.Told && x.scheme.OnInFlight != "ack" && !math.IsInf(t.Separate[1], 1):
		told, source = x.events.Rate, rate.EventsSource
		separate = [2]float64{max(0, t.Separate[0], t.Duplicates[0]-t.Repeats), min(t.Separate[1], t.Duplicates[1])}
		again = [2]float64{t.Duplicates[0] - separate[1], min(t.Repeats, t.Duplicates[1]-separate[0])}
	case x.residual.Told:
		separate, again = x.residual.Separate, [2]float64{0, x.residual.Repeats}
	default:
		why := joinReasons("acks and completions cannot be compared", told.Why)
		out.ProducerSent, out.Redelivered = unknownCount(out, why, x.better()), unknownCount(out, why, x.better())
		return
	}
	count := func(low, high float64, formula string) dedup.Figure {
		f := dedup.Figure{Quality: dedup.Derived, Unit: dedup.Count, Source: source, Formula: formula, Window: out.Window, Covered: told.Covered, At: told.At, N: told.N}
		f.Low = max(0, low)
		f.High = max(f.Low, high)
		f.Value, f.Hits = f.Low, f.Low
		return f
	}
	out.ProducerSent = count(separate[0], separate[1], sentFormula)
	out.Redelivered = count(again[0], again[1], againFormula)
}

// looping counts the deliveries that met work in flight and were returned.
func (x explanation) looping(out *dedup.WindowFigures) dedup.Figure {
	switch t := x.events.Terms; {
	case x.scheme.OnInFlight == "ack":
		return unknownCount(out, "consumers of this scheme ack what is in flight, so that nothing goes round", "")
	case x.scheme.OnInFlight == "wait":
		return unknownCount(out, "consumers of this scheme wait for what is in flight, so that nothing goes round", "")
	case x.reported.InFlight.Known():
		f := x.reported.InFlight
		f.Formula = "duplicate_in_flight, as consumers report it: they return these deliveries"
		return f
	case x.events.Told && !math.IsInf(t.Returned[1], 1):
		return x.between(out, dedup.Count, t.Returned[0], t.Returned[1], "hits less duplicates; the hits on work in flight, whose deliveries come back")
	}
	return unknownCount(out, joinReasons("hits on work in flight are not counted", x.events.Rate.Why), x.better())
}

// swallowed counts the deliveries that were acked although their work was not done.
func (x explanation) swallowed(out *dedup.WindowFigures) dedup.Figure {
	race := x.scheme.Preset == "redis-json-status"
	switch {
	case !x.scheme.HasStore():
		return unknownCount(out, "the pipeline has no store whose rules would tell", "")
	case x.scheme.OnInFlight == "ack" && x.reported.InFlight.Known():
		f := x.reported.InFlight
		f.Formula = "duplicate_in_flight, as consumers report it: they ack these deliveries"
		return f
	case x.scheme.OnInFlight == "ack" && x.events.Told:
		f := x.between(out, dedup.Count, 0, x.events.Terms.Duplicates[1], "0 up to the hits; consumers ack what they meet, done or not")
		f.Why = "at most: hits on done work are no losses, and nothing tells them apart"
		return f
	case x.scheme.OnInFlight == "ack":
		return unknownCount(out, joinReasons("consumers ack what is in flight, and nothing counts it", x.events.Rate.Why), x.better())
	case x.scheme.OnInFlight == "nack" && !race && x.scheme.OnFailed != "ack":
		return x.noneByRules(out, "consumers return what they find in flight, so that they ack nothing whose work is not done")
	case x.scheme.OnInFlight == "wait" && (x.scheme.OnFail == "delete" || x.scheme.OnFailed != "ack"):
		return x.noneByRules(out, "consumers wait for what they find in flight, so that they ack nothing whose work is not done")
	case race && x.events.Told:
		f := x.between(out, dedup.Count, 0, x.events.Terms.Duplicates[1], "0 up to the duplicates; two that look at once and claim one after the other look the same")
		f.Why = "at most: a consumer that finds nothing and then loses the claim acks its delivery, which looks like a duplicate"
		return f
	}
	return unknownCount(out, joinReasons("hits on work that was not done are not counted", x.events.Rate.Why), x.better())
}

// noneByRules is the 0 that the rules of the scheme imply, as long as broker and store show what consumers do.
func (x explanation) noneByRules(out *dedup.WindowFigures, formula string) dedup.Figure {
	if why := cmp.Or(x.brokerDown, x.storeDown); why != "" {
		return unknownCount(out, why, "")
	}
	f := dedup.Exact(dedup.Derived, dedup.Count, 0, x.now, rulesSource)
	f.Window, f.Covered, f.Formula = out.Window, out.Window, formula
	return f
}

// doubleEffects counts completions of work that had been done, as far as the store shows them.
func (x explanation) doubleEffects(out *dedup.WindowFigures) dedup.Figure {
	if !x.spanKnown {
		return unknownCount(out, cmp.Or(x.storeDown, "a store shows double work only while its events are listened to; an effect check shows what it did"), x.better())
	}
	v := x.span.To.Twice - x.span.From.Twice
	f := x.span.Figure(dedup.Derived, dedup.Count, v, x.span.To.Completions-x.span.From.Completions, rate.EventsSource, "work that was claimed twice and completed twice")
	f.AtLeast = true
	f.Why = joinReasons("at least: work that was done twice without a second claim and a second completion does not show", rate.AgainWords(x.span.To.Again-x.span.From.Again-v))
	return f
}

// rulesSource is the source of what the rules of a scheme imply.
const rulesSource = "rules of the scheme"

// lostNote says what no source of lost messages counts.
const lostNote = "at least: messages dropped for want of a dead-letter exchange are no part of it"

// lost counts messages that left without their work.
func (x explanation) lost(out *dedup.WindowFigures) dedup.Figure {
	switch {
	case x.scheme.OnFail == "ack" && x.scheme.GiveUp == 0 && x.reported.Failures.Known():
		return x.failedAndAcked()
	case x.scheme.GiveUp > 0 && x.spanKnown:
		return x.unparked(x.givenUp())
	case x.scheme.GiveUp > 0 && out.GaveUp.Known():
		f := out.GaveUp
		f.Formula, f.AtLeast, f.Why = "messages given up, and acked", true, joinReasons(f.Why, lostNote)
		return x.unparked(f)
	}
	return unknownCount(out, cmp.Or(x.storeDown, "nothing counts the messages that leave without their work in this scheme"), x.better())
}

// failedAndAcked are the failures that consumers report and ack. Where they take a failed marker again, a copy that is sent again may
// fail again, and no count of failures tells how many messages they were.
func (x explanation) failedAndAcked() dedup.Figure {
	f := x.reported.Failures
	f.Formula, f.AtLeast, f.Why = "failed, as consumers report it: they ack these messages", true, lostNote
	if all := f.High; x.scheme.OnFailed == "run" && all > 1 {
		f.Quality, f.Value, f.Low = dedup.Derived, 1, 1
		f.Why = joinReasons(fmt.Sprintf("up to %s: a message that is sent again and fails again counts once more", counted(whole(all), "message")), f.Why)
	}
	return f
}

// givenUp are the messages that the store's events show given up: at least those whose work was not seen done since, each once, at
// most each time that one was given up.
func (x explanation) givenUp() dedup.Figure {
	most := x.span.To.GaveUp - x.span.From.GaveUp
	least := min(max(x.span.To.Lost-x.span.From.Lost, 0), most)
	f := x.span.Figure(rate.EventQuality(x.scheme), dedup.Count, least, x.span.To.Completions-x.span.From.Completions+most, rate.EventsSource,
		fmt.Sprintf("messages given up at %d failures, and acked", x.scheme.GiveUp))
	f.AtLeast, f.Why = true, lostNote
	if least < most {
		f.High, f.Quality = most, dedup.Derived
		f.Why = joinReasons(fmt.Sprintf("given up %s, some of it copies of messages that had been given up before, or whose work was done since", counted(whole(most), "time")), lostNote)
	}
	return f
}

// unparked takes off the messages given up those that consumers may have put into a dead-letter queue themselves: they are not lost.
func (x explanation) unparked(f dedup.Figure) dedup.Figure {
	n := len(x.frames)
	if n == 0 || x.frames[n-1].DeadPublished == 0 {
		return f
	}
	put := x.frames[n-1].DeadPublished
	f.Low = max(0, f.Low-put)
	f.Value, f.Quality = f.Low, dedup.Derived
	f.Why = joinReasons(fmt.Sprintf("up to %s, but %s into its dead-letter queues, perhaps by the consumers that gave up: those are not lost",
		counted(whole(f.High), "message"), wasPut(whole(put))), f.Why)
	return f
}

func wasPut(n int64) string { return counted(n, "message") + " " + verb(n, "was", "were") + " put" }

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
