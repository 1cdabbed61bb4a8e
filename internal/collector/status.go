package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/queue"
	"dedup-dashboard/internal/collector/records"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
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
}

// A maker makes the snapshot of a round out of what was observed and stored.
type maker struct {
	windows      []time.Duration
	past         *counter.Past
	turns        *source.Turns
	brokers      []*brokerWatch
	stores       []*storeWatch
	pipelines    []*pipeline
	acknowledged *records.Acknowledged
	marks        *records.Marked
}

// maker is what makes the snapshot of the round under way.
func (c *Collector) maker() *maker {
	return &maker{c.cfg.Windows, &c.past, c.turns, c.brokers, c.stores, c.pipelines, c.acknowledged, c.marks}
}

// snapshot computes everything that is shown, but for the sources.
func (m *maker) snapshot(now time.Time) *dedup.Snapshot {
	s := &dedup.Snapshot{At: now}
	for _, b := range m.brokers {
		s.Brokers = append(s.Brokers, b.status(m.past, now))
	}
	for _, w := range m.stores {
		s.Stores = append(s.Stores, w.status(now))
	}
	for _, p := range m.pipelines {
		s.Pipelines = append(s.Pipelines, m.status(p, now))
	}
	s.SharedQueues = m.sharedQueues(s, now)
	s.SharedKnown = !slices.ContainsFunc(m.brokers, func(b *brokerWatch) bool { return b.index == nil })
	m.judgeMarkers(s)
	worstFirst(s)
	return s
}

func (m *maker) view(p *pipeline, now time.Time) view {
	v := view{now: now, brokerDown: source.WhyDown("broker "+text.Name(p.Broker), p.broker.read.Samples.Status(now))}
	v.storeDown = "the pipeline has no store"
	if p.store != nil {
		v.scheme = p.scheme()
		v.stats, _ = p.store.stats.Get()
		if v.storeDown = source.WhyDown("store "+text.Name(p.Store), p.store.src.Status(now)); v.storeDown == "" {
			v.unfit = finding.Unfit(p.Store, v.stats.Pass)
			v.storeDown = v.unfit
		}
	}
	v.reportDown = "consumers report no counters"
	if p.report != nil {
		v.reportDown = source.WhyDown("what consumers report", p.report.src.Status(now))
	}
	return v
}

// status computes everything that is shown of one pipeline.
func (m *maker) status(p *pipeline, now time.Time) dedup.PipelineStatus {
	v := m.view(p, now)
	st := dedup.PipelineStatus{Pipeline: p.Pipeline, LastActivity: p.lastActivity, OldestWaiting: p.oldestWaiting(v)}
	seen := m.see(p, v)
	for _, w := range m.windows {
		st.Windows = append(st.Windows, p.effects.Figures(m.window(p, seen, w), now))
	}
	p.showQueues(&st, v)
	marked := figure.Markers{Now: now, Scheme: v.scheme, Stats: v.stats, Down: v.storeDown}.Figures()
	st.Markers, st.MarkersNoExpiry, st.OldestProcessing = marked.States, marked.NoExpiry, marked.Oldest
	st.PassAge, st.Coverage = marked.Age, marked.Seen
	st.BrokerDeaths = p.broker.deathFigures(m.past, now)
	st.SharingUnknown = p.broker.index == nil
	st.Baseline = m.acknowledged.Of(p.Name, st.DeadLetters, records.Shared{Known: p.broker.index != nil, Queues: p.dead.Shared(p.broker.shared)})
	st.Findings = append(m.findings(p, v, st.Windows), p.dead.Waiting(&st, p.broker.listed(), now)...)
	hideLostWhereDropped(&st)
	p.effects.Show(&st, now)
	st.Events = p.allEvents(m.marks.Of(p.Name))
	for _, s := range p.sources() {
		h := s.Status(now)
		st.Sources = append(st.Sources, h.Name)
		if !h.OK {
			st.Down = append(st.Down, h)
		}
	}
	return st
}

// watched are the sources whose outages are those of the pipeline. What consumers report is none of them.
func (p *pipeline) watched() []*source.Source {
	out := []*source.Source{p.broker.read.Samples}
	if p.store != nil {
		out = append(out, p.store.src)
	}
	return out
}

func (p *pipeline) sources() []*source.Source {
	out := p.watched()
	if p.report != nil {
		out = append(out, p.report.src)
	}
	return out
}

func (p *pipeline) allEvents(marks *event.Log) []dedup.Event {
	logs := []*event.Log{&p.events, &p.broker.events, marks, p.effects.Events()}
	if p.store != nil {
		logs = append(logs, &p.store.events)
	}
	return event.Merge(logs...)
}

// oldestWaiting is the age of the oldest message in the source queues.
func (p *pipeline) oldestWaiting(v view) dedup.Figure {
	if v.brokerDown != "" {
		return dedup.Unknown(dedup.Seconds, v.brokerDown)
	}
	sample, _ := p.broker.read.Sample.Get()
	var queues []*dedup.Queue
	for _, ref := range p.refs {
		queues = append(queues, p.broker.queues[ref])
	}
	return figure.OldestWaiting(queues, sample.At)
}

// showQueues fills in the depths of source and dead-letter queues.
func (p *pipeline) showQueues(st *dedup.PipelineStatus, v view) {
	st.DeadLetterRoutes, st.RoutesLeftOut = topology.Routes(p.Pipeline, p.dead.Found)
	p.dead.Show(st, p.broker.listed(), v.brokerDown)
	if v.brokerDown != "" {
		st.Gauges = queue.UnknownGauges(v.brokerDown)
		return
	}
	st.Gauges = p.gauges()
}

// hideLostWhereDropped makes the lost messages unknown where none was seen and dead letters are dropped, which nothing counts per queue.
func hideLostWhereDropped(st *dedup.PipelineStatus) {
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
