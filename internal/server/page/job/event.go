package job

import (
	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// Events returns what jobs of ours did as events, by pipeline. A job that has not begun did nothing.
func Events(jobs []jobs.JobSummary) map[string][]dedup.Event {
	events := map[string][]dedup.Event{}
	for _, j := range jobs {
		if !j.Started.IsZero() {
			events[j.Pipeline] = append(events[j.Pipeline], event(j))
		}
	}
	return events
}

// event is a job as an event. Only a requeue that sent something can make duplicates; what else a job does is an action. What was
// sent without an answer may have arrived.
func event(j jobs.JobSummary) dedup.Event {
	e := dedup.Event{At: j.Started, Kind: "action", Text: letter.MoveWord(j.Do) + " of dead letters of " + show.Within(j.Queue)}
	if sent := j.Moved + j.Unknown; j.Do == admin.Requeue && sent > 0 {
		e.Kind, e.Count = "job", sent
	}
	if j.Moved > 0 {
		e.Text = letter.MoveWord(j.Do) + " of " + show.Counted(j.Moved, "message") + " of " + show.Within(j.Queue)
	}
	if j.By != "" {
		e.Text += " by " + show.Within(j.By)
	}
	return e
}

// newest is how many of the newest jobs are asked for their events.
const newest = 50

// WithEvents returns the snapshot with what jobs of ours did as events of their pipelines, for those who may see jobs. What
// cannot be asked is left out: the pages must not depend on it.
func (j Jobs) WithEvents(r *web.Request, snap *dedup.Snapshot) *dedup.Snapshot {
	if j.deps.Letters == nil || !r.Who.Can(auth.Operator) {
		return snap
	}
	jobs, err := j.deps.Letters.Jobs(r.Context(), r.Asker(), newest)
	if err != nil {
		j.deps.Log.Warn("jobs cannot be read for the events", "request", r.ID, "err", err)
		return snap
	}
	return snap.With(Events(jobs))
}
