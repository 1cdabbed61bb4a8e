package admin_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/requeue"
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

// TestAnEditedJobThatWasPausedLongerThanItsPlanLivedSendsTheEdit lets an hour of the bubble's time go by.
func TestAnEditedJobThatWasPausedLongerThanItsPlanLivedSendsTheEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paused := false
		w := newWard(t, func(deps *admin.DeadLettersDeps) {
			run := deps.Run
			deps.Run = func(ctx context.Context, ends requeue.Ends, cfg requeue.Config, decide requeue.Decider, report func(context.Context, []requeue.Settled) error) (requeue.Result, error) {
				if !paused {
					paused = true
					<-ctx.Done()
					return requeue.Result{Stop: requeue.StopCancelled}, nil
				}
				return run(ctx, ends, cfg, decide, report)
			}
		})
		w.die("edited")
		p := w.editPlan(t, admin.Edit{Body: []byte("mended")})
		id, err := w.StartJob(t.Context(), ada, admin.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
		must(t, err)
		must(t, w.PauseJob(t.Context(), ada, id))
		w.until(t, id, in(admin.JobPaused))
		time.Sleep(time.Hour)
		must(t, w.ResumeJob(t.Context(), ada, id))
		if job := w.until(t, id, func(j admin.Job) bool { return j.State.Final() }); job.State != admin.JobDone || job.Moved != 1 {
			t.Errorf("%s %q %+v", job.State, job.Why, job.Counts)
		}
	})
}

func TestAnEditThatNoJobHasIsForgottenWhenItsPlanIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t)
		w.die("edited")
		p := w.editPlan(t, admin.Edit{Body: []byte("mended")})
		time.Sleep(admin.PlanLife + time.Second)
		if p, _, err := w.PlannedMove(t.Context(), ada, p.ID); err != nil || p.Edited != nil { // the clock of the ward stands still
			t.Errorf("%+v, %v", p.Edited, err)
		}
	})
}
