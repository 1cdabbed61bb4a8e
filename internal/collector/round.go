package collector

import (
	"context"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// roundsApart is the shortest time between two rounds, when sources turn one after the other.
const roundsApart = 500 * time.Millisecond

// rounds builds a snapshot soon after each reading of a broker and after a source turned, and at least each interval,
// until ctx ends. It never waits on a source.
func (c *Collector) rounds(ctx context.Context) {
	ticker := time.NewTicker(c.cfg.Interval)
	defer ticker.Stop()
	for {
		c.round(ctx, time.Now())
		if !waitUntil(ctx, time.Now().Add(roundsApart)) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-c.wake:
			ticker.Reset(c.cfg.Interval)
		}
	}
}

// round takes the newest readings, stores them, computes every figure and publishes the snapshot.
func (c *Collector) round(ctx context.Context, now time.Time) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.number++
	c.absorb(now)
	stored := batch{}
	c.collect(stored, now)
	c.past.append(ctx, c, now, stored)
	c.past.refresh(ctx, c, now)
	c.acknowledged.read(ctx, &c.beside, c.log)
	c.marks.read(ctx, &c.beside, now, c.log)
	c.memory.keep(ctx, &c.beside, c.sources, now, c.log)

	s := &dedup.Snapshot{Round: c.number, At: now, Interval: c.cfg.Interval}
	for _, src := range c.sources {
		s.Sources = append(s.Sources, src.status(now))
	}
	for _, b := range c.brokers {
		s.Brokers = append(s.Brokers, b.status(&c.past, now))
	}
	for _, w := range c.stores {
		s.Stores = append(s.Stores, w.status(now))
	}
	for _, p := range c.pipelines {
		s.Pipelines = append(s.Pipelines, c.status(p, now))
	}
	s.SharedQueues = c.sharedQueues(s, now)
	s.SharedKnown = !slices.ContainsFunc(c.brokers, func(b *brokerWatch) bool { return b.index == nil })
	c.judgeMarkers(s)
	worstFirst(s)
	judged := batch{}
	for i, p := range c.pipelines {
		p.keepJudged(judged, now, &s.Pipelines[i])
	}
	c.past.appendJudged(ctx, c, now, judged)
	if ctx.Err() != nil {
		return
	}
	c.snapshot.Store(s)
	c.changed("overview")
	for _, p := range c.pipelines {
		c.changed("pipeline:" + p.Name)
	}
	if c.acknowledged.fell { // which must outlive a restart before the next round
		c.acknowledged.read(ctx, &c.beside, c.log)
	}
}

// absorb takes every reading that came since the last round into the counters, and notes the sources that turned.
func (c *Collector) absorb(now time.Time) {
	c.noteTurns(now)
	for _, w := range c.stores {
		w.absorb(now)
	}
	fresh := make(map[*brokerWatch]*brokerReading)
	for _, b := range c.brokers {
		before := b.indexed
		sample, isNew := b.absorb()
		if b.indexed != before && b.index != nil {
			c.rediscover(b, sample, now)
		}
		if isNew {
			fresh[b] = sample
		}
	}
	for _, w := range c.stores {
		for _, queues := range w.queues {
			queues.absorb(now)
		}
	}
	for _, p := range c.pipelines {
		p.followConsumers()
		if p.joint != nil {
			p.counted.Traffic.Joints.Add(p.joint.drain(), now)
		}
		if p.flow != nil {
			p.counted.Traffic.Flows.Add(p.flow.drain(), now)
			p.counted.Traffic.Flows.AddOut(p.broker.live.drainOut(p.Name))
		}
		if sample := fresh[p.broker]; sample != nil {
			p.absorbSample(sample)
		}
		if p.report == nil {
			continue
		}
		if r, count := p.report.readings.get(); count != p.report.absorbed {
			p.report.absorbed = count
			p.absorbReported(r, now)
		}
		p.counted.SettleExports(now, p.scheme())
	}
}

// noteTurns notes an event, and logs a line, for each source that went down or came back.
func (c *Collector) noteTurns(now time.Time) {
	note := func(s *source, logs ...*eventLog) {
		h := s.status(now)
		if !h.Tried {
			return
		}
		was, known := c.up[s.name]
		c.up[s.name] = h.OK
		at := now
		if !known && !h.OK && h.Since.Before(now) { // it may have begun before a restart
			at = h.Since
		}
		var lasted time.Duration
		if was != h.OK || !known {
			lasted = c.noteOutage(s.name, h.OK, at)
		}
		switch {
		case !h.OK && (was || !known):
			c.log.Warn("source cannot be read", "source", s.name, "reason", h.Err)
		case h.OK && known && !was:
			c.log.Info("source answers again", "source", s.name)
		}
		for _, l := range logs {
			switch {
			case !h.OK && (was || !known):
				l.add(at, "source_down", plain(s.name+" cannot be read: "+h.Err, 400))
			case h.OK && known && !was:
				l.add(now, "source_up", plain(s.name+" answers again after "+span(lasted), 200))
			}
		}
	}
	for _, b := range c.brokers {
		note(b.samples, &b.events)
	}
	for _, w := range c.stores {
		note(w.src, &w.events)
	}
	for _, p := range c.pipelines {
		if p.report != nil {
			note(p.report.src, &p.events)
		}
	}
}

// rediscover finds the dead-letter queues of a broker's pipelines again.
func (c *Collector) rediscover(b *brokerWatch, s *brokerReading, now time.Time) {
	users := make(map[dedup.QueueRef]int)
	for _, p := range c.pipelines {
		if p.broker != b {
			continue
		}
		p.discover(now)
		for _, t := range p.targets {
			users[t.QueueRef]++
		}
	}
	b.findShared(c.pipelines, c.book)
	for _, p := range c.pipelines {
		if p.broker == b {
			p.settleKeeping(p.deadLettersKept(users), s)
		}
	}
}

// collect adds what is stored of this round, leaving out every source that cannot be read: its series end.
func (c *Collector) collect(into batch, now time.Time) {
	for _, s := range c.sources {
		h := s.status(now)
		if !h.Tried {
			continue
		}
		up := 0.0
		if h.OK {
			up = 1
		}
		into.add(series.SourceUp, up, "source", s.name)
		into.add(series.SourceDuration, h.Took.Seconds(), "source", s.name)
		into.tallies(c.missed(s, h.Missed))
		if !h.LastSuccess.IsZero() {
			into.add(series.SourceLastSuccess, float64(h.LastSuccess.UnixMilli())/1e3, "source", s.name)
		}
	}
	for _, b := range c.brokers {
		if b.samples.status(now).OK {
			b.store(into)
		}
	}
	for _, w := range c.stores {
		if w.src.status(now).OK {
			w.keep(into)
		}
	}
	for _, p := range c.pipelines {
		if p.broker.samples.status(now).OK {
			p.keepBroker(into)
		}
		if p.report != nil && p.report.src.status(now).OK {
			p.reported.keep(into)
		}
		if p.store != nil && p.store.src.status(now).OK {
			p.keepMarkers(into, now)
		}
	}
}

// missed brings the tally of a source's missed ticks up to date.
func (c *Collector) missed(s *source, n uint64) *tally {
	t := c.book.tally(series.SourceMissed, "source", s.name)
	t.open = true
	if n > c.misses[s.name] {
		t.total += float64(n - c.misses[s.name])
		c.misses[s.name] = n
	}
	return t
}
