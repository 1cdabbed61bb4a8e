package jobs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

func (w *ward) editPlan(t *testing.T, e move.Edit) move.Plan {
	t.Helper()
	scan := w.look(t)
	p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}, Edit: &e})
	admintest.Must(t, err)
	return p
}

func TestAPlanComesWithItsEditForAdminsAloneAndWithoutItAfterARestart(t *testing.T) {
	w := newWard(t)
	w.die("edited")
	made := w.editPlan(t, move.Edit{MessageID: "other"})
	p, _, err := w.PlannedMove(t.Context(), ada, made.ID)
	admintest.Must(t, err)
	if p.Edited == nil || p.Edited.Edit.MessageID != "other" || p.Edited.Was.MessageID != "edited" {
		t.Errorf("an admin gets %+v", p.Edited)
	}
	if p, _, err = w.PlannedMove(t.Context(), operator, made.ID); err != nil || p.Edited != nil {
		t.Errorf("an operator gets %+v, %v", p.Edited, err)
	}
	admintest.Must(t, w.Close(t.Context()))
	w.deadLetters = newDeadLetters(w.deps)
	if p, _, err = w.PlannedMove(t.Context(), ada, made.ID); err != nil || p.Edited != nil || p.IDChange == "" {
		t.Errorf("after a restart an admin gets %+v, %v", p.Edited, err)
	}
}

// TestAnEditedJobThatWasPausedLongerThanItsPlanLivedSendsTheEdit lets an hour of the bubble's time go by.
func TestAnEditedJobThatWasPausedLongerThanItsPlanLivedSendsTheEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paused, began := false, make(chan struct{})
		w := newWard(t, func(deps *jobs.DeadLettersDeps) {
			run := deps.Run
			deps.Run = func(ctx context.Context, ends requeue.Ends, cfg requeue.Config, decide requeue.Decider, report func(context.Context, []requeue.Settled) error) (requeue.Result, error) {
				if !paused {
					paused = true
					close(began)
					<-ctx.Done()
					return requeue.Result{Stop: requeue.StopCancelled}, nil
				}
				return run(ctx, ends, cfg, decide, report)
			}
		})
		w.die("edited")
		p := w.editPlan(t, move.Edit{Body: []byte("mended")})
		id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
		admintest.Must(t, err)
		<-began // a job that is paused earlier never runs
		admintest.Must(t, w.PauseJob(t.Context(), ada, id))
		w.until(t, id, in(jobs.JobPaused))
		time.Sleep(time.Hour)
		admintest.Must(t, w.ResumeJob(t.Context(), ada, id))
		if job := w.until(t, id, func(j jobs.Job) bool { return j.State.Final() }); job.State != jobs.JobDone || job.Moved != 1 {
			t.Errorf("%s %q %+v", job.State, job.Why, job.Counts)
		}
	})
}

func TestAnEditThatNoJobHasIsForgottenWhenItsPlanIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t)
		w.die("edited")
		p := w.editPlan(t, move.Edit{Body: []byte("mended")})
		time.Sleep(admin.PlanLife + time.Second)
		if p, _, err := w.PlannedMove(t.Context(), ada, p.ID); err != nil || p.Edited != nil { // the clock of the ward stands still
			t.Errorf("%+v, %v", p.Edited, err)
		}
	})
}

func TestTheAuditTellsWhatAnEditSends(t *testing.T) {
	w := newWard(t)
	w.die("edited")
	sum := sha256.Sum256([]byte("mended"))
	plain := hex.EncodeToString(sum[:])
	p := w.editPlan(t, move.Edit{Body: []byte("mended")})
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	admintest.Must(t, err)
	w.until(t, id, in(jobs.JobDone))
	for _, operation := range []string{p.ID, id} {
		entries, err := w.db.Audit().Entries(t.Context(), admin.TrailQuery{Operation: operation, Limit: 10})
		admintest.Must(t, err)
		if len(entries) == 0 || !strings.Contains(entries[len(entries)-1].Detail, "a body of 6 bytes, keyed hash ") || strings.Contains(entries[len(entries)-1].Detail, plain) {
			t.Errorf("the audit of %s has %+v", operation, entries)
		}
	}
}

func TestPlansThatDoOtherThingsHaveOtherHashes(t *testing.T) {
	w := newWard(t)
	w.die(numbered("many", 10)...)
	ref := w.look(t).Letters[0].Ref
	seen := map[string]string{}
	for name, req := range map[string]move.Request{
		"as it is":         {},
		"edited":           {Edit: &move.Edit{Body: []byte("mended")}},
		"edited otherwise": {Edit: &move.Edit{Body: []byte("Mended")}},
		"another header":   {Edit: &move.Edit{Headers: map[string]string{"a": "b"}}},
		"with a canary":    {Canary: 1},
		"slower":           {Rate: 10},
	} {
		req.Scan, req.Refs = w.look(t).ID, []string{ref}
		p, err := w.planMove(t, ada, req)
		admintest.Must(t, err)
		entries, err := w.db.Audit().Entries(t.Context(), admin.TrailQuery{Operation: p.ID, Limit: 1})
		admintest.Must(t, err)
		if len(entries) != 1 || entries[0].Hash == "" || seen[entries[0].Hash] != "" {
			t.Fatalf("%s: %+v, like %s", name, entries, seen[entries[0].Hash])
		}
		seen[entries[0].Hash] = name
	}
}

func TestAnEditTakesPropertiesAway(t *testing.T) {
	w := newWard(t)
	w.die("edited")
	p := w.editPlan(t, move.Edit{NoMessageID: true, NoContentType: true})
	if !strings.Contains(p.IDChange, "takes it away") || p.Letters[0].ID != "" {
		t.Errorf("the id is %q: %s", p.Letters[0].ID, p.IDChange)
	}
	if !slices.ContainsFunc(p.Guards, func(g move.Guard) bool { return strings.Contains(g.Text, "The message_id edited is taken away") }) {
		t.Errorf("the guards are %+v", p.Guards)
	}
	scan := w.look(t)
	both := move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}, Edit: &move.Edit{NoMessageID: true, MessageID: "x"}}
	if _, err := w.planMove(t, ada, both); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("a property is replaced and taken away: %v", err)
	}
}
