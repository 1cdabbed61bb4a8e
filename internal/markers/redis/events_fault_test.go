package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
)

// claimOne makes one claim and one completion.
func claimOne(t *testing.T, rdb *redis.Client, id string) {
	t.Helper()
	for _, words := range [][]any{{"setnx", "msg:" + id, "processing"}, {"expire", "msg:" + id, 300}, {"set", "msg:" + id, "done"}, {"expire", "msg:" + id, 86400}} {
		if err := rdb.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func completed(n int64) func(dedup.StoreStats, error) bool {
	return func(s dedup.StoreStats, err error) bool { return counting(s, err) && s.Events.Completions == n }
}

// TestWhatInterruptsTheNotificationsBeginsAnEpoch lets something happen between two completions: the counts of the first
// must never be continued as if nothing had been missed.
func TestWhatInterruptsTheNotificationsBeginsAnEpoch(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(t *testing.T, server *servers.Redis, rdb *redis.Client){
		"the server restarts": func(t *testing.T, server *servers.Redis, rdb *redis.Client) {
			server.Kill()
			if err := server.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"our subscription is killed": func(t *testing.T, _ *servers.Redis, rdb *redis.Client) {
			if n, err := rdb.Do(t.Context(), "client", "kill", "type", "pubsub").Int(); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		},
		"notifications are off for a moment": func(t *testing.T, _ *servers.Redis, rdb *redis.Client) {
			rdb.ConfigSet(t.Context(), "notify-keyspace-events", "")
			claimOne(t, rdb, "unseen")
			rdb.ConfigSet(t.Context(), "notify-keyspace-events", "K$gxe")
		},
		"the command statistics are reset": func(t *testing.T, _ *servers.Redis, rdb *redis.Client) {
			rdb.ConfigResetStat(t.Context())
		},
		"the store is emptied": func(t *testing.T, _ *servers.Redis, rdb *redis.Client) {
			rdb.FlushDB(t.Context())
		},
		"the server's buffer for us overflows": func(t *testing.T, _ *servers.Redis, rdb *redis.Client) {
			const script = `for i = 1, 5000 do redis.call('set', 'msg:burst-' .. i, 'processing', 'EX', 300) end`
			if err := rdb.Eval(t.Context(), script, nil).Err(); err != nil && err != redis.Nil {
				t.Fatal(err)
			}
		},
		"more claims are open than are remembered": func(t *testing.T, _ *servers.Redis, rdb *redis.Client) {
			long := strings.Repeat("x", 1<<20)
			for i := range 17 {
				rdb.SetNX(t.Context(), fmt.Sprintf("msg:%d%s", i, long), "processing", time.Minute)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := slices.Clone(notifying)
			if strings.Contains(name, "buffer") {
				args = append(args, "--client-output-buffer-limit", "pubsub", "32kb", "0", "0")
			}
			server, rdb := markerstest.StartRedis(t, args...)
			store := listening(t, "redis-text-status", server.URL(), nil)
			claimOne(t, rdb, "before")
			first := await(t, store, "a completion is counted", completed(1)).Events
			disturb(t, server, rdb)
			begun := await(t, store, "an epoch begins", func(s dedup.StoreStats, err error) bool {
				if err == nil && s.Events.Epoch == first.Epoch && (s.Events.Completions > 1 || s.Events.Claims > 100) {
					t.Fatalf("counts go on over a gap: %+v", s.Events)
				}
				return counting(s, err) && s.Events.Epoch > first.Epoch
			}).Events
			if !begun.Since.After(first.At) {
				t.Errorf("the epoch begins at %v, and the one before was still counted at %v", begun.Since, first.At)
			}
			claimOne(t, rdb, "after")
			await(t, store, "the next completion is counted", completed(1))
		})
	}
}

// TestAFlushOfAnEmptyDatabaseLosesNothing: counts go on over it, as no marker was there to be lost.
func TestAFlushOfAnEmptyDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	for name, flush := range map[string]func(*redis.Client) error{
		"FLUSHALL": func(rdb *redis.Client) error { return rdb.FlushAll(t.Context()).Err() },
		"FLUSHDB":  func(rdb *redis.Client) error { return rdb.FlushDB(t.Context()).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, rdb := markerstest.StartRedis(t, notifying...)
			store := listening(t, "redis-text-status", server.URL(), nil)
			first := await(t, store, "it counts", counting).Events
			later := func(than time.Time) func(dedup.StoreStats, error) bool {
				return func(s dedup.StoreStats, err error) bool {
					return err == nil && s.Events.At.Sub(than) > 2500*time.Millisecond
				}
			}
			if err := flush(rdb); err != nil {
				t.Fatal(err)
			}
			seen := await(t, store, "the flush was seen", later(time.Now())).Events
			if seen.Epoch != first.Epoch || !seen.Listening {
				t.Fatalf("epoch %d after %d: %s", seen.Epoch, first.Epoch, seen.Why)
			}
			claimOne(t, rdb, "first")
			await(t, store, "a completion is counted", completed(1))
			if err := flush(rdb); err != nil {
				t.Fatal(err)
			}
			await(t, store, "a flush that loses a marker begins an epoch", func(s dedup.StoreStats, err error) bool {
				return counting(s, err) && s.Events.Epoch > first.Epoch
			})
		})
	}
}

func TestNotificationsThatAreOffAreSaidSoAndSeenWhenTheyComeOn(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	cfg := markerstest.Config(t, "redis-text-status", server.URL())
	cfg.Events = true
	store := markerstest.OpenStore(t, cfg)
	run(t, store)
	await(t, store, "it says that they are off", func(s dedup.StoreStats, err error) bool {
		return err == nil && !s.Events.Listening && strings.Contains(s.Events.Why, "CONFIG SET notify-keyspace-events K$gxe")
	})
	rdb.ConfigSet(t.Context(), "notify-keyspace-events", "K$gx")
	on := await(t, store, "it counts", counting).Events
	rdb.ConfigSet(t.Context(), "notify-keyspace-events", "Kx")
	off := await(t, store, "it says that they are off again", func(s dedup.StoreStats, err error) bool {
		return err == nil && !s.Events.Listening && strings.Contains(s.Events.Why, "notifications are off")
	}).Events
	if off.Epoch <= on.Epoch {
		t.Errorf("epoch %d after %d", off.Epoch, on.Epoch)
	}
}

// reader makes an account that may watch, with some rules more, and returns its URL.
func reader(t *testing.T, server *servers.Redis, rdb *redis.Client, rules ...any) string {
	t.Helper()
	words := append([]any{"acl", "setuser", "dashboard", "on", ">secret", "resetkeys", "resetchannels", "-@all", "+ping", "+select", "+info", "+time", "+dbsize",
		"+scan", "+pexpiretime", "+getrange", "+hlen", "+hmget", "%R~msg:*", "%R~retry:*", "%R~dedupstats:*"}, rules...)
	if err := rdb.Do(t.Context(), words...).Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(server.URL(), "redis://", "redis://dashboard:secret@", 1)
}

var mayListen = []any{"+psubscribe", "+pttl", "&__keyspace@0__:msg:*", "&__keyspace@0__:retry:*"}

func TestAnAccountThatMayNotListenIsToldWhichRuleItLacks(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	const markerChannel, retryChannel = "&__keyspace@0__:msg:*", "&__keyspace@0__:retry:*"
	for name, c := range map[string]struct {
		// refuse are rules on top of all that listening needs.
		refuse           []any
		missing, untried []string
	}{
		"every rule is granted":                   {},
		"one channel":                             {[]any{"resetchannels", markerChannel}, []string{retryChannel}, nil},
		"the other channel":                       {[]any{"resetchannels", retryChannel}, []string{markerChannel}, nil},
		"both channels":                           {[]any{"resetchannels"}, []string{markerChannel, retryChannel}, nil},
		"the command, which hides the channels":   {[]any{"-psubscribe"}, []string{"+psubscribe"}, []string{markerChannel, retryChannel}},
		"the time to live":                        {[]any{"-pttl"}, []string{"+pttl"}, nil},
		"the time to live and a channel":          {[]any{"-pttl", "resetchannels", markerChannel}, []string{"+pttl", retryChannel}, nil},
		"the keys of markers alone":               {[]any{"resetkeys", "%R~retry:*", "%R~dedupstats:*"}, []string{"%R~msg:*"}, nil},
		"the keys of counters of tries alone":     {[]any{"resetkeys", "%R~msg:*", "%R~dedupstats:*"}, []string{"%R~retry:*"}, nil},
		"the keys of reported counters alone":     {[]any{"resetkeys", "%R~msg:*", "%R~retry:*"}, []string{"%R~dedupstats:*"}, nil},
		"a command of watching and one of events": {[]any{"-hlen", "-psubscribe"}, []string{"+hlen", "+psubscribe"}, []string{markerChannel, retryChannel}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := markerstest.Config(t, "redis-text-status", reader(t, server, rdb, append(slices.Clone(mayListen), c.refuse...)...))
			cfg.Events = true
			report, err := markerstest.OpenStore(t, cfg).Check(t.Context(), 1)
			if err != nil || !slices.Equal(report.Missing, c.missing) || !slices.Equal(report.Untried, c.untried) {
				t.Errorf("check: missing %q, untried %q, %v; want %q and %q", report.Missing, report.Untried, err, c.missing, c.untried)
			}
		})
	}
}

func TestAListenerNamesOnlyTheRuleThatItLacks(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	for name, c := range map[string]struct {
		refuse []any
		words  string
	}{
		"a channel":   {[]any{"resetchannels", mayListen[2]}, "ACL SETUSER dashboard &__keyspace@0__:retry:*"},
		"the command": {[]any{"-psubscribe"}, "ACL SETUSER dashboard +psubscribe; only then it shows whether it lacks &__keyspace@0__:msg:* &__keyspace@0__:retry:* too"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := markerstest.Config(t, "redis-text-status", reader(t, server, rdb, append(slices.Clone(mayListen), c.refuse...)...))
			cfg.Events = true
			store := markerstest.OpenStore(t, cfg)
			run(t, store)
			await(t, store, "it names the rule", func(s dedup.StoreStats, err error) bool {
				return err == nil && !s.Events.Listening && strings.HasSuffix(s.Events.Why, c.words)
			})
		})
	}
}

// TestWithoutTheRightToReadTheSettingNotificationsProveThemselves: an account that may not run CONFIG GET counts from the first
// notification on, and notices when none comes any more.
func TestWithoutTheRightToReadTheSettingNotificationsProveThemselves(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	cfg := markerstest.Config(t, "redis-text-status", reader(t, server, rdb, mayListen...))
	cfg.Events = true
	store := markerstest.OpenStore(t, cfg)
	run(t, store)
	await(t, store, "it cannot tell yet", func(s dedup.StoreStats, err error) bool {
		return err == nil && !s.Events.Listening && strings.Contains(s.Events.Why, "cannot be told until one arrives")
	})
	claimOne(t, rdb, "first")
	first := await(t, store, "it counts", counting).Events
	// A script switches them off, which the statistics of CONFIG SET show all the same.
	rdb.ConfigSet(t.Context(), "notify-keyspace-events", "")
	for i := range 60 {
		claimOne(t, rdb, fmt.Sprint("unseen-", i))
	}
	deaf := await(t, store, "it says that none comes", func(s dedup.StoreStats, err error) bool {
		return err == nil && !s.Events.Listening && s.Events.Why != ""
	}).Events
	if deaf.Epoch <= first.Epoch {
		t.Errorf("epoch %d after %d", deaf.Epoch, first.Epoch)
	}
	denied, err := rdb.Do(t.Context(), "acl", "log").Slice()
	if err != nil || len(denied) > 3 {
		t.Errorf("%d entries in the server's ACL log: %v, %v", len(denied), denied, err)
	}
}

func TestAReplicaCannotTell(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	store := listening(t, "redis-text-status", server.URL(), nil)
	rdb.Do(t.Context(), "replicaof", "127.0.0.1", "1")
	await(t, store, "it says so", func(s dedup.StoreStats, err error) bool {
		return s.Events != nil && !s.Events.Listening && strings.Contains(s.Events.Why, "replica")
	})
}

func TestAMarkerBornWithoutExpiryIsListedLongBeforeTheNextPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		preset, key, value string
		state              dedup.State
	}{
		"R3": {"redis-text-status", "msg:stuck", "processing", dedup.Processing},
		"R1": {"redis-json-status", "msg:dedup:stuck", "processing", dedup.Processing},
		"R6": {"redis-timestamp", "dedup:stuck", "1734400000123", dedup.Present},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, rdb := markerstest.StartRedis(t, notifying...)
			store := listening(t, c.preset, server.URL(), func(cfg *markers.Config) { cfg.Sweep.Every = time.Hour })
			await(t, store, "a pass is complete", hasPass)
			stirred := store.(interface{ Stirred() <-chan struct{} }).Stirred()
			born := time.Now()
			rdb.SetNX(t.Context(), c.key, c.value, 0)
			select {
			case <-stirred:
			case <-time.After(time.Minute):
				t.Fatal("nobody was told")
			}
			told := time.Now()
			stats := await(t, store, "it is listed", func(s dedup.StoreStats, err error) bool {
				return err == nil && len(s.Events.NoExpiry) == 1 && len(s.Pass.Permanent) == 1
			})
			m := stats.Pass.Permanent[0]
			if m.Key != c.key || m.ID != "stuck" || m.State != c.state || m.FirstSeen.Before(born) || m.FirstSeen.After(told) || stats.Pass.NoExpiry[c.state] != 1 {
				t.Errorf("listed: %+v of %v", m, stats.Pass.NoExpiry)
			}
			if listed := len(stats.Pass.OldestProcessing); (c.state == dedup.Processing) != (listed == 1) {
				t.Errorf("%d processing markers are listed", listed)
			}
			rdb.Expire(t.Context(), c.key, time.Minute)
			await(t, store, "it is gone from the list", func(s dedup.StoreStats, err error) bool {
				return err == nil && len(s.Events.NoExpiry) == 0 && len(s.Pass.Permanent) == 0
			})
		})
	}
}

// TestMarkersOfOthersAreNotCounted: the patterns of a subscription are wider than a store.
func TestMarkersOfOthersAreNotCounted(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	wide := markerstest.Config(t, "redis-text-status", server.URL())
	wide.Name, wide.Events = "wide", true
	narrow := wide
	narrow.Name, narrow.Match, narrow.ID, narrow.Retry = "narrow", "msg:eu:*", "", markers.Retry{}
	settled, open := kinds.Resolve([]markers.Config{wide, narrow})
	if len(open) > 0 {
		t.Fatal(open)
	}
	stores := []markers.Store{markerstest.OpenStore(t, settled[0]), markerstest.OpenStore(t, settled[1])}
	for _, s := range stores {
		run(t, s)
		await(t, s, "it counts", counting)
	}
	for _, id := range []string{"a", "b", "eu:c", "dedup:d", "processed:e"} {
		claimOne(t, rdb, id)
	}
	other := redis.NewClient(&redis.Options{Addr: server.Addr(), DB: 1})
	defer other.Close()
	claimOne(t, other, "f")
	await(t, stores[0], "the wide one counts its own", completed(2))
	await(t, stores[1], "the narrow one counts its own", completed(1))
}

// TestAClaimFromBeforeIsSettled begins to listen while work is under way.
func TestAClaimFromBeforeIsSettled(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	ctx := t.Context()
	for _, id := range []string{"completes", "fails"} {
		rdb.SetNX(ctx, "msg:"+id, "processing", 5*time.Minute)
	}
	rdb.SetNX(ctx, "msg:completes for ever", "processing", 0)
	store := listening(t, "redis-text-status", server.URL(), nil)
	rdb.Set(ctx, "msg:completes", "done", 24*time.Hour)
	rdb.Set(ctx, "msg:completes for ever", "done", 0)
	rdb.Del(ctx, "msg:fails")
	rdb.SetNX(ctx, "msg:claimed now", "processing", 5*time.Minute)
	awaitCounts(t, store, 1, eventCounts{Claims: 1, Completions: 2, Failures: 1, InFlight: 1, Asked: asked(t, rdb)})
}

// asked is how often SETNX ran; go-redis sends SET NX where there is an expiry.
func asked(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	text, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if _, line, ok := strings.Cut(text, "cmdstat_setnx:calls="); ok {
		_, _ = fmt.Sscanf(line, "%d", &n)
	}
	return n
}

// TestWatchingNeverAsksAsConsumersDo proves that none of our own calls is among those of a scheme's command.
func TestWatchingNeverAsksAsConsumersDo(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, notifying...)
	fillMarkers(t, rdb, markerstest.Mix{Done: 100, Processing: 10, NoExpiry: 10, GaveUp: 5})
	rdb.ConfigResetStat(t.Context())
	store := listening(t, "redis-text-status", server.URL(), nil)
	await(t, store, "a pass is complete", hasPass)
	if _, err := store.Check(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Browse(t.Context(), dedup.MarkerQuery{State: dedup.Processing, Limit: 10}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Lookup(t.Context(), "done-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Reported(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	text, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"set", "setnx", "get", "exists"} {
		if strings.Contains(text, "cmdstat_"+command+":") {
			t.Errorf("watching runs %s", command)
		}
	}
}

func TestEventsAreRefusedWhereTheyTellNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		preset string
		change func(*markers.Config)
		want   string
	}{
		"a lock":           {"redis-token-lock", func(c *markers.Config) {}, "say nothing of a lock"},
		"a table":          {"sql-status-code", func(c *markers.Config) {}, "are notifications of Redis"},
		"a failure is set": {"redis-text-status", func(c *markers.Config) { c.States[dedup.Failed] = []string{"failed"} }, "cannot tell a failure"},
		"a failure is kept after the work": {"redis-flag", func(c *markers.Config) {
			c.States[dedup.Failed], c.OnFail, c.OnFailed = []string{"FAILURE"}, "keep", "run"
		}, "leave events out, and let consumers report"},
		"nothing is ever set": {"redis-text-status", func(c *markers.Config) { delete(c.States, dedup.Done) }, "both delete the claim"},
		"another command":     {"redis-text-status", func(c *markers.Config) { c.Ask = "DEL" }, "ask:"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := markerstest.Config(t, c.preset, "redis://127.0.0.1/0")
			if c.preset == "sql-status-code" {
				cfg.Redis, cfg.SQL = markers.Redis{}, markers.SQL{Driver: "mysql", DSN: secret.New("u:p@tcp(127.0.0.1:1)/d")}
			}
			cfg.Events = true
			c.change(&cfg)
			if err := kinds.Validate(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("problems: %v", err)
			}
		})
	}
}
