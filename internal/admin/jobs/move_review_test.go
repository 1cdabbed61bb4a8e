package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// strand puts dead letters into the dead-letter queue that died there, so that they have nowhere to go back to.
func (w *ward) strand(ids ...string) {
	w.die(ids...)
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.queues[deadQueue.Name]
	for _, m := range all[len(all)-len(ids):] {
		m.Headers["x-death"].([]any)[0].(map[string]any)["queue"] = deadQueue.Name
	}
}

// says reports whether a guard of a plan holds a text.
func says(p move.Plan, text string) bool {
	for _, g := range p.Guards {
		if strings.Contains(g.Text, text) {
			return true
		}
	}
	return false
}

func TestMessagesThatCannotBeSentAreCountedApart(t *testing.T) {
	w := newWard(t)
	w.die("worn-0", "sent-0", "sent-1", "sent-2")
	w.worn(1)
	w.strand("lost-0", "lost-1")
	p, err := w.planMove(t, ada, move.Request{Scan: w.look(t).ID, Filter: "reason:rejected"})
	admintest.Must(t, err)
	if p.Matching != 6 || p.Nowhere != 2 || p.Worn != 1 || p.Going() != 3 || p.UpTo != 3 || p.Targets["orders"] != 3 || len(p.Targets) != 1 || p.Idle() != "" {
		t.Errorf("%d match, %d have nowhere to go, %d are worn, %d go, up to %d, to %v, %q", p.Matching, p.Nowhere, p.Worn, p.Going(), p.UpTo, p.Targets, p.Idle())
	}
	for _, l := range p.Letters {
		if sent := strings.HasPrefix(l.ID, "sent"); sent != (l.Stays == "") || sent != (l.Choice != preflight.LeaveOut) {
			t.Errorf("%s: %s, %q", l.ID, l.Choice, l.Stays)
		}
	}
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why})
	admintest.Must(t, err)
	if job := w.until(t, id, in(jobs.JobDone)); job.Moved != 3 || job.Extent.Messages != 3 {
		t.Errorf("moved %d of %d", job.Moved, job.Extent.Messages)
	}
	if p, err = w.planMove(t, ada, move.Request{Do: admin.Discard, Scan: w.look(t).ID, Filter: "reason:rejected"}); err != nil || p.Nowhere+p.Worn != 0 || p.Going() != 3 {
		t.Errorf("a discard: %d go, %v", p.Going(), err)
	}
}

func TestAPlanThatWouldMoveNothingIsNotStarted(t *testing.T) {
	for name, fill := range map[string]func(w *ward){
		"of none":            func(w *ward) { w.strand("lost-0", "lost-1") },
		"too often":          func(w *ward) { w.die("worn-0"); w.worn(1) },
		"nowhere to go or":   func(w *ward) { w.die("worn-0"); w.worn(1); w.strand("lost-0") },
		"left out by choice": func(w *ward) { w.die("blocks"); w.markers["blocks"] = dedup.Processing; w.strand("lost-0") },
	} {
		for _, whole := range []bool{false, true} {
			w := newWard(t)
			fill(w)
			req := move.Request{Scan: w.look(t).ID, Filter: "reason:rejected"}
			if whole {
				req = move.Request{Whole: true}
			}
			p, err := w.planMove(t, ada, req)
			admintest.Must(t, err)
			if !strings.Contains(refused(p), name) {
				t.Errorf("%s: guards %+v", name, p.Guards)
			}
			if _, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm}); dedup.KindOf(err) != dedup.Conflict || !strings.Contains(dedup.PublicText(err), name) {
				t.Errorf("%s: the start: %v", name, err)
			}
		}
	}
}

func TestACanaryIsPresetWhereManyMessagesAreMoved(t *testing.T) {
	for n, want := range map[int]int{20: 0, 21: 5} {
		w := newWard(t)
		w.die(numbered("many", n)...)
		w.strand("lost-0", "lost-1")
		scan := w.look(t)
		p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Filter: "reason:rejected", Canary: move.PresetCanary})
		if err != nil || p.Request.Canary != want {
			t.Errorf("%d messages: a canary of %d, %v", n, p.Request.Canary, err)
		}
		if p, err = w.planMove(t, ada, move.Request{Scan: scan.ID, Filter: "reason:rejected"}); err != nil || p.Request.Canary != 0 {
			t.Errorf("%d messages without one: a canary of %d, %v", n, p.Request.Canary, err)
		}
		if p, err = w.planMove(t, ada, move.Request{Do: admin.Discard, Whole: true, Canary: move.PresetCanary}); err != nil || p.Request.Canary != 0 {
			t.Errorf("a discard: a canary of %d, %v", p.Request.Canary, err)
		}
	}
}

func TestWhereNotAllHaveRoomAPlanOfThoseThatFitIsMade(t *testing.T) {
	w := newWard(t)
	w.die(numbered("full", 10)...)
	w.bounded("orders", 12)
	p, err := w.planMove(t, ada, move.Request{Whole: true})
	admintest.Must(t, err)
	w.bounded("orders", 3)
	var many *move.TooMany
	_, err = w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why})
	if !errors.As(err, &many) || many.Fits != 3 || dedup.KindOf(err) != dedup.Conflict || !strings.Contains(dedup.PublicText(err), "10 do not fit: room for 3. Take 3 at most") {
		t.Errorf("the start: %v", err)
	}
	p, err = w.planMove(t, ada, move.Request{Whole: true})
	admintest.Must(t, err)
	if fits, known := p.Fits(); fits != 3 || !known || refused(p) == "" {
		t.Errorf("%d fit, %t: %q", fits, known, refused(p))
	}
	job := w.until(t, w.begin(t, move.Request{Whole: true, Most: 3}), in(jobs.JobDone))
	if job.Moved != 3 || job.Extent.Messages != 3 || len(w.holds("orders")) != 3 || len(w.holds(deadQueue.Name)) != 7 {
		t.Errorf("%+v, %d at the target", job.Counts, len(w.holds("orders")))
	}
	p, err = w.planMove(t, ada, move.Request{Whole: true})
	admintest.Must(t, err)
	if fits, known := p.Fits(); fits != 0 || !known || !strings.Contains(refused(p), "7 do not fit: there is no room for any") {
		t.Errorf("%d fit: %q", fits, refused(p))
	}
}

func TestOfAQueueThatIsMovedWholeNoMoreAreTakenThanAreMoved(t *testing.T) {
	w := newWard(t)
	w.die(numbered("first", 9)...)
	w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Type, q.Policy = "quorum", map[string]any{"delivery-limit": int64(10)} })
	p, err := w.planMove(t, ada, move.Request{Whole: true, Most: 5, Canary: 2})
	admintest.Must(t, err)
	if p.MayLeave || p.Selective || p.UpTo != 5 {
		t.Errorf("up to %d, can be left out: %t", p.UpTo, p.MayLeave)
	}
	w.each = func(context.Context) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, m := range w.queues["orders"] {
			w.markers[m.MessageID] = dedup.Done
		}
	}
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	admintest.Must(t, err)
	if job := w.until(t, id, func(j jobs.Job) bool { return j.State.Final() || j.State == jobs.JobPaused }); job.State != jobs.JobDone || job.Moved != 5 || job.Left != 0 {
		t.Errorf("%s %q %+v", job.State, job.Why, job.Counts)
	}
}

func TestAnOperatorIsToldHowManyMayBeRequeuedAndMayRequeueThose(t *testing.T) {
	w := newWard(t, limitOfFive)
	w.die(numbered("limit", 8)...)
	scan := w.look(t)
	for name, req := range map[string]move.Request{"a filter": {Scan: scan.ID, Filter: "reason:rejected"}, "the whole": {Whole: true}} {
		var many *move.TooMany
		if _, err := w.planMove(t, operator, req); !errors.As(err, &many) || many.Fits != 5 || dedup.KindOf(err) != dedup.Forbidden || !strings.Contains(dedup.PublicText(err), "8 messages are more than the 5") {
			t.Errorf("%s: %v", name, err)
		}
		req.Most = 6
		if _, err := w.planMove(t, operator, req); !errors.As(err, &many) {
			t.Errorf("%s of 6: %v", name, err)
		}
		req.Most = 5
		if p, err := w.planMove(t, operator, req); err != nil || p.UpTo != 5 || p.Most != 5 {
			t.Errorf("%s of 5: up to %d, %v", name, p.UpTo, err)
		}
	}
	for name, req := range map[string]move.Request{"a discard": {Do: admin.Discard, Whole: true}, "less than nothing": {Whole: true, Most: -1}} {
		if _, err := w.planMove(t, operator, req); err == nil || errors.As(err, new(*move.TooMany)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPlanWarnsOfCopiesOfItsMessages(t *testing.T) {
	const twins, sent, done = "share their id", "have already sent a copy, with the same id, of 1 of", "The work of 1 of these messages was done since"
	w := newWard(t)
	w.markers["twin"] = dedup.Processing // both are kept as they are: which of them runs is not foreseen
	keep := map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.KeepAsIs}
	plan := func(req move.Request) move.Plan {
		t.Helper()
		req.Choices = keep
		p, err := w.planMove(t, ada, req)
		admintest.Must(t, err)
		return p
	}
	w.die("sent", "alone")
	w.until(t, w.begin(t, move.Request{Whole: true}), in(jobs.JobDone))
	w.die("twin", "single")
	scan := w.look(t)
	if p := plan(move.Request{Scan: scan.ID, Filter: "reason:rejected"}); says(p, twins) || says(p, "a copy") {
		t.Errorf("without copies: %+v", p.Guards)
	}
	w.die("sent", "twin")
	scan = w.look(t)
	all := move.Request{Scan: scan.ID, Filter: "reason:rejected"}
	if p := plan(all); !says(p, "2 of these messages "+twins) || !says(p, sent) || says(p, "was done since") {
		t.Errorf("with copies: %+v", p.Guards)
	}
	if p := plan(move.Request{Scan: scan.ID, Filter: "-id:twin -id:sent"}); says(p, twins) || says(p, "a copy") {
		t.Errorf("of others: %+v", p.Guards)
	}
	w.mu.Lock() // the first job's outcome is still looked up
	w.markers["single"] = dedup.Done
	w.mu.Unlock()
	if p := plan(all); !says(p, done) {
		t.Errorf("after a copy ran: %+v", p.Guards)
	}
	// What was left out does not go, and the message that died again is no copy of itself.
	w.requeued(2, 1)
	keep = nil
	if p := plan(move.Request{Scan: w.look(t).ID, Filter: "reason:rejected"}); says(p, twins) || says(p, "a copy") {
		t.Errorf("where no copy goes: %+v", p.Guards)
	}
}

func TestAQueueWhoseConsumersAreServedFirstIsNotMoved(t *testing.T) {
	one := int64(1)
	for name, c := range map[string]struct {
		change  func(*dedup.Queue)
		whole   bool
		refused bool
	}{
		"a selection from a classic queue":                       {func(*dedup.Queue) {}, false, false},
		"a selection from one with a single active consumer":     {func(q *dedup.Queue) { q.Arguments = map[string]any{"x-single-active-consumer": true} }, false, true},
		"a selection from a quorum queue":                        {func(q *dedup.Queue) { q.Type = "quorum" }, false, true},
		"a whole quorum queue":                                   {func(q *dedup.Queue) { q.Type, q.Policy = "quorum", map[string]any{"delivery-limit": int64(10)} }, true, true},
		"a whole quorum queue with a single active consumer too": {func(q *dedup.Queue) { q.Type, q.Arguments = "quorum", map[string]any{"x-single-active-consumer": true} }, true, true},
	} {
		w := newWard(t)
		w.die("a", "b")
		req := move.Request{Scan: w.look(t).ID, Filter: "reason:rejected"}
		if c.whole {
			req = move.Request{Whole: true}
		}
		w.fact(deadQueue.Name, c.change)
		for _, consumers := range []*int64{nil, &one} {
			w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Consumers = consumers })
			p, err := w.planMove(t, ada, req)
			admintest.Must(t, err)
			if got := refused(p); (got != "") != (c.refused && consumers != nil) {
				t.Errorf("%s: refused %q", name, got)
			}
		}
	}
}

func TestAQueueThatMustNotBeMovedAnyMoreIsNotCalledUnreadable(t *testing.T) {
	w := newWard(t)
	w.die(numbered("turned", 10)...)
	w.each = func(context.Context) {
		w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Type, q.Policy = "quorum", map[string]any{"delivery-limit": int64(3)} })
		w.mu.Lock()
		defer w.mu.Unlock()
		for i := range 3 {
			w.markers[fmt.Sprintf("turned-%d", i)] = dedup.Done
		}
	}
	job := w.until(t, w.begin(t, move.Request{Whole: true, Canary: 3}), in(jobs.JobPaused, jobs.JobStopped, jobs.JobDone))
	if job.State != jobs.JobPaused || strings.Contains(job.Why, "cannot be read") || !strings.HasPrefix(job.Why, "Messages cannot be picked out of this queue any more") {
		t.Errorf("%s %q", job.State, job.Why)
	}
}

// blindly makes the markers of a ward ones without a state, which are written before the work.
func blindly(t *testing.T, clear *clearer) func(*jobs.DeadLettersDeps) {
	return func(d *jobs.DeadLettersDeps) {
		d.Stores[0].Scheme, d.Clear = timestampScheme(), clear
		preflight, err := preflight.New(d.Pipelines, d.Stores)
		admintest.Must(t, err)
		d.Preflight = preflight
	}
}

func TestAPlanCountsTheMessagesThatMayRunASecondTime(t *testing.T) {
	w := newWard(t, blindly(t, &clearer{}))
	w.die("present-0", "present-1", "fresh", "old")
	w.mu.Lock()
	w.queues[deadQueue.Name][3].Timestamp = time.Now().Add(-1000 * time.Hour)
	w.markers["present-0"], w.markers["present-1"] = dedup.Present, dedup.Present
	w.mu.Unlock()
	w.look(t)
	for choice, want := range map[preflight.Choice]int{preflight.LeaveOut: 1, preflight.KeepAsIs: 1, preflight.ClearFirst: 3} {
		p, err := w.planMove(t, ada, move.Request{Whole: true, Choices: map[preflight.Class]preflight.Choice{preflight.ClassPerhapsSwallowed: choice}})
		admintest.Must(t, err)
		if p.Classes[preflight.ClassPerhapsSwallowed] != 2 || p.Classes[preflight.ClassMayRunTwice] != 1 || p.MayRepeat != want || (p.Confirm != "") != (choice == preflight.KeepAsIs) {
			t.Errorf("%s: %v, %d may run a second time, %q must be typed", choice, p.Classes, p.MayRepeat, p.Confirm)
		}
	}
	if p, err := w.planMove(t, ada, move.Request{Whole: true}); err != nil || p.Choices[preflight.ClassPerhapsSwallowed] != preflight.LeaveOut || !p.MayLeave {
		t.Errorf("by default %v, %v", p.Choices, err)
	}
}

func timestampScheme() dedup.Scheme {
	return dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "ack", OnFailed: "ack", OnFail: "delete", DoneTTL: 24 * time.Hour, States: []dedup.State{dedup.Present}}
}
