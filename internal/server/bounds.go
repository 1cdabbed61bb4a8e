package server

import (
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/web/templates"
)

// momentLayout writes a time so that it can be compared with another one of another day.
const momentLayout = "2 Jan 2006 15:04:05.999999999"

// boundFacts say how the times of a filter were read: in the zone of the reader and in UTC.
func boundFacts(f admin.Filter, now time.Time) []templates.Fact {
	var facts []templates.Fact
	for _, b := range f.Times() {
		fact := templates.Fact{Label: "Died before", Value: inBothZones(b.At, now)}
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

// inBothZones writes a time in the zone of now and in UTC.
func inBothZones(at, now time.Time) string {
	utc := at.UTC().Format(momentLayout) + " UTC"
	if now.Location() == time.UTC {
		return utc
	}
	return at.In(now.Location()).Format(momentLayout+" MST") + " (" + zoneWord(now) + ") = " + utc
}

// zoneWord is the name of the zone of now.
func zoneWord(now time.Time) string { return now.Location().String() }
