package collector

import (
	"time"

	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// window computes the figures of one pipeline over one span: of each the best valid source.
func (c *Collector) window(p *pipeline, v view, w time.Duration) dedup.WindowFigures {
	if c.past.Failure != "" {
		return figure.UnknownWindow(w, c.past.Failure)
	}
	rep := c.reportedFigures(p, v, w)
	out := figure.UnknownWindow(w, "no source of this pipeline tells")
	out.Messages, out.Duplicates = rep.Messages, rep.Duplicates
	out.InFlightHits, out.Failures, out.FailureRate = rep.InFlight, rep.Failures, rep.FailureRate
	out.GaveUp = figure.Markers{Now: v.now, Scheme: v.scheme, Stats: v.stats, Down: v.storeDown, Since: c.vouchedSince(p, v.now, w)}.GaveUp(w)
	out.MeanRetries = figure.Markers{Now: v.now, Scheme: v.scheme, Stats: v.stats, Down: v.storeDown}.MeanRetries(w)
	c.latencies(&out, p, v)
	gap := c.idGapFigures(p, v, w)
	hits := c.hitsEstimate(p, v, w)
	live := c.liveEstimate(p, v, w)
	exports := c.exportEstimate(p, v, w, live)
	events := c.eventEstimate(p, v, w)
	res := c.residualEstimate(p, v, w)
	out.Estimates = []dedup.Estimate{
		{Method: dedup.MethodReported, Rate: rep.Rate},
		{Method: dedup.MethodExports, Rate: exports},
		{Method: dedup.MethodIDGap, Rate: gap.Rate},
		{Method: dedup.MethodStoreHits, Rate: hits.Rate},
		{Method: dedup.MethodLive, Rate: live.Rate},
		{Method: dedup.MethodStoreEvents, Rate: events.Rate},
		{Method: dedup.MethodResidual, Rate: res.Rate},
	}
	figure.WholeCounts(out.Estimates)
	figure.Choose(&out)
	c.explain(&out, p, v, figure.Explanation{Gap: gap, Hits: hits, Live: live, Events: events, Residual: res, Reported: rep})
	// Only here: until they are chosen from, advice tells a source that could be had from one that could not.
	figure.Advise(&out, p.reportAdvice(v, rep))
	if v.brokerDown != "" {
		figure.WithoutBroker(&out, v.brokerDown)
		return out
	}
	if !out.Messages.Known() {
		out.Messages = figure.Messages(live, c.ackedMessages(p, w), gap.Messages)
	}
	out.Duplicates = figure.OfPart(out.Duplicates, out.Messages)
	out.Redeliveries = c.redeliveryRatio(p, w)
	out.DeadLetterInflow = c.deadLetterInflow(p, w)
	out.AckTimeouts, out.ConsumerRestarts = c.ackTimeouts(p, v, w), c.consumerRestarts(p, w)
	p.leftBehind(&out, v)
	return out
}

// vouchedSince is the time since which the marker figures of a window can be vouched for: as long as the history or
// this run has followed the store, and no longer than since it last lost markers.
func (c *Collector) vouchedSince(p *pipeline, now time.Time, w time.Duration) time.Time {
	if p.store == nil {
		return now
	}
	since := p.store.first
	if since.IsZero() {
		since = now
	}
	if kept := now.Add(-c.past.Span(w)); kept.Before(since) {
		since = kept
	}
	if p.store.disturbed.After(since) {
		since = p.store.disturbed
	}
	return since
}

func (c *Collector) reportedFigures(p *pipeline, v view, w time.Duration) rate.ReportedResult {
	if v.reportDown != "" {
		return rate.Unreported(w, v.reportDown)
	}
	if p.exports.latest != nil {
		none := rate.Unreported(w, "consumers report no outcomes: a recipe reads what their framework counts")
		none.Rate.Better = "" // it is none of the sources that could be had
		return none
	}
	s := rate.Reported{
		Window: w, Scheme: v.scheme, Outcomes: make(map[string]sample.Increase), Present: p.present,
		Acked: c.past.Gain(w, p.ack.counts[len(p.ack.counts)-1]), BrokerAcks: c.past.Gain(w, p.acks),
		Dropped: !p.reportDroppedAt.IsZero() && v.now.Sub(p.reportDroppedAt) < w,
	}
	for o, t := range p.outcomes {
		s.Outcomes[o] = c.past.Gain(w, t)
	}
	return s.Estimate()
}

// clockError bounds the error of a clock offset that was taken as the middle of one round trip.
func clockError(roundTrip time.Duration) time.Duration {
	const least = 20 * time.Millisecond
	return max(least, roundTrip)
}

// noCounters says why the broker gives no counters for the pipeline's queues.
func (c *Collector) noCounters(p *pipeline) string {
	sample, _ := p.broker.sample.Get()
	switch {
	case sample.Info.StatsDisabled:
		return "the broker gives no counters: its statistics are disabled"
	case sample.Info.RatesMode == "none":
		return "the broker gives no counters: its rates_mode is none"
	}
	for _, ref := range p.refs {
		if p.broker.queues[ref] == nil {
			return finding.QueueNotFound(ref.Name, p.Broker)
		}
	}
	return "the broker gives no counters for the queues yet"
}

// ackedMessages counts messages by the broker's acks.
func (c *Collector) ackedMessages(p *pipeline, w time.Duration) dedup.Figure {
	acks, auto := c.past.Gain(w, p.acks), c.past.Gain(w, p.autoAcks)
	f := dedup.Unknown(dedup.Count, "")
	f.Window, f.Source, f.Formula = w, "acks of the broker", "acks of the source queues"
	switch {
	case !p.acks.Open:
		f.Why = c.noCounters(p)
	case !acks.Known:
		f.Why = "the history holds nothing of this window yet"
	case auto.Delta > 0:
		f.Why = "messages are delivered with automatic acks, which the broker does not count as acks"
	default:
		f.Quality, f.Value, f.Low, f.High, f.N = dedup.Derived, acks.Delta, acks.Delta, acks.Delta, acks.Delta
		f.Covered, f.At = acks.Covered, acks.At
		if c.past.Gain(w, p.broker.closures).Delta > 0 {
			exact := false
			f.Why, exact = p.broker.loss.Words(acks.At.Add(-acks.Covered), acks.At.Add(-2*c.cfg.Interval))
			if f.AtLeast = !exact; !p.broker.loss.Asked {
				f.Better = sample.BetterMeter
			}
		}
	}
	return f
}

// redeliveryRatio is a signal of loops; it is never a duplicate rate.
func (c *Collector) redeliveryRatio(p *pipeline, w time.Duration) dedup.Figure {
	again, manual, auto := c.past.Gain(w, p.redeliveries), c.past.Gain(w, p.deliveries), c.past.Gain(w, p.autoAcks)
	f := dedup.Unknown(dedup.Ratio, "no deliveries in the window")
	f.Window, f.Source, f.Formula = w, "broker counters", "redeliveries / deliveries"
	if !again.Known || !manual.Known {
		f.Why = "the history holds nothing of this window yet"
		if !p.deliveries.Open {
			f.Why = c.noCounters(p)
		}
		return f
	}
	if n := manual.Delta + auto.Delta; n > 0 {
		v := again.Delta / n
		f.Quality, f.Value, f.Low, f.High, f.N, f.Hits = dedup.Estimated, v, v, v, n, again.Delta
		f.Covered, f.At, f.Why = again.Covered, again.At, "loop signal, not a duplicate rate"
	}
	return f
}

// deadLetterInflow is the rate at which dead letters arrived. Of what arrived in a shared queue none may be the pipeline's, or all.
func (c *Collector) deadLetterInflow(p *pipeline, w time.Duration) dedup.Figure {
	f := figure.ArrivalRate(c.past.Gain(w, p.arrived), w)
	if len(p.dead.Targets) == 0 {
		f.Quality, f.Why = dedup.QualityUnknown, deadletter.None(p.broker.listed())
		return f
	}
	shared, known := p.sharedArrivals(&c.past, w)
	switch {
	case !f.Known():
	case !known:
		f.AtLeast, f.Why = true, p.dead.SharedWords(p.broker.shared)
	case shared > 0:
		f.High, f.Why = f.Low+shared/f.Covered.Hours(), p.dead.SharedWords(p.broker.shared)
	}
	return f
}

// latencies fills in the ack latency and the processing time: the reported histogram, else what the samples of unacked messages tell.
func (c *Collector) latencies(out *dedup.WindowFigures, p *pipeline, v view) {
	ack, work := figure.UnknownLatency(out.Window, v.reportDown), figure.UnknownLatency(out.Window, v.reportDown)
	if v.reportDown == "" {
		ack, work = c.reportedLatency(&p.ack, out.Window), c.reportedLatency(&p.work, out.Window)
	}
	if p.exports.latest != nil {
		ack = c.exportLatency(p, v, out.Window, func(r *exportReading) *dedup.Distribution { return r.Ack })
		work = c.exportLatency(p, v, out.Window, func(r *exportReading) *dedup.Distribution { return r.Work })
	}
	if !ack.Mean.Known() && v.brokerDown == "" {
		ack = figure.Latencies(p.estimatedLatency(v, out.Window))
	}
	if !work.Mean.Known() {
		work = c.eventWork(p, v, out.Window, work)
	}
	out.AckMean, out.AckP50, out.AckP95, out.AckP99 = ack.Mean, ack.P50, ack.P95, ack.P99
	out.WorkMean, out.WorkP50, out.WorkP95, out.WorkP99 = work.Mean, work.P50, work.P95, work.P99
}

func (c *Collector) reportedLatency(h *histogram, w time.Duration) figure.Latencies {
	s := figure.Latency{Window: w, Bounds: dedup.LatencyBounds(), Source: figure.HistogramSource}
	if !h.sum.Open {
		return figure.UnknownLatency(w, "consumers report no latencies")
	}
	for _, t := range h.counts {
		g := c.past.Gain(w, t)
		s.Buckets = append(s.Buckets, g.Delta)
		s.Covered, s.At = g.Covered, g.At
	}
	s.Sum, s.N = c.past.Gain(w, h.sum).Delta, s.Buckets[len(s.Buckets)-1]
	return s.Figures()
}

// explain fills in where the duplicates come from, and what is counted apart from them.
func (c *Collector) explain(out *dedup.WindowFigures, p *pipeline, v view, x figure.Explanation) {
	x.Now, x.Scheme, x.Stats, x.BrokerDown, x.StoreDown, x.Partner = v.now, v.scheme, v.stats, v.brokerDown, v.storeDown, p.partner
	if e := v.stats.Events; p.store != nil && p.partner == "" && v.storeDown == "" && e != nil && e.Listening {
		x.Span, x.SpanKnown = sample.SpanOf(p.store.told.Epoch(), out.Window)
	}
	x.Frames, x.ReportedDuplicates, x.Slip = p.frames, p.reportedDuplicates(), c.cfg.Interval
	x.Own, x.Meter = p.own, p.broker.loss.Lost().Acks
	x.Vouched = c.vouchedSince(p, v.now, out.Window)
	x.Fill(out)
}

// reportedDuplicates is how many duplicates consumers have reported since the dashboard started.
func (p *pipeline) reportedDuplicates() float64 {
	if t := p.outcomes["duplicate_done"]; t != nil {
		return t.Total
	}
	return 0
}
