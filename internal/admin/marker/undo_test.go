package marker_test

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

func TestAnUndoRestoresWhatWasClearedOnce(t *testing.T) {
	d := newDesk(t, nil)
	ids := []string{"1", "2", "3", "4"}
	for _, id := range ids {
		s := processing(id)
		if id == "3" {
			s.ExpiresMillis = d.clock.Now().Add(time.Minute).UnixMilli()
		}
		d.shelf.put(s)
	}
	before := d.shelf.markers["msg:1"]
	cleared := d.execute(t, ada, d.plan(t, ada, ids...))
	if results(cleared) != "cleared, cleared, cleared, cleared" {
		t.Fatal(results(cleared))
	}
	d.shelf.put(inState("2", dedup.Done)) // taken again
	d.clock.Advance(2 * time.Minute)      // 3 has expired
	undo := marker.PlanRequest{Deed: admin.RestoreMarkers, Store: "orders", Operation: cleared.ID, Items: []int{0, 1, 2}}
	plans := [2]marker.Plan{}
	for i := range plans {
		p, err := d.Plan(t.Context(), bob, undo)
		if err != nil {
			t.Fatal(err)
		}
		plans[i] = p
	}
	for key, want := range map[string]string{
		"msg:1": "planned: the marker is written back as it was", "msg:2": "has a marker again: done", "msg:3": "already expired", "msg:4": "not mentioned",
	} {
		if got := fate(plans[0], key); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	restored := d.execute(t, bob, plans[0])
	now := d.shelf.markers["msg:1"]
	if results(restored) != "restored" || string(now.Value) != string(before.Value) || now.ExpiresMillis != before.ExpiresMillis {
		t.Errorf("%s: %+v, before %+v", results(restored), now, before)
	}
	if o, err := d.Operation(t.Context(), operator, cleared.ID); err != nil || o.Undone != restored.ID {
		t.Errorf("the clear names %q as its undo, want %q: %v", o.Undone, restored.ID, err)
	}
	d.shelf.remove("msg:1") // worked off: a second restore would make it stuck again
	if o := d.execute(t, ada, plans[1]); results(o) != "refused" || d.shelf.has("msg:1") {
		t.Errorf("restored twice: %s", results(o))
	}
	undo.Items = []int{0}
	if _, err := d.Plan(t.Context(), ada, undo); dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("an undo of what was undone: %v", err)
	}
}

func TestAnUndoneOperationIsListedAsSuchAndItsImagesAreKeptForSevenDays(t *testing.T) {
	d := newDesk(t, nil)
	for _, id := range []string{"1", "2"} {
		d.shelf.put(forever(processing(id)))
	}
	cleared := d.execute(t, ada, d.plan(t, ada, "1", "2"))
	undo := marker.PlanRequest{Deed: admin.RestoreMarkers, Store: "orders", Operation: cleared.ID, Items: []int{0}}
	restored := d.execute(t, bob, d.mustPlan(t, undo))
	list, err := d.Operations(t.Context(), operator, 10)
	if err != nil || len(list) != 2 || list[1].ID != cleared.ID || list[1].Undone != restored.ID || list[1].Results[dedup.Cleared] != 2 || list[1].Items != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	undo.Items = []int{1}
	d.purgedAfter(t, marker.KeepImages-time.Minute)
	if got := fate(d.mustPlan(t, undo), "msg:2"); !strings.HasPrefix(got, "planned: the marker is written back") {
		t.Errorf("before seven days are over: %q", got)
	}
	d.purgedAfter(t, time.Minute)
	if got := fate(d.mustPlan(t, undo), "msg:2"); got != "its image is not kept any more" {
		t.Errorf("after seven days: %q", got)
	}
}

// purgedAfter purges the journal when some time has gone by.
func (d *desk) purgedAfter(t *testing.T, after time.Duration) {
	t.Helper()
	d.clock.Advance(after)
	if err := d.db.Operations().Purge(t.Context(), d.clock.Now()); err != nil {
		t.Fatal(err)
	}
}

func TestARestoreThatDidNotHappenMayBeTriedAgain(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	cleared := d.execute(t, ada, d.plan(t, ada, "1"))
	undo := marker.PlanRequest{Deed: admin.RestoreMarkers, Store: "orders", Operation: cleared.ID}
	p, err := d.Plan(t.Context(), ada, undo)
	if err != nil {
		t.Fatal(err)
	}
	d.shelf.put(processing("1"))
	if o := d.execute(t, ada, p); results(o) != "refused" {
		t.Error(results(o))
	}
	d.shelf.remove("msg:1")
	if p, err = d.Plan(t.Context(), ada, undo); err != nil {
		t.Fatal(err)
	}
	if o := d.execute(t, ada, p); results(o) != "restored" {
		t.Error(results(o))
	}
}
