package marker_test

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/lab/admintest"
	"dedup-dashboard/lab/markerstest"
)

// cases is how many crashes the property of crash_test.go tries by default: each writes to disk some hundred times. The flag
// -rapid.checks tries more.
const cases = "40"

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", cases); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, markerstest.ClosedPools())
}

// desk is Markers over a real journal and a shelf.
type desk struct {
	*marker.Markers
	*admin.Trail
	deps  marker.Deps
	db    *journal.DB
	shelf *shelf
	round *admintest.Round
	clock *admintest.Clock
}

// verdicts judges by a word in the id, so that tests choose the verdict; evidence that is missing leaves nothing to tell.
func verdicts(m dedup.Marker, e dedup.Evidence, _ dedup.Scheme) (dedup.Verdict, []string) {
	switch {
	case e.Missing != "":
		return dedup.CannotTell, []string{e.Missing}
	case strings.Contains(m.ID, "alive"):
		return dedup.StillWorking, []string{"a delivery is out"}
	case strings.Contains(m.ID, "unsure"):
		return dedup.CannotTell, []string{"a delivery may be out"}
	case strings.Contains(m.ID, "looping"):
		return dedup.Looping, []string{"it was asked for again and again"}
	case strings.Contains(m.ID, "orphan"):
		return dedup.Orphan, []string{"the queues were empty"}
	}
	return dedup.ProbablyDead, []string{"nothing was out"}
}

var scheme = dedup.Scheme{Preset: "redis-text-status", Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "keep", GiveUp: 5, DoneTTL: 72 * time.Hour}

// newDesk returns a desk; change, if any, changes what it works with.
func newDesk(t *testing.T, change func(*marker.Deps, *journal.DB)) *desk {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := journal.Open(context.Background(), t.TempDir(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := &desk{db: db, shelf: newShelf(), round: &admintest.Round{}, clock: admintest.NewClock(time.Now())}
	d.shelf.now = d.clock.Now
	d.round.Set(d.snapshot(dedup.Evidence{}, nil))
	d.deps = marker.Deps{
		Gate: admin.NewGate(db.Audit(), db, log), Trail: db.Audit(), Journal: db.Operations(), Snapshots: d.round,
		Stores: []marker.Store{
			{Name: "orders", Scheme: scheme, Reader: d.shelf, Actor: d.shelf},
			{Name: "watched", Scheme: scheme, Reader: d.shelf},
		},
		Judge: verdicts, Log: log, Now: d.clock.Now,
	}
	if change != nil {
		change(&d.deps, db)
	}
	d.Markers, d.Trail = marker.New(d.deps), admin.NewTrail(d.deps.Gate, d.deps.Trail, d.deps.Snapshots)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return d
}

// restart replaces Markers as a new run of the program would, over the same journal and store.
func (d *desk) restart(t *testing.T) {
	t.Helper()
	if err := d.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	d.Markers = marker.New(d.deps)
}

func (d *desk) snapshot(e dedup.Evidence, pass *dedup.Pass) *dedup.Snapshot {
	return &dedup.Snapshot{At: d.clock.Now(), Interval: 15 * time.Second, Stores: []dedup.StoreStatus{
		{Name: "orders", Scheme: scheme, Stats: dedup.StoreStats{Pass: pass}, Evidence: e},
	}}
}

// recoverOnce lets the recovery try once, whether it succeeds or not.
func (d *desk) recoverOnce(t *testing.T) {
	t.Helper()
	tidied := make(chan struct{})
	deps := d.deps
	deps.Journal = purges{deps.Journal, tidied}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- marker.New(deps).Run(ctx) }()
	<-tidied
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// recoverNow runs the recovery until nothing is left to recover.
func (d *desk) recoverNow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	for {
		left, err := d.db.Operations().Unfinished(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

var (
	viewer   = admintest.Caller("vera", auth.Viewer)
	operator = admintest.Caller("otto", auth.Operator)
	ada      = admintest.Caller("ada", auth.Admin)
	bob      = admintest.Caller("bob", auth.Admin)
)

// processing returns a marker that is processing and expires in ten minutes.
func processing(id string) dedup.Sighting {
	return dedup.Sighting{
		Marker:        dedup.Marker{ID: id, Key: "msg:" + id, State: dedup.Processing, Since: time.Now().Add(-time.Hour)},
		ExpiresMillis: time.Now().Add(10 * time.Minute).UnixMilli(),
	}
}

func inState(id string, state dedup.State) dedup.Sighting {
	s := processing(id)
	s.State = state
	return s
}

func forever(s dedup.Sighting) dedup.Sighting {
	s.ExpiresMillis, s.Expires = dedup.NoExpiry, time.Time{}
	return s
}

// plan plans to clear the keys of these ids.
func (d *desk) plan(t *testing.T, who admin.Caller, ids ...string) marker.Plan {
	t.Helper()
	req := marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders"}
	for _, id := range ids {
		req.Keys = append(req.Keys, "msg:"+id)
	}
	p, err := d.Plan(context.Background(), who, req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const why = "stuck since the crash of worker 7"

// execute carries a plan out and waits for its end.
func (d *desk) execute(t *testing.T, who admin.Caller, p marker.Plan) marker.Operation {
	t.Helper()
	id, err := d.Execute(context.Background(), who, marker.ExecuteRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	if err != nil {
		t.Fatal(err)
	}
	return d.ended(t, id)
}

// ended waits until an operation has ended.
func (d *desk) ended(t *testing.T, id string) marker.Operation {
	t.Helper()
	return d.when(t, id, func(o marker.Operation) bool { return !o.Ended.IsZero() })
}

// when waits until an operation is as wanted.
func (d *desk) when(t *testing.T, id string, wanted func(marker.Operation) bool) marker.Operation {
	t.Helper()
	limit := time.After(10 * time.Minute)
	// To read an operation of hundreds of items takes a while itself.
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		o, err := d.Operation(context.Background(), operator, id)
		if err != nil {
			t.Fatal(err)
		}
		if wanted(o) {
			return o
		}
		select {
		case <-time.After(pause):
		case <-limit:
			t.Fatalf("operation %s never came so far: %+v", id, o)
		}
	}
}

// results returns the results of an operation in the order of its items.
func results(o marker.Operation) string {
	words := make([]string, len(o.Outcomes))
	for i, out := range o.Outcomes {
		words[i] = string(out.Outcome.Result)
		switch {
		case out.Begun:
			words[i] = "begun"
		case out.At.IsZero():
			words[i] = "not tried"
		}
	}
	return strings.Join(words, ", ")
}

// trail returns "action phase" of each audit entry of an operation, oldest first.
func (d *desk) trail(t *testing.T, operation string) []string {
	t.Helper()
	entries, err := d.Audit(context.Background(), operator, admin.AuditQuery{Limit: 500, Operation: operation})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for i := len(entries) - 1; i >= 0; i-- {
		words = append(words, entries[i].Action+" "+entries[i].Phase)
	}
	return words
}

// spoken counts the intents and the outcomes of an operation in the audit, by target.
func (d *desk) spoken(t rapid.TB, operation string) (intents, outcomes map[string]int, succeeded map[string]bool) {
	entries, err := d.Audit(context.Background(), operator, admin.AuditQuery{Limit: 500, Operation: operation})
	if err != nil {
		t.Fatal(err)
	}
	intents, outcomes, succeeded = map[string]int{}, map[string]int{}, map[string]bool{}
	for _, e := range entries {
		succeeded[e.Target] = succeeded[e.Target] || e.Phase == admin.Succeeded
		if e.Phase == admin.Intent {
			intents[e.Target]++
		} else {
			outcomes[e.Target]++
		}
	}
	return intents, outcomes, succeeded
}
