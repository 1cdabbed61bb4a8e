package rule

import (
	"cmp"
	"maps"
	"strings"

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

// A Subject is what a rule judges, as it stands in one snapshot.
type Subject struct {
	Kind   SubjectKind
	Name   string
	Labels map[string]string
	// One of these is set for a pipeline, a broker and a queue, and source for a broker and a store.
	pipeline *dedup.PipelineStatus
	broker   *dedup.BrokerStatus
	queue    *dedup.SharedQueue
	source   dedup.SourceHealth
	// down are the sources of it that cannot be read now.
	down []dedup.SourceHealth
}

// Key is the key of the alert of a rule on the subject.
func (s *Subject) Key(rule string) Key { return Key{Rule: rule, Kind: s.Kind, Subject: s.Name} }

// Subjects are those of one snapshot, in its order.
type Subjects struct {
	ByKind map[SubjectKind][]Subject
	// queuesKnown: it is known which dead-letter queues are shared.
	queuesKnown bool
}

// SubjectsOf lists what rules judge. Before the first round there is the dashboard alone.
func SubjectsOf(snap *dedup.Snapshot) Subjects {
	if snap == nil || snap.Round == 0 {
		snap = &dedup.Snapshot{}
	}
	return subjectsOf(snap)
}

func subjectsOf(snap *dedup.Snapshot) Subjects {
	all := map[SubjectKind][]Subject{}
	add := func(s Subject) { all[s.Kind] = append(all[s.Kind], s) }
	add(Subject{Kind: OfDashboard, Labels: map[string]string{}})
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		add(Subject{Kind: OfPipeline, Name: p.Pipeline.Name, Labels: labelsOfPipeline(&p.Pipeline), pipeline: p, down: p.Down})
	}
	for i := range snap.SharedQueues {
		q := &snap.SharedQueues[i]
		add(Subject{Kind: OfQueue, Name: q.Subject(), Labels: labelsOfQueue(snap, q), queue: q, down: q.Down})
	}
	for i := range snap.Brokers {
		b := &snap.Brokers[i]
		add(Subject{Kind: OfBroker, Name: b.Name, Labels: map[string]string{LabelBroker: b.Name}, broker: b, source: b.Health, down: downOf(b.Health)})
	}
	for i := range snap.Stores {
		s := &snap.Stores[i]
		add(Subject{Kind: OfStore, Name: s.Name, Labels: map[string]string{LabelStore: s.Name}, source: s.Health, down: downOf(s.Health)})
	}
	return Subjects{ByKind: all, queuesKnown: snap.SharedKnown}
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
			common = map[string]string{}
			maps.Copy(common, p.Pipeline.Labels)
		}
		maps.DeleteFunc(common, func(label, value string) bool { return p.Pipeline.Labels[label] != value })
	}
	labels := map[string]string{}
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

// Known reports whether the snapshot can tell which subjects there are: before the first round nothing has left, and no shared queue
// before the topology of every broker was read.
func (s Subjects) Known(kind SubjectKind) bool {
	if kind == OfQueue {
		return s.queuesKnown
	}
	return kind == OfDashboard || len(s.ByKind[OfPipeline])+len(s.ByKind[OfBroker])+len(s.ByKind[OfStore]) > 0
}

// A SubjectKind is what kind of thing an alert is about.
type SubjectKind string

// The kinds of subjects.
const (
	OfPipeline SubjectKind = "pipeline"
	OfBroker   SubjectKind = "broker"
	OfStore    SubjectKind = "store"
	// OfQueue is a dead-letter queue whose messages may be of several pipelines.
	OfQueue     SubjectKind = "queue"
	OfDashboard SubjectKind = "dashboard"
)

// A Key identifies an alert: there is one for each rule and subject.
type Key struct {
	Rule string
	Kind SubjectKind
	// Subject is the name of the pipeline, broker or store, or the subject of the shared queue; empty for the dashboard itself.
	Subject string
}

// String writes the key as rule/kind/subject. Names have no slash, so that it can be parsed again.
func (k Key) String() string { return k.Rule + "/" + string(k.Kind) + "/" + k.Subject }

// ParseKey parses what String wrote, and returns false for anything else.
func ParseKey(text string) (Key, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return Key{}, false
	}
	return Key{Rule: parts[0], Kind: SubjectKind(parts[1]), Subject: parts[2]}, true
}

// Compare orders keys by rule, kind and subject.
func (k Key) Compare(other Key) int {
	return cmp.Or(strings.Compare(k.Rule, other.Rule), strings.Compare(string(k.Kind), string(other.Kind)), strings.Compare(k.Subject, other.Subject))
}
