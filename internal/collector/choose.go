package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

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
		Prefetch: p.prefetches.Since(v.now.Add(-2 * w)), Vanishing: p.vanishing(), Limited: p.limitsReturns(), Several: v.several, Meter: p.broker.loss.Lost(), Own: p.own,
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
		Prefetch: p.prefetches.Since(v.now.Add(-2 * w)), Several: v.several, Meter: p.broker.loss.Lost(), Own: p.own, Vanishing: p.vanishing(),
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
