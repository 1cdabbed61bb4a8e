package marker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

func TestAMarkerThatChangedMeanwhileIsNotSaidToHaveFailed(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(d *desk)
		result  string
	}{
		"changed": {func(d *desk) {
			s := processing("1")
			s.Value, s.State = []byte("done"), dedup.Done
			d.shelf.put(s)
		}, "changed meanwhile"},
		"gone": {func(d *desk) { d.shelf.remove("msg:1") }, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.shelf.put(processing("1"))
			p := d.plan(t, ada, "1")
			c.happens(d)
			o := d.execute(t, ada, p)
			if results(o) != c.result {
				t.Fatal(results(o))
			}
			d.when(t, o.ID, func(marker.Operation) bool { return len(d.trail(t, o.ID)) == 4 })
			want := []string{"clear_markers intent", "clear_marker intent", "clear_marker changed", "clear_markers changed"}
			if got := d.trail(t, o.ID); !slices.Equal(got, want) {
				t.Errorf("audit %v, want %v", got, want)
			}
		})
	}
}

func TestNowReadsMarkersInTheOrderOfTheKeysWithoutTheirValues(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	d.shelf.put(inState("3", dedup.Done))
	got, err := d.Now(t.Context(), operator, "orders", []string{"msg:1", "msg:2", "msg:3"})
	if err != nil || len(got) != 3 || got[0].State != dedup.Processing || got[1] != nil || got[2].State != dedup.Done || got[0].Value != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := d.Now(t.Context(), operator, "orders", make([]string, marker.MaxNow+1)); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("more than %d keys: %v", marker.MaxNow, err)
	}
}

func TestAMarkerSaysWhichOperationIsAboutToChangeIt(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	d.shelf.put(processing("2"))
	reached, goOn := make(chan struct{}), make(chan struct{})
	d.shelf.before = func(context.Context, string) { close(reached); <-goOn }
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: d.plan(t, ada, "1").ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	for key, want := range map[string]string{"msg:1": id, "msg:2": ""} {
		if j, err := d.Look(t.Context(), operator, "orders", key); err != nil || j.UnderWay != want {
			t.Errorf("%s: under way %q, want %q; %v", key, j.UnderWay, want, err)
		}
	}
	if j, err := d.Look(t.Context(), viewer, "orders", "msg:1"); err != nil || j.UnderWay != "" {
		t.Errorf("a viewer is told of operation %q; %v", j.UnderWay, err)
	}
	close(goOn)
	d.ended(t, id)
}

func TestALiveMarkerWithoutADateCarriesTheBoundThatItsVerdictCounts(t *testing.T) {
	d := newDesk(t, nil)
	undated := forever(processing("1"))
	undated.Since = time.Time{}
	d.shelf.put(undated)
	listed := undated.Marker
	listed.FirstSeen = d.clock.Now().Add(-2 * time.Minute)
	d.round.Set(d.snapshot(dedup.Evidence{}, &dedup.Pass{Permanent: []dedup.Marker{listed}, OldestProcessing: []dedup.Marker{listed}}))
	j, err := d.Look(t.Context(), viewer, "orders", "msg:1")
	if err != nil || !j.FirstSeen.Equal(listed.FirstSeen) {
		t.Errorf("read live it is there since %s, %v", j.FirstSeen, err)
	}
	if p := d.plan(t, ada, "1"); !p.Items[0].Seen.FirstSeen.Equal(listed.FirstSeen) {
		t.Errorf("in the plan it is there since %s", p.Items[0].Seen.FirstSeen)
	}
}
