package jobs_test

import (
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/lab/admintest"
)

func TestAnExtentIsWhatAPlanMeansToMove(t *testing.T) {
	classes := preflight.Tally{preflight.ClassRuns: 8, preflight.ClassSwallowed: 2}
	choices := map[preflight.Class]preflight.Choice{preflight.ClassRuns: preflight.KeepAsIs, preflight.ClassSwallowed: preflight.LeaveOut}
	for name, c := range map[string]struct {
		req      move.Request
		scanned  int
		most     int64
		want     move.Extent
		done, of int64
	}{
		"a whole queue":                    {req: move.Request{Whole: true}, scanned: 10, want: move.Extent{Messages: 300}, done: 25, of: 300},
		"picked messages":                  {req: move.Request{Refs: []string{"a"}}, scanned: 300, want: move.Extent{Messages: 8, Picked: true}, done: 5, of: 8},
		"a filter over all that was seen":  {req: move.Request{Filter: "id:a*"}, scanned: 300, want: move.Extent{Messages: 8}, done: 25, of: 300},
		"a filter over more than was seen": {req: move.Request{Filter: "id:a*"}, scanned: 10, want: move.Extent{Messages: 298, AtMost: true}, done: 25, of: 300},
		"a filter with a limit":            {req: move.Request{Filter: "id:a*"}, scanned: 10, most: 100, want: move.Extent{Messages: 100, AtMost: true}, done: 25, of: 300},
	} {
		got := move.ExtentOf(move.Plan{Request: c.req, Scanned: c.scanned, Most: c.most, Classes: classes, Choices: choices}, 300)
		if got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		if done, of := (jobs.Counts{Moved: 4, Left: 20, Rejected: 1}).Progress(got, 300); done != c.done || of != c.of {
			t.Errorf("%s: %d of %d", name, done, of)
		}
	}
}

func TestAJobAndItsLineInTheListSayWhatItMeans(t *testing.T) {
	w := newWard(t)
	w.die(numbered("many", 40)...)
	scan := w.look(t)
	id := w.begin(t, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[20].Ref}})
	job := w.until(t, id, in(jobs.JobDone))
	want := move.Extent{Messages: 1, Picked: true}
	list, err := w.Jobs(t.Context(), operator, 10)
	admintest.Must(t, err)
	if job.Extent != want || len(list) != 1 || list[0].Extent != want {
		t.Errorf("the job means %+v, its line %+v", job.Extent, list)
	}
}
