package rule

import (
	"cmp"
	"strings"
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

// Compare orders keys by rule, kind and subject.
func (k Key) Compare(other Key) int {
	return cmp.Or(strings.Compare(k.Rule, other.Rule), strings.Compare(string(k.Kind), string(other.Kind)), strings.Compare(k.Subject, other.Subject))
}
