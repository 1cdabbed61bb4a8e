package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

// choose makes the best valid estimate the duplicate rate and the next valid one its cross-check: what consumers report, else the narrowest
// interval, of equals the first. Where none is valid, or the best is an upper bound beyond the interval of one that is too wide for a number, the
// rate is unknown for all their reasons, with the narrowest interval that is known to hold it.
func choose(out *dedup.WindowFigures) {
	valid := func(e dedup.Estimate) bool { return e.Rate.Known() && e.Rate.Quality != dedup.Estimated }
	best := -1
	for i, e := range out.Estimates {
		if valid(e) && (best < 0 || out.Estimates[best].Method != dedup.MethodReported && e.Rate.Width() < out.Estimates[best].Rate.Width()) {
			best = i
		}
	}
	if held, ok := narrowest(out.Estimates); ok && best >= 0 && out.Estimates[best].Rate.AtMost() && held.Low <= out.Estimates[best].Rate.High && held.High-held.Low < out.Estimates[best].Rate.Width() {
		best = -1
	}
	var rest []dedup.Estimate
	for i, e := range out.Estimates {
		if i != best {
			rest = append(rest, e)
		}
	}
	if best < 0 {
		out.DuplicateRate = cannotTell(out.Window, out.Estimates)
		out.Duplicates = dedup.Unknown(dedup.Count, out.DuplicateRate.Why)
		out.Duplicates.Window = out.Window
		if r := out.DuplicateRate; r.N > 0 && r.Low < r.High {
			out.Duplicates.Low, out.Duplicates.High, out.Duplicates.N = r.Low*r.N, r.High*r.N, r.N
			out.Duplicates.Source, out.Duplicates.Covered, out.Duplicates.At = r.Source, r.Covered, r.At
		}
		out.CrossCheck = dedup.Unknown(dedup.Ratio, "no second source")
		out.CrossCheck.Window = out.Window
		return
	}
	out.DuplicateRate = out.Estimates[best].Rate
	if out.Estimates[best].Method != dedup.MethodReported {
		out.Duplicates = duplicatesOf(out.DuplicateRate)
	}
	for _, e := range rest {
		if valid(e) {
			out.CrossCheck = e.Rate
			return
		}
	}
	out.CrossCheck = cannotTell(out.Window, rest)
}

// cannotTell is the figure of estimates of which none is valid: the reasons of those that could be had, and the narrowest
// interval that one of them still gives.
func cannotTell(window time.Duration, all []dedup.Estimate) dedup.Figure {
	f, found := narrowest(all)
	if n := len(all); !found && n > 0 {
		last := all[n-1].Rate
		f.Source, f.Formula, f.Covered, f.At, f.N = last.Source, last.Formula, last.Covered, last.At, last.N
	}
	var reasons []string
	for _, e := range all {
		if e.Rate.Better != "" {
			reasons = append(reasons, reasonOf(e))
		}
	}
	f.Unit, f.Window = dedup.Ratio, window
	f.Better = betterOf(all)
	f.Quality, f.Why = dedup.QualityUnknown, joinReasons(reasons...)
	return f
}

// narrowest is the narrowest interval that any of the estimates knows to hold the rate, of equals the first.
func narrowest(all []dedup.Estimate) (f dedup.Figure, found bool) {
	for _, e := range all {
		if r := e.Rate; r.N > 0 && r.Low < r.High && r.Quality != dedup.Estimated && (!found || r.High-r.Low < f.High-f.Low) {
			f, found = r, true
		}
	}
	return f, found
}

// reasonOf is why a source refuses, among the reasons of others. That nobody reports needs no name of a source.
func reasonOf(e dedup.Estimate) string {
	if e.Rate.Why == "" || e.Rate.Source == "" || e.Method == dedup.MethodReported {
		return e.Rate.Why
	}
	return "by the " + e.Rate.Source + ": " + e.Rate.Why
}

// betterOf is the advice of the best source that has one. What an operator can do comes before a change of the consumers' code.
func betterOf(all []dedup.Estimate) string {
	var advice string
	for _, e := range all {
		switch {
		case e.Rate.Better == "":
		case e.Rate.Better != rate.BetterReport:
			return e.Rate.Better
		default:
			advice = e.Rate.Better
		}
	}
	return advice
}

// eventEstimate estimates the rate from the events of the pipeline's store.
func (c *Collector) eventEstimate(p *pipeline, v view, w time.Duration) rate.EventsResult {
	refuse := func(why, better string) rate.EventsResult {
		return rate.EventsResult{Rate: rate.Refused(w, rate.EventsSource, rate.EventsFormula, why, better)}
	}
	e := v.stats.Events
	switch {
	case p.store == nil || v.storeDown != "":
		return refuse(v.storeDown, "")
	case !v.scheme.Notifies():
		return refuse("only Redis keys give store events", "")
	case e == nil && v.scheme.Refuses(dedup.MethodStoreEvents) != "": // nobody is told to switch on what would never tell a rate
		return refuse(v.scheme.Refuses(dedup.MethodStoreEvents), "")
	case e == nil:
		return refuse("store events are off", rate.BetterEvents)
	case !e.Listening:
		return refuse(joinReasons("store events do not come", e.Why), rate.BetterEvents)
	case v.brokerDown != "":
		return refuse(v.brokerDown, rate.BetterReport)
	case p.partner != "":
		return refuse(fmt.Sprintf("the store is shared with pipeline %s", name(p.partner)), rate.BetterReport)
	case !p.acks.open:
		return refuse(c.noCounters(p), rate.BetterReport)
	}
	return rate.Events{
		Window: w, Interval: c.cfg.Interval, Frames: p.frames, Scheme: v.scheme, Readings: p.store.told.Epoch(), Broke: p.store.told.Broke,
		Command: e.Command, Sharers: c.sharers(p.store), Slip: max(rate.AskSlip, v.stats.Health.LatencyP99), Disturbed: p.store.disturbed, DisturbedWhy: p.store.disturbedWhy,
		Prefetch: p.prefetchSince(v.now.Add(-2 * w)), Vanishing: p.vanishing(), Limited: p.limitsReturns(), Several: v.several, Meter: p.broker.loss.Lost(), Own: p.own,
		Doubled: p.doubledSince,
	}.Estimate()

}

// sharers names the other stores on the same server whose consumers ask with the same command.
func (c *Collector) sharers(w *storeWatch) []string {
	ask := w.store.Scheme().Ask
	if w.runID == "" || ask == "" {
		return nil
	}
	var out []string
	for _, other := range c.stores {
		if other != w && other.runID == w.runID && other.store.Scheme().Ask == ask {
			out = append(out, other.store.Name())
		}
	}
	return out
}

// residualEstimate estimates the rate from the acks of the broker and the last complete pass over the store.
func (c *Collector) residualEstimate(p *pipeline, v view, w time.Duration) rate.ResidualResult {
	why := joinReasons(v.brokerDown, v.storeDown)
	if why == "" && p.partner != "" {
		why = fmt.Sprintf("the store is shared with pipeline %s", name(p.partner))
	}
	if why == "" && !p.acks.open {
		why = c.noCounters(p)
	}
	if why != "" {
		return rate.ResidualResult{Rate: rate.Refused(w, rate.ResidualSource, rate.ResidualFormula, why, rate.BetterReport)}
	}
	return rate.Residual{
		Window: w, Interval: c.cfg.Interval, Frames: p.frames, Scheme: v.scheme, Pass: v.stats.Pass,
		Earlier: p.store.earlier, ClockError: clockError(v.stats.Health.LatencyP99),
		Disturbed: p.store.disturbed, DisturbedWhy: p.store.disturbedWhy,
		Prefetch: p.prefetchSince(v.now.Add(-2 * w)), Several: v.several, Meter: p.broker.loss.Lost(), Own: p.own, Vanishing: p.vanishing(),
		Doubled: p.doubledSince, Conflated: p.conflated(v),
	}.Estimate()

}

// limitsReturns reports whether a source queue may dead-letter or drop a message for having come back too often: a delivery
// limit, which quorum queues have by default from RabbitMQ 4.0 on.
func (p *pipeline) limitsReturns() bool {
	for _, ref := range p.refs {
		if q := p.broker.queues[ref]; q != nil && q.Type == "quorum" {
			return true
		}
	}
	return false
}

// several says how it is known of the pipeline's consumers; empty where it is not, and where the scheme does not say otherwise.
func (p *pipeline) several(s dedup.Scheme) string {
	if p.store == nil || p.partner != "" || !s.AcksEach {
		return ""
	}
	return rate.Several(p.store.told.Epoch(), p.frames, p.own, s.ProcessingTTL)
}
