package collector

import (
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// discover finds the pipeline's dead-letter queues.
func (p *pipeline) discover(now time.Time) {
	if p.dead.Discover(p.broker.index) {
		p.gaps++ // what was dead-lettered before cannot be compared with what is counted now
		p.events.AddSpaced(now, "counter_reset", "The dead-letter queues of the pipeline changed")
	}
}

// settleKeeping takes whether the dead letters are kept. Once they are, the newest frame is measured again if it is of this reading, whose
// dead-letter queues were found only after it.
func (p *pipeline) settleKeeping(now deadletter.Keeping, s *source.BrokerReading) {
	n := len(p.counted.Traffic.Frames)
	if !p.dead.Settle(now, p.counted.Traffic.Frames, p.broker.born) || n == 0 {
		return
	}
	if f := &p.counted.Traffic.Frames[n-1]; f.Began.Equal(s.At) && !f.Whole && !f.Presumed {
		p.measureDepths(f, s)
	}
}

// measureDepths sets what the frame of a reading says of messages that are still there, and of dead letters.
func (p *pipeline) measureDepths(f *sample.Frame, s *source.BrokerReading) {
	b := p.broker
	depths := sample.DepthsOf(s.Depths, s.At, slices.Concat(p.refs, p.dead.Refs()), b.queues)
	f.Measure(p.refs, b.queues, b.complete, depths)
	arrivals := p.dead.Absorb(f, deadletter.Reading{Broker: b.listed(), At: s.At, Depths: depths, Counting: s.Counting(), Later: len(p.counted.Traffic.Frames) > 0})
	for _, a := range arrivals {
		p.arrived.Open = true
		switch shared := b.shared.Of(a.Queue); {
		case shared != nil && shared.Lead == &p.dead:
			b.sharedArrived[a.Queue].Open = true
			b.sharedArrived[a.Queue].Total += a.N
		case shared == nil && !a.Onward:
			p.arrived.Total += a.N
		}
	}
}

// vanishing reports whether messages can leave a source queue without being redelivered.
func (p *pipeline) vanishing() bool {
	for _, ref := range p.refs {
		if q := p.broker.queues[ref]; q != nil && topology.LosesMessages(q) {
			return true
		}
	}
	return false
}

// keepBroker adds what is stored of the pipeline's queues.
func (p *pipeline) keepBroker(into counter.Batch) {
	into.Tallies(p.publishes, p.acks, p.deliveries, p.redeliveries, p.autoAcks, p.arrived)
	p.consumers.Store(into, &p.broker.timeouts)
	sums := p.depths()
	into.Figure(series.QueueReady, sums.ready, "pipeline", p.Name)
	into.Figure(series.QueueUnacked, sums.unacked, "pipeline", p.Name)
	into.Figure(series.QueueConsumers, sums.consumers, "pipeline", p.Name)
	for _, t := range p.dead.Targets {
		if q := p.broker.queues[t.QueueRef]; q != nil && q.Messages != nil && p.broker.shared.Of(t.QueueRef) == nil {
			into.Add(series.DeadLetters, float64(*q.Messages), "pipeline", p.Name, "vhost", t.Vhost, "queue", t.Name)
		}
	}
}

// depths are the instantaneous sums over the source queues.
type depths struct{ ready, unacked, consumers dedup.Figure }

func (p *pipeline) depths() depths {
	sample, _ := p.broker.read.Sample.Get()
	return depths{
		ready:     p.sum(sample.At, func(q *dedup.Queue) *int64 { return q.Ready }),
		unacked:   p.sum(sample.At, func(q *dedup.Queue) *int64 { return q.Unacked }),
		consumers: p.sum(sample.At, func(q *dedup.Queue) *int64 { return q.Consumers }),
	}
}

func (p *pipeline) sum(at time.Time, field func(*dedup.Queue) *int64) dedup.Figure {
	var sum int64
	for _, ref := range p.refs {
		q := p.broker.queues[ref]
		if q == nil {
			return dedup.Unknown(dedup.Count, finding.QueueNotFound(ref.Name, p.Broker))
		}
		n := field(q)
		if n == nil {
			return dedup.Unknown(dedup.Count, fmt.Sprintf("the broker does not say for queue %s (state %s)", name(ref.Name), name(q.State)))
		}
		sum += *n
	}
	return dedup.Exact(dedup.Measured, dedup.Count, float64(sum), at, "queue depths of the broker")
}

func (p *pipeline) keepMarkers(into counter.Batch, now time.Time) {
	stats, _ := p.store.stats.Get()
	r := figure.Markers{Now: now, Scheme: p.store.store.Scheme(), Stats: stats}.Figures()
	for state, f := range r.States {
		into.Figure(series.Markers, f, "pipeline", p.Name, "state", string(state))
	}
	into.Figure(series.MarkersNoExpiry, r.NoExpiry, "pipeline", p.Name)
	into.Figure(series.OldestProcessing, r.Oldest, "pipeline", p.Name)
}

// keepJudged adds the figures of the judged window and a point of the sparkline.
func (p *pipeline) keepJudged(into counter.Batch, now time.Time, s *dedup.PipelineStatus) {
	keepVerdicts(into, s)
	keepFindings(into, s)
	w := judgedWindow(p.Limits.Window, s.Windows)
	if w == nil {
		return
	}
	p.spark.add(now, w.DuplicateRate)
	s.Spark = p.spark.copy()
	into.Figure(series.DuplicateRate, w.DuplicateRate, "pipeline", p.Name)
	if w.DuplicateRate.Known() {
		into.Add(series.DuplicateRateHigh, w.DuplicateRate.High, "pipeline", p.Name)
	}
	for metric, quantiles := range map[string]map[string]dedup.Figure{
		series.AckLatency:  {"mean": w.AckMean, "0.5": w.AckP50, "0.95": w.AckP95, "0.99": w.AckP99},
		series.WorkLatency: {"mean": w.WorkMean, "0.5": w.WorkP50, "0.95": w.WorkP95, "0.99": w.WorkP99},
	} {
		for q, f := range quantiles {
			if !f.Bounded() { // of which the low end would be drawn as a time
				into.Figure(metric, f, "pipeline", p.Name, "quantile", q)
			}
		}
	}
	if w.AckMean.Known() {
		into.Add(series.AckLatencyHigh, w.AckMean.High, "pipeline", p.Name)
	}
}

// judgedWindow returns the figures of the window that is judged first, the second shortest when it is none of ours.
func judgedWindow(want time.Duration, windows []dedup.WindowFigures) *dedup.WindowFigures {
	for i := range windows {
		if windows[i].Window == want {
			return &windows[i]
		}
	}
	if len(windows) > 1 {
		return &windows[1]
	}
	return nil
}
