package server

import (
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/web/templates"
)

func TestTheHeadingOfAJobClaimsNoMoreThanIsKnown(t *testing.T) {
	plan := move.Plan{Request: move.Request{Do: admin.Requeue, Whole: true}}
	whole, filter := move.Extent{Messages: 1000}, move.Extent{Messages: 300, AtMost: true}
	for want, j := range map[string]jobs.Job{
		"Requeueing 1,000 messages":               {Plan: plan, State: jobs.JobRunning, Limit: 1000, Extent: whole, Counts: jobs.Counts{Moved: 10}},
		"Requeued 1,000 messages":                 {Plan: plan, State: jobs.JobDone, Limit: 1000, Extent: whole, Counts: jobs.Counts{Moved: 1000}, Resumed: 1},
		"Requeued 400 of 1,000 messages":          {Plan: plan, State: jobs.JobCancelled, Limit: 1000, Extent: whole, Counts: jobs.Counts{Moved: 400}},
		"Requeued at least 990 of 1,000 messages": {Plan: plan, State: jobs.JobDone, Limit: 1000, Extent: whole, Counts: jobs.Counts{Moved: 990}, Resumed: 2},
		"Requeueing up to 300 messages":           {Plan: plan, State: jobs.JobRunning, Limit: 300, Extent: filter},
		"Requeued 120 messages":                   {Plan: plan, State: jobs.JobDone, Limit: 300, Extent: filter, Counts: jobs.Counts{Moved: 120, Left: 180}},
		"Requeued at least 119 messages":          {Plan: plan, State: jobs.JobDone, Limit: 300, Extent: filter, Counts: jobs.Counts{Moved: 119}, Resumed: 1},
	} {
		if got := jobHeading(j); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

func TestOneMessageOfTenThousandIsAJobOfOneMessage(t *testing.T) {
	plan := move.Plan{
		Request: move.Request{Do: admin.Requeue, Refs: []string{"ref"}}, Scanned: 10_000, Matching: 1, Classes: preflight.Tally{preflight.ClassRuns: 1},
	}
	j := jobs.Job{Plan: plan, State: jobs.JobDone, Limit: 10_000, Extent: move.ExtentOf(plan, 10_000), Counts: jobs.Counts{Moved: 1, Left: 60}}
	s := stocked(t, nil)
	if got := jobHeading(j); got != "Requeued 1 message" {
		t.Errorf("the heading is %q", got)
	}
	line := s.jobLine(jobs.JobSummary{Do: admin.Requeue, Pipeline: "orders", Queue: "orders.dlq", State: j.State, Limit: j.Limit, Extent: j.Extent, Counts: j.Counts}, time.Now())
	if line.Title.Short != "Requeue 1 message of “orders.dlq”, pipeline orders" && line.Title.Short != "Requeue 1 message of orders.dlq, pipeline orders" || line.Done != 1 || line.Total != 1 {
		t.Errorf("the list has %q, %d of %d", line.Title.Short, line.Done, line.Total)
	}
}

func TestAnInterruptedJobCountsAtLeastEverywhereAndIsWholeOnlyWhenItIs(t *testing.T) {
	s := stocked(t, nil)
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
		if got := s.jobLine(summaryOfJob(c.job), time.Now()).Results; got != c.list {
			t.Errorf("the list says %q, want %q", got, c.list)
		}
		var v templates.JobView
		if showProgress(&v, c.job); v.Percent != c.percent || v.Least != c.least {
			t.Errorf("%s: the page says %d %%, %q%d of %d", c.list, v.Percent, v.Least, v.Done, v.Total)
		}
	}
}

func TestTheRestOfAJobIsMeasuredByWhatIsLookedAt(t *testing.T) {
	j := jobs.Job{State: jobs.JobRunning, Limit: 10_000, Rate: 500, Counts: jobs.Counts{Moved: 10, Left: 4990}, Extent: move.Extent{Messages: 6000, AtMost: true}}
	if got := jobSpeed(j); got != "500 looked at per second, about 10 s left" {
		t.Errorf("%q", got)
	}
	j.Extent = move.Extent{Messages: 20, Picked: true}
	if got := jobSpeed(j); got != "500 looked at per second, at most 10 s left" {
		t.Errorf("%q", got)
	}
}

func TestARetryTakesWhatDidNotGoThroughInTheEnd(t *testing.T) {
	var items []jobs.JobItem
	for _, i := range [][2]string{{"a", "unknown"}, {"b", "moved"}, {"c", "rejected"}, {"d", "left"}, {"a", "moved"}, {"c", "returned"}, {"b", "bounced"}, {"", "rejected"}} {
		items = append(items, jobs.JobItem{Ref: i[0], Outcome: i[1]})
	}
	if got := failedRefs(items); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("%q", got)
	}
}
