package redis

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers/serverstest"
)

// newTestWalk returns a walk over a private Redis, and a client of the server.
func newTestWalk(t *testing.T, changes ...func(*markers.Config)) (*walk, *redis.Client) {
	t.Helper()
	server := serverstest.Redis(t)
	cfg, _ := markers.Preset("redis-text-status")
	cfg.Redis.URL = secret.New(server.URL())
	for _, change := range changes {
		change(&cfg)
	}
	l, err := layout.New(cfg, layout.Text)
	if err != nil {
		t.Fatal(err)
	}
	options, err := client.Options(cfg.Redis)
	if err != nil {
		t.Fatal(err)
	}
	servers := client.Open(cfg.Redis, options)
	t.Cleanup(func() { _ = servers.Close() })
	return newWalk(l, servers), servers.One()
}

func TestAKeyThatScanRepeatsIsTakenOnce(t *testing.T) {
	w, _ := newTestWalk(t)
	w.take([]string{"msg:1", "msg:2", "retry:1"})
	w.take([]string{"msg:2", "msg:3", "retry:1", "msg:dedup:4", "other"})
	if len(w.pending) != 3 || len(w.reads) != 1 {
		t.Errorf("pending %q, reads %v", w.pending, w.reads)
	}
}

func TestAKeyWithoutAnIDIsCountedApart(t *testing.T) {
	w, _ := newTestWalk(t, func(c *markers.Config) {
		c.ID, c.Yields = "^msg:eu:(.+)$", []markers.Yield{{Field: "match", Pattern: "msg:us:*"}}
	})
	w.take([]string{"msg:eu:1", "msg:\x1b1", "msg:2", "msg:2", "msg:dedup:4", "msg:us:1", "retry:1", "other"})
	if p := w.tally.pass; len(w.pending) != 1 || p.Misfits != 2 || p.Misfit != `"msg:\x1b1"` {
		t.Errorf("pending %q, %d misfits, such as %s", w.pending, p.Misfits, p.Misfit)
	}
}

func TestAMarkerBetweenSetnxAndExpireIsNotTakenForOneWithoutExpiry(t *testing.T) {
	w, rdb := newTestWalk(t)
	ctx := t.Context()
	for key, value := range map[string]string{"msg:claiming": "processing", "msg:finishing": "done", "retry:counting": "5", "msg:stuck": "processing", "msg:gone": "processing"} {
		if err := rdb.Set(ctx, key, value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	consumers := func() {
		rdb.Expire(ctx, "msg:claiming", 300*time.Second)
		rdb.Expire(ctx, "msg:finishing", 24*time.Hour)
		rdb.Expire(ctx, "retry:counting", 24*time.Hour)
		rdb.Del(ctx, "msg:gone")
	}
	w.progressed = func(dedup.Progress) {
		if len(w.doubts) == 5 {
			consumers()
		}
	}
	if err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	pass := w.tally.pass
	if pass.NoExpiry[dedup.Processing] != 1 || pass.NoExpiry[dedup.Done] != 0 || pass.States[dedup.Processing] != 2 ||
		pass.States[dedup.Done] != 1 || pass.Completions.Total() != 1 || pass.GaveUp.Total() != 1 || pass.UndatedGaveUp != 0 {
		t.Errorf("%+v", pass)
	}
}
