package server

import (
	"slices"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// causeText is the likely cause in words, in the zone of now; empty when there is nothing to explain.
func causeText(snap *dedup.Snapshot, p show.Judged, late string, now time.Time) templates.Text {
	c, ok := show.LikelyCause(snap, p, late)
	if !ok || c.Kind == alerts.CauseOutage && slices.ContainsFunc(p.Down, show.IsLost) { // which the reason of the tier begins with
		return templates.Text{}
	}
	return templates.Sentence(c.Sentence(now.Location()))
}
