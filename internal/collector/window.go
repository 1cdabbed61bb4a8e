package collector

import (
	"slices"
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
	read, _ := p.broker.read.Sample.Get()
	seen := window.View{
		Now: v.now, BrokerDown: v.brokerDown, StoreDown: v.storeDown, ReportDown: v.reportDown, Scheme: v.scheme, Stats: v.stats,
		Several: p.counted.Several(v.scheme), Info: read.Info, CountsAcks: p.acks.Open, CountsDeliveries: p.deliveries.Open,
		Capacity: p.subscribers().Capacity(p.refs, p.broker.queues), Vanishing: p.vanishing(), DeadKnown: p.dead.Found.Complete,
		Reports: window.Reports{Known: p.report != nil, Present: p.reported.present, Dropped: p.reported.dropped, Duplicates: p.reported.duplicates()},
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
		read, _ := p.broker.read.Topology.Get()
		closed := figure.Restarts{Window: w, Closed: c.past.Gain(w, p.broker.closures), Blind: p.broker.closed.State != sample.Counting}
		out.AckTimeouts = p.consumers.Timeouts(&p.broker.timeouts, &c.past, seen.Info, p.broker.index, seen.Now, w)
		out.ConsumerRestarts = p.consumers.Restarts(closed, &c.past, &read.Topology, read.Err)
	}
	return out
}

// LiveRate is what live counts say of the duplicate rate of one pipeline between two times, for comparing with what was counted exactly. It is
// not ok where they say nothing of at least half of it. It waits for the round under way.
func (c *Collector) LiveRate(name string, from, to time.Time) (dedup.Calibration, bool) {
	c.turn.Lock()
	defer c.turn.Unlock()
	i := slices.IndexFunc(c.pipelines, func(p *pipeline) bool { return p.Name == name })
	if i < 0 || c.pipelines[i].joint == nil {
		return dedup.Calibration{}, false
	}
	p := c.pipelines[i]
	now := time.Now()
	p.counted.Traffic.Joints.Add(p.joint.drain(), now)
	return p.counted.LiveRate(c.see(p, c.view(p, now)), from, to)
}

// gains are what the counters of a pipeline gained over a window.
func (c *Collector) gains(p *pipeline, w time.Duration) *window.Gains {
	gain := func(t *counter.Tally) sample.Increase { return c.past.Gain(w, t) }
	g := &window.Gains{
		Window: w, Span: c.past.Span(w), Acks: gain(p.acks), AutoAcks: gain(p.autoAcks), Deliveries: gain(p.deliveries),
		Redeliveries: gain(p.redeliveries), Closures: gain(p.broker.closures), Ack: p.reported.ack.gains(gain), Work: p.reported.work.gains(gain),
		Outcomes: make(map[string]sample.Increase),
	}
	for o, t := range p.reported.outcomes {
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
