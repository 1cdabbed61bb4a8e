// Package alerts leads every alert through its life: it asks the rules, keeps what changes, and says what holds now.
package alerts

import (
	"maps"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// An Alert is the life of one rule on one subject, with what is known of it now.
type Alert struct {
	Key   rule.Key
	State State
	// Words are those of the rule that judges the subject: variants of a rule have words of their own.
	Words rule.Words
	// Last is the newest judgement, LastOK the newest with HealthOK.
	Last, LastOK rule.Judgement
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
	Judgement rule.Judgement
	Cause     string
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
	labels[rule.LabelRule], labels[rule.LabelKind], labels[rule.LabelTier] = a.Key.Rule, string(a.Key.Kind), tier.String()
	return labels
}
