package collector

import (
	"cmp"
	"slices"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/progress"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// findings are the hazards seen in a pipeline's queues, store and scheme. What cannot be read gives none: its pipeline is
// unknown then, and a finding that nobody can see any more would be a guess.
func (m *maker) findings(p *pipeline, v view, windows []dedup.WindowFigures) []dedup.Finding {
	out := m.recoveries(p, v)
	if v.brokerDown == "" {
		out = append(out, m.queueFindings(p, v)...)
	}
	if v.reportDown == "" {
		out = append(out, finding.ReportUnreadable(p.Name, p.reported.bad)...)
	}
	if v.unfit != "" {
		out = append(out, finding.IDMisfits(p.Store, v.stats.Pass)...)
	}
	if p.store != nil && v.storeDown == "" {
		out = append(out, p.storeFindings(v, windows)...)
	}
	return out
}

// queueFindings are the hazards that the broker shows.
func (m *maker) queueFindings(p *pipeline, v view) []dedup.Finding {
	sample, _ := p.broker.read.Sample.Get()
	out := finding.MissingQueues(p.refs, p.broker.queues, p.Broker)
	if len(out) > 0 || len(p.dead.Targets) == 0 {
		out = append(out, finding.HiddenQueues(p.Broker, &sample.BrokerSample)...)
	}
	out = append(out, finding.AutoAckConsumers(p.subscribers())...)
	listed := p.broker.listed()
	out = append(out, p.dead.Findings(listed, sample.Info.Version)...)
	out = append(out, topology.LimitDiscards(p.refs, p.broker.queues, sample.Info.Version, v.scheme.OnInFlight == "nack")...)
	elsewhere := func() int { return p.dead.DiscardingElsewhere(listed) }
	out = append(out, finding.DiscardedDeadLetters(p.Broker, p.broker.deathFigures(m.past, v.now), p.dead.Discarding(listed), elsewhere)...)
	stuck := m.messages(p, v)
	if deserted := p.consumers.Findings(); len(deserted) > 0 {
		out = append(out, deserted...) // of whose backlog nothing more need be said
	} else {
		out = append(out, stuck.Growing()...)
	}
	return append(out, stuck.Blocked()...)
}

// messages are those of the source queues, and the markers and the outage that may hold them back.
func (m *maker) messages(p *pipeline, v view) progress.Messages {
	now := p.gauges()
	out := progress.Messages{Queues: p.refs, Frames: p.counted.Traffic.Frames, Ready: now[dedup.Ready], Unacked: now[dedup.Unacked], Capacity: p.subscribers().Capacity(p.refs, p.broker.queues),
		MaxProcessing: p.MaxProcessing, Held: p.heldMarkers(v), From: m.turns.Since(sample.CounterLag, p.watched()...)}
	if p.store != nil {
		out.Down = m.turns.Open(p.store.src)
	}
	if v.stats.Pass != nil {
		out.Offset = v.stats.Pass.ClockOffset
	}
	return out
}

// storeFindings are the hazards that the markers of the store, its server and its scheme show, and how they are used.
func (p *pipeline) storeFindings(v view, windows []dedup.WindowFigures) []dedup.Finding {
	out := finding.OfMarkers(finding.Markers{
		Store: p.Store, Scheme: v.scheme, Stats: v.stats, Growth: p.store.told.Growth, EvictedAt: p.store.evictedAt, Now: v.now,
		MaxProcessing: p.MaxProcessing, IDFrom: p.IDFrom, Listed: p.DeadLetterQueues,
	})
	use := finding.SchemeUse{Store: p.Store, Partner: p.counted.Partner, Scheme: v.scheme, MaxProcessing: p.MaxProcessing, Anew: p.store.told.Events.Anew()}
	if e := v.stats.Events; e != nil {
		use.Prolonged = e.Prolonged > 0 && e.Expired == 0
	}
	if w := judgedWindow(p.Limits.Window, windows); w != nil {
		use.Work = w.WorkP99
	}
	if v.brokerDown == "" {
		use.Oldest = p.dead.Oldest(p.broker.listed(), v.now)
		out = append(out, topology.FanOut(p.Store, p.broker.index, p.refs, p.sharing())...)
	}
	return append(out, finding.OfScheme(use)...)
}

// sharing are the source queues of this broker whose markers are in the pipeline's store.
func (p *pipeline) sharing() []dedup.QueueRef {
	for _, s := range p.store.queues {
		if s.broker == p.broker {
			return s.told.Sources()
		}
	}
	return nil
}

// heldMarkers are the processing markers that messages of the pipeline can be held by: without expiry, or older than
// processing takes. There are none to tell of while the store cannot be read or other pipelines keep theirs in it, nor
// among business rows, which wait for their next step.
func (p *pipeline) heldMarkers(v view) []dedup.Marker {
	pass := v.stats.Pass
	if p.store == nil || v.storeDown != "" || pass == nil || p.counted.Partner != "" || v.scheme.StuckAfter > 0 {
		return nil
	}
	var held []dedup.Marker
	for _, m := range pass.OldestProcessing {
		forever := finding.NeverExpires(m, pass, v.scheme)
		overdue := p.MaxProcessing > 0 && !m.Since.IsZero() && v.now.Add(pass.ClockOffset).Sub(m.Since) > p.MaxProcessing
		if forever || overdue {
			held = append(held, m)
		}
	}
	return held
}

// worstFirst puts the findings of each pipeline in the order of their tiers, and those of one tier in that of their harm.
func worstFirst(s *dedup.Snapshot) {
	for i := range s.Pipelines {
		slices.SortStableFunc(s.Pipelines[i].Findings, func(a, b dedup.Finding) int {
			return cmp.Or(cmp.Compare(b.Tier, a.Tier), cmp.Compare(a.Harm(), b.Harm()))
		})
	}
}

// keepFindings adds the findings, counted by kind and tier.
func keepFindings(into counter.Batch, s *dedup.PipelineStatus) {
	type class struct {
		kind string
		tier dedup.Tier
	}
	counts := make(map[class]float64)
	for _, f := range s.Findings {
		counts[class{f.Kind, f.Tier}]++
	}
	for c, n := range counts {
		into.Add(series.Findings, n, "pipeline", s.Pipeline.Name, "kind", c.kind, "tier", c.tier.String())
	}
}

// recoveries are the findings about the outages that have just ended.
func (m *maker) recoveries(p *pipeline, v view) []dedup.Finding {
	ready := dedup.Unknown(dedup.Count, v.brokerDown)
	if v.brokerDown == "" {
		ready = p.gauges()[dedup.Ready]
	}
	var out []dedup.Finding
	for _, o := range m.turns.Ended(p.watched()...) {
		out = append(out, finding.Recovering(o.Source, o.Lasted(v.now), o.Until, ready, v.now)...)
	}
	return out
}
