package server

import (
	"testing"

	"dedup-dashboard/internal/admin"
)

func TestTheHeadingOfAJobClaimsNoMoreThanIsKnown(t *testing.T) {
	plan := admin.MovePlan{Request: admin.MoveRequest{Do: admin.Requeue, Whole: true}}
	for want, j := range map[string]admin.Job{
		"Requeueing 1,000 messages":               {Plan: plan, State: admin.JobRunning, Limit: 1000, Counts: admin.Counts{Moved: 10}},
		"Requeued 1,000 messages":                 {Plan: plan, State: admin.JobDone, Limit: 1000, Counts: admin.Counts{Moved: 1000}, Resumed: 1},
		"Requeued 400 of 1,000 messages":          {Plan: plan, State: admin.JobCancelled, Limit: 1000, Counts: admin.Counts{Moved: 400}},
		"Requeued at least 990 of 1,000 messages": {Plan: plan, State: admin.JobDone, Limit: 1000, Counts: admin.Counts{Moved: 990}, Resumed: 2},
	} {
		if got := jobHeading(j); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
