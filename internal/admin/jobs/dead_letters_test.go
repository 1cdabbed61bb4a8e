package jobs_test

import (
	"errors"
	"slices"
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

func TestEachMethodNeedsItsRole(t *testing.T) {
	w := newWard(t)
	w.die(numbered("role", 3)...)
	scan := w.look(t)
	ref := scan.Letters[0].Ref
	ctx := t.Context()
	for name, c := range map[string]struct {
		needs auth.Role
		call  func(admin.Caller) error
	}{
		"Queue":        {auth.Operator, func(who admin.Caller) error { _, err := w.Queue(ctx, who, "orders", deadQueue.Name); return err }},
		"ParkingQueue": {auth.Operator, func(who admin.Caller) error { _, err := w.ParkingQueue(ctx, who, "orders", deadQueue.Name); return err }},
		"Scan": {auth.Operator, func(who admin.Caller) error {
			_, err := w.Scan(ctx, who, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 0})
			return err
		}},
		"Kept":   {auth.Operator, func(who admin.Caller) error { _, err := w.Kept(ctx, who, scan.ID); return err }},
		"Letter": {auth.Operator, func(who admin.Caller) error { _, err := w.Letter(ctx, who, scan.ID, ref); return err }},
		"Reveal": {auth.Admin, func(who admin.Caller) error { _, err := w.Reveal(ctx, who, scan.ID, ref); return err }},
		"Export": {auth.Operator, func(who admin.Caller) error {
			return w.Export(ctx, who, scan.ID, "", func([]deadletter.Letter) error { return nil })
		}},
		"PlannedMove": {auth.Operator, func(who admin.Caller) error { _, _, err := w.PlannedMove(ctx, who, "none"); return err }},
		"a plan of some": {auth.Operator, func(who admin.Caller) error {
			_, err := w.planMove(t, who, move.Request{Scan: scan.ID, Refs: []string{ref}})
			return err
		}},
		"a plan of the whole queue": {auth.Admin, func(who admin.Caller) error { _, err := w.planMove(t, who, move.Request{Whole: true}); return err }},
		"a plan of a discard": {auth.Admin, func(who admin.Caller) error {
			_, err := w.planMove(t, who, move.Request{Do: admin.Discard, Scan: scan.ID, Refs: []string{ref}})
			return err
		}},
		"a plan of an edit": {auth.Admin, func(who admin.Caller) error {
			_, err := w.planMove(t, who, move.Request{Scan: scan.ID, Refs: []string{ref}, Edit: &move.Edit{MessageID: "x"}})
			return err
		}},
		"a plan that clears first": {auth.Admin, func(who admin.Caller) error {
			_, err := w.planMove(t, who, move.Request{Scan: scan.ID, Refs: []string{ref}, Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.ClearFirst}})
			return err
		}},
		"StartJob":  {auth.Operator, func(who admin.Caller) error { _, err := w.StartJob(ctx, who, jobs.StartRequest{}); return err }},
		"Job":       {auth.Operator, func(who admin.Caller) error { _, err := w.Job(ctx, who, "none"); return err }},
		"Jobs":      {auth.Operator, func(who admin.Caller) error { _, err := w.Jobs(ctx, who, 1); return err }},
		"JobItems":  {auth.Operator, func(who admin.Caller) error { _, err := w.JobItems(ctx, who, "none", 0, 1); return err }},
		"ItemsOf":   {auth.Operator, func(who admin.Caller) error { _, err := w.ItemsOf(ctx, who, "none"); return err }},
		"PauseJob":  {auth.Operator, func(who admin.Caller) error { return w.PauseJob(ctx, who, "none") }},
		"ResumeJob": {auth.Operator, func(who admin.Caller) error { return w.ResumeJob(ctx, who, "none") }},
		"CancelJob": {auth.Operator, func(who admin.Caller) error { return w.CancelJob(ctx, who, "none") }},
	} {
		for _, who := range []admin.Caller{viewer, operator, ada} {
			if got := dedup.KindOf(c.call(who)) == dedup.Forbidden; got == who.Can(c.needs) {
				t.Errorf("%s by %s is forbidden: %t", name, who.Role, got)
			}
		}
	}
}

func TestReadOnlyRefusesWhateverTouchesAQueue(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) { d.ReadOnly = true })
	w.die("a")
	_, scan := w.Scan(t.Context(), ada, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 1})
	_, plan := w.planMove(t, ada, move.Request{Whole: true})
	for name, err := range map[string]error{"a look": scan, "a plan": plan, "a pause": w.PauseJob(t.Context(), ada, "x"), "a cancel": w.CancelJob(t.Context(), ada, "x")} {
		if dedup.KindOf(err) != dedup.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	view, err := w.Queue(t.Context(), operator, "orders", deadQueue.Name)
	admintest.Must(t, err)
	if !strings.Contains(view.WhyNoScan, "read-only") || !strings.Contains(view.WhyNoMove, "read-only") {
		t.Errorf("%+v", view)
	}
}

func TestOperatorsMoveUpToTheirLimit(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Config.OperatorLimit = 5 })
	w.die(numbered("limit", 8)...)
	scan := w.look(t)
	if _, err := w.planMove(t, operator, move.Request{Scan: scan.ID, Filter: "reason:rejected"}); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("8 of a limit of 5: %v", err)
	}
	var refs []string
	for _, l := range scan.Letters[:5] {
		refs = append(refs, l.Ref)
	}
	if _, err := w.planMove(t, operator, move.Request{Scan: scan.ID, Refs: refs}); err != nil {
		t.Errorf("5 of a limit of 5: %v", err)
	}
	// A filter also selects what arrives behind the look; the limit holds for it too.
	p, err := w.planMove(t, operator, move.Request{Scan: scan.ID, Filter: "id:limit-1*"})
	admintest.Must(t, err)
	w.die("limit-10", "limit-11", "limit-12", "limit-13", "limit-14", "limit-15", "limit-16")
	id, err := w.StartJob(t.Context(), operator, jobs.StartRequest{PlanID: p.ID, Reason: why})
	admintest.Must(t, err)
	job := w.until(t, id, in(jobs.JobDone))
	if job.Moved != 5 || len(w.holds("orders")) != 5 {
		t.Errorf("moved %d: %v", job.Moved, w.holds("orders"))
	}
}

func TestWhatSpeaksAgainstAMoveIsSaid(t *testing.T) {
	many := int64(1)
	for name, c := range map[string]struct {
		change  func(*ward)
		want    string
		refused bool
	}{
		"nothing":          {func(*ward) {}, "", false},
		"a missing target": {func(w *ward) { delete(w.facts, "orders") }, "does not exist", true},
		"no consumer":      {func(w *ward) { w.fact("orders", func(q *dedup.Queue) { q.Consumers = new(int64) }) }, "has no consumer", false},
		"a competing consumer": {func(w *ward) {
			w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Consumers = &many })
		}, "1 consumer takes messages", false},
		"a target that copies what it refuses": {func(w *ward) {
			w.fact("orders", func(q *dedup.Queue) {
				q.Policy = map[string]any{"overflow": "reject-publish-dlx", "max-length": int64(9)}
			})
		}, "reject-publish-dlx", true},
		"a target that drops its oldest": {func(w *ward) {
			w.fact("orders", func(q *dedup.Queue) { q.Arguments = map[string]any{"x-max-length": int64(2)} })
		}, "pushes out the oldest", true},
		"a target that refuses what does not fit": {func(w *ward) {
			w.fact("orders", func(q *dedup.Queue) {
				q.Arguments = map[string]any{"x-max-length": int64(2), "x-overflow": "reject-publish"}
			})
		}, "3 do not fit: room for 2. Take 2 at most", false},
		"a broker in alarm": {func(w *ward) {
			snap := *w.round.Snapshot()
			snap.Brokers = slices.Clone(snap.Brokers)
			snap.Brokers[0].State.Nodes = []dedup.Node{{Name: "rabbit@a", MemoryAlarm: true}}
			w.round.Set(&snap)
		}, "short of memory or disk", true},
		"a queue that grew":       {func(w *ward) { w.die("more") }, "held 3 messages when it was looked at, and holds 4 now", false},
		"a target that is stream": {func(w *ward) { w.fact("orders", func(q *dedup.Queue) { q.Type = "stream" }) }, "is a stream", true},
		"envelopes of EasyNetQ": {func(w *ward) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.queues[deadQueue.Name][1].Type = "EasyNetQ.SystemMessages.Error:EasyNetQ"
		}, "Of those looked at, 1 message that goes is an error envelope of EasyNetQ: what is sent is the envelope", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t)
			w.die(numbered("guard", 3)...)
			if name == "envelopes of EasyNetQ" { // the look sees it
				c.change(w)
			}
			scan := w.look(t)
			c.change(w)
			p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Filter: "id:guard*"})
			admintest.Must(t, err)
			said := ""
			for _, g := range p.Guards {
				if c.want != "" && strings.Contains(g.Text, c.want) && g.Blocking == c.refused {
					said = g.Text
				}
			}
			if (said == "") != (c.want == "") || c.want == "" && len(p.Guards) > 0 {
				t.Errorf("guards %+v", p.Guards)
			}
			_, err = w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
			if got := dedup.KindOf(err) == dedup.Conflict; got != c.refused {
				t.Errorf("the start was refused: %t, %v", got, err)
			}
		})
	}
}

func TestEnvelopesThatAreLeftOutAreNotWarnedOf(t *testing.T) {
	w := newWard(t)
	w.die(numbered("guard", 3)...)
	w.mu.Lock()
	w.queues[deadQueue.Name][1].Type = "EasyNetQ.SystemMessages.Error:EasyNetQ"
	w.mu.Unlock()
	scan, choices := w.look(t), map[preflight.Class]preflight.Choice{}
	for _, going := range []bool{true, false} {
		p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Filter: "id:guard*", Choices: choices})
		admintest.Must(t, err)
		said := slices.ContainsFunc(p.Guards, func(g move.Guard) bool { return strings.Contains(g.Text, "EasyNetQ") })
		if len(p.Classes) == 0 || said != going {
			t.Errorf("going: %t, classes %v, guards %+v", going, p.Classes, p.Guards)
		}
		for class := range p.Classes {
			choices[class] = preflight.LeaveOut
		}
	}
}

func (w *ward) fact(queue string, change func(*dedup.Queue)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.facts[queue]
	change(&q)
	w.facts[queue] = q
}

func TestFromAQueueThatDestroysWhatComesBackOnlyTheWholeIsMoved(t *testing.T) {
	w := newWard(t)
	w.die(numbered("quorum", 3)...)
	scan := w.look(t)
	w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Type, q.Arguments = "quorum", map[string]any{"x-delivery-limit": int64(10)} })
	view, err := w.Queue(t.Context(), operator, "orders", deadQueue.Name)
	admintest.Must(t, err)
	if !strings.Contains(view.WhyNoScan, "delivery limit is 10") || view.WhyNotSelective == "" || view.WhyNoMove != "" {
		t.Errorf("%+v", view)
	}
	for name, req := range map[string]move.Request{
		"a selection": {Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}},
		"a filter":    {Scan: scan.ID, Filter: "id:quorum-1"},
		"leaving out": {Whole: true, Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.LeaveOut}},
	} {
		if _, err := w.planMove(t, ada, req); dedup.KindOf(err) != dedup.Conflict || !strings.Contains(dedup.PublicText(err), "put back") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := w.planMove(t, ada, move.Request{Whole: true})
	admintest.Must(t, err)
	if p.Selective || p.Confirm != deadQueue.Name || p.Choices[preflight.ClassBlocks] != preflight.KeepAsIs {
		t.Errorf("%+v", p)
	}
}

func TestASelectionOfOneCopyMovesOneCopy(t *testing.T) {
	w := newWard(t)
	w.die("twin")
	w.mu.Lock()
	w.queues[deadQueue.Name] = append(w.queues[deadQueue.Name], w.queues[deadQueue.Name][0], w.queues[deadQueue.Name][0])
	w.mu.Unlock()
	w.die(numbered("other", 40)...)
	scan := w.look(t)
	// What becomes of the second copy depends on what becomes of the first: its class is unknown.
	job := w.until(t, w.begin(t, move.Request{
		Scan: scan.ID, Refs: []string{scan.Letters[0].Ref, scan.Letters[0].Ref}, Choices: map[preflight.Class]preflight.Choice{preflight.ClassUnknown: preflight.KeepAsIs},
	}), in(jobs.JobDone))
	if job.Moved != 2 || job.Why != "" || len(w.holds("orders")) != 2 || len(w.holds(deadQueue.Name)) != 41 {
		t.Errorf("%q %+v: %v", job.Why, job.Counts, w.holds("orders"))
	}
	// Once all that was selected is moved the rest of the queue is not taken.
	if job.Left > 8 {
		t.Errorf("%d were looked at in vain", job.Left)
	}
}

func TestAMoveGoesByTheDepthOfThisMomentAndNotByThatOfSomeSecondsAgo(t *testing.T) {
	w := newWard(t)
	w.die("m-1", "m-2", "m-3")
	late := int64(0)
	w.fact(deadQueue.Name, func(q *dedup.Queue) { q.Ready, q.Messages = &late, &late })
	plan, err := w.planMove(t, ada, move.Request{Whole: true})
	if err != nil || plan.Ready != 3 {
		t.Fatalf("%d are ready, %v", plan.Ready, err)
	}
	job := w.until(t, w.begin(t, move.Request{Whole: true}), func(j jobs.Job) bool { return j.State.Final() })
	if job.Limit != 3 || job.Moved != 3 || len(w.holds(deadQueue.Name)) != 0 {
		t.Errorf("%d of %d moved, %s; left: %v", job.Moved, job.Limit, job.State, w.holds(deadQueue.Name))
	}
}

func TestWhatMustBeTypedIsAskedForAndChecked(t *testing.T) {
	w := newWard(t)
	w.die(numbered("typed", 3)...)
	w.markers["typed-0"], w.markers["typed-1"] = dedup.Done, dedup.Processing
	scan := w.look(t)
	one := func(i int) []string { return []string{scan.Letters[i].Ref} }
	for name, c := range map[string]struct {
		req  move.Request
		want string
	}{
		"one that runs":                    {move.Request{Scan: scan.ID, Refs: one(2)}, ""},
		"one that blocks and is kept so":   {move.Request{Scan: scan.ID, Refs: one(1), Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.KeepAsIs}}, deadQueue.Name},
		"a discard":                        {move.Request{Do: admin.Discard, Scan: scan.ID, Refs: one(2)}, deadQueue.Name},
		"one of done work, cleared first":  {move.Request{Scan: scan.ID, Refs: one(0), Choices: map[preflight.Class]preflight.Choice{preflight.ClassSkipped: preflight.ClearFirst}}, "typed-0"},
		"the whole of a short queue":       {move.Request{Whole: true}, ""},
		"the whole, with those that block": {move.Request{Whole: true, Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.KeepAsIs}}, deadQueue.Name},
	} {
		p, err := w.planMove(t, ada, c.req)
		admintest.Must(t, err)
		if p.Confirm != c.want {
			t.Errorf("%s: %q must be typed", name, p.Confirm)
		}
		if c.want == "" {
			continue
		}
		if _, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: "yes"}); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("%s started without it: %v", name, err)
		}
	}
}

func TestAnOverduePlanAndOneWithoutAReasonAreNotStarted(t *testing.T) {
	w := newWard(t)
	w.die("late")
	p, err := w.planMove(t, ada, move.Request{Whole: true})
	admintest.Must(t, err)
	if _, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: "  ", Confirm: p.Confirm}); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("without a reason: %v", err)
	}
	w.clock.Advance(admin.PlanLife + time.Second)
	if _, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm}); dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("an overdue plan: %v", err)
	}
	if _, _, err := w.PlannedMove(t.Context(), ada, p.ID); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("an overdue plan is shown: %v", err)
	}
}

func TestAnExportThatIsCutIsAuditedAsFailed(t *testing.T) {
	w := newWard(t)
	w.die("a", "b")
	scan := w.look(t)
	sent := 0
	admintest.Must(t, w.Export(t.Context(), ada, scan.ID, "", func(letters []deadletter.Letter) error { sent = len(letters); return nil }))
	cut := errors.New("cut")
	if err := w.Export(t.Context(), ada, scan.ID, "", func([]deadletter.Letter) error { return cut }); !errors.Is(err, cut) || sent != 2 {
		t.Errorf("%d were sent, then: %v", sent, err)
	}
	entries, err := w.db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 4})
	admintest.Must(t, err)
	if len(entries) != 4 || entries[0].Phase != admin.Failed || entries[0].Detail != "2 messages as they are, of which not all were sent" || entries[2].Phase != admin.Succeeded {
		t.Errorf("%+v", entries)
	}
}

func TestNeitherJournalNorAuditHoldsABody(t *testing.T) {
	w := newWard(t)
	w.die("secret-1")
	w.mu.Lock()
	w.queues[deadQueue.Name][0].Body = []byte(`{"canary":"BODY-CANARY"}`)
	w.queues[deadQueue.Name][0].Headers["note"] = "HEADER-CANARY"
	w.mu.Unlock()
	scan := w.look(t)
	_, err := w.Reveal(t.Context(), ada, scan.ID, scan.Letters[0].Ref)
	admintest.Must(t, err)
	id := w.begin(t, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}, Edit: &move.Edit{Body: []byte("EDIT-CANARY"), Headers: map[string]string{"note": "EDIT-CANARY"}}})
	w.until(t, id, in(jobs.JobDone))
	if found := grepFolder(t, w.dir, "BODY-CANARY", "HEADER-CANARY", "EDIT-CANARY"); found != "" {
		t.Errorf("%s is on disk", found)
	}
}
