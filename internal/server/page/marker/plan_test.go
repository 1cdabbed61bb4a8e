package marker

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/marker"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

func TestAPlanSaysUntilWhenClearingCanBeUndone(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	soon := now.Add(38 * time.Second)
	plan := func(expires ...time.Time) marker.Plan {
		p := marker.Plan{Request: marker.PlanRequest{Deed: admin.ClearMarkers}}
		for _, at := range expires {
			var seen dedup.Sighting
			seen.Expires = at
			p.Items = append(p.Items, marker.PlanItem{Seen: seen})
		}
		return p
	}
	until := show.Moment(soon, now).Text
	for want, p := range map[string]marker.Plan{
		"can be undone until " + until + ", when":                                             plan(soon),
		"kept for 7 days, and clearing can be undone until then.":                             plan(time.Time{}, now.Add(8*24*time.Hour)),
		"the first at " + until + ".":                                                         plan(soon, soon.Add(time.Minute)),
		"of 1 marker only until it would have expired by itself, the first at " + until + ".": plan(time.Time{}, soon),
	} {
		if notes := planNotes(p, now); len(notes) != 1 || !strings.Contains(notes[0].Text.Full, want) {
			t.Errorf("%+v lacks %q", notes, want)
		}
	}
}
