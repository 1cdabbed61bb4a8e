package marker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

func TestAClearIsAuditedItemByItemWithReasonStateAndHash(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	o := d.execute(t, ada, d.plan(t, ada, "1"))
	if results(o) != "cleared" || d.shelf.has("msg:1") || o.Outcomes[0].Restorable.IsZero() || o.By != "ada" || o.Reason != why {
		t.Errorf("%s: %+v", results(o), o)
	}
	want := []string{"clear_markers intent", "clear_marker intent", "clear_marker succeeded", "clear_markers succeeded"}
	d.when(t, o.ID, func(marker.Operation) bool { return len(d.trail(t, o.ID)) == 4 })
	if got := d.trail(t, o.ID); !slices.Equal(got, want) {
		t.Errorf("audit %v, want %v", got, want)
	}
	entries, err := d.Audit(t.Context(), operator, admin.AuditQuery{Limit: 10, Store: "orders", Key: "msg:1"})
	if err != nil || len(entries) != 2 {
		t.Fatalf("%+v, %v", entries, err)
	}
	e := entries[0]
	if e.Who != "ada" || e.Role != "admin" || e.From != "192.0.2.7" || e.Reason != why || e.Target != "orders/msg:1" ||
		!strings.HasPrefix(e.Before, "processing since ") || e.After != "no marker" || len(e.Hash) != 64 || e.Number == 0 {
		t.Errorf("%+v", e)
	}
	if _, err := d.Look(t.Context(), viewer, "orders", "msg:1"); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("error is %v", err)
	}
	if gone, _ := d.Look(t.Context(), operator, "orders", "msg:1"); len(gone.History) != 2 || gone.History[0].Phase != admin.Succeeded {
		t.Errorf("history %+v", gone.History)
	}
	if state, err := d.VerifyAudit(t.Context(), operator); err != nil || state.Broken != "" || state.Entries != 5 {
		t.Errorf("%+v, %v", state, err)
	}
}

func TestWhatIsNotInOrderIsRefusedBeforeAnythingIsDone(t *testing.T) {
	cases := []struct {
		name   string
		kind   dedup.Kind
		change func(*marker.ExecuteRequest, *desk)
	}{
		{"no reason", dedup.Invalid, func(r *marker.ExecuteRequest, _ *desk) { r.Reason = "  x " }},
		{"a reason without end", dedup.Invalid, func(r *marker.ExecuteRequest, _ *desk) { r.Reason = strings.Repeat("é", 501) }},
		{"a reason of two lines", dedup.Invalid, func(r *marker.ExecuteRequest, _ *desk) { r.Reason = "one\ntwo" }},
		{"a reason that reads backwards", dedup.Invalid, func(r *marker.ExecuteRequest, _ *desk) { r.Reason = "abc\u202edef" }},
		{"a reason that is no text", dedup.Invalid, func(r *marker.ExecuteRequest, _ *desk) { r.Reason = "abc\xff\xfe" }},
		{"a plan that does not exist", dedup.NotFound, func(r *marker.ExecuteRequest, _ *desk) { r.PlanID = "x" }},
		{"a plan that is too old", dedup.Conflict, func(_ *marker.ExecuteRequest, d *desk) { d.clock.Advance(admin.PlanLife + time.Second) }},
		{"no confirmation", dedup.Invalid, func(r *marker.ExecuteRequest, _ *desk) { r.Confirm = "" }},
		{"the wrong confirmation", dedup.Invalid, func(r *marker.ExecuteRequest, _ *desk) { r.Confirm = "order-2" }},
		{"a token without end", dedup.Invalid, func(r *marker.ExecuteRequest, _ *desk) { r.Token = strings.Repeat("t", 129) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.shelf.put(inState("order-1", dedup.Done))
			p := d.plan(t, ada, "order-1")
			if p.Confirm != "order-1" || len(p.Items) != 1 {
				t.Fatalf("%+v", p)
			}
			req := marker.ExecuteRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm}
			c.change(&req, d)
			if id, err := d.Execute(t.Context(), ada, req); dedup.KindOf(err) != c.kind || id != "" || !d.shelf.has("msg:order-1") {
				t.Errorf("%q, %v", id, err)
			}
		})
	}
}

func TestEachItemIsReadAndJudgedAgainBeforeItIsTouched(t *testing.T) {
	cases := []struct {
		name   string
		change func(*desk)
		want   dedup.Result
		text   string
	}{
		{"it is gone", func(d *desk) { d.shelf.remove("msg:1") }, dedup.Gone, ""},
		{"it is done now", func(d *desk) { d.shelf.put(inState("1", dedup.Done)) }, dedup.Changed, "now done"},
		{"it was taken again with a new expiry", func(d *desk) {
			s := processing("1")
			s.ExpiresMillis += 60_001
			d.shelf.put(s)
		}, dedup.Changed, "now processing"},
		{"another server answers", func(d *desk) { d.shelf.server = "run-2" }, dedup.Refused, "another server"},
		{"its owner is alive after all", func(d *desk) {
			d.shelf.mu.Lock()
			defer d.shelf.mu.Unlock()
			m := d.shelf.markers["msg:1"]
			m.ID = "1 alive"
			d.shelf.markers["msg:1"] = m
		}, dedup.Refused, "owner alive: a delivery is out"},
		{"the evidence is lost", func(d *desk) { d.round.Set(d.snapshot(dedup.Evidence{Missing: "the broker does not answer"}, nil)) }, dedup.Refused, "cannot be told any more"},
		{"the evidence is old", func(d *desk) { d.clock.Advance(2 * time.Minute) }, dedup.Refused, "the newest observation is 2 min old"},
		{"the store does not answer", func(d *desk) { d.shelf.err = fmt.Errorf("dial: <b>refused</b>") }, dedup.NotDone, "Store orders did not answer"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.shelf.put(processing("1"))
			p := d.plan(t, ada, "1")
			c.change(d)
			o := d.execute(t, ada, p)
			if out := o.Outcomes[0].Outcome; out.Result != c.want || !strings.Contains(out.Text, c.text) {
				t.Errorf("%+v", out)
			}
			if d.shelf.clears["msg:1"] != 0 || !o.Outcomes[0].Restorable.IsZero() {
				t.Errorf("cleared %d times, %+v", d.shelf.clears["msg:1"], o.Outcomes[0])
			}
		})
	}
}

func TestAnExpiryThatIsReadALittleLaterEachTimeIsForTheActorToCompare(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	p := d.plan(t, ada, "1")
	d.shelf.jitter = 3
	if o := d.execute(t, ada, p); results(o) != "cleared" {
		t.Errorf("%+v", o.Outcomes)
	}
}

func TestTwoOperatorsClearTheSameMarkersAndEachMarkerIsClearedOnce(t *testing.T) {
	const n = 500
	d := newDesk(t, nil)
	var ids []string
	for i := range n {
		id := fmt.Sprint("order-", i)
		d.shelf.put(processing(id))
		ids = append(ids, id)
	}
	plans := []marker.Plan{d.plan(t, ada, ids...), d.plan(t, bob, ids...)}
	begun := time.Now()
	ops := make([]marker.Operation, 2)
	var both sync.WaitGroup
	for i, who := range []admin.Caller{ada, bob} {
		both.Go(func() { ops[i] = d.execute(t, who, plans[i]) })
	}
	both.Wait()
	t.Logf("2 operations over %d markers took %s", n, time.Since(begun).Round(time.Millisecond))
	for i := range n {
		a, b := ops[0].Outcomes[i].Outcome.Result, ops[1].Outcomes[i].Outcome.Result
		if (a == dedup.Cleared) == (b == dedup.Cleared) || a != dedup.Cleared && a != dedup.Gone || b != dedup.Cleared && b != dedup.Gone {
			t.Errorf("marker %d: ada was told %q, bob %q", i, a, b)
		}
		if d.shelf.clears["msg:"+ids[i]] != 1 {
			t.Errorf("marker %d was cleared %d times", i, d.shelf.clears["msg:"+ids[i]])
		}
	}
}

func TestWithoutAnAuditNothingIsDone(t *testing.T) {
	f := &fuse{left: -1}
	d := newDesk(t, func(deps *marker.Deps, db *journal.DB) {
		deps.Gate = admin.NewGate(fusedAudit{f, db.Audit()}, db, deps.Log)
	})
	d.shelf.put(processing("1"))
	p := d.plan(t, ada, "1")
	f.left = 0
	if _, err := d.Plan(t.Context(), ada, p.Request); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("a plan that cannot be audited: %v", err)
	}
	if _, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why}); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("an operation that cannot be audited: %v", err)
	}
	f.left = 1 // the intent of the operation
	if o := d.execute(t, ada, p); results(o) != "not done" || o.Stopped != "the audit could not be written" {
		t.Errorf("an item that cannot be audited: %s, stopped %q", results(o), o.Stopped)
	}
	if !d.shelf.has("msg:1") {
		t.Error("the marker was cleared")
	}
}

func TestAFullJournalRefusesBeforeAnythingIsDone(t *testing.T) {
	f := &fuse{left: -1}
	d := newDesk(t, func(deps *marker.Deps, db *journal.DB) { deps.Journal = fusedJournal{db.Operations(), f} })
	d.shelf.put(processing("1"))
	p := d.plan(t, ada, "1")
	f.left = 0
	if _, err := d.Plan(t.Context(), ada, p.Request); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("a plan that cannot be kept: %v", err)
	}
	if _, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why}); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("an operation that cannot be kept: %v", err)
	}
	f.left = 2 // the operation and the item are noted, the image finds no room
	o, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	d.when(t, o, func(o marker.Operation) bool { return o.Stopped != "" })
	d.restart(t)
	if !d.shelf.has("msg:1") {
		t.Errorf("operation %s cleared a marker whose image was not kept", o)
	}
	f.set(-1, false)
	d.recoverNow(t)
	if out := d.ended(t, o).Outcomes[0]; out.Outcome.Result != dedup.Refused || !strings.Contains(out.Outcome.Text, "the image could not be kept") || !out.Restorable.IsZero() {
		t.Errorf("%+v", out)
	}
}

func TestAnOperationGoesOnWhenItsCallerHasGone(t *testing.T) {
	d := newDesk(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	d.shelf.before = func(inner context.Context, _ string) {
		cancel()
		if inner.Err() != nil {
			t.Error("the item ends with the request")
		}
	}
	d.shelf.put(processing("1"))
	d.shelf.put(processing("2"))
	p := d.plan(t, ada, "1", "2")
	id, err := d.Execute(ctx, ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	if o := d.ended(t, id); results(o) != "cleared, cleared" {
		t.Error(results(o))
	}
}

// untilClosing returns when Close has begun: then new operations are refused. Until then each is one more that waits.
func untilClosing(t *testing.T, m *marker.Markers, p marker.Plan) {
	for {
		_, err := m.Execute(context.Background(), bob, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
		if dedup.KindOf(err) == dedup.Unavailable {
			return
		}
		if p, err = m.Plan(context.Background(), bob, p.Request); err != nil {
			t.Error(err)
			return
		}
	}
}

func TestStoppingLetsRunningItemsEndAndLeavesTheRestNotTried(t *testing.T) {
	d := newDesk(t, nil)
	var ids []string
	for i := range 40 {
		ids = append(ids, fmt.Sprint(i))
		d.shelf.put(processing(ids[i]))
	}
	entered, release := make(chan struct{}, 40), make(chan struct{})
	d.shelf.before = func(context.Context, string) { entered <- struct{}{}; <-release }
	p := d.plan(t, ada, ids...)
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	for range 16 {
		<-entered
	}
	other := d.plan(t, bob, ids[0])
	running := d.Markers
	go func() {
		defer close(release)
		untilClosing(t, running, other)
	}()
	d.restart(t)
	o, err := d.Operation(t.Context(), operator, id)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, w := range strings.Split(results(o), ", ") {
		counts[w]++
	}
	if counts["cleared"] < 16 || counts["cleared"]+counts["not tried"] != 40 || !o.Interrupted || o.Stopped == "" || o.Ended.IsZero() {
		t.Errorf("%v, interrupted %t, stopped %q", counts, o.Interrupted, o.Stopped)
	}
}

// purges tells when a round of tidying has come to its end.
type purges struct {
	marker.MarkerJournal
	done chan struct{}
}

func (p purges) Purge(ctx context.Context, now time.Time) error {
	defer close(p.done)
	return p.MarkerJournal.Purge(ctx, now)
}

func TestRecoveryLeavesOperationsOfThisRunAlone(t *testing.T) {
	tidied := make(chan struct{})
	d := newDesk(t, func(deps *marker.Deps, db *journal.DB) { deps.Journal = purges{db.Operations(), tidied} })
	entered, release := make(chan struct{}), make(chan struct{})
	d.shelf.before = func(context.Context, string) { close(entered); <-release }
	d.shelf.put(processing("1"))
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: d.plan(t, ada, "1").ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	<-tidied
	cancel()
	close(release)
	if o := d.ended(t, id); results(o) != "cleared" || o.Interrupted {
		t.Errorf("%s, interrupted %t", results(o), o.Interrupted)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
