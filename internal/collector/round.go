package collector

import (
	"context"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
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
		if !source.WaitUntil(ctx, time.Now().Add(roundsApart)) {
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
	c.observe(now)
	stored := counter.Batch{}
	c.resume(ctx, now) // before anything is collected: a counter that did not go on yet would fall
	c.collect(stored, now)
	c.past.Append(ctx, now, stored)
	c.past.Refresh(ctx, now)
	c.acknowledged.Read(ctx)
	c.marks.Read(ctx, now)

	s := c.maker().snapshot(now)
	s.Round, s.Interval = c.number, c.cfg.Interval
	var kept []dedup.SourceRecord
	for _, src := range c.sources {
		s.Sources, kept = append(s.Sources, src.Status(now)), append(kept, src.Record(now))
	}
	c.memory.Keep(ctx, kept, now)
	judged := counter.Batch{}
	for i, p := range c.pipelines {
		p.keepJudged(judged, now, &s.Pipelines[i])
	}
	c.past.AppendJudged(ctx, now, judged)
	if ctx.Err() != nil {
		return
	}
	c.snapshot.Store(s)
	c.changed("overview")
	for _, p := range c.pipelines {
		c.changed("pipeline:" + p.Name)
	}
	if c.acknowledged.Fell() {
		c.acknowledged.Read(ctx)
	}
}

// resume goes on from where the history stopped, once it can be read.
func (c *Collector) resume(ctx context.Context, now time.Time) {
	newest, joined := c.past.Join(ctx, now)
	if !joined {
		return
	}
	lines, err := c.history.QueryRange(ctx, series.StoreEvictedKeys, now.Add(-evictionReach), now, evictionStep)
	if err != nil {
		c.log.Warn("when stores last evicted keys cannot be read from the history", "err", err)
	} else {
		for _, w := range c.stores {
			w.recallEvictions(lines, now, newest)
		}
	}
	lines, err = c.history.QueryRange(ctx, series.DuplicateRate, now.Add(-figure.SparkPoints*figure.SparkStep), now, figure.SparkStep)
	if err != nil {
		c.log.Warn("sparklines start empty", "err", err)
		return
	}
	for _, l := range lines {
		for _, p := range c.pipelines {
			if p.Name == l.Labels["pipeline"] {
				p.spark.Restore(l.Points)
			}
		}
	}
}

// observe takes every reading that came since the last round into the counters, and notes the sources that turned.
func (c *Collector) observe(now time.Time) {
	c.noteTurns(now)
	for _, w := range c.stores {
		w.observe(now)
	}
	fresh := make(map[*brokerWatch]*source.BrokerReading)
	for _, b := range c.brokers {
		before := b.indexed
		sample, isNew := b.observe()
		if b.indexed != before && b.index != nil {
			c.rediscover(b, sample, now)
		}
		if isNew {
			fresh[b] = sample
		}
	}
	for _, w := range c.stores {
		for _, queues := range w.queues {
			queues.observe(now)
		}
	}
	for _, p := range c.pipelines {
		read, version := p.broker.read.Topology.Get()
		p.consumers.Follow(&read.Topology, version, read.Err)
		if p.flow != nil {
			p.counted.Traffic.Joints.Add(p.flow.DrainJoints(), now)
			p.counted.Traffic.Flows.Add(p.flow.Drain(), now)
			p.counted.Traffic.Flows.AddOut(p.broker.read.Live.DrainOut(p.Name))
		}
		if sample := fresh[p.broker]; sample != nil {
			p.absorbSample(sample)
		}
		if p.report == nil {
			continue
		}
		if r, count := p.report.readings.Get(); count != p.report.observed {
			p.report.observed = count
			p.absorbReported(r, now)
		}
		p.counted.SettleExports(now, p.scheme())
	}
}

// noteTurns notes an event, and logs a line, for each source that went down or came back.
func (c *Collector) noteTurns(now time.Time) {
	note := func(s *source.Source, l *event.Log) {
		turn := c.turns.Note(s, now)
		switch {
		case turn.Down:
			c.log.Warn("source cannot be read", "source", s.Name, "reason", turn.Err)
			l.Add(turn.At, "source_down", text.Plain(s.Name+" cannot be read: "+turn.Err, 400))
		case turn.Up:
			c.log.Info("source answers again", "source", s.Name)
			l.Add(turn.At, "source_up", text.Plain(s.Name+" answers again after "+text.Span(turn.Lasted), 200))
		}
	}
	for _, b := range c.brokers {
		note(b.read.Samples, &b.events)
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
func (c *Collector) rediscover(b *brokerWatch, s *source.BrokerReading, now time.Time) {
	var all []*deadletter.Watch
	users := make(map[dedup.QueueRef]int)
	for _, p := range c.pipelines {
		if p.broker != b {
			continue
		}
		p.discover(now)
		all = append(all, &p.dead)
		for _, t := range p.dead.Targets {
			users[t.QueueRef]++
		}
	}
	b.shared = deadletter.FindShared(b.read.Name(), b.index, all, c.book)
	for _, p := range c.pipelines {
		if p.broker == b {
			p.settleKeeping(p.dead.Kept(b.listed(), users), s)
		}
	}
}

// collect adds what is stored of this round, leaving out every source that cannot be read: its series end.
func (c *Collector) collect(into counter.Batch, now time.Time) {
	for _, h := range c.healths {
		h.keep(into, now)
	}
	for _, b := range c.brokers {
		if b.read.Samples.Status(now).OK {
			b.store(into)
		}
	}
	for _, w := range c.stores {
		if w.src.Status(now).OK {
			w.keep(into)
		}
	}
	for _, p := range c.pipelines {
		if p.broker.read.Samples.Status(now).OK {
			p.keepBroker(into)
		}
		if p.report != nil && p.report.src.Status(now).OK {
			p.reported.keep(into)
		}
		if p.store != nil && p.store.src.Status(now).OK {
			p.keepMarkers(into, now)
		}
	}
}
