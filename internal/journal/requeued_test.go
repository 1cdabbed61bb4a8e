package journal

import (
	"fmt"
	"maps"
	"testing"

	"dedup-dashboard/internal/admin"
)

func TestWhatJobsHaveRequeuedIsCountedByItsID(t *testing.T) {
	_, j := openJobs(t)
	keep := func(id string, do admin.Move, items ...admin.JobItem) {
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
	keep("first", admin.Requeue, admin.JobItem{ID: "twice", Outcome: "moved"}, admin.JobItem{ID: hostile, Outcome: "moved"}, admin.JobItem{ID: "left", Outcome: "left"}, admin.JobItem{Outcome: "moved"})
	keep("second", admin.Requeue, admin.JobItem{ID: "twice", Outcome: "moved"}, admin.JobItem{ID: "other", Outcome: "moved"})
	keep("third", admin.Discard, admin.JobItem{ID: "twice", Outcome: "moved"}, admin.JobItem{ID: "parked", Outcome: "moved"})

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
