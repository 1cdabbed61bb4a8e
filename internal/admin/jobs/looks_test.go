package jobs_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// sampled says what the newest round counted in the dead-letter queue.
func (w *ward) sampled(depth float64, at time.Time) {
	w.counted(dedup.Exact(dedup.Measured, dedup.Count, depth, at, "management API"))
}

// counted is what the newest round tells of the depth of the dead-letter queue.
func (w *ward) counted(depth dedup.Figure) {
	snap := *w.round.Snapshot()
	p := snap.Pipelines[0]
	q := p.DeadLetterQueues[0]
	q.Depth = depth
	p.DeadLetterQueues = []dedup.DeadLetterQueue{q}
	snap.Pipelines = []dedup.PipelineStatus{p}
	w.round.Set(&snap)
}

func TestTheDepthOfAQueueIsThatOfALookUntilItIsCountedLater(t *testing.T) {
	w := newWard(t)
	w.die("a")
	for name, c := range map[string]struct {
		sampled time.Duration // after the look
		want    float64
	}{
		"counted long before the look":                      {-time.Minute, 1},
		"counted while the broker's figures were still old": {3 * time.Second, 1},
		"counted well after the look":                       {time.Minute, 0},
	} {
		scan := w.look(t)
		w.sampled(0, scan.At.Add(c.sampled))
		view, err := w.Queue(t.Context(), operator, "orders", deadQueue.Name)
		admintest.Must(t, err)
		if got := view.Queue.Depth; !got.Known() || got.Value != c.want {
			t.Errorf("%s: %v of %s", name, got.Value, got.Source)
		}
	}
}

func TestTheDepthThatALookFoundIsNotShownForLongInPlaceOfAnUnknownOne(t *testing.T) {
	w := newWard(t)
	w.die("a")
	w.look(t)
	w.counted(dedup.Unknown(dedup.Count, "the broker does not answer"))
	for _, c := range []struct {
		name  string
		later time.Duration
		known bool
	}{{"at once", 0, true}, {"a minute later", time.Minute, false}} {
		w.clock.Advance(c.later)
		view, err := w.Queue(t.Context(), operator, "orders", deadQueue.Name)
		admintest.Must(t, err)
		if got := view.Queue.Depth; got.Known() != c.known || !c.known && got.Why != "the broker does not answer" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestTheDepthThatALookFoundIsNotShownOnceAJobHasMovedMessages(t *testing.T) {
	w := newWard(t)
	w.die("a", "b")
	scan := w.look(t)
	w.sampled(0, scan.At.Add(time.Second))
	depth := func() float64 {
		view, err := w.Queue(t.Context(), operator, "orders", deadQueue.Name)
		admintest.Must(t, err)
		return view.Queue.Depth.Value
	}
	if depth() != 2 {
		t.Fatalf("before the job there are %v", depth())
	}
	p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref, scan.Letters[1].Ref}})
	admintest.Must(t, err)
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	admintest.Must(t, err)
	w.until(t, id, in(jobs.JobDone))
	if depth() != 0 {
		t.Errorf("after the job there are still %v", depth())
	}
	scan = w.look(t)
	w.sampled(7, scan.At.Add(-time.Minute))
	if got := depth(); got != float64(scan.Ready) {
		t.Errorf("a new look found %d, and shown are %v", scan.Ready, got)
	}
}

func TestALookThatWasOvertakenIsReadOnAndSaysByWhom(t *testing.T) {
	w := newWard(t)
	w.die("a", "b")
	mine := w.look(t)
	kept, err := w.Kept(t.Context(), operator, mine.ID)
	admintest.Must(t, err)
	if kept.NewerBy != "" || !kept.NewerAt.IsZero() {
		t.Errorf("the newest look is overtaken by %q", kept.NewerBy)
	}
	theirs, err := w.Scan(t.Context(), ada, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 1})
	admintest.Must(t, err)
	kept, err = w.Kept(t.Context(), operator, mine.ID)
	admintest.Must(t, err)
	if kept.NewerBy != ada.Name || !kept.NewerAt.Equal(theirs.At) || len(kept.Letters) != 2 {
		t.Errorf("%+v", kept)
	}
	if _, err := w.Letter(t.Context(), operator, mine.ID, mine.Letters[1].Ref); err != nil {
		t.Errorf("a letter that only the first look saw: %v", err)
	}
	if _, err := w.planMove(t, operator, move.Request{Scan: mine.ID, Refs: []string{mine.Letters[1].Ref}}); err != nil {
		t.Errorf("a plan of a letter that only the first look saw: %v", err)
	}
}
