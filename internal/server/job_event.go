package server

import (
	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

// JobEvents returns what jobs of ours did as events, by pipeline. A job that has not begun did nothing.
func JobEvents(jobs []jobs.JobSummary) map[string][]dedup.Event {
	events := map[string][]dedup.Event{}
	for _, j := range jobs {
		if !j.Started.IsZero() {
			events[j.Pipeline] = append(events[j.Pipeline], jobEvent(j))
		}
	}
	return events
}

// jobEvent is a job as an event. Only a requeue that sent something can make duplicates; what else a job does is an action. What was
// sent without an answer may have arrived.
func jobEvent(j jobs.JobSummary) dedup.Event {
	e := dedup.Event{At: j.Started, Kind: "action", Text: moveWord(j.Do) + " of dead letters of " + show.Within(j.Queue)}
	if sent := j.Moved + j.Unknown; j.Do == admin.Requeue && sent > 0 {
		e.Kind, e.Count = "job", sent
	}
	if j.Moved > 0 {
		e.Text = moveWord(j.Do) + " of " + show.Counted(int(j.Moved), "message") + " of " + show.Within(j.Queue)
	}
	if j.By != "" {
		e.Text += " by " + show.Within(j.By)
	}
	return e
}
