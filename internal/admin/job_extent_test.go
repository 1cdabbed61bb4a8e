package admin_test

import (
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/admintest"
)

func TestAnExtentIsWhatAPlanMeansToMove(t *testing.T) {
	classes := admin.Tally{admin.ClassRuns: 8, admin.ClassSwallowed: 2}
	choices := map[admin.Class]admin.Choice{admin.ClassRuns: admin.KeepAsIs, admin.ClassSwallowed: admin.LeaveOut}
	for name, c := range map[string]struct {
		req      admin.MoveRequest
		scanned  int
		most     int64
		want     admin.Extent
		done, of int64
	}{
		"a whole queue":                    {req: admin.MoveRequest{Whole: true}, scanned: 10, want: admin.Extent{Messages: 300}, done: 25, of: 300},
		"picked messages":                  {req: admin.MoveRequest{Refs: []string{"a"}}, scanned: 300, want: admin.Extent{Messages: 8, Picked: true}, done: 5, of: 8},
		"a filter over all that was seen":  {req: admin.MoveRequest{Filter: "id:a*"}, scanned: 300, want: admin.Extent{Messages: 8}, done: 25, of: 300},
		"a filter over more than was seen": {req: admin.MoveRequest{Filter: "id:a*"}, scanned: 10, want: admin.Extent{Messages: 298, AtMost: true}, done: 25, of: 300},
		"a filter with a limit":            {req: admin.MoveRequest{Filter: "id:a*"}, scanned: 10, most: 100, want: admin.Extent{Messages: 100, AtMost: true}, done: 25, of: 300},
	} {
		got := admin.ExtentOf(admin.MovePlan{Request: c.req, Scanned: c.scanned, Most: c.most, Classes: classes, Choices: choices}, 300)
		if got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		if done, of := got.Progress(300, admin.Counts{Moved: 4, Left: 20, Rejected: 1}); done != c.done || of != c.of {
			t.Errorf("%s: %d of %d", name, done, of)
		}
	}
}

func TestAJobAndItsLineInTheListSayWhatItMeans(t *testing.T) {
	w := newWard(t)
	w.die(numbered("many", 40)...)
	scan := w.look(t)
	id := w.begin(t, admin.MoveRequest{Scan: scan.ID, Refs: []string{scan.Letters[20].Ref}})
	job := w.until(t, id, in(admin.JobDone))
	want := admin.Extent{Messages: 1, Picked: true}
	list, err := w.Jobs(t.Context(), operator, 10)
	admintest.Must(t, err)
	if job.Extent != want || len(list) != 1 || list[0].Extent != want {
		t.Errorf("the job means %+v, its line %+v", job.Extent, list)
	}
}
