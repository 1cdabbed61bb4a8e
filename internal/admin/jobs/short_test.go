package jobs_test

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/lab/admintest"
)

func TestAJobThatMovedLessThanItsPlanIsNotDone(t *testing.T) {
	for name, c := range map[string]struct {
		// gone is how many others have taken when the job begins.
		gone  int
		whole bool
		most  int64
		want  jobs.JobState
		says  string
	}{
		"of a whole queue all is there":            {0, true, 0, jobs.JobDone, ""},
		"of a filter all is there":                 {0, false, 0, jobs.JobDone, ""},
		"of a whole queue most is held by others":  {15, true, 0, jobs.JobStopped, "only 5 of the 20 messages that were planned were ready when it began"},
		"of a filter some were taken by others":    {15, false, 0, jobs.JobStopped, "15 of the 20 messages that were planned could not be found"},
		"of a filter with a bound some were taken": {15, false, 10, jobs.JobStopped, "5 of the 10 messages that were planned could not be found"},
		"as many as may be moved were there":       {15, false, 5, jobs.JobDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t)
			w.die(numbered("short", 20)...)
			scan := w.look(t)
			req := move.Request{Scan: scan.ID, Filter: "id:short*"}
			if c.whole {
				req = move.Request{Scan: scan.ID, Whole: true}
			}
			req.Most = c.most
			p, err := w.planMove(t, ada, req)
			admintest.Must(t, err)
			w.take(deadQueue.Name, c.gone)
			id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
			admintest.Must(t, err)
			job := w.until(t, id, func(j jobs.Job) bool { return j.State.Final() })
			if job.State != c.want || !strings.HasPrefix(job.Why, c.says) || (job.Why == "") != (c.says == "") || job.Moved != int64(20-c.gone) {
				t.Errorf("%s %q, %+v", job.State, job.Why, job.Counts)
			}
		})
	}
}
