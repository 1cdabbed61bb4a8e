package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// A view is what one pipeline's sources allow to be shown in a round. The fields named down hold the reason why a
// source cannot be shown; empty when it can.
type view struct {
	now                               time.Time
	brokerDown, storeDown, reportDown string
	// unfit is why a store that answers cannot be shown all the same: no id could be taken out of its keys.
	unfit  string
	scheme dedup.Scheme
	stats  dedup.StoreStats
	// several is that of the pipeline.
	several string
}

func (c *Collector) view(p *pipeline, now time.Time) view {
	v := view{now: now, brokerDown: down("broker "+name(p.Broker), p.broker.samples.status(now))}
	v.storeDown = "the pipeline has no store"
	if p.store != nil {
		v.scheme = p.store.store.Scheme()
		v.stats, _ = p.store.stats.get()
		if v.storeDown = down("store "+name(p.Store), p.store.src.status(now)); v.storeDown == "" {
			v.unfit = finding.Unfit(p.Store, v.stats.Pass)
			v.storeDown = v.unfit
		}
	}
	v.reportDown = "consumers report no counters"
	if p.report != nil {
		v.reportDown = down("what consumers report", p.report.src.status(now))
	}
	v.several = p.several(v.scheme)
	return v
}

// status computes everything that is shown of one pipeline.
func (c *Collector) status(p *pipeline, now time.Time) dedup.PipelineStatus {
	v := c.view(p, now)
	st := dedup.PipelineStatus{Pipeline: p.Pipeline, LastActivity: p.lastActivity, OldestWaiting: p.oldestWaiting(v)}
	for _, w := range c.cfg.Windows {
		st.Windows = append(st.Windows, p.withEffects(c.window(p, v, w), now))
	}
	p.showQueues(&st, v)
	m := figure.Markers{Now: now, Scheme: v.scheme, Stats: v.stats, Down: v.storeDown}.Figures()
	st.Markers, st.MarkersNoExpiry, st.OldestProcessing = m.States, m.NoExpiry, m.Oldest
	st.PassAge, st.Coverage = m.Age, m.Seen
	st.BrokerDeaths = p.broker.deathFigures(&c.past, now)
	st.SharingUnknown = !p.sharingKnown()
	st.Baseline = c.acknowledged.of(p, st.DeadLetters)
	st.Findings = append(c.findings(p, v, st.Windows), p.deadLettersWait(&st, now)...)
	missingWay(&st)
	p.showEffects(&st, now)
	st.Events = p.allEvents(c.marks.of(p.Name))
	for _, s := range p.sources() {
		h := s.status(now)
		st.Sources = append(st.Sources, h.Name)
		if !h.OK {
			st.Down = append(st.Down, h)
		}
	}
	return st
}

func (p *pipeline) sources() []*source {
	out := []*source{p.broker.samples}
	if p.store != nil {
		out = append(out, p.store.src)
	}
	if p.report != nil {
		out = append(out, p.report.src)
	}
	return out
}

func (p *pipeline) allEvents(marks *eventLog) []dedup.Event {
	logs := []*eventLog{&p.events, &p.broker.events, marks}
	if p.store != nil {
		logs = append(logs, &p.store.events)
	}
	if p.effects != nil {
		logs = append(logs, p.effects.told())
	}
	return mergeEvents(logs...)
}

// showQueues fills in the depths of source and dead-letter queues.
func (p *pipeline) showQueues(st *dedup.PipelineStatus, v view) {
	st.Gauges = p.gauges(v.brokerDown)
	st.DeadLetterRoutes, st.RoutesLeftOut = topology.Routes(p.Pipeline, p.found)
	if v.brokerDown != "" {
		unknown := dedup.Unknown(dedup.Count, v.brokerDown)
		st.DeadLetters = unknown
		for _, t := range p.targets {
			st.DeadLetterQueues = append(st.DeadLetterQueues,
				dedup.DeadLetterQueue{QueueRef: t.QueueRef, Found: t.Found, Depth: unknown, Consumers: unknown, Shared: p.sharedWith(t.QueueRef)})
		}
		return
	}
	sample, _ := p.broker.sample.get()
	for _, t := range p.targets {
		st.DeadLetterQueues = append(st.DeadLetterQueues, p.deadLetterQueue(t, sample.At))
	}
	st.DeadLetters = p.deadLetterDepth(st.DeadLetterQueues, sample.At)
}

// deadLetterDepth is the depth over the dead-letter queues. Of the messages in a shared one none may be the pipeline's, or all.
func (p *pipeline) deadLetterDepth(queues []dedup.DeadLetterQueue, at time.Time) dedup.Figure {
	if len(queues) == 0 {
		return dedup.Unknown(dedup.Count, p.noDeadLetterQueue())
	}
	var own, shared float64
	for _, q := range queues {
		switch {
		case !q.Depth.Known():
			return dedup.Unknown(dedup.Count, q.Depth.Why)
		case q.Shared.Any():
			shared += q.Depth.Value
		default:
			own += q.Depth.Value
		}
	}
	f := dedup.Exact(dedup.Measured, dedup.Count, own, at, "depth of the dead-letter queues")
	if shared > 0 {
		f.Quality, f.High, f.Why = dedup.Derived, own+shared, p.sharedWords()
	}
	return f
}

func (p *pipeline) noDeadLetterQueue() string {
	t, _ := p.broker.topology.get()
	switch {
	case t.err != "" && p.broker.index == nil:
		return "dead-letter queues cannot be found: " + t.err
	case p.broker.index == nil:
		return "dead-letter queues are being looked for"
	}
	return "no dead-letter queue is listed, and none was found"
}

func (p *pipeline) deadLetterQueue(t topology.Target, at time.Time) dedup.DeadLetterQueue {
	out := dedup.DeadLetterQueue{QueueRef: t.QueueRef, Found: t.Found, Shared: p.sharedWith(t.QueueRef)}
	q := p.broker.queues[t.QueueRef]
	if q == nil {
		out.Depth = dedup.Unknown(dedup.Count, finding.QueueNotFound(t.Name, p.Broker))
		out.Consumers = out.Depth
		return out
	}
	out.Type = q.Type
	exact := func(n *int64) dedup.Figure {
		if n == nil {
			return dedup.Unknown(dedup.Count, "the broker does not say for queue "+name(t.Name))
		}
		return dedup.Exact(dedup.Measured, dedup.Count, float64(*n), at, "queue depths of the broker")
	}
	out.Depth, out.Consumers = exact(q.Messages), exact(q.Consumers)
	return out
}

// missingWay makes the lost messages unknown where none was seen and dead letters are dropped, which nothing counts per queue.
func missingWay(st *dedup.PipelineStatus) {
	if !slices.ContainsFunc(st.Findings, func(f dedup.Finding) bool { return f.Drops }) {
		return
	}
	for k := range st.Windows {
		if f := &st.Windows[k].Lost; f.Known() && f.AtLeast && f.Low == 0 {
			*f = dedup.Unknown(dedup.Count, "a finding says that dead letters of the pipeline are dropped, and nothing counts them by queue")
			f.Window = st.Windows[k].Window
		}
	}
}
