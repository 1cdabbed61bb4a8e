package admin_test

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
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
