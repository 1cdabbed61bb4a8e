package admin_test

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

func TestMessagesThatTheNamedLookDidNotSeeAreNotMoved(t *testing.T) {
	w := newWard(t, func(d *admin.DeadLettersDeps) { d.Config.OperatorLimit = 5 })
	w.die(numbered("unseen", 40)...)
	var refs []string
	for _, l := range w.look(t).Letters {
		refs = append(refs, l.Ref)
	}
	scan := w.lookAt(t, 1)
	p, err := w.planMove(t, operator, admin.MoveRequest{Scan: scan.ID, Refs: refs})
	must(t, err)
	said := false
	for _, g := range p.Guards {
		said = said || strings.Contains(g.Text, "39 messages were selected and not seen")
	}
	if !said || len(p.Request.Refs) != 1 || p.Matching != 1 {
		t.Errorf("%d references, %d matching, guards %+v", len(p.Request.Refs), p.Matching, p.Guards)
	}
	id, err := w.StartJob(t.Context(), operator, admin.StartRequest{PlanID: p.ID, Reason: why})
	must(t, err)
	if job := w.until(t, id, in(admin.JobDone)); job.Moved != 1 || len(w.holds("orders")) != 1 {
		t.Errorf("moved %d: %v", job.Moved, w.holds("orders"))
	}
}

// bounded gives a queue a bound beyond which it drops its oldest messages.
func (w *ward) bounded(queue string, most int64) {
	w.fact(queue, func(q *dedup.Queue) { q.Arguments = map[string]any{"x-max-length": most} })
}

// refused returns the guard that refuses a plan; empty when none does.
func refused(p admin.MovePlan) string {
	for _, g := range p.Guards {
		if g.Blocking {
			return g.Text
		}
	}
	return ""
}

func TestAFilterCountsWhatTheLookDidNotSee(t *testing.T) {
	w := newWard(t)
	w.die(numbered("deep", 300)...)
	scan := w.lookAt(t, 10)
	filter := admin.MoveRequest{Scan: scan.ID, Filter: "reason:rejected", Rate: 1}
	p, err := w.planMove(t, ada, filter)
	must(t, err)
	if p.UpTo != 300 || p.Confirm != deadQueue.Name || p.Takes != 5*time.Minute || refused(p) != "" {
		t.Errorf("up to %d in %v, %q must be typed, refused: %q", p.UpTo, p.Takes, p.Confirm, refused(p))
	}
	if p, err = w.planMove(t, operator, filter); err != nil || p.UpTo != admin.DefaultOperatorLimit || p.Confirm != "" {
		t.Errorf("an operator's: up to %d, %q must be typed, %v", p.UpTo, p.Confirm, err)
	}
	w.bounded("orders", 50)
	if p, err = w.planMove(t, ada, filter); err != nil || !strings.Contains(refused(p), "pushes out the oldest") {
		t.Errorf("a target that holds 50: %+v, %v", p.Guards, err)
	}
}

func TestAFilterThatKeepsUnsafeClassesIsTypedWhereTheLookDidNotSeeAll(t *testing.T) {
	w := newWard(t)
	w.die(numbered("kept", 20)...)
	keep := map[admin.Class]admin.Choice{admin.ClassBlocks: admin.KeepAsIs}
	for seen, want := range map[int]string{10: deadQueue.Name, 20: ""} {
		p, err := w.planMove(t, ada, admin.MoveRequest{Scan: w.lookAt(t, seen).ID, Filter: "reason:rejected", Choices: keep})
		if err != nil || p.Confirm != want {
			t.Errorf("%d of 20 seen: %q must be typed, %v", seen, p.Confirm, err)
		}
	}
}

func TestARestoreThatWouldPushDeadLettersOutIsRefused(t *testing.T) {
	w := newWard(t)
	w.die(numbered("parked", 10)...)
	w.until(t, w.begin(t, admin.MoveRequest{Do: admin.Discard, Whole: true}), in(admin.JobDone))
	parking, err := dedup.ParkingQueue(deadQueue)
	must(t, err)
	w.die(numbered("newer", 3)...)
	scan, err := w.Scan(t.Context(), operator, admin.ScanRequest{Pipeline: "orders", Queue: parking.Name, Limit: 10})
	must(t, err)
	for _, most := range []int64{4, 13} {
		w.bounded(deadQueue.Name, most)
		for name, req := range map[string]admin.MoveRequest{
			"the whole": {Do: admin.RestoreLetters, Whole: true},
			"a filter":  {Do: admin.RestoreLetters, Scan: scan.ID, Filter: "reason:rejected"},
		} {
			p, err := w.planMove(t, ada, req)
			must(t, err)
			if got := strings.Contains(refused(p), "pushes out the oldest"); got != (most == 4) {
				t.Errorf("%s into a queue that holds 3 of %d: %+v", name, most, p.Guards)
			}
		}
	}
}
