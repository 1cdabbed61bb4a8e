package redis_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	redisstore "dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

// shortHold is the time that tests hold a marker without expiry.
const shortHold = 50 * time.Millisecond

// actor opens an actor of the preset that acts through url and holds markers for shortHold.
func actor(t testing.TB, url string) markers.Actor {
	t.Helper()
	cfg := markerstest.Config(t, "redis-text-status", url)
	return actorOf(t, cfg, url)
}

func actorOf(t testing.TB, cfg markers.Config, url string) markers.Actor {
	t.Helper()
	cfg.Act.Redis.URL = secret.New(url)
	a, err := kinds.OpenActor(cfg, markerstest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	redisstore.HoldFor(a, shortHold)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// lockConfig describes locks of Redisson named lock:{id}; tokenConfig locks with tokens.
func lockConfig(t testing.TB, url string) markers.Config {
	cfg := markerstest.Config(t, "redisson-lock", url)
	cfg.Match, cfg.ID = "lock:*", "^lock:(.+)$"
	return cfg
}

func tokenConfig(t testing.TB, url string) markers.Config {
	cfg := markerstest.Config(t, "redis-token-lock", url)
	cfg.Match, cfg.ID = "lock:*", "^lock:(.+)$"
	return cfg
}

// see reads a marker as a sighting, with retry:{id} if it is there.
func see(t testing.TB, rdb *redis.Client, key string, state dedup.State) dedup.Sighting {
	t.Helper()
	return seeWith(t, rdb, key, state, expiryOf)
}

func seeWith(t testing.TB, rdb *redis.Client, key string, state dedup.State, expiryOf func(testing.TB, *redis.Client, string) int64) dedup.Sighting {
	t.Helper()
	ctx := context.Background()
	seen := dedup.Sighting{Marker: dedup.Marker{Key: key, State: state}, At: time.Now()}
	info := rdb.Info(ctx, "server").Val()
	_, rest, _ := strings.Cut(info, "run_id:")
	seen.Server, _, _ = strings.Cut(rest, "\r\n")
	seen.Type = rdb.Type(ctx, key).Val()
	switch seen.Type {
	case "string":
		seen.Value, _ = rdb.Get(ctx, key).Bytes()
	case "hash":
		seen.Value, _ = json.Marshal(rdb.HGetAll(ctx, key).Val())
	}
	seen.ExpiresMillis = expiryOf(t, rdb, key)
	if id, ok := strings.CutPrefix(key, "msg:"); ok && rdb.Exists(ctx, "retry:"+id).Val() == 1 {
		seen.Retry = &dedup.RetryCounter{Key: "retry:" + id, Value: rdb.Get(ctx, "retry:"+id).Val(), ExpiresMillis: expiryOf(t, rdb, "retry:"+id)}
	}
	return seen
}

// expiryOf returns the expiry in milliseconds, -1 without one, -2 without a key.
func expiryOf(t testing.TB, rdb *redis.Client, key string) int64 {
	t.Helper()
	at, err := rdb.Do(context.Background(), "pexpiretime", key).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func do(t testing.TB, rdb *redis.Client, args ...any) {
	t.Helper()
	if err := rdb.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(args, err)
	}
}

func exists(t testing.TB, rdb *redis.Client, key string) bool {
	t.Helper()
	n, err := rdb.Exists(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

func want(t testing.TB, got dedup.Outcome, result dedup.Result, words string) {
	t.Helper()
	if got.Result != result || !strings.Contains(got.Text, words) {
		t.Errorf("outcome %q: %q, want %q with %q", got.Result, got.Text, result, words)
	}
}

func TestWithoutActingCredentialsThereIsNoActor(t *testing.T) {
	t.Parallel()
	cfg := markerstest.Config(t, "redis-text-status", "redis://127.0.0.1:1/2")
	if a, err := kinds.OpenActor(cfg, markerstest.Log(t)); a != nil || err != nil {
		t.Errorf("actor %v, %v; want none", a, err)
	}
	cfg.Act.Redis.URL = secret.New("redis://u:hunter2@127.0.0.1:1/3")
	if _, err := kinds.OpenActor(cfg, markerstest.Log(t)); err == nil || !strings.Contains(err.Error(), "database 3") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("another database: %v", err)
	}
	cfg.Act.Redis.URL = secret.New("http://u:hunter2@127.0.0.1")
	if _, err := kinds.OpenActor(cfg, markerstest.Log(t)); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("no Redis URL: %v", err)
	}
	cfg.Kind = "abacus"
	if _, err := kinds.OpenActor(cfg, markerstest.Log(t)); err == nil {
		t.Error("an unknown kind was opened")
	}
}

func TestAClearDeletesExactlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	for name, c := range map[string]struct {
		before, after [][]any
		alsoRetry     bool
		result        dedup.Result
		words         string
	}{
		"a marker with an expiry": {before: [][]any{{"set", "msg:1", "processing", "px", 60000}}, result: dedup.Cleared},
		"a marker without expiry": {before: [][]any{{"set", "msg:2", "processing"}}, result: dedup.Cleared},
		"the expiry moved by 1 ms": {before: [][]any{{"set", "msg:3", "processing", "pxat", 4102444800000}},
			after: [][]any{{"pexpireat", "msg:3", 4102444800001}}, result: dedup.Changed, words: "now taken again: expires 2100-01-01 00:00:00 UTC"},
		"the expiry was removed": {before: [][]any{{"set", "msg:4", "processing", "px", 60000}}, after: [][]any{{"persist", "msg:4"}},
			result: dedup.Changed, words: "now taken again: never expires"},
		"an expiry was set": {before: [][]any{{"set", "msg:5", "processing"}}, after: [][]any{{"expire", "msg:5", 60}},
			result: dedup.Changed, words: "now taken again, or given an expiry: expires "},
		"the work was done": {before: [][]any{{"set", "msg:6", "processing", "px", 60000}}, after: [][]any{{"set", "msg:6", "done", "ex", 86400}},
			result: dedup.Changed, words: "now done since "},
		"the value is longer": {before: [][]any{{"set", "msg:7", "processing", "pxat", 4102444800000}},
			after: [][]any{{"set", "msg:7", "processing" + strings.Repeat("\x00", 1<<20), "pxat", 4102444800000}}, result: dedup.Changed, words: "unreadable (more than 512 bytes)"},
		"the type is another": {before: [][]any{{"set", "msg:8", "processing", "pxat", 4102444800000}},
			after: [][]any{{"del", "msg:8"}, {"hset", "msg:8", "processing", "1"}}, result: dedup.Changed, words: "unreadable (a hash of 1 field, sha256:"},
		"it is gone": {before: [][]any{{"set", "msg:9", "processing", "px", 60000}}, after: [][]any{{"del", "msg:9"}}, result: dedup.Gone},
		"with its retry counter": {before: [][]any{{"set", "msg:a", "processing", "px", 60000}, {"set", "retry:a", "5", "ex", 60}},
			alsoRetry: true, result: dedup.Cleared},
		"the retry counter is higher": {before: [][]any{{"set", "msg:b", "processing", "px", 60000}, {"set", "retry:b", "3", "ex", 60}},
			after: [][]any{{"set", "retry:b", "4", "ex", 60}}, alsoRetry: true, result: dedup.Changed, words: "its retry counter is now 4: expires "},
		"the retry counter is no count": {before: [][]any{{"set", "msg:b2", "processing", "px", 60000}, {"set", "retry:b2", "3", "ex", 60}},
			after: [][]any{{"set", "retry:b2", "card 4111", "ex", 60}}, alsoRetry: true, result: dedup.Changed, words: "its retry counter is now no count (9 bytes, sha256:"},
		"the value is payload": {before: [][]any{{"set", "msg:b3", "processing", "px", 60000}}, after: [][]any{{"set", "msg:b3", "card 4111", "px", 60000}},
			result: dedup.Changed, words: "now unreadable (9 bytes, sha256:"},
		"a retry counter alone": {before: [][]any{{"set", "retry:c", "5", "ex", 60}}, result: dedup.Cleared},
		"a retry counter alone that counts on": {before: [][]any{{"set", "retry:d", "5", "ex", 60}}, after: [][]any{{"set", "retry:d", "6", "ex", 60}},
			result: dedup.Changed, words: "now a count of 6: expires "},
		"a key with a binary name": {before: [][]any{{"set", "msg:\x00\xff\r\n", "processing", "px", 60000}}, result: dedup.Cleared},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range c.before {
				do(t, rdb, command...)
			}
			key := c.before[0][1].(string)
			seen := see(t, rdb, key, dedup.Processing)
			for _, command := range c.after {
				do(t, rdb, command...)
			}
			there := exists(t, rdb, key)
			var kept []dedup.Sighting
			got := a.Clear(t.Context(), seen, c.alsoRetry, func(image dedup.Sighting) error {
				kept = append(kept, image)
				return nil
			})
			want(t, got, c.result, c.words)
			if cleared := c.result == dedup.Cleared; cleared == exists(t, rdb, key) && there || cleared != (len(kept) == 1) {
				t.Errorf("the marker is there: %v; images %+v", exists(t, rdb, key), kept)
			}
			if c.result == dedup.Cleared && (string(kept[0].Value) != string(seen.Value) || kept[0].ExpiresMillis != seen.ExpiresMillis || (kept[0].Retry != nil) != c.alsoRetry) {
				t.Errorf("image %+v of %+v", kept[0], seen)
			}
			if c.result == dedup.Changed && (got.Now == nil || got.Now.Key != key) {
				t.Errorf("now %+v", got.Now)
			}
			if c.alsoRetry && exists(t, rdb, "retry:"+key[4:]) == (c.result == dedup.Cleared) {
				t.Error("the retry counter went another way than its marker")
			}
		})
	}
}

func TestAClearThatIsNotSafeIsRefused(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	do(t, rdb, "set", "msg:1", "processing", "px", 60000)
	do(t, rdb, "set", "session:1", "processing", "px", 60000)
	do(t, rdb, "set", "msg:2", "what?", "px", 60000)
	seen := see(t, rdb, "msg:1", dedup.Processing)
	foreign := seen
	foreign.Key = "session:1"
	elsewhere := seen
	elsewhere.Store = "another"
	unseen := seen
	unseen.Server = ""
	restarted := seen
	restarted.Server = strings.Repeat("0", 40)
	row := seen
	row.Type = "row"
	counter := seen
	counter.Retry = &dedup.RetryCounter{Key: "session:1", Value: "processing", ExpiresMillis: expiryOf(t, rdb, "session:1")}
	for name, c := range map[string]struct {
		seen  dedup.Sighting
		words string
	}{
		"an unknown state":           {see(t, rdb, "msg:2", dedup.StateUnknown), "cannot be decoded"},
		"a key of others":            {foreign, "no marker of this store"},
		"a marker of another store":  {elsewhere, "another"},
		"a counter of others":        {counter, "retry counter"},
		"a server that is not known": {unseen, "not known which server"},
		"another server":             {restarted, "another server answers since"},
		"a row":                      {row, "row"},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, a.Clear(t.Context(), c.seen, true, markerstest.KeepNothing), dedup.Refused, c.words)
		})
	}
	t.Run("no pre-image", func(t *testing.T) {
		got := a.Clear(t.Context(), seen, false, func(dedup.Sighting) error {
			return &dedup.Error{Kind: dedup.Unavailable, Public: "the disk is full", Err: errors.New("hunter2")}
		})
		want(t, got, dedup.Refused, "could not keep the pre-image: the disk is full")
		if strings.Contains(got.Text, "hunter2") {
			t.Error(got.Text)
		}
	})
	t.Run("its caller left", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		got := a.Clear(ctx, seen, false, func(dedup.Sighting) error { cancel(); return nil })
		want(t, got, dedup.NotDone, "stopped")
	})
	for _, key := range []string{"msg:1", "msg:2", "session:1"} {
		if !exists(t, rdb, key) {
			t.Errorf("%s was deleted", key)
		}
	}
}

func TestAnExpirySetsTheTimeToLiveOfAMarkerThatNeverExpires(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	do(t, rdb, "set", "msg:1", "processing")
	seen := see(t, rdb, "msg:1", dedup.Processing)
	before := time.Now().Add(time.Hour).UnixMilli()
	got := a.Expire(t.Context(), seen, time.Hour)
	want(t, got, dedup.ExpirySet, "expires ")
	if at := expiryOf(t, rdb, "msg:1"); at < before || at > time.Now().Add(time.Hour).UnixMilli() || got.Now.ExpiresMillis != at {
		t.Errorf("expires %d, outcome %+v", at, got.Now)
	}
	want(t, a.Expire(t.Context(), seen, time.Hour), dedup.Changed, "given an expiry")
	want(t, a.Expire(t.Context(), see(t, rdb, "msg:1", dedup.Processing), time.Hour), dedup.Refused, "has an expiry")
	want(t, a.Expire(t.Context(), seen, time.Microsecond), dedup.Refused, "at once")
	do(t, rdb, "del", "msg:1")
	want(t, a.Expire(t.Context(), seen, time.Hour), dedup.Gone, "")
}

func TestATouchDuringTheHoldEndsTheAction(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	a := actor(t, server.URL())
	do(t, rdb, "set", "msg:1", "processing")
	seen := see(t, rdb, "msg:1", dedup.Processing)
	// Deleted and taken again at the last moment: it looks as it was seen.
	got := a.Clear(t.Context(), seen, false, func(dedup.Sighting) error {
		do(t, rdb, "del", "msg:1")
		do(t, rdb, "setnx", "msg:1", "processing")
		return nil
	})
	want(t, got, dedup.Changed, "touched at this moment")
	if !exists(t, rdb, "msg:1") {
		t.Error("it was deleted")
	}
}

func TestTwoActorsClearEachOfTheSameMarkersOnce(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	const n = 500
	var seen []dedup.Sighting
	for i := range n {
		key := "msg:" + strconv.Itoa(i)
		if i%5 == 0 {
			do(t, rdb, "set", key, "processing")
		} else {
			do(t, rdb, "set", key, "processing", "px", 600000)
		}
		seen = append(seen, see(t, rdb, key, dedup.Processing))
	}
	results := [2][]dedup.Outcome{make([]dedup.Outcome, n), make([]dedup.Outcome, n)}
	var wg sync.WaitGroup
	for who := range results {
		a := actor(t, server.URL())
		next := make(chan int)
		wg.Go(func() {
			defer close(next)
			for i := range n {
				next <- i
			}
		})
		for range 24 {
			wg.Go(func() {
				for i := range next {
					results[who][i] = a.Clear(t.Context(), seen[i], false, markerstest.KeepNothing)
				}
			})
		}
	}
	wg.Wait()
	told := map[dedup.Result]int{}
	for i := range n {
		pair := []dedup.Result{results[0][i].Result, results[1][i].Result}
		slices.Sort(pair)
		if pair[0] != dedup.Cleared && pair[1] != dedup.Cleared || pair[0] == pair[1] || !slices.Contains(pair, dedup.Gone) && !slices.Contains(pair, dedup.Changed) {
			t.Errorf("marker %d: %+v and %+v", i, results[0][i], results[1][i])
		}
		told[pair[0]]++
		told[pair[1]]++
	}
	if left := rdb.DBSize(t.Context()).Val(); left != 0 || told[dedup.Cleared] != n || told[dedup.Gone]+told[dedup.Changed] != n {
		t.Errorf("%d left, told %v", left, told)
	}
	t.Logf("told %v", told)
}

func TestSixteenMarkersAreHeldAtATimeAndNoMore(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	do(t, rdb, "acl", "setuser", "actor", "on", ">secret", "~*", "&*", "+@all")
	a := actor(t, "redis://actor:secret@"+server.Addr())
	var wg sync.WaitGroup
	var mu sync.Mutex
	most := 0
	started := time.Now()
	for i := range 64 {
		key := "msg:" + strconv.Itoa(i)
		do(t, rdb, "set", key, "processing")
		seen := see(t, rdb, key, dedup.Processing)
		wg.Go(func() {
			want(t, a.Clear(t.Context(), seen, false, func(dedup.Sighting) error {
				// Each waits for the others, as long as fewer than may be are held; more than that would be seen too.
				markerstest.WaitUntil(t, "sixteen markers have been held at a time", func() bool {
					connections := strings.Count(rdb.ClientList(t.Context()).Val(), " user=actor ")
					mu.Lock()
					defer mu.Unlock()
					most = max(most, connections)
					return most >= 16
				})
				return nil
			}), dedup.Cleared, "")
		})
	}
	wg.Wait()
	if took := time.Since(started); most != 16 || took < 4*shortHold {
		t.Errorf("%d connections at most, in %s; want 16 in four holds", most, took)
	}
}
