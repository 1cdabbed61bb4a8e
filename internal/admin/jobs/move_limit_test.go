package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

func TestMessagesThatTheNamedLookDidNotSeeAreNotMoved(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Config.OperatorLimit = 5 })
	w.die(numbered("unseen", 40)...)
	var refs []string
	for _, l := range w.look(t).Letters {
		refs = append(refs, l.Ref)
	}
	scan := w.lookAt(t, 1)
	p, err := w.planMove(t, operator, move.Request{Scan: scan.ID, Refs: refs})
	admintest.Must(t, err)
	said := false
	for _, g := range p.Guards {
		said = said || strings.Contains(g.Text, "39 messages were selected and not seen")
	}
	if !said || len(p.Request.Refs) != 1 || p.Matching != 1 {
		t.Errorf("%d references, %d matching, guards %+v", len(p.Request.Refs), p.Matching, p.Guards)
	}
	id, err := w.StartJob(t.Context(), operator, jobs.StartRequest{PlanID: p.ID, Reason: why})
	admintest.Must(t, err)
	if job := w.until(t, id, in(jobs.JobDone)); job.Moved != 1 || len(w.holds("orders")) != 1 {
		t.Errorf("moved %d: %v", job.Moved, w.holds("orders"))
	}
}

// bounded gives a queue a bound beyond which it drops its oldest messages.
func (w *ward) bounded(queue string, most int64) {
	w.fact(queue, func(q *dedup.Queue) { q.Arguments = map[string]any{"x-max-length": most} })
}

// refused returns the guard that refuses a plan; empty when none does.
func refused(p move.Plan) string {
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
	filter := move.Request{Scan: scan.ID, Filter: "reason:rejected", Rate: 1}
	p, err := w.planMove(t, ada, filter)
	admintest.Must(t, err)
	if p.UpTo != 300 || p.Confirm != deadQueue.Name || p.Takes != 5*time.Minute || refused(p) != "" {
		t.Errorf("up to %d in %v, %q must be typed, refused: %q", p.UpTo, p.Takes, p.Confirm, refused(p))
	}
	if p, err = w.planMove(t, operator, filter); err != nil || p.UpTo != deadletter.DefaultOperatorLimit || p.Confirm != "" {
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
	keep := map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.KeepAsIs}
	for seen, want := range map[int]string{10: deadQueue.Name, 20: ""} {
		p, err := w.planMove(t, ada, move.Request{Scan: w.lookAt(t, seen).ID, Filter: "reason:rejected", Choices: keep})
		if err != nil || p.Confirm != want {
			t.Errorf("%d of 20 seen: %q must be typed, %v", seen, p.Confirm, err)
		}
	}
}

func TestAParkingQueueHasNoNumberOfMessagesUntilADiscardMadeIt(t *testing.T) {
	w := newWard(t)
	w.die(numbered("parked", 3)...)
	before, err := w.ParkingQueue(t.Context(), operator, "orders", deadQueue.Name)
	if admintest.Must(t, err); before.Absent != deadQueue.Name || before.Queue.Depth.Known() || before.WhyNoScan != "the queue does not exist yet" {
		t.Errorf("before it is there: %+v", before)
	}
	w.until(t, w.begin(t, move.Request{Do: admin.Discard, Whole: true}), in(jobs.JobDone))
	after, err := w.ParkingQueue(t.Context(), operator, "orders", deadQueue.Name)
	if admintest.Must(t, err); after.Absent != "" || !after.Queue.Depth.Known() || after.Queue.Depth.Value != 3 {
		t.Errorf("after the discard: %+v", after)
	}
}

func TestARestoreThatWouldPushDeadLettersOutIsRefused(t *testing.T) {
	w := newWard(t)
	w.die(numbered("parked", 10)...)
	w.until(t, w.begin(t, move.Request{Do: admin.Discard, Whole: true}), in(jobs.JobDone))
	parking, err := dedup.ParkingQueue(deadQueue)
	admintest.Must(t, err)
	w.die(numbered("newer", 3)...)
	scan, err := w.Scan(t.Context(), operator, deadletter.ScanRequest{Pipeline: "orders", Queue: parking.Name, Limit: 10})
	admintest.Must(t, err)
	for _, most := range []int64{4, 13} {
		w.bounded(deadQueue.Name, most)
		for name, req := range map[string]move.Request{
			"the whole": {Do: admin.RestoreLetters, Whole: true},
			"a filter":  {Do: admin.RestoreLetters, Scan: scan.ID, Filter: "reason:rejected"},
		} {
			p, err := w.planMove(t, ada, req)
			admintest.Must(t, err)
			if got := strings.Contains(refused(p), "pushes out the oldest"); got != (most == 4) {
				t.Errorf("%s into a queue that holds 3 of %d: %+v", name, most, p.Guards)
			}
		}
	}
}

// startLimited starts a job of an operator that may move at most five messages.
func (w *ward) startLimited(t *testing.T, canary int) string {
	t.Helper()
	p, err := w.planMove(t, operator, move.Request{Scan: w.lookAt(t, 3).ID, Filter: "reason:rejected", Canary: canary})
	admintest.Must(t, err)
	id, err := w.StartJob(t.Context(), operator, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	admintest.Must(t, err)
	return id
}

func limitOfFive(d *jobs.DeadLettersDeps) { d.Config.OperatorLimit = 5 }

func TestACanaryCountsTowardsTheLimitOfItsJob(t *testing.T) {
	for _, canary := range []int{4, 5, 6} {
		w := newWard(t, limitOfFive)
		w.die(numbered("most", 20)...)
		w.each = func(context.Context) { // consumers are done before anybody watches
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, m := range w.queues["orders"] {
				w.markers[m.MessageID] = dedup.Done
			}
		}
		id := w.startLimited(t, canary)
		if job := w.until(t, id, in(jobs.JobDone, jobs.JobStopped, jobs.JobPaused)); job.State == jobs.JobPaused || len(w.holds("orders")) > 5 || canary >= 5 && (job.State != jobs.JobDone || job.Moved != 5) {
			t.Errorf("%d first: %s %q, moved %d: %v", canary, job.State, job.Why, job.Moved, w.holds("orders"))
		}
	}
}

func TestAJobWithALimitDoesNotGoOnByItself(t *testing.T) {
	for name, c := range map[string]struct {
		crashed bool
		want    jobs.JobState
	}{
		"after the program was stopped it can be resumed": {false, jobs.JobPaused},
		"after a crash its count is not known":            {true, jobs.JobStopped},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t, limitOfFive)
			w.die(numbered("limit", 20)...)
			first, saved := make(chan struct{}), int64(0)
			var id string
			w.each = func(ctx context.Context) {
				jobs, err := w.db.Jobs().Jobs(context.Background(), 1)
				admintest.Must(t, err)
				saved = jobs[0].Moved
				close(first)
				<-ctx.Done()
			}
			id = w.startLimited(t, 0)
			<-first
			admintest.Must(t, w.Close(context.Background()))
			w.each = nil
			if saved != 4 {
				t.Errorf("%d of 4 moved messages were written at once", saved)
			}
			kept, _, err := w.db.Jobs().Job(t.Context(), id)
			admintest.Must(t, err)
			if c.crashed {
				kept.State, kept.Why = jobs.JobRunning, ""
				admintest.Must(t, w.db.Jobs().SaveJob(t.Context(), kept, nil))
			}
			w.reopen(t)
			job := w.until(t, id, in(c.want))
			if len(w.holds("orders")) != 4 || job.Why == "" {
				t.Errorf("%q, %d at the target", job.Why, len(w.holds("orders")))
			}
			if c.crashed {
				return
			}
			admintest.Must(t, w.ResumeJob(t.Context(), operator, id))
			if job = w.until(t, id, in(jobs.JobDone)); job.Moved != 5 || len(w.holds("orders")) != 5 {
				t.Errorf("%+v, %d at the target", job.Counts, len(w.holds("orders")))
			}
		})
	}
}

func TestAnAdminsPlanThatAnOperatorMayStartIsBoundedByTheOperatorsLimit(t *testing.T) {
	w := newWard(t)
	w.die(numbered("early", 5)...)
	p, err := w.planMove(t, ada, move.Request{Scan: w.look(t).ID, Filter: "reason:rejected"})
	admintest.Must(t, err)
	if p.Needs != auth.Operator || p.Most != deadletter.DefaultOperatorLimit {
		t.Errorf("it needs %s and moves %d at most", p.Needs, p.Most)
	}
	w.die(numbered("late", 400)...)
	id, err := w.StartJob(t.Context(), operator, jobs.StartRequest{PlanID: p.ID, Reason: why})
	admintest.Must(t, err)
	if job := w.until(t, id, in(jobs.JobDone)); job.Moved != deadletter.DefaultOperatorLimit || len(w.holds("orders")) != deadletter.DefaultOperatorLimit {
		t.Errorf("an operator's job moved %d: %d arrived", job.Moved, len(w.holds("orders")))
	}
}

func TestWhoStartsAPlanIsAskedAgainForWhatItMayMoveByThen(t *testing.T) {
	t.Run("an operator, with a limit that was lowered since", func(t *testing.T) {
		w := newWard(t)
		w.die(numbered("held", 50)...)
		p, err := w.planMove(t, ada, move.Request{Scan: w.look(t).ID, Filter: "reason:rejected"})
		admintest.Must(t, err)
		deps := w.deps
		deps.Config.OperatorLimit = 10
		again := newDeadLetters(deps)
		defer func() { admintest.Must(t, again.Close(context.Background())) }()
		_, err = again.StartJob(t.Context(), operator, jobs.StartRequest{PlanID: p.ID, Reason: why})
		if dedup.KindOf(err) != dedup.Forbidden || !strings.Contains(dedup.PublicText(err), "may move 50 messages, more than the 10") {
			t.Errorf("started: %v", err)
		}
	})
	for name, req := range map[string]move.Request{"a whole queue": {Whole: true}, "a filter": {Filter: "reason:rejected"}} {
		t.Run(name+" that an admin starts", func(t *testing.T) {
			w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Config.OperatorLimit = 1000 })
			w.die(numbered("few", 5)...)
			req.Choices = map[preflight.Class]preflight.Choice{}
			for _, class := range []preflight.Class{preflight.ClassUnknown, preflight.ClassBlocks, preflight.ClassSwallowed, preflight.ClassPerhapsSwallowed} {
				req.Choices[class] = preflight.LeaveOut
			}
			if scan := w.look(t); !req.Whole {
				req.Scan = scan.ID
			}
			p, err := w.planMove(t, ada, req)
			admintest.Must(t, err)
			if p.Confirm != "" {
				t.Fatalf("%q must be typed for %d", p.Confirm, p.UpTo)
			}
			w.die(numbered("many", 400)...)
			_, err = w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why})
			if dedup.KindOf(err) != dedup.Conflict || !strings.Contains(dedup.PublicText(err), "405 messages, for which orders.dead must be typed") {
				t.Errorf("started without the name: %v", err)
			}
			id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: deadQueue.Name})
			admintest.Must(t, err)
			if job := w.until(t, id, in(jobs.JobDone)); job.Moved != 405 {
				t.Errorf("moved %d", job.Moved)
			}
		})
	}
}

func TestAPlanWithABoundShowsTheClassesOfWhatItMoves(t *testing.T) {
	w := newWard(t)
	w.die(numbered("near", 35)...)
	w.publish("published")
	w.die(numbered("far", 184)...)
	for _, id := range numbered("far", 184) {
		w.markers[id] = dedup.Done
	}
	w.markers["near-7"] = dedup.Processing
	scan := w.look(t)
	for name, req := range map[string]move.Request{"a filter": {Scan: scan.ID, Filter: "-reason:expired"}, "a whole queue": {Whole: true}} {
		req.Most = 35
		p, err := w.planMove(t, ada, req)
		admintest.Must(t, err)
		in := 0
		for _, n := range p.Classes {
			in += n
		}
		if p.Matching != 220 || in != 36 || p.Classes[preflight.ClassBlocks] != 1 || p.Classes[preflight.ClassRuns] != 35 || p.Targets["orders"] != 35 || p.UpTo != 35 ||
			p.Beyond != 220-36 || len(p.Letters) != 36 {
			t.Errorf("%s: %d matching, %d beyond, %d letters, up to %d, classes %v, targets %v", name, p.Matching, p.Beyond, len(p.Letters), p.UpTo, p.Classes, p.Targets)
		}
	}
}
