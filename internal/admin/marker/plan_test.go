package marker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

// fate returns what becomes of a key: "planned: …", or why it is left out.
func fate(p marker.Plan, key string) string {
	for _, it := range p.Items {
		if it.Seen.Key == key {
			return "planned: " + it.Effect
		}
	}
	for _, l := range p.LeftOut {
		if l.Key == key {
			return l.Why
		}
	}
	return "not mentioned"
}

func TestAPlanToClearLeavesOutWhatMustNotBeCleared(t *testing.T) {
	cases := []struct {
		name    string
		marker  *dedup.Sighting
		one     string // what becomes of it alone
		confirm bool
		bulk    string // and among others
	}{
		{"probably dead", seen(processing("dead")), "planned: the message loops in its queue and runs at its next delivery", false, "planned"},
		{"orphan", seen(processing("orphan")), "planned: no queue holds the message: it runs only if its producer sends it again", false, "planned"},
		{"still working", seen(processing("alive")), "refused, owner alive: a delivery is out", false, "refused, owner alive"},
		{"cannot tell", seen(processing("unsure")), "planned", true, "cannot tell whether its owner is alive"},
		{"looping", seen(processing("looping")), "planned: the message loops in its queue", true, "cannot tell whether its owner is alive"},
		{"failed", seen(inState("f", dedup.Failed)), "planned: the next delivery runs instead of meeting a failed marker", false, "planned"},
		{"done", seen(inState("d", dedup.Done)), "planned: the work was done: if the message comes again it runs again, a double effect", true, "the work was done"},
		{"present", seen(inState("p", dedup.Present)), "planned: whether the work was done cannot be told", true, "whether the work was done cannot be told"},
		{"unknown", seen(inState("u", dedup.StateUnknown)), "cannot be decoded", false, "cannot be decoded"},
		{"gone", nil, "gone", false, "gone"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, nil)
			key := "msg:nothing"
			if c.marker != nil {
				d.shelf.put(*c.marker)
				key = c.marker.Key
			}
			d.shelf.put(inState("other", dedup.Failed))
			one, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders", Keys: []string{key}})
			if err != nil || !strings.HasPrefix(fate(one, key), c.one) || (one.Confirm != "") != c.confirm {
				t.Errorf("alone: %q, confirm %q, %v", fate(one, key), one.Confirm, err)
			}
			bulk, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders", Keys: []string{key, "msg:other", key}})
			if err != nil || !strings.HasPrefix(fate(bulk, key), c.bulk) || bulk.Confirm != "" || len(bulk.Items)+len(bulk.LeftOut) != 2 {
				t.Errorf("among others: %q, %+v, %v", fate(bulk, key), bulk, err)
			}
			if d.shelf.has(key) != (c.marker != nil) {
				t.Error("planning changed the marker")
			}
		})
	}
}

func seen(s dedup.Sighting) *dedup.Sighting { return &s }

func TestOnlyMarkersThatNeverExpireGetAnExpiry(t *testing.T) {
	d := newDesk(t, nil)
	d.round.Set(d.snapshot(dedup.Evidence{MaxProcessing: time.Minute}, nil))
	row := forever(processing("row"))
	for _, s := range []dedup.Sighting{
		processing("expires"), forever(processing("dead")), forever(processing("unsure")), forever(processing("alive")),
		forever(inState("done", dedup.Done)), forever(inState("unknown", dedup.StateUnknown)), row,
	} {
		d.shelf.put(s)
	}
	row.Type = "row"
	d.shelf.markers[row.Key] = row
	keys := []string{"msg:expires", "msg:dead", "msg:unsure", "msg:alive", "msg:done", "msg:unknown", "msg:row"}
	for ttl, want := range map[time.Duration][]string{
		time.Minute:     {"expires by itself", "planned: the message is still blocked for 60 s: it loops", "its owner may be alive", "refused, owner alive", "the time to live is shorter than the 3 d", "cannot be decoded", "rows of a table"},
		2 * time.Minute: {"expires by itself", "planned", "planned", "refused, owner alive", "the time to live is shorter", "cannot be decoded", "rows of a table"},
		72 * time.Hour:  {"expires by itself", "planned", "planned", "refused, owner alive", "planned", "cannot be decoded", "rows of a table"},
	} {
		p, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.SetExpiry, Store: "orders", Keys: keys, TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			if !strings.HasPrefix(fate(p, key), want[i]) {
				t.Errorf("%s, %s: %q, want %q", ttl, key, fate(p, key), want[i])
			}
		}
	}
	p, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.SetExpiry, Store: "orders", Keys: keys[1:2], TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if o := d.execute(t, ada, p); results(o) != "expiry set" || !o.Outcomes[0].Restorable.IsZero() {
		t.Errorf("%s: %+v", results(o), o.Outcomes)
	}
}

func TestAFilterIsFrozenFromTheLastPassAndReadLive(t *testing.T) {
	d := newDesk(t, nil)
	if _, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders", Filter: &marker.MarkerFilter{List: marker.ProcessingList}}); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("before the first pass: %v", err)
	}
	pass := &dedup.Pass{Started: d.clock.Now(), States: map[dedup.State]int64{dedup.Processing: 7}}
	for _, s := range []dedup.Sighting{processing("dead-1"), processing("dead-2"), processing("orphan-3"), processing("done-4"), processing("gone-5")} {
		pass.OldestProcessing = append(pass.OldestProcessing, s.Marker)
		if s.ID == "done-4" {
			s.State = dedup.Done
		}
		if s.ID != "gone-5" {
			d.shelf.put(s)
		}
	}
	d.round.Set(d.snapshot(dedup.Evidence{}, pass))
	d.shelf.put(processing("late-6"))
	cases := []struct {
		name      string
		filter    marker.MarkerFilter
		planned   string
		left      string
		truncated int
	}{
		{"all", marker.MarkerFilter{List: marker.ProcessingList}, "dead-1 dead-2 orphan-3", "done-4 gone-5", 2},
		{"a verdict", marker.MarkerFilter{List: marker.ProcessingList, Verdict: dedup.Orphan}, "orphan-3", "", 0},
		{"a part of the id", marker.MarkerFilter{List: marker.ProcessingList, Match: "ad-2"}, "dead-2", "", 0},
		{"an empty list", marker.MarkerFilter{List: marker.FailedList}, "", "", 0},
	}
	for _, c := range cases {
		p, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders", Filter: &c.filter})
		if err != nil {
			t.Fatal(err)
		}
		var planned, left []string
		for _, it := range p.Items {
			planned = append(planned, it.Seen.ID)
		}
		for _, l := range p.LeftOut {
			left = append(left, strings.TrimPrefix(l.Key, "msg:"))
		}
		if strings.Join(planned, " ") != c.planned || strings.Join(left, " ") != c.left || p.Truncated != c.truncated {
			t.Errorf("%s: planned %v, left %v, truncated %d", c.name, planned, p.LeftOut, p.Truncated)
		}
	}
}

func TestTheEffectFollowsTheRulesOfTheScheme(t *testing.T) {
	four := &dedup.RetryCounter{Key: "retry:dead", Value: "4"}
	five := &dedup.RetryCounter{Key: "retry:dead", Value: "5"}
	some, none := int64(3), int64(0)
	cases := []struct {
		name     string
		scheme   func(*dedup.Scheme)
		retry    *dedup.RetryCounter
		also     bool
		evidence dedup.Evidence
		want     string
	}{
		{"in-flight hits are acked", func(s *dedup.Scheme) { s.OnInFlight = "ack" }, nil, false, dedup.Evidence{}, "were acked without the work"},
		{"a lock", func(s *dedup.Scheme) { s.Lock = true }, nil, false, dedup.Evidence{}, "the lock is free"},
		{"queues that are empty", nil, nil, false, dedup.Evidence{Ready: &none, Unacked: &none}, "the queues are empty"},
		{"dead letters", nil, nil, false, dedup.Evidence{DeadLetters: &none, DeadLettersNow: &some}, "among the 3 dead letters"},
		{"dead letters of a broker that is down", nil, nil, false, dedup.Evidence{DeadLettersNow: &some, Unacked: &some}, "loops in its queue"},
		{"one failure left", nil, four, false, dedup.Evidence{}, "4 of 5 failures: one more failure drops the message"},
		{"no failure left", nil, five, false, dedup.Evidence{}, "the next delivery is acked without the work"},
		{"the counter goes too", nil, five, true, dedup.Evidence{}, "(5 of 5 failures) is cleared with it"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, func(deps *marker.Deps, _ *journal.DB) {
				if c.scheme != nil {
					c.scheme(&deps.Stores[0].Scheme)
				}
			})
			d.round.Set(d.snapshot(c.evidence, nil))
			s := processing("dead")
			s.Retry = c.retry
			d.shelf.put(s)
			p, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders", Keys: []string{s.Key}, AlsoRetry: c.also})
			if err != nil || !strings.Contains(fate(p, s.Key), c.want) {
				t.Errorf("%q, %v", fate(p, s.Key), err)
			}
		})
	}
}

func TestRequestsThatMakeNoSenseAreRefused(t *testing.T) {
	d := newDesk(t, nil)
	many := make([]string, marker.MaxPlanned+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	list := &marker.MarkerFilter{List: marker.ProcessingList}
	for name, req := range map[string]marker.PlanRequest{
		"no deed":                 {Keys: []string{"a"}},
		"nothing selected":        {Deed: admin.ClearMarkers},
		"two ways of selecting":   {Deed: admin.ClearMarkers, Keys: []string{"a"}, Filter: list},
		"no such list":            {Deed: admin.ClearMarkers, Filter: &marker.MarkerFilter{List: "x"}},
		"too many":                {Deed: admin.ClearMarkers, Keys: many},
		"an empty key":            {Deed: admin.ClearMarkers, Keys: []string{""}},
		"a key of a megabyte":     {Deed: admin.ClearMarkers, Keys: []string{strings.Repeat("k", 1<<20)}},
		"a restore of keys":       {Deed: admin.RestoreMarkers, Keys: []string{"a"}},
		"a clear of an operation": {Deed: admin.ClearMarkers, Operation: "x"},
		"an expiry in the past":   {Deed: admin.SetExpiry, Keys: []string{"a"}, TTL: -time.Hour},
		"an expiry of a second":   {Deed: admin.SetExpiry, Keys: []string{"a"}, TTL: time.Second},
		"an expiry in ages":       {Deed: admin.SetExpiry, Keys: []string{"a"}, TTL: 10000 * time.Hour},
		"a clear with an expiry":  {Deed: admin.ClearMarkers, Keys: []string{"a"}, TTL: time.Hour},
		"counters with an expiry": {Deed: admin.SetExpiry, Keys: []string{"a"}, TTL: time.Hour, AlsoRetry: true},
	} {
		req.Store = "orders"
		if _, err := d.Plan(t.Context(), ada, req); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPlanHoldsNoValueAndSurvivesARestart(t *testing.T) {
	d := newDesk(t, nil)
	s := forever(processing("1"))
	s.Value = []byte(strings.Repeat("secret payload ", 1000))
	s.Key, s.ID = "msg:\xff\x00<b>", "\xff\x00<b>"
	none := int64(0)
	s.Attempts = &none
	d.shelf.put(s)
	p, err := d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders", Keys: []string{s.Key}})
	if err != nil || len(p.Items) != 1 || p.Items[0].Seen.Value != nil || p.Items[0].Size != int64(len(s.Value)) || p.Takes != 5*time.Second {
		t.Fatalf("%+v, %v", p, err)
	}
	d.restart(t)
	again, operation, err := d.Planned(t.Context(), bob, p.ID)
	if err != nil || operation != "" || again.Items[0].Seen.Key != s.Key || again.Items[0].Hash != p.Items[0].Hash || *again.Items[0].Seen.Attempts != 0 {
		t.Fatalf("%+v, %v", again, err)
	}
	if o := d.execute(t, bob, again); results(o) != "cleared" || o.By != "bob" || o.Plan.By != "ada" {
		t.Errorf("%s: %+v", results(o), o)
	}
	d.clock.Advance(admin.PlanLife + time.Minute)
	unused := d.plan(t, ada, "none")
	d.clock.Advance(admin.PlanLife + time.Minute)
	if _, _, err := d.Planned(t.Context(), ada, unused.ID); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("a plan that is over: %v", err)
	}
}

func TestALookupIsNotSpoiltByAStoreThatHangsOrFails(t *testing.T) {
	hangs, fails := &hanging{}, newShelf()
	fails.err = errors.New("connection <refused>")
	d := newDesk(t, func(deps *marker.Deps, _ *journal.DB) {
		deps.Stores = append(deps.Stores, marker.Store{Name: "hangs", Reader: hangs}, marker.Store{Name: "fails", Reader: fails}, marker.Store{Name: "blind"})
	})
	d.shelf.put(processing("1"))
	begun := time.Now()
	got, err := d.Lookup(t.Context(), viewer, "1")
	if err != nil || len(got.Stores) != 5 || time.Since(begun) > 20*time.Second {
		t.Fatalf("%+v, %v after %s", got, err, time.Since(begun))
	}
	orders := got.Stores[0]
	if len(orders.Found) != 1 || orders.Found[0].Verdict != dedup.ProbablyDead || orders.Found[0].History != nil || orders.Err != "" {
		t.Errorf("%+v", orders)
	}
	for i, want := range []string{"Store hangs did not answer in time", "Store fails did not answer", "cannot be searched"} {
		if a := got.Stores[2+i]; !strings.Contains(a.Err, want) || strings.Contains(a.Err, "<") {
			t.Errorf("%+v", a)
		}
	}
	for _, term := range []string{"", strings.Repeat("x", 513), "\xff"} {
		if _, err := d.Lookup(t.Context(), viewer, term); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("%.10q: %v", term, err)
		}
	}
}

func TestALookupFindsTheMarkerOfAUUIDInEitherSpelling(t *testing.T) {
	const uuid = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
	d := newDesk(t, nil)
	d.shelf.put(processing(uuid))
	found := func(id string) (found, gone int) {
		got, err := d.Lookup(t.Context(), ada, id)
		if err != nil {
			t.Fatal(err)
		}
		return len(got.Stores[0].Found), len(got.Stores[0].Gone)
	}
	if n, gone := found("urn:uuid:" + uuid); n != 1 || gone != 0 {
		t.Errorf("%d markers, %d gone", n, gone)
	}
	if o := d.execute(t, ada, d.plan(t, ada, uuid)); results(o) != "cleared" {
		t.Fatal(results(o))
	}
	if n, gone := found("urn:uuid:" + uuid); n != 0 || gone != 1 {
		t.Errorf("once it is cleared: %d markers, %d gone", n, gone)
	}
	d.shelf.put(processing("urn:uuid:" + uuid))
	if n, _ := found("urn:uuid:" + uuid); n != 1 {
		t.Errorf("as it stands: %d markers", n)
	}
}

func TestALookupTellsWhatWasDoneToAMarkerThatIsGone(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	if o := d.execute(t, ada, d.plan(t, ada, "1")); results(o) != "cleared" {
		t.Fatal(results(o))
	}
	for _, c := range []struct {
		who  admin.Caller
		id   string
		gone int
	}{{ada, "1", 1}, {ada, "2", 0}, {viewer, "1", 0}} {
		got, err := d.Lookup(t.Context(), c.who, c.id)
		if err != nil || len(got.Stores[0].Found) != 0 || len(got.Stores[0].Gone) != c.gone || len(got.Stores[1].Gone) != 0 {
			t.Errorf("%s: %+v, %v", c.id, got.Stores, err)
		} else if c.gone > 0 && (got.Stores[0].Gone[0].Key != processing("1").Key || len(got.Stores[0].Gone[0].History) < 2) {
			t.Errorf("%+v", got.Stores[0].Gone)
		}
	}
}

// hanging never answers before its context ends.
type hanging struct{ shelf }

func (h *hanging) Lookup(ctx context.Context, _ string) ([]dedup.Sighting, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAPageOfMarkersComesWithVerdicts(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("dead"))
	page, err := d.Browse(t.Context(), viewer, "orders", dedup.MarkerQuery{Limit: 50})
	if err != nil || len(page.Verdicts) != 1 || page.Verdicts[0] != dedup.ProbablyDead || len(page.Reasons[0]) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	for _, limit := range []int{0, 201} {
		if _, err := d.Browse(t.Context(), viewer, "orders", dedup.MarkerQuery{Limit: limit}); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("%d: %v", limit, err)
		}
	}
	d.shelf.err = &dedup.Error{Kind: dedup.Unavailable, Public: "Redis is loading"}
	if _, err := d.Browse(t.Context(), viewer, "orders", dedup.MarkerQuery{Limit: 50}); dedup.PublicText(err) != "Redis is loading" {
		t.Errorf("error is %v", err)
	}
}
