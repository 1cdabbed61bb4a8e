package admin_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// sampled says what the newest round counted in the dead-letter queue.
func (w *ward) sampled(depth float64, at time.Time) {
	snap := *w.round.Snapshot()
	p := snap.Pipelines[0]
	q := p.DeadLetterQueues[0]
	q.Depth = dedup.Exact(dedup.Measured, dedup.Count, depth, at, "management API")
	p.DeadLetterQueues = []dedup.DeadLetterQueue{q}
	snap.Pipelines = []dedup.PipelineStatus{p}
	w.round.set(&snap)
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
		must(t, err)
		if got := view.Queue.Depth; !got.Known() || got.Value != c.want {
			t.Errorf("%s: %v of %s", name, got.Value, got.Source)
		}
	}
}

func TestALookThatWasOvertakenIsReadOnAndSaysByWhom(t *testing.T) {
	w := newWard(t)
	w.die("a", "b")
	mine := w.look(t)
	kept, err := w.Kept(t.Context(), operator, mine.ID)
	must(t, err)
	if kept.NewerBy != "" || !kept.NewerAt.IsZero() {
		t.Errorf("the newest look is overtaken by %q", kept.NewerBy)
	}
	theirs, err := w.Scan(t.Context(), ada, admin.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 1})
	must(t, err)
	kept, err = w.Kept(t.Context(), operator, mine.ID)
	must(t, err)
	if kept.NewerBy != ada.Name || !kept.NewerAt.Equal(theirs.At) || len(kept.Letters) != 2 {
		t.Errorf("%+v", kept)
	}
	if _, err := w.Letter(t.Context(), operator, mine.ID, mine.Letters[1].Ref); err != nil {
		t.Errorf("a letter that only the first look saw: %v", err)
	}
	if _, err := w.planMove(t, operator, admin.MoveRequest{Scan: mine.ID, Refs: []string{mine.Letters[1].Ref}}); err != nil {
		t.Errorf("a plan of a letter that only the first look saw: %v", err)
	}
}
