package admin_test

import (
	"testing"

	"dedup-dashboard/internal/admin"
)

func (w *ward) editPlan(t *testing.T, e admin.Edit) admin.MovePlan {
	t.Helper()
	scan := w.look(t)
	p, err := w.planMove(t, ada, admin.MoveRequest{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}, Edit: &e})
	must(t, err)
	return p
}

func TestAPlanComesWithItsEditForAdminsAloneAndWithoutItAfterARestart(t *testing.T) {
	w := newWard(t)
	w.die("edited")
	made := w.editPlan(t, admin.Edit{MessageID: "other"})
	p, _, err := w.PlannedMove(t.Context(), ada, made.ID)
	must(t, err)
	if p.Edited == nil || p.Edited.Edit.MessageID != "other" || p.Edited.Was.MessageID != "edited" {
		t.Errorf("an admin gets %+v", p.Edited)
	}
	if p, _, err = w.PlannedMove(t.Context(), operator, made.ID); err != nil || p.Edited != nil {
		t.Errorf("an operator gets %+v, %v", p.Edited, err)
	}
	must(t, w.Close(t.Context()))
	w.DeadLetters = admin.NewDeadLetters(w.deps)
	if p, _, err = w.PlannedMove(t.Context(), ada, made.ID); err != nil || p.Edited != nil || p.IDChange == "" {
		t.Errorf("after a restart an admin gets %+v, %v", p.Edited, err)
	}
}
