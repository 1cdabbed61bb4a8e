package letter

import (
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// JSON is a dead letter in a list, without body and headers.
type JSON struct {
	Ref       string     `json:"ref"`
	ID        string     `json:"id"`
	NoID      string     `json:"no_id"`
	Reason    string     `json:"reason"`
	Source    string     `json:"source"`
	FirstDied *time.Time `json:"first_died"`
	LastDied  *time.Time `json:"last_died"`
	Exception string     `json:"exception"`
	Type      string     `json:"type"`
	Bytes     int        `json:"bytes"`
	Requeues  int        `json:"requeues"`
	// Foreign says why the headers of ours that it has are not believed; empty when they are.
	Foreign  string     `json:"requeues_not_believed"`
	Target   string     `json:"target"`
	NoTarget string     `json:"no_target"`
	Marker   string     `json:"marker"`
	Class    string     `json:"class"`
	Until    *time.Time `json:"until"`
	Reasons  []string   `json:"reasons"`
}

// ClassesOf counts messages by class, every class.
func ClassesOf(t preflight.Tally) map[string]int {
	m := map[string]int{}
	for _, c := range preflight.Classes() {
		m[string(c)] = t[c]
	}
	return m
}

// JSONOf is a dead letter of a scan as a list has it.
func JSONOf(l deadletter.Letter, scan deadletter.Scan) JSON {
	j := JSON{
		Ref: l.Ref, ID: l.ID, NoID: l.NoID, FirstDied: web.Time(l.FirstDied()), LastDied: web.Time(l.LastDied()), Exception: l.Exception, Type: l.MessageType(), Bytes: l.Size, Requeues: l.Requeues, Foreign: l.Foreign,
		Target: l.Target, NoTarget: l.NoTarget, Class: string(l.Prediction.Class), Until: web.Time(l.Prediction.Until), Reasons: web.OrEmpty(l.Prediction.Reasons),
	}
	j.Source, _ = l.Source()
	j.Marker, _ = MarkerWord(l, scan, "")
	if len(l.Deaths) > 0 {
		j.Reason = l.Deaths[0].Reason
	}
	return j
}

// MarkerWord is the state of a letter's marker with the way to its page; "none" is not "unknown".
func MarkerWord(l deadletter.Letter, scan deadletter.Scan, base string) (word, href string) {
	switch {
	case l.Marker != nil:
		return string(l.Marker.State), web.MarkerAddress(base, l.Marker.Store, l.Marker.Key)
	case scan.StoreFailed != "":
		return "not known", ""
	case l.ID == "":
		return "no id", ""
	default:
		return "none", ""
	}
}

// Targets are the queues that messages without an origin can be sent to; unless one is chosen they stay.
func Targets(p *dedup.PipelineStatus) []templates.Choice {
	choices := []templates.Choice{{Label: "stay where they are", Chosen: true}}
	for _, name := range p.Pipeline.Queues {
		choices = append(choices, templates.Choice{Value: name, Label: "go to " + show.ShortName(name)})
	}
	return choices
}

// BoundFacts say how the times of a filter were read: in the zone of the reader and in UTC.
func BoundFacts(f deadletter.Filter, now time.Time) []templates.Fact {
	var facts []templates.Fact
	for _, b := range f.Times() {
		fact := templates.Fact{Label: "Died before", Value: show.InBothZones(b.At, now)}
		if b.From {
			fact.Label = "Died from"
		}
		if b.Unknown {
			fact.Value += ", or at a time that is not known"
		}
		facts = append(facts, fact)
	}
	return facts
}
