package alerts

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

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

// Health says whether a rule could be evaluated.
type Health uint8

// The healths of an evaluation. Only the first one can change a tier.
const (
	HealthOK Health = iota
	// HealthNoData: nothing went wrong, but there is nothing to judge.
	HealthNoData
	// HealthError: the rule could not be evaluated, or what it rests on cannot be read.
	HealthError
)

// String returns the word that pages and the API use.
func (h Health) String() string {
	switch h {
	case HealthOK:
		return "ok"
	case HealthNoData:
		return "no data"
	default:
		return "error"
	}
}

// A Judgement is what one rule says of one subject at one time.
type Judgement struct {
	Key Key
	At  time.Time
	// Labels are those of the pipeline, with broker, store and pipeline where they apply: what routes, silences and groups match.
	Labels map[string]string
	// Enters is the tier by the limits at which one is entered, Holds by those at which it is left: Holds is never below Enters.
	// Both are unknown unless Health is HealthOK.
	Enters, Holds dedup.Tier
	Health        Health
	// Value and Limit are in Unit; Limit is that of the tier, 0 where there is none. N is how many events the value rests on, 0 where
	// that means nothing, Window the span, 0 for an instant.
	Value, Limit float64
	Unit         dedup.Unit
	N            float64
	Window       time.Duration
	// Why says value against limit in one line, as the page does; or why there is none.
	Why string
	// Unread are the sources that cannot be read, where there is nothing to judge because of them: "broker main".
	Unread []string
	// Evidence are further lines: findings, sources that are down.
	Evidence []string
}

// Words are what a rule says to people: what it is called, what to do first, and where to read more.
type Words struct{ Title, Step, Runbook string }

// An Alert is the life of one rule on one subject, with what is known of it now.
type Alert struct {
	Key   Key
	State State
	// Words are those of the rule that judges the subject: variants of a rule have words of their own.
	Words Words
	// Last is the newest judgement, LastOK the newest with HealthOK.
	Last, LastOK Judgement
	// Cause is the likely cause with times in UTC, empty where none is known.
	Cause string
	Ack   *Ack
	// Silences are the ids of the active silences that cover it.
	Silences []string
	// Flapping is since when its edges are told in digests only; zero while they are not.
	Flapping time.Time
}

// An Ack is somebody's acknowledgement of a firing alert. It ends when the tier worsens, when the alert resolves, or at Until.
type Ack struct {
	By, Note string
	At       time.Time
	// Until is when it ends by itself.
	Until time.Time
	// Tier is what was acknowledged.
	Tier dedup.Tier
}

// A Transition is an edge of an alert, with the judgement that made it.
type Transition struct {
	Edge
	Judgement Judgement
	Cause     string
}

// Compare orders keys by rule, kind and subject.
func (k Key) Compare(other Key) int {
	return cmp.Or(strings.Compare(k.Rule, other.Rule), strings.Compare(string(k.Kind), string(other.Kind)), strings.Compare(k.Subject, other.Subject))
}

// Labels returns the labels that it was judged with, of before where the newest judgement has none. They must not be changed.
func (a Alert) Labels() map[string]string {
	if len(a.Last.Labels) > 0 {
		return a.Last.Labels
	}
	return a.LastOK.Labels
}

// MatchLabels returns what routes, silences and groups match: the labels of an alert with its rule, its kind and a tier.
func (a Alert) MatchLabels(tier dedup.Tier) map[string]string {
	labels := maps.Clone(a.Labels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelRule], labels[LabelKind], labels[LabelTier] = a.Key.Rule, string(a.Key.Kind), tier.String()
	return labels
}
