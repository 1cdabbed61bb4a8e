package marker_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

// redisDesk is a desk over a real Redis whose store shop holds msg:{id} = processing or done, and retry:{id}.
func redisDesk(t *testing.T, url string) *desk {
	t.Helper()
	d, _ := redisDeskOver(t, url)
	return d
}

// redisDeskOver also returns the store that watches.
func redisDeskOver(t *testing.T, url string) (*desk, markers.Store) {
	t.Helper()
	cfg := markerstest.Config(t, "redis-text-status", url)
	cfg.Act.Redis.URL = secret.New(url)
	store := markerstest.OpenStore(t, cfg)
	reader, ok := store.(markers.Reader)
	if !ok {
		t.Fatal("the store cannot be read marker by marker")
	}
	actor, err := kinds.OpenActor(cfg, markerstest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = actor.Close() })
	d := newDesk(t, func(deps *marker.Deps, _ *journal.DB) {
		deps.Stores = []marker.Store{{Name: cfg.Name, Scheme: store.Scheme(), Reader: reader, Actor: actor}}
	})
	d.round.Set(&dedup.Snapshot{At: d.clock.Now(), Stores: []dedup.StoreStatus{{Name: cfg.Name, Scheme: store.Scheme()}}})
	return d, store
}

func (d *desk) planOn(t *testing.T, who admin.Caller, req marker.PlanRequest) marker.Plan {
	t.Helper()
	req.Store = "shop"
	p, err := d.Plan(t.Context(), who, req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOnRedisTwoOperatorsClearTheSameMarkersAndAnUndoRestoresThemExactly(t *testing.T) {
	const n = 500
	server, rdb := markerstest.StartRedis(t)
	d := redisDesk(t, server.URL())
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprint("msg:order-", i))
		if err := rdb.Set(t.Context(), keys[i], "processing", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	expires, err := rdb.PExpireTime(t.Context(), keys[0]).Result()
	if err != nil {
		t.Fatal(err)
	}
	req := marker.PlanRequest{Deed: admin.ClearMarkers, Keys: keys}
	plans := []marker.Plan{d.planOn(t, ada, req), d.planOn(t, bob, req)}
	if len(plans[0].Items) != n {
		t.Fatalf("planned %d, left out %+v", len(plans[0].Items), plans[0].LeftOut[:1])
	}
	begun := time.Now()
	ops := make([]marker.Operation, 2)
	var both sync.WaitGroup
	for i, who := range []admin.Caller{ada, bob} {
		both.Go(func() { ops[i] = d.execute(t, who, plans[i]) })
	}
	both.Wait()
	t.Logf("2 operations over %d markers took %s", n, time.Since(begun).Round(time.Millisecond))
	for i := range n {
		a, b := ops[0].Outcomes[i].Outcome, ops[1].Outcomes[i].Outcome
		if (a.Result == dedup.Cleared) == (b.Result == dedup.Cleared) || a.Result != dedup.Cleared && a.Result != dedup.Gone || b.Result != dedup.Cleared && b.Result != dedup.Gone {
			t.Errorf("marker %d: ada was told %+v, bob %+v", i, a, b)
		}
	}
	if left, err := rdb.DBSize(t.Context()).Result(); left != 0 || err != nil {
		t.Errorf("%d markers are left, %v", left, err)
	}
	if restored := d.undoAll(t, ops); restored != n {
		t.Errorf("restored %d", restored)
	}
	if now, err := rdb.PExpireTime(t.Context(), keys[0]).Result(); now != expires || err != nil {
		t.Errorf("expiry %s, was %s: %v", now, expires, err)
	}
}

// undoAll undoes what operations cleared and returns how many markers were restored.
func (d *desk) undoAll(t *testing.T, ops []marker.Operation) (restored int) {
	t.Helper()
	for _, o := range ops {
		if !strings.Contains(results(o), string(dedup.Cleared)) {
			continue
		}
		undo := d.execute(t, ada, d.planOn(t, ada, marker.PlanRequest{Deed: admin.RestoreMarkers, Operation: o.ID}))
		restored += strings.Count(results(undo), string(dedup.Restored))
	}
	return restored
}

func TestOnRedisALookupFindsTheMarkerAndItsCounterAndAClearTakesBoth(t *testing.T) {
	server, rdb := markerstest.StartRedis(t)
	d := redisDesk(t, server.URL())
	if err := rdb.Set(t.Context(), "msg:4711", "processing", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Set(t.Context(), "retry:4711", "4", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	got, err := d.Lookup(t.Context(), viewer, "4711")
	if err != nil || len(got.Stores) != 1 || len(got.Stores[0].Found) != 1 || got.Stores[0].Found[0].Retry == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	p := d.planOn(t, ada, marker.PlanRequest{Deed: admin.ClearMarkers, Keys: []string{"msg:4711"}, AlsoRetry: true})
	if !strings.Contains(fate(p, "msg:4711"), "(4 of 5 failures) is cleared with it") {
		t.Error(fate(p, "msg:4711"))
	}
	if o := d.execute(t, ada, p); results(o) != "cleared" {
		t.Errorf("%s: %+v", results(o), o.Outcomes)
	}
	if left, err := rdb.DBSize(t.Context()).Result(); left != 0 || err != nil {
		t.Errorf("%d keys are left, %v", left, err)
	}
	got, err = d.Lookup(t.Context(), ada, "4711")
	if err != nil || len(got.Stores[0].Found) != 0 || len(got.Stores[0].Gone) != 1 || got.Stores[0].Gone[0].Key != "msg:4711" {
		t.Errorf("of the cleared marker is told: %+v, %v", got.Stores, err)
	}
}

func TestOnRedisAGivenUpMessageGetsItsTriesAgain(t *testing.T) {
	server, rdb := markerstest.StartRedis(t)
	d := redisDesk(t, server.URL())
	if err := rdb.Set(t.Context(), "retry:4711", "5", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	p := d.planOn(t, ada, marker.PlanRequest{Deed: admin.ClearMarkers, Keys: []string{"retry:4711"}})
	if len(p.Items) != 1 || p.Items[0].Seen.State != dedup.Failed || !strings.Contains(p.Items[0].Effect, "given up") {
		t.Fatalf("%+v", p)
	}
	if o := d.execute(t, ada, p); results(o) != "cleared" {
		t.Errorf("%s: %+v", results(o), o.Outcomes)
	}
}

// observed makes the markers of a pass known for ten minutes, in the last of which nothing was out.
func (d *desk) observed(store markers.Store, pass dedup.Pass) {
	at, none := d.clock.Now(), int64(0)
	for i := range pass.OldestProcessing {
		pass.OldestProcessing[i].FirstSeen = at.Add(-10 * time.Minute)
	}
	e := dedup.Evidence{At: at, MaxProcessing: time.Second, Consumers: &none, Ready: &none, Unacked: &none, ClockOffset: pass.ClockOffset,
		NothingOut: [2]time.Time{at.Add(-10 * time.Second), at.Add(-20 * time.Second)}}
	d.round.Set(&dedup.Snapshot{At: at, Interval: 15 * time.Second,
		Stores: []dedup.StoreStatus{{Name: "shop", Scheme: store.Scheme(), Stats: dedup.StoreStats{Pass: &pass}, Evidence: e}}})
}

func TestOnRedisTheMarkerOfAPassIsRecognisedAndOneThatWasTakenAgainIsNot(t *testing.T) {
	for name, args := range map[string][]string{"Redis 7": nil, "a server that tells only what is left": {"--rename-command", "PEXPIRETIME", ""}} {
		t.Run(name, func(t *testing.T) {
			server, rdb := markerstest.StartRedis(t, args...)
			d, store := redisDeskOver(t, server.URL())
			d.deps.Judge = dedup.Judge
			d.restart(t)
			life := store.Scheme().ProcessingTTL
			if life < time.Minute {
				t.Fatalf("the preset has no time to live: %s", life)
			}
			take := func(id string, ago time.Duration) {
				if err := rdb.Set(t.Context(), "msg:"+id, "processing", life-ago).Err(); err != nil {
					t.Fatal(err)
				}
			}
			take("dead", life/2)
			take("again", life/2)
			pass := markerstest.MustPass(t, store)
			if len(pass.OldestProcessing) != 2 {
				t.Fatalf("%+v", pass.OldestProcessing)
			}
			d.observed(store, pass)
			// Its date is computed from a time to live that it was not given.
			take("again", life/2+5*time.Second)
			for id, want := range map[string]dedup.Verdict{"dead": dedup.ProbablyDead, "again": dedup.CannotTell} {
				got, err := d.Look(t.Context(), operator, "shop", "msg:"+id)
				if err != nil || got.Verdict != want {
					t.Errorf("%s: %q, want %q: %v, %v", id, got.Verdict, want, got.Reasons, err)
				}
			}
			p := d.planOn(t, ada, marker.PlanRequest{Deed: admin.ClearMarkers, Keys: []string{"msg:dead"}})
			if o := d.execute(t, ada, p); results(o) != "cleared" {
				t.Errorf("%s: %+v", results(o), o.Outcomes)
			}
		})
	}
}
