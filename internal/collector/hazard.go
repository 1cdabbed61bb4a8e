package collector

import (
	"cmp"
	"slices"
	"time"

	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// findings are the hazards seen in a pipeline's queues, store and scheme. What cannot be read gives none: its pipeline is
// unknown then, and a finding that nobody can see any more would be a guess.
func (c *Collector) findings(p *pipeline, v view, windows []dedup.WindowFigures) []dedup.Finding {
	out := c.recoveries(p, v)
	if v.brokerDown == "" {
		out = append(out, c.queueFindings(p, v)...)
	}
	if v.reportDown == "" {
		out = append(out, reportUnreadable(p.Name, p.badFields)...)
	}
	if v.unfit != "" {
		out = append(out, idMisfits(p.Store, v.stats.Pass)...)
	}
	if p.store != nil && v.storeDown == "" {
		out = append(out, p.markerFindings(v)...)
		out = append(out, p.schemeFindings(v, windows)...)
	}
	return out
}

// queueFindings are the hazards that the broker shows.
func (c *Collector) queueFindings(p *pipeline, v view) []dedup.Finding {
	sample, _ := p.broker.sample.get()
	out := missingQueues(p.refs, p.broker.queues, p.Broker)
	if len(out) > 0 || len(p.targets) == 0 {
		out = append(out, hiddenQueues(p.Broker, &sample.BrokerSample)...)
	}
	out = append(out, autoAckConsumers(p.sourceConsumers())...)
	out = append(out, p.found.Findings...)
	out = append(out, topology.NoExchange(p.refs, p.broker.queues, len(p.DeadLetterQueues) > 0)...)
	for _, t := range p.targets {
		if q := p.broker.queues[t.QueueRef]; q != nil {
			out = append(out, deadLetterConsumers(t.Name, q.Consumers)...)
			out = append(out, topology.Drops(q)...)
			out = append(out, topology.Limits(q, sample.Info.Version)...)
		}
	}
	out = append(out, discardedDeadLetters(p.Broker, p.broker.deathFigures(&c.past, v.now), p.discarding(), p.discardingElsewhere)...)
	out = append(out, p.backlogFindings()...)
	return append(out, c.blockFindings(p, v)...)
}

// blockFindings are the messages that do not get on, by what happened since the last outage.
func (c *Collector) blockFindings(p *pipeline, v view) []dedup.Finding {
	held, from, down := holders{markers: p.heldMarkers(v)}, c.evidenceFrom(p), c.storeOutage(p)
	if v.stats.Pass != nil {
		held.offset = v.stats.Pass.ClockOffset
	}
	loop := p.goingRound(held, from)
	if down != nil {
		loop.Outage = down.words()
	}
	return append(loopingMessages(loop), p.standstill(held, from, down)...)
}

// markerFindings are the hazards that the markers of the store and its server show.
func (p *pipeline) markerFindings(v view) []dedup.Finding {
	pass, facts := v.stats.Pass, v.stats.Facts
	out := messagesGivenUp(pass, p.store.growth, v.now, p.DeadLetterQueues...)
	out = append(out, failedAndAcked(pass, v.scheme, p.store.growth, v.now)...)
	out = append(out, undecodable(p.Store, pass)...)
	out = append(out, markersWithoutExpiry(pass, v.scheme)...)
	out = append(out, lockWaits(p.Store, v.stats.Waits, p.MaxProcessing)...)
	evicted := evictions(p.Store, p.store.evictedAt, v.now, v.scheme.DoneTTL)
	if len(evicted) == 0 {
		evicted = evictionPossible(p.Store, v.stats.Health, v.scheme)
	}
	out = append(out, evicted...)
	out = append(out, storeBusy(p.Store, v.stats)...)
	out = append(out, purgeNotRunning(p.Store, pass, p.store.growth)...)
	out = append(out, passLate(p.Store, v.stats, v.now)...)
	out = append(out, nullIDs(p.Store, facts)...)
	out = append(out, hashIDs(pass, p.IDFrom)...)
	out = append(out, repeatedKeys(pass)...)
	out = append(out, touchedAfterDone(p.Store, pass)...)
	out = append(out, idsTakenForOne(pass, facts)...)
	return append(out, idsTooLong(pass, facts, p.IDFrom)...)
}

// schemeFindings are the hazards of the scheme and of how it is used.
func (p *pipeline) schemeFindings(v view, windows []dedup.WindowFigures) []dedup.Finding {
	var work dedup.Figure
	if w := judgedWindow(p.Limits.Window, windows); w != nil {
		work = w.WorkP99
	}
	out := ttlTooShort(v.scheme, p.MaxProcessing, work)
	if v.brokerDown == "" {
		out = append(out, windowTooShort(v.scheme, p.oldestDeadLetter(v.now))...)
		out = append(out, topology.FanOut(p.Store, p.broker.index, p.refs, p.sharing())...)
	}
	out = append(out, windowUnusual(v.scheme)...)
	out = append(out, lockWithoutMarker(v.scheme)...)
	out = append(out, blindScheme(v.scheme)...)
	if v.storeDown == "" {
		out = append(out, workedAnew(p.store, v.scheme)...)
	}
	return append(out, sharedStore(p.Store, p.partner)...)
}

// sharing are the source queues of this broker whose markers are in the pipeline's store.
func (p *pipeline) sharing() []dedup.QueueRef {
	for _, s := range p.store.shores {
		if s.broker == p.broker {
			return s.shore.sources
		}
	}
	return nil
}

// heldMarkers are the processing markers that messages of the pipeline can be held by: without expiry, or older than
// honest work takes. There are none to tell of while the store cannot be read or other pipelines keep theirs in it, nor
// among business rows, which wait for their next step.
func (p *pipeline) heldMarkers(v view) []dedup.Marker {
	pass := v.stats.Pass
	if p.store == nil || v.storeDown != "" || pass == nil || p.partner != "" || v.scheme.StuckAfter > 0 {
		return nil
	}
	var held []dedup.Marker
	for _, m := range pass.OldestProcessing {
		forever := m.Expires.IsZero() && setsExpiry(v.scheme, m.State) && seenFor(m, pass, betweenCommands)
		overdue := p.MaxProcessing > 0 && !m.Since.IsZero() && v.now.Add(pass.ClockOffset).Sub(m.Since) > p.MaxProcessing
		if forever || overdue {
			held = append(held, m)
		}
	}
	return held
}

// seenFor reports whether a marker had been there for a time when its pass ended.
func seenFor(m dedup.Marker, p *dedup.Pass, d time.Duration) bool {
	return (!m.FirstSeen.IsZero() && p.Ended.Sub(m.FirstSeen) >= d) ||
		(!m.Since.IsZero() && p.Ended.Add(p.ClockOffset).Sub(m.Since) >= d)
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
func keepFindings(into batch, s *dedup.PipelineStatus) {
	type class struct {
		kind string
		tier dedup.Tier
	}
	counts := make(map[class]float64)
	for _, f := range s.Findings {
		counts[class{f.Kind, f.Tier}]++
	}
	for c, n := range counts {
		into.add(series.Findings, n, "pipeline", s.Pipeline.Name, "kind", c.kind, "tier", c.tier.String())
	}
}
