package journal

import (
	"errors"
	"io"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/preflight"
)

func TestWhatBecameOfMessagesIsKeptWithTheEndOfTheirJob(t *testing.T) {
	db, err := Open(t.Context(), t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	j := db.Jobs()
	job, _, err := begunJob(t, j, "one", "orders.dlq", "")
	if err != nil {
		t.Fatal(err)
	}
	var items []jobs.JobItem
	for seq := range int64(4) {
		items = append(items, jobs.JobItem{Seq: seq + 1, At: job.Started, ID: hostile, Outcome: "moved"})
	}
	job.State, job.Ended = jobs.JobDone, time.Now()
	if err := j.SaveJob(t.Context(), job, items); err != nil {
		t.Fatal(err)
	}
	back := int64(2)
	job.Aftermath = &jobs.Aftermath{At: job.Started, Asked: 3, Back: &back, BackBy: jobs.BackByLook, Results: map[preflight.Class]map[string]int{preflight.ClassRuns: {"back": 2, "done": 1}}}
	arrived := int64(3)
	job.Arrived = &arrived
	if err := j.SaveAftermath(t.Context(), job, map[int64]string{1: "back", 2: "done", 4: "back"}); err != nil {
		t.Fatal(err)
	}
	some, err := j.JobItemsThat(t.Context(), "one", "back", 1, 10)
	if err != nil || len(some) != 1 || some[0].Seq != 4 || some[0].ID != hostile || some[0].Became != "back" {
		t.Errorf("%+v %v", some, err)
	}
	all, err := j.JobItems(t.Context(), "one", 0, 10)
	if err != nil || len(all) != 4 || all[1].Became != "done" || all[2].Became != "" {
		t.Errorf("%+v %v", all, err)
	}
	list, err := j.Jobs(t.Context(), 10)
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0].Aftermath, job.Aftermath) || !reflect.DeepEqual(list[0].Arrived, job.Arrived) {
		t.Errorf("%+v %v", list, err)
	}
	if one, ok, err := j.JobSummary(t.Context(), "one"); err != nil || !ok || !reflect.DeepEqual(one, list[0]) {
		t.Errorf("%+v %v", one, err)
	}
	if _, ok, err := j.JobSummary(t.Context(), "two"); ok || err != nil {
		t.Errorf("a job that there is not: %v %v", ok, err)
	}
	alone, ok, err := j.JobAlone(t.Context(), "one")
	if err != nil || !ok || alone.Plan.ID != "plan-one" || !reflect.DeepEqual(alone.Aftermath, job.Aftermath) {
		t.Errorf("%+v %v", alone, err)
	}
	if _, ok, err := j.JobAlone(t.Context(), "two"); ok || err != nil {
		t.Errorf("a job that there is not: %v %v", ok, err)
	}
	job.ID = "two"
	if err := j.SaveAftermath(t.Context(), job, nil); !errors.Is(err, errNoJob) {
		t.Errorf("the outcome of a job that there is not: %v", err)
	}
}
