package server

import (
	"slices"
	"time"

	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// causeText is the likely cause in words, in the zone of now; empty when there is nothing to explain.
func causeText(snap *dedup.Snapshot, p show.Judged, late string, now time.Time) templates.Text {
	c, ok := show.LikelyCause(snap, p, late)
	if !ok || c.Kind == cause.Outage && slices.ContainsFunc(p.Down, show.IsLost) { // which the reason of the tier begins with
		return templates.Text{}
	}
	return templates.Sentence(c.Sentence(now.Location()))
}

// withJobs returns the snapshot with what jobs of ours did as events of their pipelines, for those who may see jobs. What
// cannot be asked is left out: the pages must not depend on it.
func (s *Server) withJobs(r *web.Request, snap *dedup.Snapshot) *dedup.Snapshot {
	if s.deadLetters == nil || !r.Who.Can(operator) {
		return snap
	}
	jobs, err := s.deadLetters.Jobs(r.Context(), r.Asker(), jobsLooked)
	if err != nil {
		s.log.Warn("jobs cannot be read for the events", "request", r.ID, "err", err)
		return snap
	}
	return snap.With(JobEvents(jobs))
}
