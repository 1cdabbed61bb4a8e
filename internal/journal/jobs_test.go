package journal

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// hostile is what a broker may hold: it must come back byte for byte.
const hostile = "a\xff\x00b\u202e" + byteMark

func movePlan(id, queue string) move.Plan {
	return move.Plan{
		ID: id, Made: time.Now().UTC().Truncate(time.Millisecond), By: "ada", Broker: "main", Source: dedup.QueueRef{Vhost: "/", Name: queue},
		Request: move.Request{Do: admin.Requeue, Pipeline: "orders", Queue: queue, Scan: "s", Filter: "id:a", Canary: 5, Rate: -1},
		Targets: map[string]int{hostile: 2}, Classes: preflight.Tally{preflight.ClassRuns: 2}, Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.LeaveOut},
		Letters: []move.PlannedLetter{{Ref: "r", ID: hostile, BusinessKey: hostile, Target: hostile, Prediction: preflight.Prediction{Class: preflight.ClassRuns, Reasons: []string{hostile}}}},
		Guards:  []move.Guard{{Text: hostile, Blocking: true}}, Needs: auth.Admin, Confirm: queue,
	}
}

func jobOf(p move.Plan, id string) jobs.Job {
	return jobs.Job{ID: id, Plan: p, By: p.By, Reason: "night shift", State: jobs.JobRunning, Started: p.Made, Limit: 10}
}

// begunJob saves a plan and begins its job.
func begunJob(t *testing.T, j *Jobs, id, queue, token string) (jobs.Job, string, error) {
	t.Helper()
	p := movePlan("plan-"+id, queue)
	if err := j.SaveMovePlan(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	job := jobOf(p, id)
	holder, err := j.BeginJob(t.Context(), job, token)
	return job, holder, err
}

func openJobs(t *testing.T) (*DB, *Jobs) {
	t.Helper()
	db, _ := open(t, t.TempDir())
	return db, db.Jobs()
}

func TestAJobComesBackAsItWasKept(t *testing.T) {
	_, j := openJobs(t)
	job, _, err := begunJob(t, j, "one", hostile, "")
	if err != nil {
		t.Fatal(err)
	}
	rate := 0.25
	arrived := int64(3)
	job.State, job.Why, job.Ended = jobs.JobStopped, hostile, job.Started.Add(time.Minute)
	job.Moved, job.Cleared, job.Resumed, job.Items = 4, 2, 1, 2
	job.Canary = &jobs.CanaryVerdict{Sent: 5, At: job.Started, Failed: 1, Text: hostile}
	job.Aftermath = &jobs.Aftermath{At: job.Started, Asked: 4, Results: map[preflight.Class]map[string]int{preflight.ClassRuns: {"done": 4}}, RateBefore: &rate}
	job.Arrived, job.Clears = &arrived, []string{"op"}
	job.Failures = []jobs.JobItem{{Seq: 1, At: job.Started, ID: hostile, Target: hostile, Text: hostile, Outcome: "returned"}}
	items := []jobs.JobItem{
		{Seq: 1, At: job.Started, Ref: "r1", ID: hostile, Target: hostile, Class: preflight.ClassRuns, Outcome: "moved", Death: &message.Death{Queue: hostile, Reason: "rejected", Count: 3, Time: job.Started}},
		{Seq: 2, At: job.Started, Ref: "r2", Target: "orders", Outcome: "left", Text: hostile},
	}
	if err := j.SaveJob(t.Context(), job, items); err != nil {
		t.Fatal(err)
	}
	got, ok, err := j.Job(t.Context(), "one")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if !reflect.DeepEqual(got, job) {
		t.Errorf("kept %+v\n got %+v", job, got)
	}
	page, err := j.JobItems(t.Context(), "one", 1, 10)
	if err != nil || len(page) != 1 || page[0].Text != hostile || page[0].Death != nil {
		t.Errorf("%+v %v", page, err)
	}
	of, err := j.ItemsOf(t.Context(), hostile, 10)
	if err != nil || len(of) != 1 || of[0].Job != "one" || of[0].Ref != "r1" || !reflect.DeepEqual(of[0].Death, items[0].Death) {
		t.Errorf("%+v %v", of, err)
	}
	if of, err := j.ItemsOf(t.Context(), "", 10); err != nil || len(of) != 0 {
		t.Errorf("messages without an id are found by none: %+v %v", of, err)
	}
	list, err := j.Jobs(t.Context(), 10)
	if err != nil || len(list) != 1 || list[0].Queue != hostile || list[0].Moved != 4 || list[0].State != jobs.JobStopped || list[0].Do != admin.Requeue || list[0].Resumed != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestOneJobHasAQueueUntilItEnds(t *testing.T) {
	_, j := openJobs(t)
	first, holder, err := begunJob(t, j, "first", "q", "")
	if err != nil || holder != "first" {
		t.Fatal(holder, err)
	}
	if _, _, err := begunJob(t, j, "second", "q", ""); !errors.Is(err, jobs.ErrQueueBusy) {
		t.Errorf("two jobs have one queue: %v", err)
	}
	if _, holder, err := begunJob(t, j, "third", "other", ""); err != nil || holder != "third" {
		t.Errorf("another queue: %q %v", holder, err)
	}
	if got, err := j.HolderOf(t.Context(), "main", dedup.QueueRef{Vhost: "/", Name: "q"}); err != nil || got != "first" {
		t.Errorf("held by %q, %v", got, err)
	}
	first.State, first.Ended = jobs.JobDone, time.Now()
	if err := j.SaveJob(t.Context(), first, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := j.HolderOf(t.Context(), "main", dedup.QueueRef{Vhost: "/", Name: "q"}); err != nil || got != "" {
		t.Errorf("held by %q, %v", got, err)
	}
	if _, holder, err := begunJob(t, j, "fourth", "q", ""); err != nil || holder != "fourth" {
		t.Errorf("after its end: %q %v", holder, err)
	}
	left, err := j.UnfinishedJobs(t.Context())
	if err != nil || strings.Join(left, " ") != "third fourth" {
		t.Errorf("unfinished %q, %v", left, err)
	}
	unjudged, err := j.UnjudgedJobs(t.Context(), time.Now().Add(-time.Hour))
	if err != nil || strings.Join(unjudged, " ") != "first" {
		t.Errorf("unjudged %q, %v", unjudged, err)
	}
}

func TestOfManyWhoStartAtOnceOneGetsTheQueue(t *testing.T) {
	_, j := openJobs(t)
	const n = 20
	var plans []move.Plan
	for i := range n {
		p := movePlan(fmt.Sprint("plan-", i), "q")
		if err := j.SaveMovePlan(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	var started sync.WaitGroup
	errs := make([]error, n)
	for i, p := range plans {
		started.Go(func() { _, errs[i] = j.BeginJob(context.Background(), jobOf(p, fmt.Sprint("job-", i)), "") })
	}
	started.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, jobs.ErrQueueBusy):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d jobs have the queue", won)
	}
}

func TestAPlanAndATokenStartOneJob(t *testing.T) {
	_, j := openJobs(t)
	job, _, err := begunJob(t, j, "one", "q", "token")
	if err != nil {
		t.Fatal(err)
	}
	again := job
	again.ID = "two"
	if holder, err := j.BeginJob(t.Context(), again, "token"); err != nil || holder != "one" {
		t.Errorf("the plan again: %q, %v", holder, err)
	}
	if _, _, err := begunJob(t, j, "three", "other", "token"); !errors.Is(err, admin.ErrTokenUsed) {
		t.Errorf("the token with another plan: %v", err)
	}
	if plan, err := j.JobByToken(t.Context(), "ada", "token"); err != nil || plan != "plan-one" {
		t.Errorf("%q, %v", plan, err)
	}
	if _, claimed, ok, err := j.MovePlan(t.Context(), "plan-one"); err != nil || !ok || claimed != "one" {
		t.Errorf("%q %t %v", claimed, ok, err)
	}
}

func TestAnEditIsNeverKept(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	p := movePlan("p", "q")
	p.Request.Edit = &move.Edit{Body: []byte("EDIT-CANARY"), Headers: map[string]string{"h": "EDIT-CANARY"}}
	if err := db.Jobs().SaveMovePlan(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	got, _, _, err := db.Jobs().MovePlan(t.Context(), "p")
	if err != nil || got.Request.Edit != nil {
		t.Errorf("%+v %v", got.Request.Edit, err)
	}
	if p.Request.Edit == nil {
		t.Error("the plan itself was changed")
	}
}

func TestAJobThatTheJournalDoesNotKnowCannotGoOn(t *testing.T) {
	_, j := openJobs(t)
	if err := j.SaveJob(t.Context(), jobOf(movePlan("p", "q"), "none"), nil); err == nil {
		t.Error("the progress of a job that is not there was kept")
	}
}

func TestOldMovesArePurged(t *testing.T) {
	_, j := openJobs(t)
	job, _, err := begunJob(t, j, "ended", "q", "")
	if err != nil {
		t.Fatal(err)
	}
	job.State, job.Ended = jobs.JobDone, job.Started
	if err := j.SaveJob(t.Context(), job, []jobs.JobItem{{Seq: 1, At: job.Started, ID: "id", Outcome: "moved"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := begunJob(t, j, "running", "q", ""); err != nil {
		t.Fatal(err)
	}
	if err := j.PurgeMoves(t.Context(), time.Now().Add(keepOperations-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := j.Job(t.Context(), "ended"); err != nil || !ok {
		t.Errorf("purged too early: %v", err)
	}
	if err := j.PurgeMoves(t.Context(), time.Now().Add(keepOperations+time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := j.Job(t.Context(), "ended"); err != nil || ok {
		t.Errorf("it is still there: %v", err)
	}
	if items, err := j.ItemsOf(t.Context(), "id", 10); err != nil || len(items) != 0 {
		t.Errorf("its messages are still there: %+v %v", items, err)
	}
	if _, ok, err := j.Job(t.Context(), "running"); err != nil || !ok {
		t.Errorf("a job that has not ended was purged: %v", err)
	}
}
