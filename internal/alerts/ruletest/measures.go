package ruletest

import (
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A setter puts the value of a measure where the rule that judges by it looks.
type setter struct {
	// kind is whose measure it is; empty where the label says whether it is that of a broker, store or pipeline.
	kind rule.SubjectKind
	unit dedup.Unit
	// whole: only whole numbers up to maxThings, since so many things are made up.
	whole bool
	// windows: the measure has one figure for each window.
	windows bool
	// sources are the kinds of sources that "error" lets fail; nil where there is none.
	sources []string
	set     func(s *scene, in *input, v, n float64)
}

// maxThings bounds how many nodes or queues one value makes up.
const maxThings = 1000

// The two series that are no measure of their own, or need more than one label.
const (
	findingSeries = "finding"
	sourceSeries  = "source_unreachable"
)

// setters returns those of all measures that can be tested, by name.
func setters() map[string]setter {
	const hour, day = time.Hour, 24 * time.Hour
	return map[string]setter{
		"duplicate_rate":            windowed(dedup.Ratio, func(w *dedup.WindowFigures, f dedup.Figure) { w.DuplicateRate = f }),
		"ack_latency":               windowed(dedup.Seconds, func(w *dedup.WindowFigures, f dedup.Figure) { w.AckMean = f }),
		"failure_rate":              windowed(dedup.Ratio, func(w *dedup.WindowFigures, f dedup.Figure) { w.FailureRate = f }),
		"looping":                   over(15*time.Minute, dedup.Count, "broker", func(w *dedup.WindowFigures, f dedup.Figure) { w.Looping = f }),
		"lost_messages":             over(hour, dedup.Count, "store", func(w *dedup.WindowFigures, f dedup.Figure) { w.Swallowed = f }),
		"double_effects":            over(day, dedup.Count, "store", func(w *dedup.WindowFigures, f dedup.Figure) { w.DoubleEffects = f }),
		"ack_timeouts":              over(hour, dedup.PerHour, "broker", func(w *dedup.WindowFigures, f dedup.Figure) { w.AckTimeouts = f }),
		"dead_letters":              now(dedup.Count, "broker", func(p *dedup.PipelineStatus, f dedup.Figure) { p.DeadLetters = f }),
		"ready":                     now(dedup.Count, "broker", func(p *dedup.PipelineStatus, f dedup.Figure) { p.SetGauge(dedup.Ready, f) }),
		"stuck_markers":             now(dedup.Count, "store", func(p *dedup.PipelineStatus, f dedup.Figure) { p.Stuck = f }),
		"shared_dead_letters":       ofQueue(dedup.Count, 0, func(q *dedup.SharedQueue, f dedup.Figure) { q.Depth = f }),
		"shared_dead_letter_inflow": ofQueue(dedup.PerHour, hour, func(q *dedup.SharedQueue, f dedup.Figure) { q.Inflow = f }),
		"broker_alarm":              ofNodes(func(n *dedup.Node) { n.MemoryAlarm = true }),
		"node_down":                 ofNodes(func(n *dedup.Node) { n.Running = false }),
		"partition":                 ofNodes(func(n *dedup.Node) { n.Partitions = []string{"rabbit@test"} }),
		"outbox_age": ofSelf(dedup.Seconds, func(s *rule.Self, at time.Time, v float64) {
			s.Outbox.Oldest, s.Outbox.Waiting = before(at, v), 1
		}),
		"evaluation_late": ofSelf(dedup.Seconds, func(s *rule.Self, at time.Time, v float64) { s.LastEvaluation = before(at, v) }),
		"deliveries_failed": ofSelf(dedup.Count, func(s *rule.Self, _ time.Time, v float64) {
			s.Outbox.Failed, s.Outbox.Errors = int64(v), []string{"the test says so"}
		}),
		"receiver_faults": ofSelf(dedup.Seconds, func(s *rule.Self, at time.Time, v float64) {
			if v > 0 {
				s.ReceiverFaults = []rule.ReceiverFault{{Channel: "test", Receiver: "second", Text: "the test says so", Since: before(at, v), Last: at}}
			}
		}),
		"disk_used": ofSelf(dedup.Ratio, func(s *rule.Self, _ time.Time, v float64) {
			free := 1 - v
			s.DiskFree = &free
		}),
		"audit_refused": ofSelf(dedup.Count, func(s *rule.Self, _ time.Time, v float64) {
			if v > 0 {
				s.AuditRefused = "the test says so"
			}
		}),
		"dead_letter_inflow":     over(hour, dedup.PerHour, "broker", func(w *dedup.WindowFigures, f dedup.Figure) { w.DeadLetterInflow = f }),
		"consumer_restarts":      over(hour, dedup.PerHour, "broker", func(w *dedup.WindowFigures, f dedup.Figure) { w.ConsumerRestarts = f }),
		"markers_without_expiry": now(dedup.Count, "store", setWithoutExpiry),
		"unacked_without_ack":    now(dedup.Seconds, "broker", setUnacked),
		"minority":               {kind: rule.OfBroker, unit: dedup.Count, whole: true, sources: []string{"broker"}, set: setMinority},
		alerts.RuleWatchdog:      ofSelf(dedup.Count, func(*rule.Self, time.Time, float64) {}), // it always fires
		sourceSeries:             {unit: dedup.Seconds, set: setUnreachable},
		findingSeries: {kind: rule.OfPipeline, unit: dedup.Count, whole: true, sources: []string{"broker", "store"},
			set: setFinding},
	}
}

func before(at time.Time, seconds float64) time.Time {
	return at.Add(-time.Duration(seconds * float64(time.Second)))
}

// now is the setter of a figure of this moment.
func now(unit dedup.Unit, source string, set func(*dedup.PipelineStatus, dedup.Figure)) setter {
	return setter{kind: rule.OfPipeline, unit: unit, sources: []string{source}, set: func(s *scene, in *input, v, n float64) {
		set(s.pipeline(in.subject.Subject), s.figure(unit, v, n, 0))
	}}
}

// over is the setter of a figure that its rule takes over one window.
func over(window time.Duration, unit dedup.Unit, source string, set func(*dedup.WindowFigures, dedup.Figure)) setter {
	return setter{kind: rule.OfPipeline, unit: unit, sources: []string{source}, set: func(s *scene, in *input, v, n float64) {
		w := s.window(in.subject.Subject, window)
		set(w, s.figure(unit, v, v, window))
	}}
}

// ofQueue is the setter of a figure of a shared queue.
func ofQueue(unit dedup.Unit, window time.Duration, set func(*dedup.SharedQueue, dedup.Figure)) setter {
	return setter{kind: rule.OfQueue, unit: unit, sources: []string{"broker"}, set: func(s *scene, in *input, v, _ float64) {
		set(s.queue(in.subject.Subject), s.figure(unit, v, v, window))
	}}
}

// windowed is the setter of a figure that its rule takes over the first window with enough events.
func windowed(unit dedup.Unit, set func(*dedup.WindowFigures, dedup.Figure)) setter {
	put := func(s *scene, in *input, v, n float64) {
		for _, window := range dedup.Windows() {
			if in.window == 0 || in.window == window {
				set(s.window(in.subject.Subject, window), s.figure(unit, v, n, window))
			}
		}
	}
	return setter{kind: rule.OfPipeline, unit: unit, windows: true, sources: []string{"reported"}, set: put}
}

// ofNodes is the setter of how many nodes of a broker ail, beside one that does not.
func ofNodes(ail func(*dedup.Node)) setter {
	put := func(s *scene, in *input, v, _ float64) {
		b := s.broker(in.subject.Subject)
		if len(b.State.Nodes) == 0 {
			b.State.Nodes = []dedup.Node{{Name: "rabbit@test", Running: true}}
		}
		for range int(v) {
			n := dedup.Node{Name: "rabbit@test", Running: true}
			ail(&n)
			b.State.Nodes = append(b.State.Nodes, n)
		}
	}
	return setter{kind: rule.OfBroker, unit: dedup.Count, whole: true, sources: []string{"broker"}, set: put}
}

// ofSelf is the setter of a measure of the dashboard itself.
func ofSelf(unit dedup.Unit, set func(s *rule.Self, at time.Time, v float64)) setter {
	return setter{kind: rule.OfDashboard, unit: unit, set: func(s *scene, _ *input, v, _ float64) { set(&s.self, s.snapshot.At, v) }}
}

func setMinority(s *scene, in *input, v, _ float64) {
	b := s.broker(in.subject.Subject)
	for range int(v) {
		b.State.QueuesMinority = append(b.State.QueuesMinority, dedup.QueueRef{Vhost: "/", Name: "test"})
	}
}

// setWithoutExpiry also makes the finding that the rule asks for, as the hint that it is for few markers: a series of findings can
// give it another tier.
func setWithoutExpiry(p *dedup.PipelineStatus, f dedup.Figure) {
	p.MarkersNoExpiry = f
	if f.Value > 0 {
		p.Findings = append(p.Findings, dedup.Finding{Kind: "marker_without_expiry", Tier: dedup.Normal, Text: "markers never expire"})
	}
}

// setUnacked lets a message be unacked for as long as nothing was acked.
func setUnacked(p *dedup.PipelineStatus, f dedup.Figure) {
	p.LastActivity = before(f.At, f.Value)
	p.SetGauge(dedup.Unacked, dedup.Exact(dedup.Measured, dedup.Count, 1, f.At, "test"))
}

// setFinding adds a finding where the value is 1.
func setFinding(s *scene, in *input, v, _ float64) {
	if v == 0 {
		return
	}
	p := s.pipeline(in.subject.Subject)
	kind := in.labels["kind"]
	p.Findings = append(p.Findings, dedup.Finding{Kind: kind, Tier: in.tier, Text: "finding " + kind})
}

// setUnreachable makes a source one that was last read so many seconds ago.
func setUnreachable(s *scene, in *input, v, _ float64) {
	h := s.source(in.subject)
	*h = dedup.SourceHealth{Name: h.Name, Kind: h.Kind, Tried: true, OK: v == 0, LastTry: s.snapshot.At, LastSuccess: before(s.snapshot.At, v)}
	if !h.OK {
		h.Since, h.Err = h.LastSuccess, noAnswer
	}
}

// noAnswer is why a source of a test cannot be read.
const noAnswer = "no answer, as the test says"
