package server

import (
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// boundFacts say how the times of a filter were read: in the zone of the reader and in UTC.
func boundFacts(f deadletter.Filter, now time.Time) []templates.Fact {
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
