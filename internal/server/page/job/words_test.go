package job

import (
	"testing"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/web/templates"
)

func TestOneMessageOfTenThousandIsAJobOfOneMessage(t *testing.T) {
	plan := move.Plan{
		Request: move.Request{Do: admin.Requeue, Refs: []string{"ref"}}, Scanned: 10_000, Matching: 1, Classes: preflight.Tally{preflight.ClassRuns: 1},
	}
	j := jobs.Job{Plan: plan, State: jobs.JobDone, Limit: 10_000, Extent: move.ExtentOf(plan, 10_000), Counts: jobs.Counts{Moved: 1, Left: 60}}
	if got := jobHeading(j); got != "Requeued 1 message" {
		t.Errorf("the heading is %q", got)
	}
	line := pages{}.jobLine(jobs.JobSummary{Do: admin.Requeue, Pipeline: "orders", Queue: "orders.dlq", State: j.State, Limit: j.Limit, Extent: j.Extent, Counts: j.Counts}, time.Now())
	if line.Title.Short != "Requeue 1 message of “orders.dlq”, pipeline orders" && line.Title.Short != "Requeue 1 message of orders.dlq, pipeline orders" || line.Done != 1 || line.Total != 1 {
		t.Errorf("the list has %q, %d of %d", line.Title.Short, line.Done, line.Total)
	}
}

func TestAnInterruptedJobCountsAtLeastEverywhereAndIsWholeOnlyWhenItIs(t *testing.T) {
	plan := move.Plan{Request: move.Request{Do: admin.Requeue, Pipeline: "orders"}}
	job := func(moved int64, resumed int) jobs.Job {
		return jobs.Job{Plan: plan, State: jobs.JobDone, Limit: 219, Extent: move.Extent{Messages: 219}, Counts: jobs.Counts{Moved: moved, Left: 1}, Resumed: resumed}
	}
	for _, c := range []struct {
		job     jobs.Job
		list    string
		least   string
		percent int
	}{
		{job(216, 1), "at least 216 moved, 1 left", "at least ", 99},
		{job(216, 0), "216 moved, 1 left", "", 99},
		{job(218, 0), "218 moved, 1 left", "", 100},
		{jobs.Job{Plan: plan, State: jobs.JobDone}, "0 moved", "", 100},
	} {
		if got := (pages{}).jobLine(summaryOfJob(c.job), time.Now()).Results; got != c.list {
			t.Errorf("the list says %q, want %q", got, c.list)
		}
		var v templates.JobView
		if showProgress(&v, c.job); v.Percent != c.percent || v.Least != c.least {
			t.Errorf("%s: the page says %d %%, %q%d of %d", c.list, v.Percent, v.Least, v.Done, v.Total)
		}
	}
}
