package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers/serverstest"
)

// TestAFailOverThatLostMarkersIsSeen cuts the replica off before the last completions, as a network does.
func TestAFailOverThatLostMarkersIsSeen(t *testing.T) {
	t.Parallel()
	group := serverstest.RedisGroup(t)
	primary, replica := markerstest.Client(t, group.Servers[0].URL()), markerstest.Client(t, group.Servers[1].URL())
	do(t, primary, "config", "set", "notify-keyspace-events", "K$gxe")
	do(t, replica, "config", "set", "notify-keyspace-events", "K$gxe")
	cfg := atSentinels(t, group.Addresses()...)
	cfg.Events = true
	store := markerstest.OpenStore(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { store.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	events := func() dedup.StoreEvents {
		stats, _ := store.Stats(t.Context())
		if stats.Events == nil {
			return dedup.StoreEvents{}
		}
		return *stats.Events
	}
	markerstest.WaitUntil(t, "events are listened to", func() bool { return events().Listening })

	work := func(of string, n int64) {
		scheme, before := markerstest.TextStatus(), events().Completions
		for i := range n {
			id := fmt.Sprint(of, "-", i)
			if _, err := scheme.Claim(t.Context(), primary, id); err != nil {
				t.Fatal(err)
			}
			if err := scheme.Complete(t.Context(), primary, id, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		markerstest.WaitUntil(t, "the completions are counted", func() bool { return events().Completions == before+n })
	}
	work("kept", 30)
	do(t, primary, "del", "msg:kept-0") // by hand: this one is not lost
	markerstest.WaitUntil(t, "the replica has all markers", func() bool { return replica.DBSize(t.Context()).Val() == 29 })
	markerstest.WaitUntil(t, "the Sentinels know the replica", func() bool { return group.Know(t.Context(), 1) })
	do(t, primary, "acl", "setuser", "default", "-psync", "-sync") // it cannot come back
	do(t, primary, "client", "kill", "type", "replica")
	work("lost", 12)
	group.Servers[0].Kill()
	markerstest.WaitUntil(t, "what the fail-over lost is told", func() bool { return events().Vanished.Asked == 41 })
	if v := events().Vanished; v.Gone != 12 || v.At.IsZero() {
		t.Errorf("12 of 41 done markers were lost, and it says %+v", v)
	}
}
