package marker_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

func TestTheJournalKnowsWhichExpiriesWereGivenUntilTheyHavePassed(t *testing.T) {
	d := newDesk(t, nil)
	stuck := forever(processing("dead"))
	stuck.Since = time.Time{}
	seen := stuck.Marker
	seen.FirstSeen = d.clock.Now().Add(-2 * time.Minute)
	pass := &dedup.Pass{Started: d.clock.Now(), OldestProcessing: []dedup.Marker{seen}, Permanent: []dedup.Marker{seen}}
	d.round.Set(d.snapshot(dedup.Evidence{MaxProcessing: time.Minute}, pass))
	d.shelf.put(stuck)
	p := d.mustPlan(t, marker.PlanRequest{Deed: admin.SetExpiry, Store: "orders", Keys: []string{"msg:dead"}})
	if o := d.execute(t, ada, p); results(o) != "expiry set" {
		t.Fatal(results(o))
	}
	d.restart(t)
	given, err := d.Given(t.Context())
	if err != nil || len(given) != 1 || given[0].Store != "orders" || given[0].Seen.Key != "msg:dead" ||
		!given[0].Seen.FirstSeen.Equal(seen.FirstSeen) || given[0].Outcome.Outcome.Now.ExpiresMillis != d.shelf.markers["msg:dead"].ExpiresMillis {
		t.Errorf("%+v, %v", given, err)
	}
	d.clock.Advance(6 * time.Minute)
	if given, err := d.Given(t.Context()); err != nil || len(given) != 0 {
		t.Errorf("once it has expired: %+v, %v", given, err)
	}
}

func TestAMarkerWhoseExpiryWasGivenLaterIsJudgedByWhatTheStoreRemembers(t *testing.T) {
	var judged dedup.Marker
	d := newDesk(t, nil)
	deps := d.deps
	deps.Judge = func(m dedup.Marker, e dedup.Evidence, s dedup.Scheme) (dedup.Verdict, []string) {
		judged = m
		return verdicts(m, e, s)
	}
	m := marker.New(deps)
	s := processing("dead")
	s.Since, s.FirstSeen, s.ExpirySet = time.Time{}, d.clock.Now().Add(-5*time.Minute), d.clock.Now().Add(-time.Minute)
	d.shelf.put(s)
	got, err := m.Look(t.Context(), operator, "orders", s.Key)
	if err != nil || !judged.FirstSeen.Equal(s.FirstSeen) || !got.FirstSeen.Equal(s.FirstSeen) {
		t.Errorf("judged as first seen %s, shown as %s, want %s (%v)", judged.FirstSeen, got.FirstSeen, s.FirstSeen, err)
	}
}
