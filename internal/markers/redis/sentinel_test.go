package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// atSentinels describes the store of a group, whose URL leads nowhere.
func atSentinels(t *testing.T, addresses ...string) markers.Config {
	cfg := markerstest.Config(t, "redis-text-status", "redis://nowhere.invalid/0")
	cfg.Redis.Sentinel = markers.Sentinel{Master: servers.SentinelMaster, Addresses: addresses}
	return cfg
}

func TestAStoreAndItsActorFollowAFailOver(t *testing.T) {
	t.Parallel()
	group := serverstest.RedisGroup(t)
	cfg := atSentinels(t, group.Addresses()...)
	store := markerstest.OpenStore(t, cfg)
	cfg.Act.Redis.Sentinel = cfg.Redis.Sentinel
	acts := actorOf(t, cfg, "redis://nowhere.invalid/0")
	primary, replica := markerstest.Client(t, group.Servers[0].URL()), markerstest.Client(t, group.Servers[1].URL())
	scheme := markerstest.TextStatus()
	for i := range 20 {
		if _, err := scheme.Claim(t.Context(), primary, fmt.Sprint("m-", i)); err != nil {
			t.Fatal(err)
		}
	}
	if pass := markerstest.MustPass(t, store); pass.States[dedup.Processing] != 20 {
		t.Errorf("%+v", pass.States)
	}
	before := look(t, store, "msg:m-0")
	markerstest.WaitUntil(t, "the replica has all markers", func() bool { return replica.DBSize(t.Context()).Val() == primary.DBSize(t.Context()).Val() })
	markerstest.WaitUntil(t, "the Sentinels know the replica", func() bool { return group.Know(t.Context(), 1) })

	group.Servers[0].Kill()
	markerstest.WaitUntil(t, "the replica is the primary, and its markers are seen", func() bool {
		pass, err := store.Pass(t.Context())
		return err == nil && pass.States[dedup.Processing] == 20
	})
	if done := acts.Clear(t.Context(), *before, true, markerstest.KeepNothing); done.Result != dedup.Refused || !strings.Contains(done.Text, "another server answers since") {
		t.Errorf("a marker was cleared as it was seen on the server before: %+v", done)
	}
	now := look(t, store, "msg:m-0")
	if done := acts.Clear(t.Context(), *now, true, markerstest.KeepNothing); done.Result != dedup.Cleared {
		t.Errorf("%+v", done)
	}
	if n := replica.Exists(t.Context(), "msg:m-0").Val(); n != 0 {
		t.Error("the marker is still on the new primary")
	}
}

// look returns the marker with a key, which is there.
func look(t *testing.T, store markers.Store, key string) *dedup.Sighting {
	t.Helper()
	seen, err := store.Look(t.Context(), []string{key})
	if err != nil || seen[0] == nil {
		t.Fatal(key, seen, err)
	}
	return seen[0]
}

func TestWhySentinelsTellNothingIsSaid(t *testing.T) {
	t.Parallel()
	group := serverstest.RedisGroup(t)
	for name, c := range map[string]struct {
		change func(*markers.Sentinel)
		says   string
	}{
		"no Sentinel is there":     {func(s *markers.Sentinel) { s.Addresses = []string{"127.0.0.1:1"} }, `none of the 1 Sentinels tells where the primary "private" is; "127.0.0.1:1: `},
		"they know another master": {func(s *markers.Sentinel) { s.Master = "strange" }, "No such master with that name"},
		"the account is wrong":     {func(s *markers.Sentinel) { s.Username, s.Password = "nobody", secret.New("p") }, "WRONGPASS"},
		"one of two is not there":  {func(s *markers.Sentinel) { s.Addresses = []string{"127.0.0.1:1", s.Addresses[0]} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := atSentinels(t, group.Addresses()...)
			c.change(&cfg.Redis.Sentinel)
			began := time.Now()
			_, err := markerstest.OpenStore(t, cfg).Pass(t.Context())
			if text := dedup.PublicText(err); (c.says == "") != (err == nil) || !strings.Contains(text, c.says) {
				t.Errorf("after %s: %q, %v", time.Since(began), text, err)
			}
		})
	}
}
