package alerts

import (
	"maps"

	"dedup-dashboard/internal/dedup"
)

// The labels that the dashboard gives to an alert. They win over labels of the same name in the configuration.
const (
	LabelRule     = "rule"
	LabelKind     = "kind"
	LabelTier     = "tier"
	LabelPipeline = "pipeline"
	LabelBroker   = "broker"
	LabelStore    = "store"
	LabelQueue    = "queue"
)

// Labels are the labels that the dashboard gives to alerts, in the order in which people are told of them.
func Labels() []string {
	return []string{LabelRule, LabelKind, LabelTier, LabelPipeline, LabelBroker, LabelStore, LabelQueue}
}

// A subject is what a rule judges, as it stands in one snapshot.
type subject struct {
	kind   SubjectKind
	name   string
	labels map[string]string
	// pipeline is set for a pipeline.
	pipeline *dedup.PipelineStatus
	// down are the sources of it that cannot be read now.
	down []dedup.SourceHealth
}

func (s *subject) key(rule string) Key { return Key{Rule: rule, Kind: s.kind, Subject: s.name} }

// subjects are those of one snapshot, in its order.
type subjects struct {
	byKind map[SubjectKind][]subject
	// queuesKnown: it is known which dead-letter queues are shared.
	queuesKnown bool
}

// subjectsOf lists what rules judge. Before the first round there is the dashboard alone.
func subjectsOf(snap *dedup.Snapshot) subjects {
	all := subjects{byKind: map[SubjectKind][]subject{OfDashboard: {{kind: OfDashboard, labels: map[string]string{}}}}}
	if snap == nil || snap.Round == 0 {
		return all
	}
	all.queuesKnown = snap.SharedKnown
	pipelines := make([]subject, len(snap.Pipelines))
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		pipelines[i] = subject{kind: OfPipeline, name: p.Pipeline.Name, labels: labelsOfPipeline(&p.Pipeline), pipeline: p, down: p.Down}
	}
	all.byKind[OfPipeline] = pipelines
	for i := range snap.SharedQueues {
		q := &snap.SharedQueues[i]
		all.byKind[OfQueue] = append(all.byKind[OfQueue], subject{kind: OfQueue, name: q.Subject(), labels: labelsOfQueue(snap, q), down: q.Down})
	}
	for i := range snap.Brokers {
		b := &snap.Brokers[i]
		all.byKind[OfBroker] = append(all.byKind[OfBroker],
			subject{kind: OfBroker, name: b.Name, labels: map[string]string{LabelBroker: b.Name}, down: downOf(b.Health)})
	}
	for i := range snap.Stores {
		s := &snap.Stores[i]
		all.byKind[OfStore] = append(all.byKind[OfStore],
			subject{kind: OfStore, name: s.Name, labels: map[string]string{LabelStore: s.Name}, down: downOf(s.Health)})
	}
	return all
}

// labelsOfQueue are the labels of a shared queue: its own, and those that all its pipelines have alike, so that it goes where theirs go.
func labelsOfQueue(snap *dedup.Snapshot, q *dedup.SharedQueue) map[string]string {
	var common map[string]string
	for _, name := range q.Pipelines {
		p, ok := snap.Pipeline(name)
		if !ok {
			continue
		}
		if common == nil {
			common = make(map[string]string, len(p.Pipeline.Labels))
			maps.Copy(common, p.Pipeline.Labels)
		}
		maps.DeleteFunc(common, func(label, value string) bool { return p.Pipeline.Labels[label] != value })
	}
	labels := make(map[string]string, len(common)+2)
	maps.Copy(labels, common)
	delete(labels, LabelPipeline)
	delete(labels, LabelStore)
	labels[LabelQueue], labels[LabelBroker] = q.Subject(), q.Broker
	return labels
}

func downOf(h dedup.SourceHealth) []dedup.SourceHealth {
	if h.Tried && !h.OK {
		return []dedup.SourceHealth{h}
	}
	return nil
}

// known reports whether the snapshot can tell which subjects there are: before the first round nothing has left, and no shared queue
// before the topology of every broker was read.
func (s subjects) known(kind SubjectKind) bool {
	if kind == OfQueue {
		return s.queuesKnown
	}
	return kind == OfDashboard || len(s.byKind[OfPipeline])+len(s.byKind[OfBroker])+len(s.byKind[OfStore]) > 0
}

// A ruleBook holds the rules by name. Several of one name are variants of one rule for subjects with other labels.
type ruleBook struct {
	names    []string
	variants map[string][]Rule
}

func newRuleBook(rules []Rule) ruleBook {
	b := ruleBook{variants: make(map[string][]Rule)}
	for _, r := range rules {
		if _, have := b.variants[r.Name]; !have {
			b.names = append(b.names, r.Name)
		}
		b.variants[r.Name] = append(b.variants[r.Name], r)
	}
	return b
}

// find returns the rule of a name that holds for a subject: of its variants the last one that covers the labels, unless that one is
// switched off. A rule without a kind judges subjects of several.
func (b ruleBook) find(name string, kind SubjectKind, labels map[string]string) (*Rule, bool) {
	variants := b.variants[name]
	for i := len(variants) - 1; i >= 0; i-- {
		if r := &variants[i]; (r.Kind == kind || r.Kind == "") && r.Covers(labels) {
			return r, !r.Disabled
		}
	}
	return nil, false
}

// isQuery reports whether PromQL gives the value of the rule.
func isQuery(r *Rule) bool { return r.Expr != "" || r.Numerator != "" }
