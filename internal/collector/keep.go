package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/queue"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// discover finds the pipeline's dead-letter queues.
func (p *pipeline) discover(now time.Time) {
	if p.dead.Discover(p.broker.index) {
		p.counts.Gap()
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
	p.dead.Observe(f, deadletter.Reading{Broker: b.listed(), At: s.At, Depths: depths, Counting: s.Counting(), Later: len(p.counted.Traffic.Frames) > 0})
}

// keepBroker adds what is stored of the pipeline's queues.
func (p *pipeline) keepBroker(into counter.Batch) {
	p.counts.Store(into)
	p.consumers.Store(into, &p.broker.timeouts)
	p.gauges().Store(into, p.Name)
	p.dead.Store(into, p.broker.listed())
}

// gauges are those of the source queues.
func (p *pipeline) gauges() queue.Gauges {
	return queue.GaugesOf(p.refs, p.broker.queues, p.broker.live, p.Broker, p.broker.at)
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
	p.spark.Add(now, w.DuplicateRate)
	s.Spark = p.spark.Points()
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
