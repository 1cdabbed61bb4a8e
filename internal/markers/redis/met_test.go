package redis

import (
	"context"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/known"
)

// metPass are markers of claims that were made some time ago, as a pass lists them.
func (b *touchBench) metPass(ago time.Duration, ids ...string) *dedup.Pass {
	b.t.Helper()
	w := newWalk(b.store.layout, b.store.servers)
	for _, id := range ids {
		if err := b.rdb.Set(b.t.Context(), b.key(id), "processing", b.store.layout.Config.TTL.Processing-ago).Err(); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := w.run(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return &w.tally.pass
}

// loop lets deliveries meet markers until the returned function is called, as consumers that nack do.
func (b *touchBench) loop(pause time.Duration, ids ...string) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	var at sync.WaitGroup
	at.Go(func() {
		for ctx.Err() == nil {
			for _, id := range ids {
				b.rdb.SetNX(ctx, b.key(id), "processing", time.Minute)
				b.rdb.Get(ctx, b.key(id))
			}
			_ = pace.Sleep(ctx, pause)
		}
	})
	return func() { cancel(); at.Wait() }
}

func TestMarkersThatDeliveriesMeetAgainAndAgainAreNamedAndNoOthers(t *testing.T) {
	t.Parallel()
	b := newTouchBench(t, "redis-text-status")
	b.store.own = known.NewReads(time.Hour)
	pass := b.metPass(time.Minute, "round", "work", "anew", "end", "glance")
	young := b.metPass(time.Second, "young")
	pass.OldestProcessing = append(pass.OldestProcessing, young.OldestProcessing...)
	stop := b.loop(100*time.Millisecond, "round", "anew", "end", "young")
	defer stop()
	key := b.key
	b.rdb.Set(t.Context(), key("anew"), "processing", 5*time.Minute) // another claim than the one of the pass
	b.rdb.Set(t.Context(), key("end"), "done", time.Hour)
	b.rdb.Get(t.Context(), key("glance")) // by a person, once
	met, err := b.store.meet(t.Context(), pass)
	if err != nil || met == nil {
		t.Fatalf("%+v, %v", met, err)
	}
	if _, ok := met.Expires[key("round")]; !ok || len(met.Expires) != 1 || met.To.Sub(met.From) < 2*metStep {
		t.Errorf("%+v, want the one that goes round", met)
	}
}

func TestNothingIsSaidOfMarkersThatWeReadOurselvesMeanwhile(t *testing.T) {
	t.Parallel()
	b := newTouchBench(t, "redis-text-status")
	b.store.own = known.NewReads(time.Hour)
	pass := b.metPass(time.Minute, "work")
	read, cancel := context.WithCancel(t.Context())
	var at sync.WaitGroup
	at.Go(func() {
		for read.Err() == nil {
			_, _ = b.store.Look(read, []string{b.key("work")})
			_ = pace.Sleep(read, 200*time.Millisecond)
		}
	})
	met, err := b.store.meet(t.Context(), pass)
	cancel()
	at.Wait()
	if met != nil || err != nil {
		t.Errorf("%+v, %v", met, err)
	}
}

func TestWhereOwnersOrIdleTimesWouldDeceiveNoMarkerIsLookedAt(t *testing.T) {
	t.Parallel()
	b := newTouchBench(t, "redis-text-status")
	b.store.own = known.NewReads(time.Hour)
	pass := b.metPass(time.Minute, "round")
	stop := b.loop(100*time.Millisecond, "round")
	defer stop()
	for name, change := range map[string]func(c *markers.Config){
		"consumers that ack what is in flight": func(c *markers.Config) { c.OnInFlight = "ack" },
		"a scheme that no preset describes":    func(c *markers.Config) { c.Preset = "" },
		"a policy that keeps no idle times":    func(*markers.Config) { b.rdb.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lfu") },
	} {
		before := b.store.layout.Config
		change(&b.store.layout.Config)
		if met, err := b.store.meet(t.Context(), pass); met != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, met, err)
		}
		b.store.layout.Config = before
		b.rdb.ConfigSet(t.Context(), "maxmemory-policy", "noeviction")
	}
}
