package window

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// exportStale is the age from which on the newest reading says nothing of the present.
const exportStale = 5 * time.Minute

const betterRecipe = "Correct reported.prometheus of the pipeline: dashboard check shows what the recipe finds (docs/consumers.md)."

// exportFigures are made of what the consumers' framework counts.
type exportFigures struct {
	p     *Pipeline
	tape  *Exports
	store *Store
	view  View
}

// refusal says why nothing that the framework counts can be used, and what would help.
func (e exportFigures) refusal() (why, better string) {
	t := e.tape
	switch {
	case t.latest == nil:
		return "no recipe reads what the consumers' framework counts", ""
	case e.view.ReportDown != "":
		return e.view.ReportDown, BetterBack
	case t.latest.Why != "":
		return t.latest.Why, betterRecipe
	case e.view.BrokerDown != "":
		return e.view.BrokerDown, BetterBack
	case e.view.Uncounted != "":
		return e.view.Uncounted, rate.BetterReport
	case !t.compared:
		return "what consumers handled could not be compared with the broker's acks yet", rate.BetterReport
	case t.agrees.Refuted:
		return rate.ExportsRefuted(t.agrees, t.latest, e.view.Now), betterRecipe
	}
	return "", ""
}

// estimate estimates the rate from the deliveries that the consumers' framework counts.
func (e exportFigures) estimate(w time.Duration, live rate.LiveResult) dedup.Figure {
	why, better := e.refusal()
	if why != "" {
		return rate.Refused(w, rate.ExportsSource, rate.ExportsFormula, why, better)
	}
	t := e.tape
	exact := t.latest.HasDuplicates
	f := dedup.Figure{Unit: dedup.Ratio, Source: rate.ExportsSource, Formula: rate.ExportsFormula, Window: w, Better: rate.BetterReport}
	readings := handledOf(t.readings)
	if exact {
		f.Formula = rate.ExportsExactFormula
		for i := range readings {
			readings[i].Settled, readings[i].Spread, readings[i].Run = readings[i].Handled-t.readings[i].Duplicates, 0, 1
		}
	} else if why := e.exportless(); why != "" {
		return rate.Refused(w, rate.ExportsSource, rate.ExportsFormula, why, "")
	}
	r, ok := estimate.SentOf(readings, w)
	switch {
	case !ok:
		f.Why = "consumers and store were not counted together often enough yet"
		return f
	case e.view.Now.Sub(r.To) > exportStale:
		f.Why = "nothing that consumers handle was read since " + text.Clock(r.To, e.view.Now)
		return f
	}
	f.Covered, f.At = r.Covered, r.To
	switch over := -(r.Sent + r.Band + r.Unsure); {
	case !exact && e.store.Disturbed.After(r.From):
		f.Why = e.store.DisturbedWhy + text.UntilAbout(e.store.Disturbed.Add(w), e.view.Now)
	case r.Acked <= 0:
		f.Why = "no message was handled in the window"
	case over > 3*math.Sqrt(r.Acked):
		f.Why = fmt.Sprintf("the store shows %s more than consumers handled: it holds markers of other work", text.Counted(text.Whole(over), "completed message"))
	default:
		if !exact {
			r.Doubled, r.Failed = e.p.doubledUnseen(r.From), ackedFailures{e.p, e.view}.most(r.From, r.To)
			r = r.Widened(t.agrees.Slack)
		}
		f = rate.JudgeExports(f, r, e.view.Scheme, exact, live)
	}
	return f
}

// exportless says why deliveries alone tell no duplicates of the pipeline.
func (e exportFigures) exportless() string {
	switch {
	case e.store == nil || e.view.StoreDown != "":
		return e.view.StoreDown
	case e.view.Scheme.Refuses(dedup.MethodExports) != "":
		return e.view.Scheme.Refuses(dedup.MethodExports)
	case e.p.Partner != "":
		return fmt.Sprintf("the store is shared with pipeline %s", text.Name(e.p.Partner))
	case e.view.Stats.Events == nil:
		return "store events are off"
	}
	return ""
}

// latency is what a distribution of the framework tells of one window.
func (e exportFigures) latency(w time.Duration, of func(*exportReading) *dedup.Distribution) figure.Latencies {
	t := e.tape
	if why, _ := e.refusal(); why != "" {
		if t.latest == nil {
			why = "consumers report no latencies"
		}
		return figure.UnknownLatency(w, why)
	}
	n := len(t.readings)
	if n == 0 {
		return figure.UnknownLatency(w, "consumers report no latencies")
	}
	last := &t.readings[n-1]
	first := n - 1
	for first > 0 && !t.readings[first-1].At.Before(last.At.Add(-w)) {
		first--
	}
	from, to := of(&t.readings[first]), of(last)
	if to == nil {
		return figure.UnknownLatency(w, t.latest.Framework+" publishes none")
	}
	if from == nil {
		from = &dedup.Distribution{}
	}
	s := figure.Latency{Window: w, Covered: last.At.Sub(t.readings[first].At), At: last.At, Sum: to.Sum - from.Sum, N: to.Count - from.Count,
		Source: "exported by " + t.latest.Framework}
	if len(from.Bounds) == len(to.Bounds) {
		for i, bound := range to.Bounds {
			s.Bounds, s.Buckets = append(s.Bounds, bound), append(s.Buckets, to.Counts[i]-from.Counts[i])
		}
	}
	return s.Figures()
}
