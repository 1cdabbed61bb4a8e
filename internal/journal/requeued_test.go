package journal

import (
	"fmt"
	"maps"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
)

func TestWhatJobsHaveRequeuedIsCountedByItsID(t *testing.T) {
	_, j := openJobs(t)
	keep := func(id string, do admin.Move, items ...jobs.JobItem) {
		t.Helper()
		plan := movePlan("plan-"+id, "queue-"+id)
		plan.Request.Do = do
		if err := j.SaveMovePlan(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		job := jobOf(plan, id)
		if _, err := j.BeginJob(t.Context(), job, ""); err != nil {
			t.Fatal(err)
		}
		for i := range items {
			items[i].Seq = int64(i + 1)
		}
		if err := j.SaveJob(t.Context(), job, items); err != nil {
			t.Fatal(err)
		}
	}
	keep("first", admin.Requeue, jobs.JobItem{ID: "twice", Outcome: "moved"}, jobs.JobItem{ID: hostile, Outcome: "moved"}, jobs.JobItem{ID: "left", Outcome: "left"}, jobs.JobItem{Outcome: "moved"})
	keep("second", admin.Requeue, jobs.JobItem{ID: "twice", Outcome: "moved"}, jobs.JobItem{ID: "other", Outcome: "moved"})
	keep("third", admin.Discard, jobs.JobItem{ID: "twice", Outcome: "moved"}, jobs.JobItem{ID: "parked", Outcome: "moved"})

	ids := []string{"twice", hostile, "left", "parked", "", "none"}
	for i := range 2 * idsAtOnce {
		ids = append(ids, fmt.Sprint("more-", i))
	}
	got, err := j.TimesRequeued(t.Context(), ids)
	if want := map[string]int{"twice": 2, hostile: 1}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := j.TimesRequeued(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of none %v, %v", got, err)
	}
}
