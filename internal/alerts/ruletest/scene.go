package ruletest

import (
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A scene is what the dashboard knows at one step of a test.
type scene struct {
	snapshot *dedup.Snapshot
	self     rule.Self
}

// scene sets the figures of one step.
func (t *test) scene(step int, at time.Time, interval time.Duration) *scene {
	s := &scene{
		snapshot: &dedup.Snapshot{Round: uint64(step) + 1, At: at, Interval: interval},
		self:     rule.Self{Interval: interval},
	}
	for _, name := range t.brokers {
		s.snapshot.Brokers = append(s.snapshot.Brokers, dedup.BrokerStatus{Name: name, Health: answering("broker", name, at)})
	}
	for _, name := range t.stores {
		s.snapshot.Stores = append(s.snapshot.Stores, dedup.StoreStatus{Name: name, Health: answering("store", name, at)})
	}
	for _, name := range t.queues {
		s.snapshot.SharedQueues = append(s.snapshot.SharedQueues, sharedQueue(name))
	}
	for _, p := range t.pipelines {
		status := dedup.PipelineStatus{Pipeline: p, PassAge: s.figure(dedup.Seconds, 0, 0, 0)}
		for _, w := range dedup.Windows() {
			status.Windows = append(status.Windows, dedup.WindowFigures{Window: w})
		}
		s.snapshot.Pipelines = append(s.snapshot.Pipelines, status)
	}
	t.missSources(s)
	for i := range t.inputs {
		s.apply(&t.inputs[i], step)
	}
	s.spread()
	return s
}

// sharedQueue is the one of a subject; of what is no subject it is one with another.
func sharedQueue(subject string) dedup.SharedQueue {
	parts := strings.Split(subject, ":")
	q := dedup.SharedQueue{Broker: parts[0], QueueRef: dedup.QueueRef{Vhost: "/", Name: parts[len(parts)-1]}}
	if len(parts) > 2 {
		q.Vhost = parts[1]
	}
	return q
}

func answering(kind, name string, at time.Time) dedup.SourceHealth {
	return dedup.SourceHealth{Name: kind + " " + name, Kind: kind, Tried: true, OK: true, LastTry: at, LastSuccess: at}
}

// missSources adds the reports of the pipelines whose source is tested.
func (t *test) missSources(s *scene) {
	for i := range t.inputs {
		in := &t.inputs[i]
		if in.name != sourceSeries || in.subject.Kind != rule.OfPipeline {
			continue
		}
		h := answering("reported", in.subject.Subject, s.snapshot.At)
		s.snapshot.Sources = append(s.snapshot.Sources, h)
		s.pipeline(in.subject.Subject).Sources = []string{h.Name}
	}
}

// apply sets one series.
func (s *scene) apply(in *input, step int) {
	if in.setter == nil {
		return
	}
	switch v := in.values.at(step); v.kind {
	case given:
		n := in.n.at(step)
		if n.kind == given {
			in.setter.set(s, in, v.number, n.number)
		}
	case missing:
		if in.name == sourceSeries {
			h := s.source(in.subject)
			h.Tried, h.OK = false, false
		}
	case failed:
		s.fail(in)
	}
}

// fail lets the sources of a measure be some that cannot be read.
func (s *scene) fail(in *input) {
	for _, kind := range in.setter.sources {
		h := dedup.SourceHealth{Name: kind + " of the test", Kind: kind, Tried: true, Err: noAnswer, LastTry: s.snapshot.At}
		if in.subject.Kind == rule.OfBroker {
			b := s.broker(in.subject.Subject)
			h.Name = b.Health.Name
			b.Health = h
			continue
		}
		if in.subject.Kind == rule.OfQueue {
			q := s.queue(in.subject.Subject)
			q.Down = append(q.Down, h)
			continue
		}
		p := s.pipeline(in.subject.Subject)
		p.Down = append(p.Down, h)
	}
}

// spread tells pipelines which of their sources cannot be read.
func (s *scene) spread() {
	for i := range s.snapshot.Pipelines {
		p := &s.snapshot.Pipelines[i]
		for _, b := range s.snapshot.Brokers {
			if b.Name == p.Pipeline.Broker && !b.Health.OK {
				p.Down = append(p.Down, b.Health)
			}
		}
		for _, st := range s.snapshot.Stores {
			if st.Name == p.Pipeline.Store && !st.Health.OK {
				p.Down = append(p.Down, st.Health)
			}
		}
		for _, h := range s.snapshot.Sources {
			if slices.Contains(p.Sources, h.Name) && !h.OK {
				p.Down = append(p.Down, h)
			}
		}
	}
}

// figure is a measured one that covers its window.
func (s *scene) figure(unit dedup.Unit, v, n float64, window time.Duration) dedup.Figure {
	f := dedup.Exact(dedup.Measured, unit, v, s.snapshot.At, "test")
	f.N, f.Window, f.Covered = n, window, window
	if unit == dedup.Ratio {
		f.Hits = v * n
	}
	return f
}

// The subjects of a test are all in its scenes.

func (s *scene) pipeline(name string) *dedup.PipelineStatus {
	p, _ := s.snapshot.Pipeline(name)
	return p
}

func (s *scene) window(pipeline string, span time.Duration) *dedup.WindowFigures {
	p := s.pipeline(pipeline)
	return &p.Windows[slices.Index(dedup.Windows(), span)]
}

func (s *scene) broker(name string) *dedup.BrokerStatus {
	i := slices.IndexFunc(s.snapshot.Brokers, func(b dedup.BrokerStatus) bool { return b.Name == name })
	return &s.snapshot.Brokers[i]
}

func (s *scene) queue(subject string) *dedup.SharedQueue {
	i := slices.IndexFunc(s.snapshot.SharedQueues, func(q dedup.SharedQueue) bool { return q.Subject() == subject })
	return &s.snapshot.SharedQueues[i]
}

// source is the health of a broker, of a store, or of what the consumers of a pipeline report.
func (s *scene) source(of rule.Key) *dedup.SourceHealth {
	switch of.Kind {
	case rule.OfBroker:
		return &s.broker(of.Subject).Health
	case rule.OfStore:
		store, _ := s.snapshot.Store(of.Subject)
		return &store.Health
	default:
		name := answering("reported", of.Subject, time.Time{}).Name
		i := slices.IndexFunc(s.snapshot.Sources, func(h dedup.SourceHealth) bool { return h.Name == name })
		return &s.snapshot.Sources[i]
	}
}
