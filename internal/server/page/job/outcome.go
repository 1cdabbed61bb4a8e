package job

import (
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// jobOutcome is how a job stands in words, with its tier: green only where it is known that work was done and that nothing came back or
// failed, and no colour while that is not known.
func jobOutcome(j jobs.JobSummary) (word, tier string) {
	word, tier = stateWord(j.State)
	back, failed := j.Aftermath.Total(jobs.BecameBack), j.Aftermath.Total(jobs.BecameFailed)
	switch {
	case !j.State.Final():
		return word, tier
	case back > 0:
		word += ", " + templates.Number(back) + " dead again"
	case failed > 0:
		word += ", " + templates.Number(failed) + " failed"
	}
	switch {
	case j.State != jobs.JobDone:
	case back > 0 || failed > 0:
		tier = dedup.Severe.String()
	case wentWrong(j.Counts) > 0:
		tier = dedup.Warning.String()
	case j.Do == admin.Requeue && j.Moved > 0:
		tier = knownTier(j).String()
	}
	return word, tier
}

// knownTier is the tier of a requeue that is done and of which nothing is known to have come back or failed. That nothing came back is
// known from a look at the dead-letter queue, or because nothing at all came into it.
func knownTier(j jobs.JobSummary) dedup.Tier {
	a := j.Aftermath
	switch {
	case a.Total(jobs.BecameProcessing) > 0: // under way or stuck, long after a consumer should have ended
		return dedup.Warning
	case a == nil || a.Total(jobs.BecameDone) == 0:
		return dedup.TierUnknown
	case a.Back == nil && (j.Arrived == nil || *j.Arrived > 0):
		return dedup.TierUnknown
	}
	return dedup.Normal
}

// summaryOfJob is a job as it stands in a list.
func summaryOfJob(j jobs.Job) jobs.JobSummary {
	req := j.Plan.Request
	return jobs.JobSummary{
		ID: j.ID, Do: req.Do, Pipeline: req.Pipeline, Queue: req.Queue, By: j.By, Reason: j.Reason, State: j.State, Started: j.Started, Ended: j.Ended,
		Limit: j.Limit, Extent: j.Extent, Counts: j.Counts, Aftermath: j.Aftermath, Arrived: j.Arrived, Resumed: j.Resumed,
	}
}

// deadAgain offers the messages of a job that are in the dead-letter queue again, to those who may requeue them.
func (s pages) deadAgain(r *web.Request, v *templates.JobView, j jobs.Job, self string) {
	n := j.Aftermath.Total(jobs.BecameBack)
	if n == 0 {
		return
	}
	v.Back = &templates.BackView{
		Text:  templates.Sentence(letter.Messages(n) + " reached " + show.Plural(n, "its queue, and is", "their queues, and are") + " dead again."),
		Items: itemsQuery{became: jobs.BecameBack}.address(self), See: show.Plural(n, "See it", "See these "+templates.Number(n)),
	}
	if j.Aftermath.Total(jobs.BecameBack) > listedBack(j) {
		v.Back.Note = templates.Sentence("The list has those of the first " + templates.Number(jobs.MaxJobItems) + " messages that can be told by their ids.")
	}
	if v.Missing.Short == "" {
		v.Back.Again = self + "/again"
		v.Back.Button = "Preview requeueing " + show.Plural(n, "it", "the "+templates.Number(n)) + " again"
		picked := j.Plan
		picked.Request.Whole = false // whatever the job moved, these are named
		v.Back.No = s.mayRetry(r, picked, n)
	}
}

// listedBack counts the messages that came back and are told of one by one.
func listedBack(j jobs.Job) int64 {
	n := 0
	for _, counts := range j.Aftermath.Results {
		n += counts[jobs.BecameBack]
	}
	return int64(n)
}

// arrivedText says what came into the dead-letter queue since the job began, and how much of it are messages of the job.
func arrivedText(j jobs.Job) string {
	if j.Arrived == nil {
		return ""
	}
	n := *j.Arrived
	came := letter.Messages(n) + " came into the dead-letter queue since the job began"
	switch back := returnedOf(j); {
	case n == 0:
		return "No message came into the dead-letter queue since the job began."
	case back == nil:
		return came + "; whether " + show.Plural(n, "it is of this job", "any of them are of this job") + " could not be seen."
	case *back >= n:
		return came + ": " + show.Plural(n, "a message of this job that is dead again.", "messages of this job that are dead again.")
	case *back == 0:
		return came + "; " + show.Plural(n, "it is", "they are") + " no part of it."
	default:
		other := n - *back
		return came + ": " + templates.Number(*back) + " of this job that " + show.Plural(*back, "is", "are") + " dead again, and " +
			templates.Number(other) + " that " + show.Plural(other, "is", "are") + " no part of it."
	}
}

// returnedOf is how many messages of a job were seen in its dead-letter queue again; nil where that was not looked at.
func returnedOf(j jobs.Job) *int64 {
	switch {
	case j.Aftermath != nil:
		return j.Aftermath.Back
	case j.Canary != nil && j.Canary.BackBy == jobs.BackByLook:
		back := int64(j.Canary.Back)
		return &back
	}
	return nil
}

// againJob plans the messages of a job that are dead again, and no others. It looks at their queue when no look has found them yet.
func (s pages) againJob(r *web.Request) (web.Response, error) {
	j, err := s.jobAsked(r)
	if err != nil {
		return nil, err
	}
	if j.Plan.Request.Do != admin.Requeue || !j.State.Final() {
		return nil, web.Conflict("Of this job nothing can be requeued again: it has not ended, or it sent nothing to consumers")
	}
	req := j.Plan.Request
	scan, refs, err := s.letters.BackOf(r.Context(), r.Asker(), j.ID)
	if dedup.KindOf(err) == dedup.Conflict || err == nil && int64(len(refs)) < j.Aftermath.Total(jobs.BecameBack) {
		if _, err := s.letters.Scan(r.Context(), r.Asker(), deadletter.ScanRequest{Pipeline: req.Pipeline, Queue: req.Queue, Limit: deadletter.MaxScan}); err != nil {
			return nil, err
		}
		scan, refs, err = s.letters.BackOf(r.Context(), r.Asker(), j.ID)
	}
	if err != nil {
		return nil, err
	}
	req.Filter, req.Whole, req.Scan, req.Refs, req.Edit = "", false, scan, refs, nil
	if req.Canary >= len(refs) {
		req.Canary = 0
	}
	return s.planner().PlanAgain(r, req)
}

// markFate puts what became of a message after it was moved in place of that it was moved.
func markFate(l *templates.JobItemLine, item jobs.JobItem) {
	if item.Became == "" {
		return
	}
	l.Outcome, l.Grade = letter.FateWord(item.Became), letter.ItemTier(item)
	if item.Text == "" {
		l.Text = templates.Sentence(map[string]string{
			jobs.BecameBack: "Reached its queue, and is in the dead-letter queue again", jobs.BecameFailed: "Reached its queue; its marker says that the work failed",
			jobs.BecameDone: "Reached its queue; its marker says that the work is done", jobs.BecameProcessing: "Reached its queue; its marker says that the work is under way or stuck",
			"none": "Reached its queue; it has no marker", "unknown": "Reached its queue; its marker does not tell",
		}[item.Became])
	}
}

// canaryLeft says how much longer the first messages are watched; empty when they are not.
func canaryLeft(j jobs.Job, now time.Time) string {
	left := j.WatchedUntil.Sub(now)
	if j.State != jobs.JobWatching || j.WatchedUntil.IsZero() {
		return ""
	}
	if left < time.Second {
		return "The verdict is due."
	}
	return "Watched for " + templates.Span(left) + " more, unless one fails before."
}

func movingWord(do admin.Move) string {
	switch do {
	case admin.Discard:
		return "Discarding"
	case admin.RestoreLetters:
		return "Restoring"
	default:
		return "Requeueing"
	}
}

// stateWord is the state of a job in words, with its tier.
func stateWord(state jobs.JobState) (word, tier string) {
	switch state {
	case jobs.JobRunning:
		return "running", dedup.TierUnknown.String()
	case jobs.JobCanary:
		return "sending the canary", dedup.TierUnknown.String()
	case jobs.JobWatching:
		return "watching the canary", dedup.TierUnknown.String()
	case jobs.JobPaused:
		return "paused", dedup.Warning.String()
	case jobs.JobWaiting:
		return "waiting", dedup.Warning.String()
	case jobs.JobDone:
		return "done", dedup.Normal.String()
	case jobs.JobCancelled:
		return "cancelled", dedup.Warning.String()
	case jobs.JobStopped:
		return "stopped", dedup.Severe.String()
	default:
		return show.ShortName(string(state)), dedup.TierUnknown.String()
	}
}
