package marker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/journal"
)

func TestACrashAtAnyPointLeavesEachItemInOneStateAndClearsNoneTwice(t *testing.T) {
	f := &fuse{left: -1}
	d := newDesk(t, func(deps *marker.Deps, db *journal.DB) {
		deps.Gate = admin.NewGate(fusedAudit{f, db.Audit()}, db, deps.Log)
		deps.Journal = fusedJournal{db.Operations(), f}
	})
	d.deps.Stores[0].Actor = fusedActor{d.shelf, f}
	d.restart(t)
	round := 0
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "items")
		c := drawCrash(rt, n)
		round++
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprintf("%d-%d", round, i))
			d.shelf.put(processing(ids[i]))
		}
		id := d.crash(t, f, c, d.plan(t, ada, ids...))
		if id != "" {
			d.checkCrashed(rt, id, ids, seen)
			return
		}
		seen["no operation"]++
		for _, m := range ids {
			if !d.shelf.has("msg:" + m) {
				rt.Errorf("marker %s was cleared without an operation", m)
			}
		}
	})
	t.Logf("ends of items: %v", seen)
	for _, end := range []string{"not tried", "cleared", "unknown outcome"} {
		if seen[end] == 0 {
			t.Errorf("no item ended as %q: the test proves nothing", end)
		}
	}
}

// A crash is when the program dies: after so many calls to journal, audit and store, and again in the midst of the recovery.
type crash struct {
	calls, recovered int
	late, lateAgain  bool // the call at which it dies takes effect
}

func drawCrash(rt *rapid.T, items int) crash {
	return crash{
		calls:     rapid.IntRange(0, 8*items+4).Draw(rt, "calls before the crash"),
		late:      rapid.Bool().Draw(rt, "the last call took effect"),
		recovered: rapid.IntRange(0, 3*items+2).Draw(rt, "calls before the recovery crashes"),
		lateAgain: rapid.Bool().Draw(rt, "its last call took effect"),
	}
}

// crash carries a plan out, dies twice, recovers, and returns the operation or "" when none was begun.
func (d *desk) crash(t *testing.T, f *fuse, c crash, p marker.Plan) string {
	t.Helper()
	f.set(c.calls, c.late)
	id, _ := d.Execute(context.Background(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
	for id != "" && !f.blown() {
		if o, err := d.Operation(context.Background(), operator, id); err != nil || !o.Ended.IsZero() {
			break
		}
	}
	d.restart(t) // waits for what still runs in vain
	f.set(c.recovered, c.lateAgain)
	d.recoverOnce(t)
	d.restart(t)
	f.set(-1, false)
	d.recoverNow(t)
	if _, claimed, _ := d.Planned(context.Background(), ada, p.ID); claimed != "" {
		return claimed
	}
	return id
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
	intents, outcomes, succeeded := d.spoken(rt, id)
	for i, end := range strings.Split(results(o), ", ") {
		target := "orders/msg:" + ids[i]
		if intents[target] > 1 || outcomes[target] < intents[target] || end == "unknown outcome" && outcomes[target] == 0 {
			rt.Errorf("item %d ended as %s; the audit holds %d intents and %d outcomes of it", i, end, intents[target], outcomes[target])
		}
		there, clears := d.shelf.has("msg:"+ids[i]), d.shelf.clears["msg:"+ids[i]]
		_, kept := images[i]
		seen[end]++
		switch {
		case succeeded[target] && end != "cleared":
			rt.Errorf("item %d is said to be %s, the audit holds that it succeeded", i, end)
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
