package redis_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
)

func TestAPrimaryThatFailsInMidSweepBeginsThePassAgain(t *testing.T) {
	t.Parallel()
	c := newClusterBench(t)
	fill(t, c.rdb, markerstest.Mix{Done: 15_000, Processing: 300})
	cfg := c.config(t, "redis-text-status")
	cfg.Sweep.MaxKeysPerSecond, cfg.Sweep.Duty, cfg.Sweep.Every = 3000, 0.9, time.Second
	store := markerstest.OpenStore(t, cfg)
	run(t, store)
	await(t, store, "the pass is on its way", walking)
	c.awaitReplicas(t)
	c.Nodes[0].Kill()
	if _, err := store.Check(t.Context(), 20); err == nil || !strings.Contains(dedup.PublicText(err), c.Nodes[0].Addr()+", a node of the Redis Cluster, cannot be reached") {
		t.Errorf("a check does not name the node that is down: %v", err)
	}
	await(t, store, "the pass says why it began again", func(s dedup.StoreStats, err error) bool {
		return strings.Contains(s.Progress.Waiting, "took the place of "+c.Nodes[0].Addr())
	})
	stats := await(t, store, "a pass over the new primary is complete", hasPass)
	markerstest.WantStates(t, *stats.Pass, map[dedup.State]int64{dedup.Done: 15_000, dedup.Processing: 300})
	if err := c.Nodes[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, store, "the next pass is complete", func(s dedup.StoreStats, err error) bool {
		return hasPass(s, err) && s.Pass.Started.After(stats.Pass.Ended) && s.Pass.Matched == 15_300
	})
}

// awaitReplicas waits until each replica has what its primary has.
func (c *clusterBench) awaitReplicas(t *testing.T) {
	t.Helper()
	markerstest.WaitUntil(t, "the replicas have all that their primaries have", func() bool {
		offsets := map[string]int{}
		for i := range c.Nodes {
			info := c.node(t, i).Info(t.Context(), "replication").Val()
			_, offset, _ := strings.Cut(info, "\r\nmaster_repl_offset:")
			offset, _, _ = strings.Cut(offset, "\r")
			offsets[offset]++
			if strings.Contains(info, "role:slave") && !strings.Contains(info, "master_link_status:up") {
				return false
			}
		}
		for _, n := range offsets {
			if n%2 != 0 {
				return false
			}
		}
		return true
	})
}

// failOver makes each replica a primary, one after the other, as whoever maintains a cluster does: no write is lost.
func (c *clusterBench) failOver(t *testing.T) {
	t.Helper()
	var replicas []int
	for i := range c.Nodes {
		if strings.Contains(c.node(t, i).Info(t.Context(), "replication").Val(), "role:slave") {
			replicas = append(replicas, i)
		}
	}
	for _, i := range replicas {
		r := c.node(t, i)
		var asked time.Time
		markerstest.WaitUntil(t, "a replica is a primary", func() bool {
			// The others may not vote at this moment, and it has to be asked for again. What is a primary by then refuses.
			if time.Since(asked) > 2*time.Second {
				_ = r.ClusterFailover(t.Context()).Err()
				asked = time.Now()
			}
			return strings.Contains(r.Info(t.Context(), "replication").Val(), "role:master")
		})
	}
}

func TestFailOversInMidClearClearNothingThatLives(t *testing.T) {
	t.Parallel()
	clearThroughFailOvers(t, 5)
}

// clearThroughFailOvers clears markers, round by round, while each primary gives its place to its replica and consumers take half of the markers
// again. A marker lives where it was taken after it was seen.
func clearThroughFailOvers(t *testing.T, rounds int) {
	c := newClusterBench(t)
	store, a := c.actor(t)
	ctx := t.Context()
	told := map[dedup.Result]int{}
	const n = 240
	for round := range rounds {
		var keys []string
		for i := range n {
			id := fmt.Sprintf("%d-%d", round, i)
			keys = append(keys, "msg:"+id)
			life := time.Hour
			if i%8 == 5 {
				life = 0
			}
			c.rdb.Set(ctx, "msg:"+id, "processing", life)
			c.rdb.Set(ctx, "retry:"+id, 4, time.Hour)
		}
		seen, err := store.Look(ctx, keys)
		if err != nil {
			t.Fatal(err)
		}
		c.awaitReplicas(t)
		over := make(chan struct{})
		var work sync.WaitGroup
		outcomes, live := make([]dedup.Outcome, n), make([]bool, n)
		for i := range n {
			compared, taken := make(chan struct{}), make(chan struct{})
			work.Go(func() {
				once := sync.OnceFunc(func() { close(compared) })
				defer once() // of one that was not compared
				outcomes[i] = a.Clear(ctx, *seen[i], true, func(dedup.Sighting) error {
					once()
					switch i % 4 {
					case 0: // it is taken again between the comparison and the act
						<-taken
					case 2, 3: // it is compared before the fail-over and deleted after it
						<-over
					}
					return nil
				})
			})
			if i%2 == 0 {
				work.Go(func() {
					defer close(taken)
					switch {
					case i%4 == 0:
						<-compared
					case i%3 == 0: // after the fail-over, the others beside it
						<-over
					}
					live[i] = c.rdb.Set(ctx, keys[i], "processing", 2*time.Hour).Err() == nil
				})
			}
		}
		c.failOver(t)
		close(over)
		work.Wait()
		for i, got := range outcomes {
			told[got.Result]++
			there := c.rdb.Exists(ctx, keys[i]).Val() == 1
			counter := c.rdb.Exists(ctx, "retry:"+strings.TrimPrefix(keys[i], "msg:")).Val() == 1
			switch {
			case live[i] && !there:
				t.Errorf("a live marker was cleared: %s, %+v", keys[i], got)
			case !live[i] && there == (got.Result == dedup.Cleared) && got.Result != dedup.UnknownOutcome:
				t.Errorf("%s is there: %v, %+v", keys[i], there, got)
			case counter == (got.Result == dedup.Cleared && !got.CounterLeft()) && got.Result != dedup.UnknownOutcome:
				t.Errorf("the counter of %s is there: %v, %+v", keys[i], counter, got)
			}
		}
	}
	if told[dedup.Cleared] == 0 || told[dedup.Refused]+told[dedup.NotDone] == 0 {
		t.Errorf("the clears did not meet the fail-overs: %v", told)
	}
	t.Logf("%d fail-overs: %v", 3*rounds, told)
}
