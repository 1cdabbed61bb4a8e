package redis_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/lab/markerstest"
)

// TestWhatAnOperatorDoesIsNoWorkOfConsumers clears and restores markers on a server whose notifications are counted.
func TestWhatAnOperatorDoesIsNoWorkOfConsumers(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	store := listening(t, "redis-text-status", server.URL(), nil)
	a := actor(t, server.URL())
	redis.Acquaint(store, a)
	claim := func(id string) {
		do(t, rdb, "setnx", "msg:"+id, "processing")
		do(t, rdb, "expire", "msg:"+id, 300)
	}
	// The horizon has not passed, so that claims are settled by asking.
	claim("stuck")
	claim("fails")
	do(t, rdb, "set", "retry:stuck", "5", "ex", 86400)
	claimOne(t, rdb, "done")
	truth := eventCounts{Claims: 3, Completions: 1, InFlight: 2, GaveUp: 1, Lost: 1, Asked: 3}
	awaitCounts(t, store, 1, truth)

	stuck := cleared(t, a, see(t, rdb, "msg:stuck", dedup.Processing), true)
	done := cleared(t, a, see(t, rdb, "msg:done", dedup.Done), false)
	do(t, rdb, "del", "msg:fails")
	truth.Failures, truth.InFlight = 2, 0
	if got := awaitCounts(t, store, 1, truth); got.Cleared != 1 {
		t.Errorf("%d of the failures were our clears, want 1", got.Cleared)
	}

	want(t, a.Restore(t.Context(), stuck), dedup.Restored, "")
	want(t, a.Restore(t.Context(), done), dedup.Restored, "")
	truth.InFlight = 1
	awaitCounts(t, store, 1, truth)
	// Its consumer was alive and ends its work.
	do(t, rdb, "set", "msg:stuck", "done", "ex", 86400)
	truth.Completions, truth.InFlight, truth.Lost = 2, 0, 0 // what was given up is done after all
	at := awaitCounts(t, store, 1, truth).At
	// All that the book doubted is asked about by then.
	later := await(t, store, "it goes on", func(s dedup.StoreStats, err error) bool { return err == nil && s.Events.At.Sub(at) > 3*time.Second })
	if got := countsOf(later.Events); got != truth || later.Events.Epoch != 1 {
		t.Errorf("epoch %d, counts %+v, want %+v", later.Events.Epoch, got, truth)
	}
}
