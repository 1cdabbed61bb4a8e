package marker_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

// judging is a desk whose markers are judged by the rules that are used, with a longest processing time of 30 s. The broker showed twice
// that nothing was out, a minute ago.
func judging(t *testing.T, s dedup.Scheme, listed ...dedup.Marker) *desk {
	t.Helper()
	d := newDesk(t, func(deps *marker.Deps, _ *journal.DB) {
		deps.Judge = dedup.Judge
		deps.Stores[0].Scheme = s
	})
	none, at := int64(0), d.clock.Now()
	evidence := dedup.Evidence{
		At: at.Add(-55 * time.Second), MaxProcessing: 30 * time.Second, Consumers: &none, Ready: &none, Unacked: &none,
		NothingOut: [2]time.Time{at.Add(-60 * time.Second), at.Add(-70 * time.Second)},
	}
	pass := &dedup.Pass{Started: at.Add(-2 * time.Minute), Ended: at.Add(-55 * time.Second), OldestProcessing: listed,
		States: map[dedup.State]int64{dedup.Processing: int64(len(listed))}}
	d.round.Set(d.snapshot(evidence, pass))
	return d
}

func TestALiveMarkerIsNeverTakenForAnOlderOne(t *testing.T) {
	now := time.Now()
	row := dedup.Scheme{Kind: "sql-table", Preset: "sql-status-code", States: []dedup.State{dedup.Processing, dedup.Done}, OnInFlight: "nack"}
	text := dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", States: []dedup.State{dedup.Processing, dedup.Done}, ProcessingTTL: 10 * time.Minute}
	lock := dedup.Scheme{Kind: "redis-lock", Preset: "redisson-lock", States: []dedup.State{dedup.Processing}, Lock: true, ProcessingTTL: time.Hour}
	// Zone-less times that are read in a wrong zone make every marker look eight hours old.
	const zone = 8 * time.Hour
	at := func(since, expires time.Duration) dedup.Marker {
		m := dedup.Marker{ID: "1", Key: "msg:1", State: dedup.Processing, Since: now.Add(-since).Truncate(time.Millisecond)}
		if expires != 0 {
			m.Expires = now.Add(expires).Truncate(time.Millisecond)
		}
		return m
	}
	first := func(m dedup.Marker) dedup.Marker { m.FirstSeen = now.Add(-100 * time.Second); return m }
	held := func(m dedup.Marker, owner string) dedup.Marker { m.Owner = owner; return m }
	cases := []struct {
		name   string
		scheme dedup.Scheme
		listed []dedup.Marker
		now    dedup.Marker
		want   dedup.Verdict
	}{
		{"it is in no list, and its date is wrong", row, nil, at(zone+10*time.Second, 0), dedup.CannotTell},
		{"another holding of its key is in the list, and the dates are wrong", row, []dedup.Marker{first(at(zone+100*time.Second, 0))}, at(zone+10*time.Second, 0), dedup.CannotTell},
		{"another holding of its key is in the list, with another expiry", text, []dedup.Marker{first(at(9*time.Minute, time.Minute))}, at(9*time.Minute, 9*time.Minute), dedup.CannotTell},
		{"it is the one of the list", row, []dedup.Marker{first(at(zone+100*time.Second, 0))}, at(zone+100*time.Second, 0), dedup.ProbablyDead},
		{"it is the one of the list, whose expiry and so its date are read a little differently", text,
			[]dedup.Marker{first(at(9*time.Minute, time.Minute))}, at(9*time.Minute-40*time.Millisecond, time.Minute+40*time.Millisecond), dedup.ProbablyDead},
		{"its expiry is the one of the list, its date is not", text, []dedup.Marker{first(at(9*time.Minute, time.Minute))}, at(9*time.Minute-40*time.Millisecond, time.Minute), dedup.CannotTell},
		{"a lock of the list that was dated by what we saw", lock, []dedup.Marker{held(first(at(50*time.Minute, 20*time.Minute)), "a:1")}, held(at(40*time.Minute, 20*time.Minute), "a:1"), dedup.ProbablyDead},
		{"a lock of another owner", lock, []dedup.Marker{held(first(at(50*time.Minute, 20*time.Minute)), "a:1")}, held(at(40*time.Minute, 20*time.Minute), "b:1"), dedup.CannotTell},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { judging(t, c.scheme, c.listed...).wantVerdict(t, c.now, c.want) })
	}
}

// wantVerdict checks what is said of a marker that is there now.
func (d *desk) wantVerdict(t *testing.T, now dedup.Marker, want dedup.Verdict) {
	t.Helper()
	s := dedup.Sighting{Marker: now, ExpiresMillis: dedup.NoExpiry}
	if !now.Expires.IsZero() {
		s.ExpiresMillis = now.Expires.UnixMilli()
	}
	d.shelf.put(s)
	got, err := d.Look(t.Context(), operator, "orders", "msg:1")
	if err != nil || got.Verdict != want {
		t.Errorf("%q, want %q: %v, %v", got.Verdict, want, got.Reasons, err)
	}
	page, err := d.Browse(t.Context(), viewer, "orders", dedup.MarkerQuery{Limit: 10})
	if err != nil || page.Verdicts[0] != want {
		t.Errorf("on a page %q, want %q: %v, %v", page.Verdicts, want, page.Reasons, err)
	}
}

func TestALiveReadingIsJudgedAsOfItsOwnMoment(t *testing.T) {
	text := dedup.Scheme{Kind: "redis-string", States: []dedup.State{dedup.Processing, dedup.Done}, ProcessingTTL: 10 * time.Minute}
	now := time.Now()
	m := dedup.Marker{ID: "1", Key: "msg:1", State: dedup.Processing, Since: now.Add(-9 * time.Minute), FirstSeen: now.Add(-9 * time.Minute), Expires: now.Add(time.Minute)}
	d := judging(t, text, m)
	// The reading lay before the second moment at which nothing was out: the marker may have ended in between.
	d.shelf.now = func() time.Time { return d.clock.Now().Add(-65 * time.Second) }
	d.shelf.put(dedup.Sighting{Marker: m, ExpiresMillis: m.Expires.UnixMilli()})
	if got, err := d.Look(t.Context(), operator, "orders", "msg:1"); err != nil || got.Verdict != dedup.CannotTell {
		t.Errorf("%q: %v, %v", got.Verdict, got.Reasons, err)
	}
}
