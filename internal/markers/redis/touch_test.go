package redis

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/known"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// touchBench is a private Redis with markers of a known past.
type touchBench struct {
	t      *testing.T
	store  *store
	rdb    *redis.Client
	server *servers.Redis
}

// key returns the key of the marker with this id.
func (b *touchBench) key(id string) string {
	b.t.Helper()
	key, ok := b.store.layout.KeyOf(id)
	if !ok {
		b.t.Fatalf("%q is no id", id)
	}
	return key
}

func newTouchBench(t *testing.T, preset string, args ...string) *touchBench {
	t.Helper()
	server := serverstest.Redis(t, args...)
	cfg, _ := markers.Preset(preset)
	cfg.Name, cfg.Redis.URL, cfg.Sweep.Duty = "shop", secret.New(server.URL()), 1
	opened, err := Strings().Open(cfg.WithDefaults(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	// What consumers read is seen; our own clients ask for CLIENT NO-TOUCH where the server knows it.
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _, _ = opened.Close(), rdb.Close() })
	return &touchBench{t, opened.(*store), rdb, server}
}

// put writes done markers with this value, all done for age ago and last touched idle ago.
func (b *touchBench) put(prefix string, n int, value string, age, idle time.Duration) {
	b.t.Helper()
	ctx := b.t.Context()
	b.rdb.Set(ctx, "payload", value, 0)
	dump, err := b.rdb.Dump(ctx, "payload").Result()
	if err != nil {
		b.t.Fatal(err)
	}
	left := b.store.layout.Config.TTL.Done - age
	pipe := b.rdb.Pipeline()
	for i := range n {
		pipe.Do(ctx, "restore", b.key(fmt.Sprintf("%s-%d", prefix, i)), left.Milliseconds(), dump, "idletime", int64(idle.Seconds()))
	}
	pipe.Del(ctx, "payload")
	if _, err := pipe.Exec(ctx); err != nil {
		b.t.Fatal(err)
	}
}

// pass walks once, as if the server had been running for a time.
func (b *touchBench) pass(running time.Duration) *dedup.Touched {
	b.t.Helper()
	w := newWalk(b.store.layout, b.store.servers)
	w.touch.own, w.touch.running = b.store.own, running
	if err := w.run(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return w.tally.pass.Touched
}

const week = 7 * 24 * time.Hour

func TestMarkersThatWereAskedForAgainAreCountedExactly(t *testing.T) {
	for preset, value := range map[string]string{"redis-text-status": "done", "redis-json-status": `{"status": "success", "result": null, "time": 1734400000.123456}`, "redis-timestamp": "1734400000123"} {
		t.Run(preset, func(t *testing.T) {
			b := newTouchBench(t, preset)
			want := int64(0)
			for i := range 150 {
				age := touchAge + time.Minute + time.Duration(rand.Int64N(int64(20*time.Hour)))
				age = age.Truncate(time.Second)
				b.put(fmt.Sprintf("quiet%d", i), 5, value, age, age)
				b.put(fmt.Sprintf("hit%d", i), 2, value, age, time.Duration(rand.Int64N(int64(age-10*time.Second))))
				want += 2
			}
			b.put("young", 400, value, 9*time.Minute, 0)
			b.put("odd", 100, value, -time.Hour, 0) // lives longer than consumers let it
			for range 3 {
				// Our own walk changes nothing.
				if got := b.pass(week); got == nil || got.Sampled != 1050 || got.Touched != want || got.Why != "" {
					t.Fatalf("%+v, want %d of 1050", got, want)
				}
			}
			// What looks without asking changes nothing; a failing SETNX and a GET are what consumers do.
			key := func(i int) string { return b.key(fmt.Sprintf("quiet%d-0", i)) }
			for i := range 20 {
				b.rdb.Exists(t.Context(), key(i))
				b.rdb.TTL(t.Context(), key(i))
				b.rdb.Type(t.Context(), key(i))
			}
			for i := 20; i < 30; i++ {
				b.rdb.SetNX(t.Context(), key(i), "processing", 300*time.Second)
				b.rdb.Get(t.Context(), key(i+10))
			}
			if got := b.pass(week); got.Touched != want+20 {
				t.Errorf("%+v, want %d", got, want+20)
			}
			// What the dashboard itself reads is left out.
			ids := []string{"quiet40-0", "quiet41-0"}
			if _, err := b.store.Find(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
			if _, err := b.store.Look(t.Context(), []string{key(42)}); err != nil {
				t.Fatal(err)
			}
			if got := b.pass(week); got.Touched != want+20 || got.Sampled != 1047 {
				t.Errorf("after reads of our own: %+v", got)
			}
		})
	}
}

func TestTheSampleOfDoneMarkersIsBounded(t *testing.T) {
	b := newTouchBench(t, "redis-text-status")
	b.put("quiet", 9000, "done", time.Hour, time.Hour)
	b.put("hit", 1000, "done", time.Hour, time.Minute)
	before := commandCalls(t, b.rdb)
	got := b.pass(week)
	asked := commandCalls(t, b.rdb) - before
	if got.Sampled != touchSample || got.Touched < 120 || got.Touched > 290 || asked != 2*touchSample {
		t.Errorf("%+v of 10 %%, by %d commands", got, asked)
	}
}

// commandCalls counts the OBJECT commands that a server has run.
func commandCalls(t *testing.T, rdb *redis.Client) int {
	t.Helper()
	n := 0
	fields := client.ParseInfo(rdb.Info(t.Context(), "commandstats").Val())
	for _, name := range []string{"object|idletime", "object|refcount"} {
		var some int
		_, _ = fmt.Sscan(client.Calls(fields["cmdstat_"+name]), &some)
		n += some
	}
	return n
}

func TestWhereIdleTimesTellNothingThatIsSaid(t *testing.T) {
	do := func(args ...any) func(*touchBench) {
		return func(b *touchBench) {
			if err := b.rdb.Do(b.t.Context(), args...).Err(); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		prepare func(*touchBench)
		value   string
		running time.Duration
		want    string
	}{
		"least-frequently-used eviction":      {do("config", "set", "maxmemory-policy", "allkeys-lfu"), "done", week, "allkeys-lfu keeps no idle times"},
		"a replica":                           {do("replicaof", "127.0.0.1", "1"), "done", week, "is a replica"},
		"values that keys share":              {nil, "7", week, "shares between keys"},
		"a server that restarted":             {nil, "done", 0, "running for too short a time"},
		"one that restarted since they ended": {nil, "done", 30 * time.Minute, "running for too short a time"},
		"too much that we have read": {func(b *touchBench) {
			for i := range known.MostReads + 1 {
				b.store.own.Add(fmt.Sprint(i))
			}
		}, "done", week, "itself has read too many"},
		"a server that is saving": {func(b *touchBench) {
			do("config", "set", "rdb-key-save-delay", "1000000")(b)
			do("bgsave")(b)
		}, "done", week, "is saving its data"},
		"an account without the right": {func(b *touchBench) {
			do("acl", "setuser", "watcher", "on", ">pw", "~*", "+@all", "-object")(b)
			as := markers.Redis{URL: secret.New("redis://watcher:pw@" + b.server.Addr())}
			options, err := client.Options(as)
			if err != nil {
				b.t.Fatal(err)
			}
			old := b.store.servers
			b.store.servers = client.Open(as, options)
			b.t.Cleanup(func() { _ = old.Close() })
		}, "done", week, "grant it +object|idletime +object|refcount"},
		"nothing that is old enough": {func(b *touchBench) { b.rdb.FlushAll(b.t.Context()) }, "done", week, "no done marker is 10 minutes old"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTouchBench(t, "redis-text-status")
			b.put("hit", 20, tt.value, time.Hour, time.Minute)
			if tt.prepare != nil {
				tt.prepare(b)
			}
			got := b.pass(tt.running)
			if fields := client.ParseInfo(b.rdb.Info(t.Context(), "server").Val()); fields["server_name"] == "valkey" && strings.Contains(tt.want, "shares") {
				if got == nil || got.Why != "" || got.Touched != 20 { // each key has a value of its own there
					t.Errorf("%+v", got)
				}
				return
			}
			if got == nil || !strings.Contains(got.Why, tt.want) || got.Sampled != 0 || got.Touched != 0 {
				t.Errorf("%+v, want %q", got, tt.want)
			}
		})
	}
}

func TestAnAccountWithTheDocumentedRightsMayAskForIdleTimes(t *testing.T) {
	b := newTouchBench(t, "redis-text-status")
	b.put("hit", 20, "done", time.Hour, time.Minute)
	rules := strings.Fields("acl setuser watcher on >pw resetkeys resetchannels -@all +ping +select +info +time +dbsize +scan +pexpiretime +getrange +object|idletime +object|refcount %R~msg:* %R~retry:*")
	args := make([]any, len(rules))
	for i, r := range rules {
		args[i] = r
	}
	if err := b.rdb.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	old := b.rdb
	b.rdb = redis.NewClient(&redis.Options{Addr: b.server.Addr(), Username: "watcher", Password: "pw", DisableIdentity: true})
	t.Cleanup(func() { _, _ = old.Close(), b.rdb.Close() })
	if got := b.pass(week); got.Touched != 20 || got.Why != "" {
		t.Errorf("%+v", got)
	}
}

func TestOtherSchemesTellNothingByIdleTimes(t *testing.T) {
	b := newTouchBench(t, "redis-flag")
	b.put("hit", 20, "1", time.Hour, time.Minute)
	if got := b.pass(week); got != nil {
		t.Errorf("%+v", got)
	}
}
