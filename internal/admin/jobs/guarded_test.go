package jobs_test

import (
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

// worn makes the first n dead letters ones that were requeued too often.
func (w *ward) worn(n int) {
	for i := range n {
		w.requeued(i, 3)
	}
}

func TestOfMessagesThatWereRequeuedTooOftenThoseThatAreSelectedAreToldAsFailures(t *testing.T) {
	w := newWard(t)
	w.die(numbered("worn", 60)...)
	w.worn(6)
	refs := func(scan deadletter.Scan) []string {
		return []string{scan.Letters[1].Ref, scan.Letters[8].Ref, scan.Letters[9].Ref}
	}
	job := w.until(t, w.begin(t, func() move.Request {
		scan := w.look(t)
		return move.Request{Scan: scan.ID, Refs: refs(scan)}
	}()), in(jobs.JobDone, jobs.JobPaused, jobs.JobStopped))
	if job.State != jobs.JobDone || job.Moved != 2 || job.Guarded != 1 || job.Items != 3 || len(job.Failures) != 1 || job.Failures[0].ID != "worn-1" {
		t.Errorf("%s %q %+v, %d items, failures %+v", job.State, job.Why, job.Counts, job.Items, job.Failures)
	}
	// The run ends once all that was selected is done with.
	if job.Left > 15 {
		t.Errorf("%d were looked at in vain", job.Left)
	}
}

func TestTheMarkerOfAMessageThatWasRequeuedTooOftenIsNotCleared(t *testing.T) {
	clear := &clearer{}
	w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Clear = clear })
	w.die("worn", "fresh")
	w.worn(1)
	w.markers["worn"], w.markers["fresh"] = dedup.Processing, dedup.Processing
	job := w.until(t, w.begin(t, move.Request{Whole: true, Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.ClearFirst}}), in(jobs.JobDone))
	if asked := clear.requests(); job.Moved != 1 || job.Guarded != 1 || len(asked) != 1 || len(asked[0].Keys) != 1 || asked[0].Keys[0] != "msg:fresh" {
		t.Errorf("%+v, asked %+v", job.Counts, asked)
	}
}

func TestAMessageThatWasRequeuedTooOftenTakesNoPlaceOfALimit(t *testing.T) {
	w := newWard(t, limitOfFive)
	w.die(numbered("worn", 20)...)
	w.worn(3)
	if job := w.until(t, w.startLimited(t, 0), in(jobs.JobDone)); job.Moved != 5 || job.Guarded != 3 {
		t.Errorf("%+v", job.Counts)
	}
}
