package admin_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
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
	d.when(t, o.ID, func(admin.Operation) bool { return len(d.trail(t, o.ID)) == 4 })
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

func TestAPlanIsCarriedOutOnce(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	p := d.plan(t, ada, "1")
	ids := make([]string, 8)
	var posts sync.WaitGroup
	for i := range ids {
		posts.Go(func() {
			id, err := d.Execute(context.Background(), []admin.Caller{ada, bob}[i%2], admin.ExecuteRequest{PlanID: p.ID, Reason: why})
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	posts.Wait()
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("operations %v, want one", ids)
	}
	d.ended(t, ids[0])
	if d.shelf.clears["msg:1"] != 1 {
		t.Errorf("cleared %d times", d.shelf.clears["msg:1"])
	}
	d.clock.advance(time.Hour)
	if id, err := d.Execute(t.Context(), ada, admin.ExecuteRequest{PlanID: p.ID, Reason: why}); err != nil || id != ids[0] {
		t.Errorf("a late second click: %q, %v", id, err)
	}
	if _, operation, err := d.Planned(t.Context(), ada, p.ID); err != nil || operation != ids[0] {
		t.Errorf("the plan names %q, %v", operation, err)
	}
}

func TestATokenStartsOneOperation(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	d.shelf.put(processing("2"))
	first, second := d.plan(t, ada, "1"), d.plan(t, ada, "2")
	id, err := d.Execute(t.Context(), ada, admin.ExecuteRequest{PlanID: first.ID, Reason: why, Token: "t-1"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Execute(t.Context(), ada, admin.ExecuteRequest{PlanID: second.ID, Reason: why, Token: "t-1"})
	if err != nil || again != id {
		t.Errorf("the repeated request started %q, not %q: %v", again, id, err)
	}
	other, err := d.Execute(t.Context(), bob, admin.ExecuteRequest{PlanID: second.ID, Reason: why, Token: "t-1"})
	if err != nil || other == id {
		t.Errorf("the token of another person is taken: %q, %v", other, err)
	}
	d.ended(t, id)
	d.ended(t, other)
}

func TestWhatIsNotInOrderIsRefusedBeforeAnythingIsDone(t *testing.T) {
	cases := []struct {
		name   string
		kind   dedup.Kind
		change func(*admin.ExecuteRequest, *desk)
	}{
		{"no reason", dedup.Invalid, func(r *admin.ExecuteRequest, _ *desk) { r.Reason = "  x " }},
		{"a reason without end", dedup.Invalid, func(r *admin.ExecuteRequest, _ *desk) { r.Reason = strings.Repeat("é", 501) }},
		{"a reason of two lines", dedup.Invalid, func(r *admin.ExecuteRequest, _ *desk) { r.Reason = "one\ntwo" }},
		{"a reason that reads backwards", dedup.Invalid, func(r *admin.ExecuteRequest, _ *desk) { r.Reason = "abc\u202edef" }},
		{"a reason that is no text", dedup.Invalid, func(r *admin.ExecuteRequest, _ *desk) { r.Reason = "abc\xff\xfe" }},
		{"a plan that does not exist", dedup.NotFound, func(r *admin.ExecuteRequest, _ *desk) { r.PlanID = "x" }},
		{"a plan that is too old", dedup.Conflict, func(_ *admin.ExecuteRequest, d *desk) { d.clock.advance(admin.PlanLife + time.Second) }},
		{"no confirmation", dedup.Invalid, func(r *admin.ExecuteRequest, _ *desk) { r.Confirm = "" }},
		{"the wrong confirmation", dedup.Invalid, func(r *admin.ExecuteRequest, _ *desk) { r.Confirm = "order-2" }},
		{"a token without end", dedup.Invalid, func(r *admin.ExecuteRequest, _ *desk) { r.Token = strings.Repeat("t", 129) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.shelf.put(inState("order-1", dedup.Done))
			p := d.plan(t, ada, "order-1")
			if p.Confirm != "order-1" || len(p.Items) != 1 {
				t.Fatalf("%+v", p)
			}
			req := admin.ExecuteRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm}
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
		{"the evidence is lost", func(d *desk) { d.round.set(d.snapshot(dedup.Evidence{Missing: "the broker does not answer"}, nil)) }, dedup.Refused, "cannot be told any more"},
		{"the evidence is old", func(d *desk) { d.clock.advance(2 * time.Minute) }, dedup.Refused, "the newest observation is 2 min old"},
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

func TestTwoOperatorsClearTheSameMarkersAndEachMarkerIsClearedOnce(t *testing.T) {
	const n = 500
	d := newDesk(t, nil)
	var ids []string
	for i := range n {
		id := fmt.Sprint("order-", i)
		d.shelf.put(processing(id))
		ids = append(ids, id)
	}
	plans := []admin.Plan{d.plan(t, ada, ids...), d.plan(t, bob, ids...)}
	begun := time.Now()
	ops := make([]admin.Operation, 2)
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
	d := newDesk(t, func(deps *admin.MarkersDeps, db *journal.DB) {
		deps.Gate = admin.NewGate(fusedAudit{f, db.Audit()}, db, deps.Log)
	})
	d.shelf.put(processing("1"))
	p := d.plan(t, ada, "1")
	f.left = 0
	if _, err := d.Plan(t.Context(), ada, p.Request); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("a plan that cannot be audited: %v", err)
	}
	if _, err := d.Execute(t.Context(), ada, admin.ExecuteRequest{PlanID: p.ID, Reason: why}); dedup.KindOf(err) != dedup.Unavailable {
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
	d := newDesk(t, func(deps *admin.MarkersDeps, db *journal.DB) { deps.Journal = fusedJournal{db.Operations(), f} })
	d.shelf.put(processing("1"))
	p := d.plan(t, ada, "1")
	f.left = 0
	if _, err := d.Plan(t.Context(), ada, p.Request); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("a plan that cannot be kept: %v", err)
	}
	if _, err := d.Execute(t.Context(), ada, admin.ExecuteRequest{PlanID: p.ID, Reason: why}); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("an operation that cannot be kept: %v", err)
	}
	f.left = 2 // the operation and the item are noted, the image finds no room
	o, err := d.Execute(t.Context(), ada, admin.ExecuteRequest{PlanID: p.ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	d.restart(t)
	if !d.shelf.has("msg:1") {
		t.Errorf("operation %s cleared a marker whose image was not kept", o)
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
	id, err := d.Execute(ctx, ada, admin.ExecuteRequest{PlanID: p.ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	if o := d.ended(t, id); results(o) != "cleared, cleared" {
		t.Error(results(o))
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
	id, err := d.Execute(t.Context(), ada, admin.ExecuteRequest{PlanID: p.ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	for range 16 {
		<-entered
	}
	other := d.plan(t, bob, ids[0])
	running := d.Markers
	go func() {
		// Close has begun once new operations are refused; until then each is one more that waits for a slot.
		for {
			_, err := running.Execute(context.Background(), bob, admin.ExecuteRequest{PlanID: other.ID, Reason: why})
			if dedup.KindOf(err) == dedup.Unavailable {
				close(release)
				return
			}
			if other, err = running.Plan(context.Background(), bob, other.Request); err != nil {
				t.Error(err)
				close(release)
				return
			}
		}
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

// methodsWithCaller returns the methods of Markers that somebody asks for.
func methodsWithCaller() []string {
	var names []string
	for method := range reflect.TypeFor[*admin.Markers]().Methods() {
		for in := range method.Type.Ins() {
			if in == reflect.TypeFor[admin.Caller]() {
				names = append(names, method.Name)
			}
		}
	}
	return names
}

func TestEveryMethodAsksForItsRole(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	calls := map[string]struct {
		needs auth.Role
		call  func(who admin.Caller) error
	}{
		"Browse": {auth.Viewer, func(who admin.Caller) error {
			_, err := d.Browse(t.Context(), who, "orders", dedup.MarkerQuery{Limit: 10})
			return err
		}},
		"Changed": {auth.Viewer, func(who admin.Caller) error {
			_, err := d.Changed(t.Context(), who, "orders", time.Time{})
			return err
		}},
		"Look":   {auth.Viewer, func(who admin.Caller) error { _, err := d.Look(t.Context(), who, "orders", "msg:1"); return err }},
		"Lookup": {auth.Viewer, func(who admin.Caller) error { _, err := d.Lookup(t.Context(), who, "1"); return err }},
		"Plan": {auth.Admin, func(who admin.Caller) error {
			_, err := d.Plan(t.Context(), who, admin.PlanRequest{Deed: admin.ClearMarkers, Store: "orders", Keys: []string{"msg:1"}})
			return err
		}},
		"Planned": {auth.Admin, func(who admin.Caller) error { _, _, err := d.Planned(t.Context(), who, "x"); return err }},
		"Execute": {auth.Admin, func(who admin.Caller) error {
			_, err := d.Execute(t.Context(), who, admin.ExecuteRequest{PlanID: "x", Reason: why})
			return err
		}},
		"Operation":  {auth.Operator, func(who admin.Caller) error { _, err := d.Operation(t.Context(), who, "x"); return err }},
		"Operations": {auth.Operator, func(who admin.Caller) error { _, err := d.Operations(t.Context(), who, 10); return err }},
		"Audit": {auth.Operator, func(who admin.Caller) error {
			_, err := d.Audit(t.Context(), who, admin.AuditQuery{Limit: 10})
			return err
		}},
		"VerifyAudit": {auth.Operator, func(who admin.Caller) error { _, err := d.VerifyAudit(t.Context(), who); return err }},
	}
	for _, name := range methodsWithCaller() {
		if _, ok := calls[name]; !ok {
			t.Errorf("method %s is not in this table", name)
		}
	}
	for name, c := range calls {
		for role := auth.Nobody; role <= auth.Admin; role++ {
			err := c.call(caller("who", role))
			if denied := dedup.KindOf(err) == dedup.Forbidden; denied != (role < c.needs) {
				t.Errorf("%s as %s: %v", name, role, err)
			}
		}
	}
	entries, err := d.Audit(t.Context(), operator, admin.AuditQuery{Limit: 500})
	denied := func(e admin.Entry) bool { return e.Phase == admin.Denied && e.Who == "who" }
	if err != nil || !slices.ContainsFunc(entries, denied) {
		t.Errorf("refusals are not in the audit: %v, %v", entries, err)
	}
}

func TestReadOnlyAndMissingCredentialsRefuseAndSayWhy(t *testing.T) {
	readOnly := newDesk(t, func(deps *admin.MarkersDeps, _ *journal.DB) { deps.ReadOnly = true })
	plain := newDesk(t, nil)
	for _, c := range []struct {
		d     *desk
		store string
		kind  dedup.Kind
		want  string
	}{
		{readOnly, "orders", dedup.Forbidden, "the dashboard is read-only (server.read_only)"},
		{plain, "watched", dedup.Forbidden, "store watched has no act credentials in the configuration"},
		{plain, "a\u202eb", dedup.NotFound, `there is no store a\u202eb`},
		{plain, "orders", "", ""},
	} {
		if got := c.d.WhyNot(c.store); got != c.want {
			t.Errorf("%s: %q", c.store, got)
		}
		_, err := c.d.Plan(t.Context(), ada, admin.PlanRequest{Deed: admin.ClearMarkers, Store: c.store, Keys: []string{"msg:1"}})
		if c.want != "" && (dedup.KindOf(err) != c.kind || !strings.Contains(dedup.PublicText(err), c.want)) {
			t.Errorf("%s: %v", c.store, err)
		}
	}
}

// purges tells when a round of tidying has come to its end.
type purges struct {
	admin.MarkerJournal
	done chan struct{}
}

func (p purges) Purge(ctx context.Context, now time.Time) error {
	defer close(p.done)
	return p.MarkerJournal.Purge(ctx, now)
}

func TestRecoveryLeavesOperationsOfThisRunAlone(t *testing.T) {
	tidied := make(chan struct{})
	d := newDesk(t, func(deps *admin.MarkersDeps, db *journal.DB) { deps.Journal = purges{db.Operations(), tidied} })
	entered, release := make(chan struct{}), make(chan struct{})
	d.shelf.before = func(context.Context, string) { close(entered); <-release }
	d.shelf.put(processing("1"))
	id, err := d.Execute(t.Context(), ada, admin.ExecuteRequest{PlanID: d.plan(t, ada, "1").ID, Reason: why})
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

func TestACrashAtAnyPointLeavesEachItemInOneStateAndClearsNoneTwice(t *testing.T) {
	f := &fuse{left: -1}
	d := newDesk(t, func(deps *admin.MarkersDeps, db *journal.DB) {
		deps.Gate = admin.NewGate(fusedAudit{f, db.Audit()}, db, deps.Log)
		deps.Journal = fusedJournal{db.Operations(), f}
	})
	d.deps.Stores[0].Actor = fusedActor{d.shelf, f}
	d.restart(t)
	round := 0
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "items")
		calls := rapid.IntRange(0, 8*n+4).Draw(rt, "calls before the crash")
		late := rapid.Bool().Draw(rt, "the last call took effect")
		round++
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprintf("%d-%d", round, i))
			d.shelf.put(processing(ids[i]))
		}
		p := d.plan(t, ada, ids...)
		f.mu.Lock()
		f.left, f.late = calls, late
		f.mu.Unlock()
		id, _ := d.Execute(context.Background(), ada, admin.ExecuteRequest{PlanID: p.ID, Reason: why})
		for id != "" && !f.blown() {
			if o, err := d.Operation(context.Background(), operator, id); err != nil || !o.Ended.IsZero() {
				break
			}
		}
		d.restart(t) // waits for what still runs in vain
		f.mu.Lock()
		f.left, f.late = -1, false
		f.mu.Unlock()
		d.recoverNow(t)
		if _, claimed, _ := d.Planned(context.Background(), ada, p.ID); claimed != "" {
			id = claimed
		}
		if id == "" {
			for _, m := range ids {
				if !d.shelf.has("msg:" + m) {
					rt.Errorf("marker %s was cleared without an operation", m)
				}
			}
			seen["no operation"]++
			return
		}
		d.checkCrashed(rt, id, ids, seen)
	})
	t.Logf("ends of items: %v", seen)
	for _, end := range []string{"not tried", "cleared", "unknown outcome"} {
		if seen[end] == 0 {
			t.Errorf("no item ended as %q: the test proves nothing", end)
		}
	}
}

// checkCrashed compares what an operation says after a crash with what is in the store.
func (d *desk) checkCrashed(rt *rapid.T, id string, ids []string, seen map[string]int) {
	o, err := d.Operation(context.Background(), operator, id)
	if err != nil {
		rt.Fatal(err)
	}
	if o.Ended.IsZero() {
		rt.Errorf("the operation never ends")
	}
	images, err := d.db.Operations().Images(context.Background(), id)
	if err != nil {
		rt.Fatal(err)
	}
	for i, end := range strings.Split(results(o), ", ") {
		there, clears := d.shelf.has("msg:"+ids[i]), d.shelf.clears["msg:"+ids[i]]
		_, kept := images[i]
		seen[end]++
		switch {
		case end == "begun":
			rt.Errorf("item %d is begun for ever", i)
		case clears > 1:
			rt.Errorf("item %d was cleared %d times", i, clears)
		case end == "not tried" && !there, end == "cleared" && there, end == "not done" && !there, end == "refused" && !there:
			rt.Errorf("item %d is said to be %s, the marker is there: %t", i, end, there)
		case !there && !kept:
			rt.Errorf("item %d was cleared without an image", i)
		case !there && o.Outcomes[i].Restorable.IsZero():
			rt.Errorf("item %d was cleared and cannot be restored: %+v", i, o.Outcomes[i])
		}
	}
}
