package collector

import (
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// discover finds the pipeline's dead-letter queues.
func (p *pipeline) discover(now time.Time) {
	p.found = topology.Discover(p.broker.index, p.refs, topology.Pinned(p.Pipeline))
	targets := topology.Targets(p.Pipeline, p.found)
	if len(p.targets) > 0 && !sameTargets(p.targets, targets) {
		p.gaps++ // what was dead-lettered before cannot be compared with what is counted now
		p.deadGaps++
		p.events.addSpaced(now, "counter_reset", "The dead-letter queues of the pipeline changed")
	}
	p.targets = targets
}

func sameTargets(a, b []topology.Target) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].QueueRef != b[i].QueueRef {
			return false
		}
	}
	return true
}

// A keeping says whether every message that leaves the source queues other than by an ack is still to be seen in the
// dead-letter queues: they are known for sure, belong to this pipeline alone, nobody consumes them and nothing removes
// messages from them.
type keeping uint8

const (
	keepsNot keeping = iota
	// keepsPerhaps: the broker has not said yet whether anybody consumes them, as in the first seconds of a queue.
	keepsPerhaps
	keepsAll
)

func (p *pipeline) deadLettersKept(users map[dedup.QueueRef]int) keeping {
	if !p.found.Complete || len(p.found.Targets) == 0 || p.refusesOrIsFed() {
		return keepsNot
	}
	kept := keepsAll
	known := make(map[dedup.QueueRef]bool)
	for _, t := range p.targets {
		known[t.QueueRef] = true
		q := p.broker.queues[t.QueueRef]
		switch {
		case q == nil || users[t.QueueRef] > 1 || losesMessages(q):
			return keepsNot
		case q.Consumers == nil:
			kept = keepsPerhaps
		case *q.Consumers > 0:
			return keepsNot
		}
	}
	for _, t := range p.found.Targets {
		if !known[t.QueueRef] {
			return keepsNot
		}
	}
	return kept
}

// refusesOrIsFed reports whether what is published to the source queues is not what enters them: a full queue refuses messages that
// were counted already, and what dies elsewhere enters without being counted.
func (p *pipeline) refusesOrIsFed() bool {
	ix := p.broker.index
	for _, ref := range p.refs {
		if q := p.broker.queues[ref]; q != nil && topology.Bounded(q) && strings.HasPrefix(topology.Overflow(q), "reject-publish") {
			return true
		}
		if ix != nil && len(ix.Feeders(ref)) > 0 {
			return true
		}
	}
	return false
}

// settleKeeping takes what is now known of the dead letters, and decides with it about the frames so far.
func (p *pipeline) settleKeeping(now keeping, s *brokerReading) {
	was := p.keeps
	p.keeps = now
	if now != keepsPerhaps {
		p.frames.SettlePresumed(now == keepsAll)
	}
	if now == keepsAll && was != keepsAll {
		p.settleUnborn()
	}
	if now != keepsNot && was == keepsNot {
		p.completeFrame(s)
	}
}

// settleUnborn completes the frames from before the queues of the pipeline were declared.
func (p *pipeline) settleUnborn() {
	var first time.Time
	for _, t := range p.targets {
		born, ok := p.broker.born[t.QueueRef]
		if !ok {
			return
		}
		if first.IsZero() || born.Before(first) {
			first = born
		}
	}
	p.frames.SettleUnborn(first)
}

// losesMessages reports whether messages can leave a queue without anybody taking them.
func losesMessages(q *dedup.Queue) bool {
	for _, key := range []string{"message-ttl", "max-length", "max-length-bytes", "expires"} {
		if _, ok := q.Arguments["x-"+key]; ok {
			return true
		}
		if _, ok := q.Policy[key]; ok {
			return true
		}
	}
	return false
}

// vanishing reports whether messages can leave a source queue without being redelivered.
func (p *pipeline) vanishing() bool {
	for _, ref := range p.refs {
		if q := p.broker.queues[ref]; q != nil && losesMessages(q) {
			return true
		}
	}
	return false
}

// keepBroker adds what is stored of the pipeline's queues.
func (p *pipeline) keepBroker(into batch) {
	into.tallies(p.publishes, p.acks, p.deliveries, p.redeliveries, p.autoAcks, p.arrived)
	if p.broker.timeouts.asked && p.broker.timeouts.why == "" {
		into.tallies(p.timeouts)
	}
	if p.restarts.known {
		into.tallies(p.restarted)
	}
	sums := p.gauges("")
	for _, g := range dedup.Gauges() {
		into.figure(g.Metric, sums[g.Name], "pipeline", p.Name)
	}
	for _, t := range p.targets {
		if q := p.broker.queues[t.QueueRef]; q != nil && q.Messages != nil && p.broker.shared[t.QueueRef] == nil {
			into.add(series.DeadLetters, float64(*q.Messages), "pipeline", p.Name, "vhost", t.Vhost, "queue", t.Name)
		}
	}
}

// gauges are the levels of the source queues, each summed; with a reason why the broker is down they are unknown.
func (p *pipeline) gauges(down string) map[dedup.GaugeName]dedup.Figure {
	sample, _ := p.broker.sample.get()
	all := make(map[dedup.GaugeName]dedup.Figure)
	for _, g := range dedup.Gauges() {
		if all[g.Name] = dedup.Unknown(g.Unit, down); down == "" {
			all[g.Name] = p.sum(sample.At, g)
		}
	}
	return all
}

func (p *pipeline) sum(at time.Time, g dedup.Gauge) dedup.Figure {
	var sum int64
	for _, ref := range p.refs {
		q := p.broker.queues[ref]
		if q == nil {
			return dedup.Unknown(g.Unit, finding.QueueNotFound(ref.Name, p.Broker))
		}
		n := g.Of(q)
		if n == nil {
			return dedup.Unknown(g.Unit, fmt.Sprintf("the broker does not say for queue %s (state %s)", name(ref.Name), name(q.State)))
		}
		sum += *n
	}
	return dedup.Exact(dedup.Measured, g.Unit, float64(sum), at, "queue depths of the broker")
}

func (p *pipeline) keepReported(into batch) {
	for _, o := range dedup.ReportedOutcomes() {
		into.tallies(p.outcomes[o])
	}
	for _, h := range []*histogram{&p.ack, &p.work} {
		into.tallies(h.counts...)
		into.tallies(h.sum)
	}
}

func (p *pipeline) keepMarkers(into batch, now time.Time) {
	stats, _ := p.store.stats.get()
	r := figure.Markers{Now: now, Scheme: p.store.store.Scheme(), Stats: stats}.Figures()
	for state, f := range r.States {
		into.figure(series.Markers, f, "pipeline", p.Name, "state", string(state))
	}
	into.figure(series.MarkersNoExpiry, r.NoExpiry, "pipeline", p.Name)
	into.figure(series.OldestProcessing, r.Oldest, "pipeline", p.Name)
}

// keepJudged adds the figures of the judged window and a point of the sparkline.
func (p *pipeline) keepJudged(into batch, now time.Time, s *dedup.PipelineStatus) {
	keepVerdicts(into, s)
	keepFindings(into, s)
	w := judgedWindow(p.Limits.Window, s.Windows)
	if w == nil {
		return
	}
	p.spark.add(now, w.DuplicateRate)
	s.Spark = p.spark.copy()
	into.figure(series.DuplicateRate, w.DuplicateRate, "pipeline", p.Name)
	if w.DuplicateRate.Known() {
		into.add(series.DuplicateRateHigh, w.DuplicateRate.High, "pipeline", p.Name)
	}
	for metric, quantiles := range map[string]map[string]dedup.Figure{
		series.AckLatency:  {"mean": w.AckMean, "0.5": w.AckP50, "0.95": w.AckP95, "0.99": w.AckP99},
		series.WorkLatency: {"mean": w.WorkMean, "0.5": w.WorkP50, "0.95": w.WorkP95, "0.99": w.WorkP99},
	} {
		for q, f := range quantiles {
			if !f.Bounded() { // of which the low end would be drawn as a time
				into.figure(metric, f, "pipeline", p.Name, "quantile", q)
			}
		}
	}
	if w.AckMean.Known() {
		into.add(series.AckLatencyHigh, w.AckMean.High, "pipeline", p.Name)
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
