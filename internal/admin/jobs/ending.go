package jobs

import (
	"errors"
	"fmt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// An ending is how the work on a job came to an end in this process. An empty state means that the program is stopping and the job
// goes on with the next start.
type ending struct {
	state JobState
	why   string
}

// exhausted is the ending of a job that has come to the end of its queue: it is done unless some of what was planned was not there.
func (j *liveJob) exhausted() ending {
	if why := j.missed(); why != "" && !j.spent() {
		return ending{JobStopped, why}
	}
	return ending{JobDone, ""}
}

// missed says how many of the planned messages the job never saw; empty when it saw all.
func (j *liveJob) missed() string {
	job, p := j.snapshot(), j.plan
	if why := j.changed(); why != "" {
		return why
	}
	switch {
	case len(p.Request.Refs) > 0:
		return j.notFound()
	case p.Request.Whole && job.Limit < p.Planned():
		return fmt.Sprintf("only %d of the %d messages that were planned were ready when it began: the others had been taken, had expired, or were held by somebody",
			job.Limit, p.Planned())
	case job.Resumed > 0: // what was moved in the last moment of an earlier run is not counted
		return ""
	case p.Request.Filter != "":
		return j.notMatched(job.Moved)
	}
	c := job.Counts
	n := job.Limit - c.Moved - c.Left - c.Bounced - c.Guarded - c.Returned - c.Rejected - c.Unknown
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("the queue had no more: %s of %d that were ready when it began had been taken or had expired meanwhile", admin.Plural(int(n), "message"), job.Limit)
}

// notMatched says how many of the messages that match the plan's filter were not in the queue any more; empty when all were. Of messages
// that stay in the queue each run comes upon the same ones again, so that the newest run counts, and what was moved before it.
func (j *liveJob) notMatched(moved int64) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	planned := j.plan.AtMost(int64(j.plan.Matching))
	n := planned - max(moved, j.found)
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%d of the %d messages that were planned could not be found in the queue any more, or do not match any more: taken by somebody else, expired, or changed",
		n, planned)
}

// notFound says how many of the messages that were selected one by one were not in the queue any more; empty when all were.
func (j *liveJob) notFound() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := int64(j.unfound) - j.job.Unknown // those without an answer are told apart
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%d of the selected messages could not be found in the queue any more: taken by somebody else, or expired", n)
}

// spent reports whether the job has moved as many messages as it may.
func (j *liveJob) spent() bool { return j.plan.Most > 0 && j.snapshot().Moved >= j.plan.Most }

func (j *liveJob) mostMoved() string {
	return fmt.Sprintf("%d messages were moved, the most of this job", j.plan.Most)
}

// interrupted is the ending of what was told to stop.
func (j *liveJob) interrupted() ending {
	switch j.wished() {
	case pauseIt:
		return ending{JobPaused, "paused by hand"}
	case cancelIt:
		return ending{JobCancelled, ""}
	}
	return ending{}
}

// endingOf says what the end of a run means for its job.
func (r *jobRunner) endingOf(j *liveJob, result requeue.Result, err error) ending {
	var store *storeError
	switch {
	case errors.Is(err, errEnough):
		return j.enough()
	case errors.As(err, &store):
		return ending{JobPaused, "the markers could not be looked up: " + store.why}
	case j.wished() != goOn:
		return j.interrupted()
	case r.life.Err() != nil:
		return ending{}
	}
	switch result.Stop {
	case requeue.StopLimit, requeue.StopEmpty:
		return j.exhausted()
	case requeue.StopBounced:
		return ending{JobDone, result.Text}
	case requeue.StopBlocked, requeue.StopConnection, requeue.StopAge:
		if dedup.KindOf(err) == dedup.NotFound {
			return ending{JobStopped, deadletter.ErrorText(err)}
		}
		return ending{JobPaused, result.Text + alsoSaid(err)}
	case requeue.StopReport:
		return ending{JobStopped, admin.JournalFailed}
	case requeue.StopDecide:
		return ending{JobPaused, result.Text + alsoSaid(err)}
	}
	if err != nil {
		r.deps.Log.Error("a job stopped", "job", j.job.ID, "stop", result.Stop, "err", err)
	}
	if result.Text == "" {
		result.Text = "the messages could not be moved; the program's log says why"
	}
	return ending{JobStopped, result.Text}
}

// alsoSaid adds what an error says for people.
func alsoSaid(err error) string {
	if err == nil || dedup.KindOf(err) == dedup.Internal {
		return ""
	}
	return ": " + dedup.PublicText(err)
}
