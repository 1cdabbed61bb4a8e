package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/queue"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/window"
	"dedup-dashboard/internal/dedup"
)

// count ties what the pipeline's figures are made of to what its store tells.
func (p *pipeline) count(w *storeWatch) {
	p.counted.Store = &w.told
	w.told.Source, _ = w.store.(source.Eventful)
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
func (m *maker) see(p *pipeline, v view) window.View {
	read, _ := p.broker.read.Sample.Get()
	seen := window.View{
		Now: v.now, BrokerDown: v.brokerDown, Uncounted: p.uncounted(), StoreDown: v.storeDown, ReportDown: v.reportDown, Scheme: v.scheme, Stats: v.stats,
		Several: p.counted.Several(v.scheme), Info: read.Info, CountsAcks: p.counts.Acks.Open, CountsDeliveries: p.counts.Deliveries.Open,
		Capacity: p.subscribers().Capacity(p.refs, p.broker.queues), Vanishing: queue.Vanishing(p.refs, p.broker.queues), DeadKnown: p.dead.Found.Complete,
		Reports: window.Reports{Known: p.report != nil, Present: p.reported.present, Dropped: p.reported.dropped, Duplicates: p.reported.duplicates()},
	}
	for _, ref := range p.refs {
		seen.Queues = append(seen.Queues, p.broker.queues[ref])
	}
	if p.counted.Joined {
		why, off := p.live.Told()
		seen.Live.Down, seen.Live.Why, seen.Live.Better = source.WhyDown("the broker's live counts", p.live.Source.Status(v.now)), why, rate.BetterReport
		if off {
			seen.Live.Better = rate.BetterLive
		}
	}
	if p.store != nil {
		seen.Sharers = m.sharers(p.store)
	}
	return seen
}

// uncounted says why the broker counts nothing of the pipeline's consumers; empty where it does.
func (p *pipeline) uncounted() string {
	if p.broker.modern.On(p.refs) {
		return "consumers speak AMQP 1.0, whose messages RabbitMQ does not count by queue"
	}
	return ""
}

// window computes the figures of one pipeline over one span.
func (m *maker) window(p *pipeline, seen window.View, w time.Duration) dedup.WindowFigures {
	if m.past.Failure != "" {
		return figure.UnknownWindow(w, m.past.Failure)
	}
	out := p.counted.Figures(seen, m.gains(p, w))
	if seen.BrokerDown == "" {
		out.DeadLetterInflow = p.dead.Inflow(m.past, p.broker.listed(), w)
		read, _ := p.broker.read.Topology.Get()
		closed := figure.Restarts{Window: w, Closed: m.past.Gain(w, p.broker.closures), Blind: p.broker.closed.State != sample.Counting}
		out.AckTimeouts = p.consumers.Timeouts(&p.broker.timeouts, m.past, seen.Info, p.broker.index, seen.Now, w)
		out.ConsumerRestarts = p.consumers.Restarts(closed, m.past, &read.Topology, read.Err)
	}
	return out
}

// LiveRate is what live counts say of the duplicate rate of one pipeline between two times, for comparing with what was counted exactly. It is
// not ok where they say nothing of at least half of it. It waits for the round under way.
func (c *Collector) LiveRate(name string, from, to time.Time) (dedup.Calibration, bool) {
	c.turn.Lock()
	defer c.turn.Unlock()
	i := slices.IndexFunc(c.pipelines, func(p *pipeline) bool { return p.Name == name })
	if i < 0 || !c.pipelines[i].counted.Joined {
		return dedup.Calibration{}, false
	}
	p, now := c.pipelines[i], time.Now()
	m := c.maker()
	p.counted.Traffic.Joints.Add(p.flow.DrainJoints(), now)
	return p.counted.LiveRate(m.see(p, m.view(p, now)), from, to)
}

// gains are what the counters of a pipeline gained over a window.
func (m *maker) gains(p *pipeline, w time.Duration) *window.Gains {
	gain := func(t *counter.Tally) sample.Increase { return m.past.Gain(w, t) }
	reported := func(t *counter.Tally) sample.Increase { return p.reported.asOf(gain(t)) }
	g := &window.Gains{
		Window: w, Span: m.past.Span(w), Acks: gain(p.counts.Acks), AutoAcks: gain(p.counts.AutoAcks), Deliveries: gain(p.counts.Deliveries),
		Redeliveries: gain(p.counts.Redeliveries), Closures: gain(p.broker.closures), Ack: p.reported.ack.gains(reported), Work: p.reported.work.gains(reported),
		Outcomes: make(map[string]sample.Increase),
	}
	for o, t := range p.reported.outcomes {
		g.Outcomes[o] = reported(t)
	}
	return g
}

// sharers names the other stores on the same server whose consumers ask with the same command.
func (m *maker) sharers(w *storeWatch) []string {
	ask := w.store.Scheme().Ask
	if ask == "" {
		return nil
	}
	var out []string
	for _, other := range m.stores {
		if other != w && other.served.Shares(w.served) && other.store.Scheme().Ask == ask {
			out = append(out, other.store.Name())
		}
	}
	return out
}
