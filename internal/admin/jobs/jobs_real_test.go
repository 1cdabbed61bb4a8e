package jobs_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
	"dedup-dashboard/lab/servers"
)

func TestJobsOnARealBrokerAndStore(t *testing.T) {
	m := newMorgue(t)
	for name, test := range map[string]func(*testing.T, *morgue){
		"a look shows letters with their markers and changes no message":      looks,
		"a whole queue is requeued and its aftermath tells what became of it": requeuesWhole,
		"a job right after a look at ten thousand moves them all":             movesAllAfterALook,
		"a filter selects its messages alone":                                 requeuesFiltered,
		"a good canary lets the rest follow":                                  canaryGood,
		"a bad canary stops the job":                                          canaryBad,
		"a job is paused and goes on":                                         pausesAndResumes,
		"a cancelled job leaves every message in exactly one place":           cancels,
		"two who start at once get one job":                                   startsOnce,
		"a job goes on after a restart":                                       restarts,
		"a job waits after a restart until its queue was discovered":          waitsForDiscovery,
		"a job whose queue was deleted during a restart is given up":          givesUpDeletedQueue,
		"without its journal nothing goes on and a new job empties the queue": losesJournal,
		"what is discarded can be restored":                                   discardsAndRestores,
		"an edited message is sent in place of the old one":                   edits,
		"markers are cleared before their messages are sent":                  clearsFirst,
		"a full target refuses what does not fit, and it stays":               targetRefuses,
		"a quorum queue is moved whole":                                       movesQuorum,
		"a job goes on after its connections were closed":                     losesConnections,
		"a restart while the first messages are watched judges them":          restartsWatching,
		"selected messages are moved and the others keep their order":         movesSelection,
	} {
		t.Run(name, func(t *testing.T) { test(t, m) })
	}
}

func looks(t *testing.T, m *morgue) {
	s := m.newScene(t, "looked", nil)
	all := ids("look", 20)
	s.die(t, all...)
	admintest.Must(t, m.rdb.Set(t.Context(), "msg:look-3", "processing", time.Hour).Err())
	admintest.Must(t, m.rdb.Set(t.Context(), "msg:look-4", "done", time.Hour).Err())
	scan := s.scan(t, 100)
	if len(scan.Letters) != 20 || scan.Ready != 20 || scan.StoreFailed != "" {
		t.Fatalf("%d letters of %d, store %q", len(scan.Letters), scan.Ready, scan.StoreFailed)
	}
	if scan.Classes[preflight.ClassBlocks] != 1 || scan.Classes[preflight.ClassSkipped] != 1 {
		t.Errorf("classes %v", scan.Classes)
	}
	l, err := s.Letter(t.Context(), operator, scan.ID, scan.Letters[0].Ref)
	admintest.Must(t, err)
	if l.ID != "look-0" || l.Target != "looked" || l.Deaths[0].Reason != message.DeathExpired || l.Headers["x-password"] != "***" || !strings.Contains(string(l.Body), `"email":"***"`) || !l.Masked {
		t.Errorf("letter %+v, body %s", l, l.Body)
	}
	raw, err := s.Reveal(t.Context(), ada, scan.ID, l.Ref)
	admintest.Must(t, err)
	if !strings.Contains(string(raw.Body), "a@example.com") {
		t.Errorf("revealed %s", raw.Body)
	}
	if _, err := s.Reveal(t.Context(), operator, scan.ID, l.Ref); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("an operator may reveal: %v", err)
	}
	conserved(t, all, s.drain(t, s.dead.Name))
}

func requeuesWhole(t *testing.T, m *morgue) {
	s := m.newScene(t, "whole", nil, soon)
	all := ids("whole", 300)
	s.die(t, all...)
	p := s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: -1})
	if p.Confirm != s.dead.Name {
		t.Errorf("confirm %q", p.Confirm)
	}
	s.consume(t, s.marks)
	job := s.final(t, s.start(t, p))
	if job.State != jobs.JobDone || job.Moved != 300 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	job = s.until(t, job.ID, "judged", func(j jobs.Job) bool { return j.Aftermath != nil })
	if got := job.Aftermath.Results[preflight.ClassRuns]["done"]; got != 300 || job.Aftermath.Asked != 300 {
		t.Errorf("aftermath %+v", job.Aftermath)
	}
	items, err := s.JobItems(t.Context(), operator, job.ID, 0, 1000)
	admintest.Must(t, err)
	if len(items) != 300 || items[0].Outcome != "moved" || items[0].Class != preflight.ClassRuns {
		t.Errorf("%d items, first %+v", len(items), items[0])
	}
	of, err := s.ItemsOf(t.Context(), operator, "whole-7")
	admintest.Must(t, err)
	if len(of) != 1 || of[0].Job != job.ID || of[0].Death == nil || of[0].Death.Reason != message.DeathExpired || of[0].Death.Time.IsZero() {
		t.Errorf("items of whole-7: %+v", of)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told["job:"+job.ID] == 0 {
		t.Error("nobody was told that the job moved on")
	}
}

func movesAllAfterALook(t *testing.T, m *morgue) {
	const n = deadletter.MaxScan
	s := m.newScene(t, "many", nil)
	s.die(t, ids("many", n)...)
	s.settled(t)
	begun := time.Now()
	scan, err := s.Scan(t.Context(), operator, deadletter.ScanRequest{Pipeline: s.name, Queue: s.dead.Name, Limit: n})
	took := time.Since(begun)
	admintest.Must(t, err)
	ready, err := m.mover.Ready(t.Context(), s.dead)
	admintest.Must(t, err)
	p := s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: -1})
	job := s.final(t, s.start(t, p))
	t.Logf("a look at %d took %s, of which the messages were held for %s; %d were ready at the answer; the job moved %d in %s",
		len(scan.Letters), took, scan.Took, ready, job.Moved, job.Ended.Sub(job.Started))
	if len(scan.Letters) != n || scan.Short != "" || ready != n {
		t.Errorf("%d were looked at, %q, and %d are ready", len(scan.Letters), scan.Short, ready)
	}
	if p.Ready != n || job.State != jobs.JobDone || job.Moved != n {
		t.Errorf("planned %d: %s %q %+v", p.Ready, job.State, job.Why, job.Counts)
	}
}

func requeuesFiltered(t *testing.T, m *morgue) {
	s := m.newScene(t, "filtered", nil)
	all := append(ids("red", 30), ids("blue", 30)...)
	s.die(t, all...)
	scan := s.scan(t, 10)
	p := s.planMove(t, move.Request{Do: admin.Requeue, Scan: scan.ID, Filter: `header.kind:red`})
	job := s.final(t, s.start(t, p))
	if job.State != jobs.JobDone || job.Moved != 30 || job.Left != 30 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	moved, left := s.drain(t, s.name), s.drain(t, s.dead.Name)
	for id := range moved {
		if kindOf(id) != "red" {
			t.Errorf("%s was moved", id)
		}
	}
	conserved(t, all, moved, left)
}

func canaryGood(t *testing.T, m *morgue) {
	s := m.newScene(t, "canary", nil, soon)
	all := ids("good", 100)
	s.die(t, all...)
	s.consume(t, s.marks)
	p := s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Canary: 5, Rate: -1})
	job := s.final(t, s.start(t, p))
	if job.State != jobs.JobDone || job.Moved != 100 || job.Canary == nil || !job.Canary.Good || job.Canary.Sent != 5 || job.Canary.Done != 5 {
		t.Fatalf("%s %q %+v, canary %+v", job.State, job.Why, job.Counts, job.Canary)
	}
}

func canaryBad(t *testing.T, m *morgue) {
	s := m.newScene(t, "canarybad", nil, soon)
	all := ids("bad", 100)
	s.die(t, all...)
	s.consume(t, func(amqp.Delivery) bool { return false })
	p := s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Canary: 5, Rate: -1})
	job := s.final(t, s.start(t, p))
	if job.State != jobs.JobStopped || job.Moved != 5 || job.Canary == nil || job.Canary.Good || job.Canary.Back != 5 {
		t.Fatalf("%s %q %+v, canary %+v", job.State, job.Why, job.Counts, job.Canary)
	}
	s.until(t, job.ID, "judged", func(j jobs.Job) bool { return j.Aftermath != nil }) // until then it may hold dead letters
	conserved(t, all, s.drain(t, s.dead.Name), s.drain(t, s.name))
}

func pausesAndResumes(t *testing.T, m *morgue) {
	s := m.newScene(t, "paused", nil)
	all := ids("pause", 200)
	s.die(t, all...)
	s.tap.hold(20)
	id := s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: 100}))
	s.until(t, id, "moving", func(j jobs.Job) bool { return j.Moved > 10 })
	admintest.Must(t, s.PauseJob(t.Context(), operator, id))
	job := s.until(t, id, "paused", func(j jobs.Job) bool { return j.State == jobs.JobPaused })
	s.back(t, all)
	if got := s.depth(t, s.dead.Name) + job.Moved; got != 200 || job.Moved > 20 {
		t.Errorf("%d moved, %d messages are in the queue and moved", job.Moved, got)
	}
	s.tap.open()
	s.await(t, "the job at rest", func() bool { return s.ResumeJob(t.Context(), ada, id) == nil })
	job = s.final(t, id)
	if job.State != jobs.JobDone || job.Moved != 200 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	conserved(t, all, s.drain(t, s.name), s.drain(t, s.dead.Name))
}

func cancels(t *testing.T, m *morgue) {
	s := m.newScene(t, "cancelled", nil)
	all := ids("cancel", 300)
	s.die(t, all...)
	s.tap.hold(20)
	id := s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: 100}))
	s.until(t, id, "moving", func(j jobs.Job) bool { return j.Moved > 10 })
	admintest.Must(t, s.CancelJob(t.Context(), operator, id))
	job := s.final(t, id)
	if job.State != jobs.JobCancelled {
		t.Fatalf("%s %q", job.State, job.Why)
	}
	s.back(t, all)
	moved := s.drain(t, s.name)
	if int64(len(moved)) != job.Moved {
		t.Errorf("%d at the target, %d counted", len(moved), job.Moved)
	}
	conserved(t, all, moved, s.drain(t, s.dead.Name))
	if err := s.CancelJob(t.Context(), operator, id); dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("cancelled twice: %v", err)
	}
}

func startsOnce(t *testing.T, m *morgue) {
	s := m.newScene(t, "once", nil)
	all := ids("once", 100)
	s.die(t, all...)
	s.tap.hold(0) // the first one is not at its end when the other asks
	a, b := s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: 50}), s.planMove(t, move.Request{Do: admin.Requeue, Whole: true})
	var started sync.WaitGroup
	begun, errs := make([]string, 2), make([]error, 2)
	for i, p := range []move.Plan{a, b} {
		started.Go(func() {
			begun[i], errs[i] = s.StartJob(context.Background(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm, Token: "token-" + p.ID})
		})
	}
	started.Wait()
	won := 0
	if errs[0] != nil {
		won = 1
	}
	if errs[won] != nil || dedup.KindOf(errs[1-won]) != dedup.Conflict || !strings.Contains(errs[1-won].Error(), begun[won]) {
		t.Fatalf("jobs %q, errors %v", begun, errs)
	}
	plans := []move.Plan{a, b}
	again, err := s.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: plans[won].ID, Reason: why, Confirm: a.Confirm, Token: "token-" + plans[won].ID})
	if err != nil || again != begun[won] {
		t.Errorf("a replay gave %q, %v", again, err)
	}
	if _, err := s.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: plans[1-won].ID, Reason: why, Confirm: a.Confirm, Token: "token-" + plans[won].ID}); dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("the token started another plan: %v", err)
	}
	s.tap.open()
	s.final(t, begun[won])
	conserved(t, all, s.drain(t, s.name), s.drain(t, s.dead.Name))
}

func discardsAndRestores(t *testing.T, m *morgue) {
	s := m.newScene(t, "discarded", nil)
	all := ids("discard", 10)
	s.die(t, all...)
	scan := s.scan(t, 100)
	refs := []string{scan.Letters[2].Ref, scan.Letters[5].Ref}
	p := s.planMove(t, move.Request{Do: admin.Discard, Scan: scan.ID, Refs: refs})
	job := s.final(t, s.start(t, p))
	if job.State != jobs.JobDone || job.Moved != 2 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	s.await(t, "the parking queue", func() bool { return s.depth(t, p.Parking) == 2 })
	view, err := s.ParkingQueue(t.Context(), operator, s.name, s.dead.Name)
	admintest.Must(t, err)
	if view.WhyNoScan != "" || view.Queue.Name != p.Parking {
		t.Fatalf("%+v", view)
	}
	parked, err := s.Scan(t.Context(), operator, deadletter.ScanRequest{Pipeline: s.name, Queue: p.Parking, Limit: 10})
	admintest.Must(t, err)
	if len(parked.Letters) != 2 || parked.Letters[0].ID != "discard-2" || parked.Letters[0].Target != s.dead.Name || len(parked.Letters[0].Deaths) == 0 {
		t.Fatalf("parked %+v", parked.Letters)
	}
	restore, err := s.PlanMove(t.Context(), ada, move.Request{Do: admin.RestoreLetters, Pipeline: s.name, Queue: s.dead.Name, Whole: true})
	admintest.Must(t, err)
	job = s.final(t, s.start(t, restore))
	if job.State != jobs.JobDone || job.Moved != 2 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	scan = s.scan(t, 100)
	for _, l := range scan.Letters {
		if l.Target != s.name || l.Requeues != 0 {
			t.Errorf("%s: target %q (%s), requeues %d", l.ID, l.Target, l.NoTarget, l.Requeues)
		}
	}
	conserved(t, all, s.drain(t, s.dead.Name), s.drain(t, p.Parking))
}

func edits(t *testing.T, m *morgue) {
	s := m.newScene(t, "edited", nil)
	s.die(t, ids("edit", 3)...)
	scan := s.scan(t, 10)
	req := move.Request{Do: admin.Requeue, Scan: scan.ID, Refs: []string{scan.Letters[1].Ref}, Edit: &move.Edit{
		Body: []byte(`{"orderId":"edit-x"}`), MessageID: "edit-x", Headers: map[string]string{"kind": "mended"}, Remove: []string{"x-password"},
	}}
	p := s.planMove(t, req)
	if !strings.Contains(p.IDChange, "from edit-1 to edit-x") || !strings.Contains(p.IDChange, "no marker") {
		t.Errorf("id change %q", p.IDChange)
	}
	job := s.final(t, s.start(t, p))
	if job.State != jobs.JobDone || job.Moved != 1 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	d, ok, err := s.channel.Get(s.name, true)
	admintest.Must(t, err)
	if !ok || d.MessageId != "edit-x" || string(d.Body) != `{"orderId":"edit-x"}` || d.Headers["kind"] != "mended" || d.Headers["x-password"] != nil {
		t.Errorf("sent %+v %s", d.Headers, d.Body)
	}
	conserved(t, []string{"edit-0", "edit-2"}, s.drain(t, s.dead.Name), s.drain(t, s.name))
	req.Edit = &move.Edit{Headers: map[string]string{"x-death": "none"}}
	req.Pipeline, req.Queue = s.name, s.dead.Name
	if _, err := s.PlanMove(t.Context(), ada, req); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("a locked header was edited: %v", err)
	}
}

func clearsFirst(t *testing.T, m *morgue) {
	s := m.newScene(t, "cleared", nil)
	all := ids("clear", 20)
	s.die(t, all...)
	for _, id := range all[:5] {
		// Set two of its five minutes ago.
		admintest.Must(t, m.rdb.Set(t.Context(), "msg:"+id, "processing", 3*time.Minute).Err())
	}
	scan := s.scan(t, 100)
	if scan.Classes[preflight.ClassBlocks] != 5 {
		t.Fatalf("classes %v", scan.Classes)
	}
	p := s.planMove(t, move.Request{Do: admin.Requeue, Scan: scan.ID, Filter: "id:clear-*", Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.ClearFirst}})
	if _, err := s.StartJob(t.Context(), operator, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm}); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("an operator started a job that clears markers: %v", err)
	}
	job := s.final(t, s.start(t, p))
	if job.State != jobs.JobDone || job.Moved != 20 || job.Cleared != 5 || len(job.Clears) == 0 {
		t.Fatalf("%s %q %+v, clears %v", job.State, job.Why, job.Counts, job.Clears)
	}
	o, err := s.single.Operation(t.Context(), operator, job.Clears[0])
	admintest.Must(t, err)
	if o.Outcomes[0].Outcome.Result != dedup.Cleared || o.Outcomes[0].Restorable.IsZero() {
		t.Errorf("the clear cannot be undone: %+v", o.Outcomes[0])
	}
	n, err := m.rdb.Exists(t.Context(), "msg:clear-0").Result()
	admintest.Must(t, err)
	if n != 0 {
		t.Error("the marker is still there")
	}
	conserved(t, all, s.drain(t, s.name), s.drain(t, s.dead.Name))
}

func targetRefuses(t *testing.T, m *morgue) {
	s := m.newScene(t, "full", nil)
	all := ids("full", 100)
	s.die(t, all...)
	admintest.Must(t, m.rabbit.PutPolicy(t.Context(), "/", "full", servers.Policy{Pattern: "^full$", ApplyTo: "queues", Definition: map[string]any{"max-length": 30, "overflow": "reject-publish"}}))
	s.await(t, "the policy", func() bool {
		q, err := m.watch.Queue(t.Context(), dedup.QueueRef{Vhost: "/", Name: s.name})
		admintest.Must(t, err)
		return q.Policy["max-length"] != nil && q.Ready != nil // how full it is comes later than the policy
	})
	p := s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: -1})
	if !slices.ContainsFunc(p.Guards, func(g move.Guard) bool {
		return strings.Contains(g.Text, "100 do not fit: room for 30. Take 30 at most")
	}) {
		t.Errorf("guards %+v", p.Guards)
	}
	job := s.final(t, s.start(t, p))
	if job.State != jobs.JobStopped || job.Rejected == 0 || len(job.Failures) == 0 || job.Failures[0].Outcome != "rejected" {
		t.Errorf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	moved := s.drain(t, s.name)
	if int64(len(moved)) != job.Moved {
		t.Errorf("%d at the target, %d counted", len(moved), job.Moved)
	}
	conserved(t, all, moved, s.drain(t, s.dead.Name))
}

func movesQuorum(t *testing.T, m *morgue) {
	version, err := m.rabbit.Version(t.Context())
	admintest.Must(t, err)
	limit, counts := int64(10), true
	if (dedup.BrokerInfo{Version: version}).Since(4, 1) { // where no limit is known to be safe
		limit, counts = -1, false
	}
	s := m.newScene(t, "quorum", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": limit})
	all := ids("quorum", 100)
	s.die(t, all...)
	s.settled(t)
	view, err := s.Queue(t.Context(), operator, s.name, s.dead.Name)
	admintest.Must(t, err)
	if counts != strings.Contains(view.WhyNoScan, "delivery limit is 10") || view.WhyNoMove != "" {
		t.Fatalf("%+v", view)
	}
	if _, err := s.Scan(t.Context(), operator, deadletter.ScanRequest{Pipeline: s.name, Queue: s.dead.Name, Limit: 5}); counts != (dedup.KindOf(err) == dedup.Conflict) {
		t.Errorf("a look: %v", err)
	}
	job := s.final(t, s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: -1})))
	if job.State != jobs.JobDone || job.Moved != 100 {
		t.Fatalf("%s %q %+v", job.State, job.Why, job.Counts)
	}
	conserved(t, all, s.drain(t, s.name), s.drain(t, s.dead.Name))
}

func movesSelection(t *testing.T, m *morgue) {
	s := m.newScene(t, "selected", nil)
	all := ids("select", 10)
	s.die(t, all...)
	scan := s.scan(t, 10)
	job := s.final(t, s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Scan: scan.ID, Refs: []string{scan.Letters[3].Ref, scan.Letters[7].Ref}})))
	if job.State != jobs.JobDone || job.Moved != 2 || job.Items != 2 {
		t.Fatalf("%s %q %+v, %d items", job.State, job.Why, job.Counts, job.Items)
	}
	var order []string
	for _, l := range s.scan(t, 10).Letters {
		order = append(order, l.ID)
	}
	if got := strings.Join(order, " "); got != "select-0 select-1 select-2 select-4 select-5 select-6 select-8 select-9" {
		t.Errorf("left %s", got)
	}
	if moved := s.drain(t, s.name); moved["select-3"] != 1 || moved["select-7"] != 1 || len(moved) != 2 {
		t.Errorf("moved %v", moved)
	}
}
