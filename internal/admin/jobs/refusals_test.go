package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/lab/admintest"
)

// A refusedAct is an action that somebody may ask for by their role, and that is refused all the same. It returns the error and the journal
// whose audit has it.
type refusedAct struct {
	action string
	who    admin.Caller
	ask    func(*testing.T, admin.Caller) (error, *journal.DB)
}

// onWard asks something of DeadLetters, by who may.
func onWard(ask func(*testing.T, *ward, admin.Caller) error) func(*testing.T, admin.Caller) (error, *journal.DB) {
	return func(t *testing.T, who admin.Caller) (error, *journal.DB) {
		w := newWard(t)
		w.die(numbered("dead", 8)...)
		return ask(t, w, who), w.db
	}
}

// limited returns DeadLetters of the same journal under which an operator may requeue two messages at once.
func (w *ward) limited(t *testing.T) *deadLetters {
	deps := w.deps
	deps.Config.OperatorLimit = 2
	d := newDeadLetters(deps)
	t.Cleanup(func() { admintest.Must(t, d.Close(context.Background())) })
	return d
}

// planned plans all that lies in the dead-letter queue, one by one.
func (w *ward) planned(t *testing.T, who admin.Caller) move.Plan {
	scan := w.look(t)
	req := move.Request{Scan: scan.ID}
	for _, l := range scan.Letters {
		req.Refs = append(req.Refs, l.Ref)
	}
	p, err := w.planMove(t, who, req)
	admintest.Must(t, err)
	return p
}

// pausedJob is a job that moved four of eight messages and was paused.
func (w *ward) pausedJob(t *testing.T) string {
	p := w.planned(t, operator)
	started := make(chan string, 1)
	w.each = func(ctx context.Context) {
		admintest.Must(t, w.PauseJob(context.Background(), operator, <-started))
		<-ctx.Done()
	}
	id, err := w.StartJob(t.Context(), operator, jobs.StartRequest{PlanID: p.ID, Reason: why})
	admintest.Must(t, err)
	started <- id
	w.until(t, id, in(jobs.JobPaused))
	return id
}

func (w *ward) endedJob(t *testing.T) string {
	id := w.begin(t, move.Request{Whole: true})
	w.until(t, id, in(jobs.JobDone))
	return id
}

func refusedActs() map[string]refusedAct {
	return map[string]refusedAct{
		"a plan of more than an operator may move": {"plan_move", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			d, req := w.limited(t), move.Request{Do: admin.Requeue, Pipeline: "orders", Queue: deadQueue.Name, Whole: true}
			_, err := d.PlanMove(t.Context(), who, req)
			return err
		})},
		"a plan of messages that cannot be picked out": {"plan_move", ada, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Arguments = map[string]any{"x-max-length-bytes": int64(1)} })
			_, err := w.planMove(t, who, move.Request{Scan: "any", Filter: "reason:rejected"})
			return err
		})},
		"the start of more than an operator may move": {"start_requeue", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			_, err := w.limited(t).StartJob(t.Context(), who, jobs.StartRequest{PlanID: w.planned(t, who).ID, Reason: why})
			return err
		})},
		"the start of a plan that is too old": {"start_requeue", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			p := w.planned(t, who)
			w.clock.Advance(admin.PlanLife + time.Second)
			_, err := w.StartJob(t.Context(), who, jobs.StartRequest{PlanID: p.ID, Reason: why})
			return err
		})},
		"the start of a plan whose target is gone": {"start_requeue", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			p := w.planned(t, who)
			w.gone("orders")
			_, err := w.StartJob(t.Context(), who, jobs.StartRequest{PlanID: p.ID, Reason: why})
			return err
		})},
		"letting more go on than an operator may move": {"resume_job", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			return w.limited(t).ResumeJob(t.Context(), who, w.pausedJob(t))
		})},
		"the pause of a job that has ended": {"pause_job", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			return w.PauseJob(t.Context(), who, w.endedJob(t))
		})},
		"the end of a job that has ended": {"cancel_job", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			return w.CancelJob(t.Context(), who, w.endedJob(t))
		})},
		"a job that has ended, to go on": {"resume_job", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			return w.ResumeJob(t.Context(), who, w.endedJob(t))
		})},
		"a look at a queue that forbids it": {"scan_dead_letters", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Type = "stream" })
			_, err := w.Scan(t.Context(), who, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 5})
			return err
		})},
	}
}

func TestEveryRefusalOfSomebodyWhoHasTheRoleLeavesOneDeniedEntryWithItsReason(t *testing.T) {
	for name, c := range refusedActs() {
		t.Run(name, func(t *testing.T) {
			c.who.Name = "rae" // what was done before was done by others
			err, db := c.ask(t, c.who)
			entries, failed := db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 500, TrailFilter: admin.TrailFilter{Who: "rae"}})
			admintest.Must(t, failed)
			admintest.Denied(t, c.action, err, entries)
		})
	}
}

func TestADifferentRefusalIsRecordedAtOnceAndTheSameOneIsSummedUp(t *testing.T) {
	w := newWard(t)
	w.die(numbered("dead", 8)...)
	first := w.endedJob(t)
	w.die(numbered("dead", 8)...)
	second := w.endedJob(t)
	for range 3 {
		for _, id := range []string{first, second} {
			if err := w.CancelJob(t.Context(), operator, id); dedup.KindOf(err) != dedup.Conflict {
				t.Fatal(err)
			}
		}
	}
	entries, err := w.db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 500, TrailFilter: admin.TrailFilter{Who: operator.Name}})
	admintest.Must(t, err)
	denied := map[string]int{}
	for _, e := range entries {
		if e.Phase == admin.Denied {
			denied[e.Target]++
		}
	}
	if len(denied) != 2 || denied["main///orders.dead/job/"+first] != 1 || denied["main///orders.dead/job/"+second] != 1 {
		t.Errorf("denied: %v", denied)
	}
	var many *move.TooMany
	if _, err := w.limited(t).PlanMove(t.Context(), operator, move.Request{Do: admin.Requeue, Pipeline: "orders", Queue: deadQueue.Name, Whole: true}); !errors.As(err, &many) {
		t.Errorf("how many fit is lost: %v", err)
	}
}
