package collector

import (
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/window"
	"dedup-dashboard/internal/dedup"
)

// count ties what the pipeline's figures are made of to what its store tells.
func (p *pipeline) count(w *storeWatch) {
	p.counted.Store = &w.told
	w.told.Source, _ = w.store.(eventful)
	w.told.Users = append(w.told.Users, &p.counted)
}

// scheme is that of the pipeline's markers; the zero one where it has no store.
func (p *pipeline) scheme() dedup.Scheme {
	if p.store == nil {
		return dedup.Scheme{}
	}
	return p.store.store.Scheme()
}

// see is what the windows of a pipeline are seen by in a round.
func (c *Collector) see(p *pipeline, v view) window.View {
	read, _ := p.broker.sample.Get()
	seen := window.View{
		Now: v.now, BrokerDown: v.brokerDown, StoreDown: v.storeDown, ReportDown: v.reportDown, Scheme: v.scheme, Stats: v.stats,
		Several: p.counted.Several(v.scheme), Info: read.Info, CountsAcks: p.acks.Open, CountsDeliveries: p.deliveries.Open,
		Capacity: p.subscribers().Capacity(p.refs, p.broker.queues), Vanishing: p.vanishing(), DeadKnown: p.dead.Found.Complete,
		Reports: window.Reports{Known: p.report != nil, Present: p.present, Dropped: p.reportDroppedAt, Duplicates: p.reportedDuplicates()},
	}
	for _, ref := range p.refs {
		seen.Queues = append(seen.Queues, p.broker.queues[ref])
	}
	if p.joint != nil {
		seen.Live.Down = source.WhyDown("the broker's live counts", p.live.src.Status(v.now))
		seen.Live.Why, seen.Live.Better = p.live.told()
	}
	if p.store != nil {
		seen.Sharers = c.sharers(p.store)
	}
	return seen
}

// window computes the figures of one pipeline over one span.
func (c *Collector) window(p *pipeline, seen window.View, w time.Duration) dedup.WindowFigures {
	if c.past.Failure != "" {
		return figure.UnknownWindow(w, c.past.Failure)
	}
	out := p.counted.Figures(seen, c.gains(p, w))
	if seen.BrokerDown == "" {
		out.DeadLetterInflow = c.deadLetterInflow(p, w)
		read, _ := p.broker.topology.Get()
		closed := figure.Restarts{Window: w, Closed: c.past.Gain(w, p.broker.closures), Blind: p.broker.closed.State != sample.Counting}
		out.AckTimeouts = p.consumers.Timeouts(&p.broker.timeouts, &c.past, seen.Info, p.broker.index, seen.Now, w)
		out.ConsumerRestarts = p.consumers.Restarts(closed, &c.past, &read.topology, read.err)
	}
	return out
}

// gains are what the counters of a pipeline gained over a window.
func (c *Collector) gains(p *pipeline, w time.Duration) *window.Gains {
	gain := func(t *counter.Tally) sample.Increase { return c.past.Gain(w, t) }
	histogram := func(h *histogram) window.Histogram {
		out := window.Histogram{Known: h.sum.Open, Sum: gain(h.sum)}
		for _, t := range h.counts {
			out.Buckets = append(out.Buckets, gain(t))
		}
		return out
	}
	g := &window.Gains{
		Window: w, Span: c.past.Span(w), Acks: gain(p.acks), AutoAcks: gain(p.autoAcks), Deliveries: gain(p.deliveries),
		Redeliveries: gain(p.redeliveries), Closures: gain(p.broker.closures), Ack: histogram(&p.ack), Work: histogram(&p.work),
		Outcomes: make(map[string]sample.Increase),
	}
	for o, t := range p.outcomes {
		g.Outcomes[o] = gain(t)
	}
	return g
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

// reportedDuplicates is how many duplicates consumers have reported since the dashboard started.
func (p *pipeline) reportedDuplicates() float64 {
	if t := p.outcomes["duplicate_done"]; t != nil {
		return t.Total
	}
	return 0
}
