package admin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/admintest"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
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
func (w *ward) planned(t *testing.T, who admin.Caller) admin.MovePlan {
	scan := w.look(t)
	req := admin.MoveRequest{Scan: scan.ID}
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
	id, err := w.StartJob(t.Context(), operator, admin.StartRequest{PlanID: p.ID, Reason: why})
	admintest.Must(t, err)
	started <- id
	w.until(t, id, in(admin.JobPaused))
	return id
}

func (w *ward) endedJob(t *testing.T) string {
	id := w.begin(t, admin.MoveRequest{Whole: true})
	w.until(t, id, in(admin.JobDone))
	return id
}

// onDesk asks something of Markers.
func onDesk(ask func(*testing.T, *desk, admin.Caller) error) func(*testing.T, admin.Caller) (error, *journal.DB) {
	return func(t *testing.T, who admin.Caller) (error, *journal.DB) {
		d := newDesk(t, nil)
		d.shelf.put(processing("1"))
		return ask(t, d, who), d.db
	}
}

// readOnly asks something where nothing may be changed.
func readOnly(ask func(context.Context, *admin.Gate, admin.Caller) error) func(*testing.T, admin.Caller) (error, *journal.DB) {
	return func(t *testing.T, who admin.Caller) (error, *journal.DB) {
		w := newWard(t)
		return ask(t.Context(), w.deps.Gate, who), w.db
	}
}

func alerting(g *admin.Gate) *admin.Alerting {
	return admin.NewAlerting(admin.AlertingDeps{Gate: g, ReadOnly: true})
}

func baselines(g *admin.Gate) *admin.Baselines {
	return admin.NewBaselines(admin.BaselinesDeps{Gate: g, ReadOnly: true})
}

func refusedActs() map[string]refusedAct {
	return map[string]refusedAct{
		"a plan of more than an operator may move": {"plan_move", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			d, req := w.limited(t), admin.MoveRequest{Do: admin.Requeue, Pipeline: "orders", Queue: deadQueue.Name, Whole: true}
			_, err := d.PlanMove(t.Context(), who, req)
			return err
		})},
		"a plan of messages that cannot be picked out": {"plan_move", ada, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Arguments = map[string]any{"x-max-length-bytes": int64(1)} })
			_, err := w.planMove(t, who, admin.MoveRequest{Scan: "any", Filter: "reason:rejected"})
			return err
		})},
		"the start of more than an operator may move": {"start_requeue", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			_, err := w.limited(t).StartJob(t.Context(), who, admin.StartRequest{PlanID: w.planned(t, who).ID, Reason: why})
			return err
		})},
		"the start of a plan that is too old": {"start_requeue", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			p := w.planned(t, who)
			w.clock.Advance(admin.PlanLife + time.Second)
			_, err := w.StartJob(t.Context(), who, admin.StartRequest{PlanID: p.ID, Reason: why})
			return err
		})},
		"the start of a plan whose target is gone": {"start_requeue", operator, onWard(func(t *testing.T, w *ward, who admin.Caller) error {
			p := w.planned(t, who)
			w.gone("orders")
			_, err := w.StartJob(t.Context(), who, admin.StartRequest{PlanID: p.ID, Reason: why})
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
			_, err := w.Scan(t.Context(), who, admin.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 5})
			return err
		})},

		"a plan for markers that nobody may change": {"plan", ada, onDesk(func(t *testing.T, d *desk, who admin.Caller) error {
			_, err := d.Plan(t.Context(), who, admin.PlanRequest{Deed: admin.ClearMarkers, Store: "watched", Keys: []string{"msg:1"}})
			return err
		})},
		"a plan of markers that is too old": {"execute_plan", ada, onDesk(func(t *testing.T, d *desk, who admin.Caller) error {
			p := d.plan(t, who, "1")
			d.clock.Advance(admin.PlanLife + time.Second)
			_, err := d.Execute(t.Context(), who, admin.ExecuteRequest{PlanID: p.ID, Reason: why})
			return err
		})},
		"clearing markers for a requeue that nobody may change": {"clear_for_requeue", ada, onDesk(func(t *testing.T, d *desk, who admin.Caller) error {
			_, _, err := d.ClearFor(t.Context(), who, admin.ClearForRequest{Store: "watched", Keys: []string{"msg:1"}, Reason: why})
			return err
		})},

		"an acknowledgement of an alert": {"acknowledge_alert", operator, readOnly(func(ctx context.Context, g *admin.Gate, who admin.Caller) error {
			return alerting(g).Acknowledge(ctx, who, "orders", "", dedup.TierUnknown, time.Now().Add(time.Hour))
		})},
		"taking it back": {"unacknowledge_alert", operator, readOnly(func(ctx context.Context, g *admin.Gate, who admin.Caller) error {
			return alerting(g).Unacknowledge(ctx, who, "orders")
		})},
		"a silence": {"add_silence", operator, readOnly(func(ctx context.Context, g *admin.Gate, who admin.Caller) error {
			_, err := alerting(g).Silence(ctx, who, admin.NewSilence{Matchers: []admin.SilenceMatcher{{Label: "pipeline", Op: "=", Value: "orders"}}})
			return err
		})},
		"the end of a silence": {"expire_silence", operator, readOnly(func(ctx context.Context, g *admin.Gate, who admin.Caller) error {
			return alerting(g).Expire(ctx, who, "1")
		})},
		"a message for trial": {"test_channel", operator, readOnly(func(ctx context.Context, g *admin.Gate, who admin.Caller) error {
			return alerting(g).Test(ctx, who, "mail")
		})},
		"a mark of what happened": {"add_mark", operator, readOnly(func(ctx context.Context, g *admin.Gate, who admin.Caller) error {
			_, err := admin.NewMarks(admin.MarksDeps{Gate: g, ReadOnly: true}).Add(ctx, who, dedup.Mark{Text: "deployed"})
			return err
		})},
		"the dismissal of dead letters": {"acknowledge_dead_letters", operator, readOnly(func(ctx context.Context, g *admin.Gate, who admin.Caller) error {
			_, err := baselines(g).Acknowledge(ctx, who, "orders", admin.SeenDeadLetters{}, why)
			return err
		})},
		"taking the dismissal back": {"forget_acknowledged_dead_letters", operator, readOnly(func(ctx context.Context, g *admin.Gate, who admin.Caller) error {
			return baselines(g).Forget(ctx, who, "orders", why)
		})},
	}
}

func TestEveryRefusalOfSomebodyWhoHasTheRoleLeavesOneDeniedEntryWithItsReason(t *testing.T) {
	for name, c := range refusedActs() {
		t.Run(name, func(t *testing.T) {
			c.who.Name = "rae" // what was done before was done by others
			err, db := c.ask(t, c.who)
			if kind := dedup.KindOf(err); kind != dedup.Forbidden && kind != dedup.Conflict {
				t.Fatalf("not refused: %v", err)
			}
			entries, failed := db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 500, TrailFilter: admin.TrailFilter{Who: "rae"}})
			admintest.Must(t, failed)
			var denied []admin.Entry
			for _, e := range entries {
				if e.Phase == admin.Denied {
					denied = append(denied, e)
				}
			}
			if len(denied) != 1 || denied[0].Action != c.action || denied[0].Detail != dedup.PublicText(err) || denied[0].Target == "" {
				t.Errorf("%v left %+v", err, denied)
			}
			if len(denied) == 1 && entries[0].Number != denied[0].Number {
				t.Errorf("something was begun after it: %+v", entries[0])
			}
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
	var many *admin.TooMany
	if _, err := w.limited(t).PlanMove(t.Context(), operator, admin.MoveRequest{Do: admin.Requeue, Pipeline: "orders", Queue: deadQueue.Name, Whole: true}); !errors.As(err, &many) {
		t.Errorf("how many fit is lost: %v", err)
	}
}
