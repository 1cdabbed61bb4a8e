package marker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

func TestAnExpiryThatNobodyChoseIsTheRecommendedOneOfEachMarker(t *testing.T) {
	d := newDesk(t, nil)
	d.round.Set(d.snapshot(dedup.Evidence{MaxProcessing: 4 * time.Minute}, nil))
	d.shelf.put(forever(processing("dead")))
	d.shelf.put(forever(inState("done", dedup.Done)))
	p := d.mustPlan(t, marker.PlanRequest{Deed: admin.SetExpiry, Store: "orders", Keys: []string{"msg:dead", "msg:done"}})
	if len(p.Items) != 2 || p.Items[0].TTL != 8*time.Minute || p.Items[1].TTL != 72*time.Hour {
		t.Fatalf("planned %+v, left out %+v", p.Items, p.LeftOut)
	}
	if got := p.Items[0].Effect; !strings.HasPrefix(got, "the message is still blocked for 8 min: it loops") {
		t.Errorf("the plan says of a processing marker: %q", got)
	}
	if o := d.execute(t, ada, p); results(o) != "expiry set, expiry set" {
		t.Fatal(results(o))
	}
	for key, ttl := range map[string]time.Duration{"msg:dead": 8 * time.Minute, "msg:done": 72 * time.Hour} {
		if left := time.UnixMilli(d.shelf.markers[key].ExpiresMillis).Sub(d.clock.Now()); left < ttl-time.Minute || left > ttl+time.Minute {
			t.Errorf("%s expires in %s, want %s", key, left, ttl)
		}
	}
}

func TestTheRecommendedExpiryOutlastsProcessingTimeAndTheMemoryOfDoneWork(t *testing.T) {
	s := dedup.Scheme{DoneTTL: 24 * time.Hour}
	for _, c := range []struct {
		state dedup.State
		work  time.Duration
		want  time.Duration
	}{
		{dedup.Processing, 30 * time.Second, 5 * time.Minute}, {dedup.Processing, 10 * time.Minute, 20 * time.Minute},
		{dedup.Processing, 0, 5 * time.Minute}, {dedup.Done, time.Hour, 24 * time.Hour}, {dedup.Present, 0, 24 * time.Hour},
	} {
		if got := marker.RecommendedTTL(c.state, c.work, s); got != c.want {
			t.Errorf("%s, work of %s: %s, want %s", c.state, c.work, got, c.want)
		}
	}
}

// A pass over a store with 63 listed markers that never expire, and one that cannot be decoded.
func permanentPass(d *desk) *dedup.Pass {
	pass := &dedup.Pass{Started: d.clock.Now(), NoExpiry: map[dedup.State]int64{dedup.Processing: 63, dedup.StateUnknown: 1}}
	for i := range 63 {
		s := forever(processing(fmt.Sprintf("dead-%02d", i)))
		d.shelf.put(s)
		pass.Permanent = append(pass.Permanent, s.Marker)
	}
	return pass
}

func TestAPlanCountsWhatCouldNotBeDecodedApartFromWhatItHasNoRoomFor(t *testing.T) {
	d := newDesk(t, nil)
	d.round.Set(d.snapshot(dedup.Evidence{MaxProcessing: time.Minute}, permanentPass(d)))
	p := d.mustPlan(t, marker.PlanRequest{Deed: admin.SetExpiry, Store: "orders", Filter: &marker.MarkerFilter{List: marker.PermanentList}})
	if len(p.Items) != 63 || p.Truncated != 0 || p.Undecoded != 1 {
		t.Errorf("%d planned, %d beyond the limit, %d not decoded", len(p.Items), p.Truncated, p.Undecoded)
	}
}

func TestTheEstimateKnowsThatMarkersWithoutExpiryAreWatchedBeforeTheyGetOne(t *testing.T) {
	d := newDesk(t, nil)
	d.round.Set(d.snapshot(dedup.Evidence{MaxProcessing: time.Minute}, permanentPass(d)))
	for _, deed := range []admin.Deed{admin.SetExpiry, admin.ClearMarkers} {
		p := d.mustPlan(t, marker.PlanRequest{Deed: deed, Store: "orders", Filter: &marker.MarkerFilter{List: marker.PermanentList}})
		if p.Takes != 20*time.Second {
			t.Errorf("%s: 63 markers, 16 at once, 5 s each: said to take %s", deed, p.Takes)
		}
	}
}
