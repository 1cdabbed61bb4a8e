package marker_test

import (
	"context"
	"errors"
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

// forgetful is a journal that cannot keep outcomes for a while.
type forgetful struct {
	marker.MarkerJournal
	mu sync.Mutex
	// fails is how many outcomes are not kept from now on; negative for all.
	fails int
	tried chan struct{} // when it is not nil, Try says so and waits until go on is closed
	goOn  chan struct{}
}

func (j *forgetful) Done(ctx context.Context, operation string, out marker.ItemOutcome) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fails != 0 {
		j.fails--
		return errors.New("disk I/O error")
	}
	return j.MarkerJournal.Done(ctx, operation, out)
}

func (j *forgetful) Try(ctx context.Context, operation string, item int, at time.Time) error {
	if j.tried != nil {
		j.tried <- struct{}{}
		<-j.goOn
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.MarkerJournal.Try(ctx, operation, item, at)
}

func (j *forgetful) heal() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fails = 0
}

// forgetfulDesk is a desk whose journal does not keep that many outcomes.
func forgetfulDesk(t *testing.T, fails int) (*desk, *forgetful) {
	j := &forgetful{fails: fails}
	return newDesk(t, func(deps *marker.Deps, db *journal.DB) {
		j.MarkerJournal = db.Operations()
		deps.Journal = j
	}), j
}

func TestAnOutcomeThatTheJournalRefusedOnceIsKeptBeforeTheOperationEnds(t *testing.T) {
	d, _ := forgetfulDesk(t, 1)
	d.shelf.put(processing("1"))
	o := d.execute(t, ada, d.plan(t, ada, "1"))
	if results(o) != "cleared" || o.Stopped != "the journal could not be written" || o.Interrupted || o.Outcomes[0].Restorable.IsZero() {
		t.Errorf("%s: %+v", results(o), o)
	}
	if p, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.RestoreMarkers, Store: "orders", Operation: o.ID}); err != nil || len(p.Items) != 1 {
		t.Errorf("it cannot be undone: %+v, %v", p, err)
	}
}

func TestAMarkerThatWasClearedCanBeRestoredThoughItsOutcomeWasNeverKept(t *testing.T) {
	d, j := forgetfulDesk(t, -1)
	d.shelf.put(processing("1"))
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: d.plan(t, ada, "1").ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	left := d.when(t, id, func(o marker.Operation) bool { return o.Stopped != "" })
	if results(left) != "begun" || !left.Ended.IsZero() || d.shelf.has("msg:1") {
		t.Fatalf("%s: %+v", results(left), left)
	}
	undo := marker.PlanRequest{Deed: admin.RestoreMarkers, Store: "orders", Operation: id}
	if p, err := d.Plan(t.Context(), ada, undo); err != nil || len(p.Items) != 1 {
		t.Errorf("before the recovery it cannot be undone: %+v, %v", p, err)
	}
	d.shelf.put(processing("1"))
	if p, err := d.Plan(t.Context(), ada, undo); err != nil || !strings.HasPrefix(fate(p, "msg:1"), "has a marker again") {
		t.Errorf("over a marker that is there: %+v, %v", p, err)
	}
	d.shelf.remove("msg:1")
	j.heal()
	d.recoverNow(t)
	o := d.ended(t, id)
	if results(o) != "cleared" || o.Outcomes[0].Restorable.IsZero() || o.Interrupted || o.Stopped != "the journal could not be written" {
		t.Errorf("%s: %+v", results(o), o)
	}
	want := []string{"clear_markers intent", "clear_marker intent", "clear_marker succeeded", "clear_markers failed"}
	if got := d.trail(t, id); !slices.Equal(got, want) {
		t.Errorf("audit %v, want %v", got, want)
	}
	p, err := d.Plan(t.Context(), bob, undo)
	if err != nil {
		t.Fatal(err)
	}
	if restored := d.execute(t, bob, p); results(restored) != "restored" || !d.shelf.has("msg:1") {
		t.Error(results(restored))
	}
}

func TestAnOperationThatCouldNotEndIsCompletedByThisRunOfTheProgram(t *testing.T) {
	d, j := forgetfulDesk(t, 3) // at the item, at the end of the operation, and at the first recovery
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	d.shelf.put(processing("1"))
	d.shelf.before = func(context.Context, string) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.fails = 2
	}
	o := d.execute(t, ada, d.plan(t, ada, "1")) // within the patience of the test, not that of the ticker
	if results(o) != "cleared" {
		t.Errorf("%s: %+v", results(o), o)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// lost is a shelf whose connection is lost before a restore.
type lost struct{ *shelf }

func (lost) Restore(context.Context, dedup.Sighting) dedup.Outcome {
	return dedup.Outcome{Result: dedup.UnknownOutcome, Text: "the connection was lost"}
}

// interruptedUndo clears a marker and undoes that until the journal has had so many calls; negative for all. The marker is
// not restored. It returns the plan request of the undo and its operation, recovered.
func (d *desk) interruptedUndo(t *testing.T, f *fuse, calls int) (marker.PlanRequest, string) {
	t.Helper()
	d.shelf.put(processing("1"))
	cleared := d.execute(t, ada, d.plan(t, ada, "1"))
	undo := marker.PlanRequest{Deed: admin.RestoreMarkers, Store: "orders", Operation: cleared.ID}
	d.deps.Stores[0].Actor = lost{d.shelf}
	d.restart(t)
	p := d.mustPlan(t, undo)
	f.set(calls, false)
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	d.deps.Stores[0].Actor = d.shelf
	d.when(t, id, func(o marker.Operation) bool { return o.Stopped != "" || !o.Ended.IsZero() })
	d.restart(t)
	f.set(-1, false)
	d.recoverNow(t)
	if o := d.ended(t, id); results(o) != "unknown outcome" {
		t.Fatal(results(o))
	}
	return undo, id
}

func (d *desk) mustPlan(t *testing.T, req marker.PlanRequest) marker.Plan {
	t.Helper()
	p, err := d.Plan(t.Context(), ada, req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnUndoThatWasInterruptedIsNotSaidToBeDone(t *testing.T) {
	for name, calls := range map[string]int{
		"the program ended after the image was claimed": 3, // the operation, the item, the claim
		"the connection was lost":                       -1,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fuse{left: -1}
			d := newDesk(t, func(deps *marker.Deps, db *journal.DB) { deps.Journal = fusedJournal{db.Operations(), f} })
			undo, id := d.interruptedUndo(t, f, calls)
			plans := [2]marker.Plan{d.mustPlan(t, undo), d.mustPlan(t, undo)}
			if got := fate(plans[0], "msg:1"); !strings.Contains(got, "Operation "+id+" was to restore it and its outcome is not known") {
				t.Errorf("said to be %q", got)
			}
			if o := d.execute(t, ada, plans[0]); results(o) != "restored" || !d.shelf.has("msg:1") {
				t.Error(results(o))
			}
			d.shelf.remove("msg:1")
			if o := d.execute(t, ada, plans[1]); results(o) != "refused" || d.shelf.has("msg:1") {
				t.Errorf("the claim was taken over twice: %s", results(o))
			}
			if _, err := d.Plan(t.Context(), ada, undo); dedup.KindOf(err) != dedup.Conflict {
				t.Errorf("an undo of what was undone: %v", err)
			}
		})
	}
}

func TestWhatIsBeingRestoredIsNotPlannedAgain(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	cleared := d.execute(t, ada, d.plan(t, ada, "1"))
	undo := marker.PlanRequest{Deed: admin.RestoreMarkers, Store: "orders", Operation: cleared.ID}
	p, err := d.Plan(t.Context(), ada, undo)
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	d.shelf.before = func(context.Context, string) { close(entered); <-release }
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if again, err := d.Plan(t.Context(), bob, undo); err != nil || fate(again, "msg:1") != "is being restored by operation "+id {
		t.Errorf("%+v, %v", again, err)
	}
	close(release)
	d.ended(t, id)
}

func TestAStopIsNotReportedAsAFailureOfTheJournal(t *testing.T) {
	d, j := forgetfulDesk(t, 0)
	j.tried, j.goOn = make(chan struct{}, 2), make(chan struct{})
	d.shelf.put(processing("1"))
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: d.plan(t, ada, "1").ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	<-j.tried
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Close(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("the end of an item that hangs was awaited: %v", err)
	}
	d.Markers = marker.New(d.deps)
	close(j.goOn)
	o := d.when(t, id, func(o marker.Operation) bool { return !o.Ended.IsZero() })
	if o.Stopped != "the dashboard was stopped" || !o.Interrupted || results(o) != "not done" || o.Outcomes[0].Outcome.Text != "the dashboard was stopped" {
		t.Errorf("%s: %+v", results(o), o)
	}
	if !d.shelf.has("msg:1") {
		t.Error("it was cleared after the stop")
	}
}

func TestTheOutcomeThatTheAuditRefusedIsRecordedBeforeTheOperationEnds(t *testing.T) {
	for name, calls := range map[string]int{"at the end of the operation": 1, "by the recovery": 3} {
		t.Run(name, func(t *testing.T) {
			a := &deafAudit{}
			d := newDesk(t, func(deps *marker.Deps, db *journal.DB) {
				a.audit = db.Audit()
				deps.Gate = admin.NewGate(a, db, deps.Log)
			})
			d.shelf.put(processing("1"))
			p := d.plan(t, ada, "1")
			a.deaf(calls, admin.Succeeded, admin.Failed)
			id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
			if err != nil {
				t.Fatal(err)
			}
			d.when(t, id, func(o marker.Operation) bool { return o.Stopped != "" })
			d.recoverNow(t)
			if o := d.ended(t, id); results(o) != "cleared" {
				t.Error(results(o))
			}
			d.when(t, id, func(marker.Operation) bool { return len(d.trail(t, id)) == 4 })
			intents, outcomes, _ := d.spoken(t, id)
			if intents["orders/msg:1"] != 1 || outcomes["orders/msg:1"] != 1 || intents["orders"] != 1 || outcomes["orders"] != 1 {
				t.Errorf("%v", d.trail(t, id))
			}
		})
	}
}

// deafAudit does not take some entries of some phases.
type deafAudit struct {
	audit interface {
		Record(context.Context, admin.Entry) error
	}
	mu     sync.Mutex
	left   int
	phases []string
}

func (a *deafAudit) deaf(calls int, phases ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.phases = calls, phases
}

func (a *deafAudit) Record(ctx context.Context, e admin.Entry) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left > 0 && slices.Contains(a.phases, e.Phase) {
		a.left--
		return errors.New("disk full")
	}
	return a.audit.Record(ctx, e)
}
