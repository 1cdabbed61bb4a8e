package server

import (
	"slices"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// causeAt is the likely cause of a pipeline's duplicates: the one that an alert gives, which knows what it said before and was told in
// notifications, else what the figures say. While rounds are late nothing can be told.
func causeAt(snap *dedup.Snapshot, p judged, late string) (alerts.Cause, bool) {
	if late != "" {
		return alerts.Cause{}, false
	}
	if p.verdict.Cause.Told() {
		// What figures showed before a source was lost says nothing of now.
		blind := slices.ContainsFunc(p.Down, show.IsLost)
		return p.verdict.Cause, !blind || p.verdict.Cause.Kind == alerts.CauseOutage
	}
	if _, ok := alerts.LikelyCause(p.PipelineStatus, nil); !ok { // the events of most pipelines need not be joined
		return alerts.Cause{}, false
	}
	return alerts.LikelyCause(p.PipelineStatus, snap.EventsOf(p.PipelineStatus))
}

// causeText is the likely cause in words, in the zone of now; empty when there is nothing to explain.
func causeText(snap *dedup.Snapshot, p judged, late string, now time.Time) templates.Text {
	c, ok := causeAt(snap, p, late)
	if !ok || c.Kind == alerts.CauseOutage && slices.ContainsFunc(p.Down, show.IsLost) { // which the reason of the tier begins with
		return templates.Text{}
	}
	return templates.Sentence(c.Sentence(now.Location()))
}

// causeJSON is the likely cause in the API: an inference, with the events that it rests on.
type causeJSON struct {
	Kind   string      `json:"kind"`
	Text   string      `json:"text"`
	Events []eventJSON `json:"events"`
}

// causeOf writes the likely cause with times in UTC; nil when there is nothing to explain.
func causeOf(snap *dedup.Snapshot, p judged, late string) *causeJSON {
	c, ok := causeAt(snap, p, late)
	if !ok {
		return nil
	}
	j := &causeJSON{Kind: string(c.Kind), Text: c.Sentence(time.UTC), Events: []eventJSON{}}
	for _, e := range c.Events {
		j.Events = append(j.Events, eventJSON{timeOf(e.At), e.Kind, e.Text, e.Count})
	}
	return j
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
