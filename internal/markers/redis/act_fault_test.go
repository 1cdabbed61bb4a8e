package redis_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	redisstore "dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/lab/markerstest"
)

// cutter stands between an actor and its Redis and harms the first EXEC that passes.
type cutter struct {
	t        *testing.T
	backend  string
	listener net.Listener
	used     atomic.Bool
	wg       sync.WaitGroup
	// before, if set, is called instead of sending EXEC on; then the connection is cut.
	before func()
	// behind, if set, is called when EXEC was answered; then the connection is cut without the answer.
	behind func()
	// mute keeps the connection open without the answer.
	mute bool
	// rewrite, if set, changes what the client sends.
	rewrite func([]byte) []byte
}

// start listens and returns the address to dial.
func (c *cutter) start() string {
	l, err := (&net.ListenConfig{}).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.listener = l
	ended := make(chan struct{})
	c.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.serve(client, ended) })
		}
	})
	c.t.Cleanup(func() {
		_ = l.Close()
		close(ended)
		c.wg.Wait()
	})
	return l.Addr().String()
}

func (c *cutter) serve(client net.Conn, ended chan struct{}) {
	defer client.Close()
	server, err := net.Dial("tcp", c.backend)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(c.t.Context(), func() { _ = client.Close() })
	defer stop()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		request := buffer[:n]
		if c.rewrite != nil {
			request = c.rewrite(request)
		}
		harm := bytes.Contains(request, []byte("\r\nexec\r\n")) && (c.before != nil || c.behind != nil) && c.used.CompareAndSwap(false, true)
		if harm && c.before != nil {
			c.before()
			return
		}
		if _, err := server.Write(request); err != nil {
			return
		}
		answer := make([]byte, 64<<10)
		// Redis answers what is asked at once in one piece as long as it is short.
		m, err := server.Read(answer)
		if err != nil {
			return
		}
		if harm {
			c.behind()
			if c.mute {
				<-ended
			}
			return
		}
		if _, err := client.Write(answer[:m]); err != nil {
			return
		}
	}
}

func TestALostAnswerIsReadAgainAndNeverGuessed(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	const expires = 4102444800000
	write := func(args ...any) func() { return func() { do(t, rdb, args...) } }
	nothing := func() {}
	for name, c := range map[string]struct {
		marker         []any
		before, behind func()
		mute           bool
		result         dedup.Result
		words          string
		there          bool
	}{
		"it was cleared": {marker: []any{"pxat", expires}, behind: nothing,
			result: dedup.UnknownOutcome, words: "closed the connection: it stopped or restarted, or it expects TLS (rediss://)), and the marker is gone now: it was cleared, or a consumer deleted it"},
		"it was cleared and the answer never comes": {marker: []any{"pxat", expires}, behind: nothing, mute: true,
			result: dedup.UnknownOutcome, words: "did not answer in time"},
		"it was not cleared": {marker: []any{"pxat", expires}, before: nothing,
			result: dedup.NotDone, words: "the marker is there as it was seen", there: true},
		"it was cleared and taken again": {marker: []any{"pxat", expires}, behind: write("set", "msg:1", "processing", "pxat", expires+1),
			result: dedup.UnknownOutcome, words: "it is now taken again: expires 2100", there: true},
		"it was cleared and done by another": {marker: []any{"pxat", expires}, behind: write("set", "msg:1", "done", "ex", 86400),
			result: dedup.UnknownOutcome, words: "it is now done since ", there: true},
		"one without expiry is there": {before: nothing,
			result: dedup.UnknownOutcome, words: "it was not cleared, or taken again since", there: true},
	} {
		t.Run(name, func(t *testing.T) {
			do(t, rdb, append([]any{"set", "msg:1", "processing"}, c.marker...)...)
			cut := &cutter{t: t, backend: server.Addr(), before: c.before, behind: c.behind, mute: c.mute}
			got := actor(t, "redis://"+cut.start()).Clear(t.Context(), see(t, rdb, "msg:1", dedup.Processing), false, markerstest.KeepNothing)
			want(t, got, c.result, c.words)
			if exists(t, rdb, "msg:1") != c.there || (got.Now != nil) != c.there {
				t.Errorf("there %v, now %+v", exists(t, rdb, "msg:1"), got.Now)
			}
		})
	}
	t.Run("an expiry that was set is recognised", func(t *testing.T) {
		do(t, rdb, "set", "msg:1", "processing")
		cut := &cutter{t: t, backend: server.Addr(), behind: nothing}
		got := actor(t, "redis://"+cut.start()).Expire(t.Context(), see(t, rdb, "msg:1", dedup.Processing), time.Hour)
		want(t, got, dedup.ExpirySet, "expires ")
	})
	t.Run("an expiry that was not set is not claimed", func(t *testing.T) {
		do(t, rdb, "set", "msg:1", "processing")
		cut := &cutter{t: t, backend: server.Addr(), before: nothing}
		got := actor(t, "redis://"+cut.start()).Expire(t.Context(), see(t, rdb, "msg:1", dedup.Processing), time.Hour)
		want(t, got, dedup.UnknownOutcome, "never expires")
	})
}

func TestARestoreIsClaimedOnlyWhenItReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	const expires = 4102444800000
	image := func(t *testing.T, args ...any) dedup.Sighting {
		do(t, rdb, append([]any{"set", "msg:1", "processing"}, args...)...)
		return cleared(t, actor(t, server.URL()), see(t, rdb, "msg:1", dedup.Processing), false)
	}
	for name, c := range map[string]struct {
		marker []any
		cut    *cutter
		result dedup.Result
		words  string
	}{
		"the answer was lost": {[]any{"pxat", expires}, &cutter{behind: func() {}}, dedup.Restored, ""},
		"the answer was lost and one without expiry is there": {nil, &cutter{behind: func() {}}, dedup.UnknownOutcome,
			"it was restored, or a consumer took it"},
		"EXEC was lost": {[]any{"pxat", expires}, &cutter{before: func() {}}, dedup.UnknownOutcome, "there is no marker now"},
		"a digit of the expiry was changed on its way": {[]any{"pxat", expires}, &cutter{rewrite: func(b []byte) []byte {
			return bytes.Replace(b, []byte("4102444800000"), []byte("4102444800001"), 1)
		}}, dedup.UnknownOutcome, "the store agreed, but it is now taken again: expires 2100"},
		"the value was changed on its way": {[]any{"pxat", expires}, &cutter{rewrite: func(b []byte) []byte {
			return bytes.Replace(b, []byte("processing"), []byte("processinG"), 1)
		}}, dedup.UnknownOutcome, "unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			i := image(t, c.marker...)
			c.cut.t, c.cut.backend = t, server.Addr()
			want(t, actor(t, "redis://"+c.cut.start()).Restore(t.Context(), i), c.result, c.words)
			do(t, rdb, "del", "msg:1")
		})
	}
}

func TestAnotherServerAfterARestartIsRefused(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	a := actor(t, server.URL())
	do(t, rdb, "set", "msg:1", "processing", "ex", 300)
	seen := see(t, rdb, "msg:1", dedup.Processing)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, a.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, "another server answers since")
	again := see(t, rdb, "msg:1", dedup.Processing)
	if again.ExpiresMillis != seen.ExpiresMillis {
		t.Fatalf("the marker did not survive: %+v", again)
	}
	cut := &cutter{t: t, backend: server.Addr(), before: func() {
		if err := server.Restart(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	want(t, actor(t, "redis://"+cut.start()).Clear(t.Context(), again, false, markerstest.KeepNothing), dedup.UnknownOutcome, "another server answers since")
	cut = &cutter{t: t, backend: server.Addr(), behind: server.Kill}
	want(t, actor(t, "redis://"+cut.start()).Clear(t.Context(), see(t, rdb, "msg:1", dedup.Processing), false, markerstest.KeepNothing),
		dedup.UnknownOutcome, "it could not be read again")
	want(t, a.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.NotDone, "refused the connection: check that it runs and that act.redis.url names")
}

// within returns a keep that harms the server between the comparison and the act.
func within(t *testing.T, rdb *redis.Client, command ...any) func(dedup.Sighting) error {
	return func(dedup.Sighting) error {
		do(t, rdb, command...)
		return nil
	}
}

func TestAServerThatCannotWriteSaysWhyAndWhatToDo(t *testing.T) {
	t.Parallel()
	t.Run("a replica", func(t *testing.T) {
		server, rdb := markerstest.StartRedis(t)
		a := actor(t, server.URL())
		do(t, rdb, "set", "msg:1", "processing", "ex", 300)
		seen := see(t, rdb, "msg:1", dedup.Processing)
		want(t, a.Clear(t.Context(), seen, false, within(t, rdb, "replicaof", "127.0.0.1", "1")), dedup.Refused, "(READONLY): point act.redis.url at its primary")
		want(t, a.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, "the server is a replica")
		want(t, a.Restore(t.Context(), seen), dedup.Refused, "the server is a replica")
		if !exists(t, rdb, "msg:1") {
			t.Error("it was deleted")
		}
	})
	t.Run("too few replicas", func(t *testing.T) {
		server, rdb := markerstest.StartRedis(t)
		do(t, rdb, "set", "msg:1", "processing", "ex", 300)
		seen := see(t, rdb, "msg:1", dedup.Processing)
		do(t, rdb, "config", "set", "min-replicas-to-write", 1)
		want(t, actor(t, server.URL()).Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, "(NOREPLICAS)")
	})
	// Redis 7 carries out a DEL without memory, but queues nothing behind MULTI (processCommand in its server.c); Redis 8 queues what
	// needs no memory.
	t.Run("no memory", func(t *testing.T) {
		server, rdb := markerstest.StartRedis(t)
		a := actor(t, server.URL())
		do(t, rdb, "set", "msg:1", "processing", "ex", 300)
		do(t, rdb, "set", "msg:2", "processing", "ex", 300)
		image := cleared(t, a, see(t, rdb, "msg:1", dedup.Processing), false)
		seen := see(t, rdb, "msg:2", dedup.Processing)
		do(t, rdb, "config", "set", "maxmemory-policy", "noeviction", "maxmemory", 1)
		got := a.Clear(t.Context(), seen, false, markerstest.KeepNothing)
		if got.Result != dedup.Cleared {
			want(t, got, dedup.Refused, "takes no transactions (OOM)")
		}
		want(t, a.Restore(t.Context(), image), dedup.Refused, "(OOM)")
		if exists(t, rdb, "msg:1") || exists(t, rdb, "msg:2") == (got.Result == dedup.Cleared) {
			t.Error("something was done")
		}
	})
	t.Run("a cluster", func(t *testing.T) {
		server, _ := markerstest.StartRedis(t, "--cluster-enabled", "yes")
		seen := dedup.Sighting{Marker: dedup.Marker{Key: "msg:1", State: dedup.Processing}, Server: "x", Type: "string", ExpiresMillis: 4102444800000}
		want(t, actor(t, server.URL()).Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, "Redis Cluster")
	})
	t.Run("loading", func(t *testing.T) { loading(t) })
	t.Run("no password, wrong password", func(t *testing.T) {
		server, _ := markerstest.StartRedis(t, "--requirepass", "right")
		seen := dedup.Sighting{Marker: dedup.Marker{Key: "msg:1", State: dedup.Processing}, Server: "x", Type: "string", ExpiresMillis: 1}
		want(t, actor(t, server.URL()).Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, "(NOAUTH): write it into act.redis.url")
		got := actor(t, "redis://:hunter2@"+server.Addr()).Clear(t.Context(), seen, false, markerstest.KeepNothing)
		want(t, got, dedup.Refused, "(WRONGPASS): check act.redis.url")
		if strings.Contains(got.Text, "hunter2") {
			t.Error(got.Text)
		}
	})
	t.Run("a server that hangs", func(t *testing.T) {
		server, rdb := markerstest.StartRedis(t)
		do(t, rdb, "set", "msg:1", "processing", "ex", 300)
		seen := see(t, rdb, "msg:1", dedup.Processing)
		do(t, rdb, "client", "pause", 60000, "all")
		want(t, actor(t, server.URL()).Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.NotDone, "did not answer in time")
	})
}

// loading lets a server load slowly and clears meanwhile.
func loading(t *testing.T) {
	server, rdb := markerstest.StartRedis(t, "--enable-debug-command", "yes")
	fillMarkers(t, rdb, markerstest.Mix{Processing: 20000})
	seen := see(t, rdb, "msg:busy-1", dedup.Processing)
	do(t, rdb, "config", "set", "key-load-delay", 1000, "loading-process-events-interval-bytes", 1024)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = markerstest.Client(t, server.URL()).Do(t.Context(), "debug", "reload").Err()
	}()
	for rdb.Ping(t.Context()).Err() == nil {
		select {
		case <-ended:
			t.Fatal("it has loaded already")
		case <-time.After(time.Millisecond):
		}
	}
	want(t, actor(t, server.URL()).Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.NotDone, "is loading its data from disk (LOADING)")
	server.Kill()
	<-ended
}

// actingRules reads the rules of the acting account's line below the heading in docs/stores.md.
func actingRules(t *testing.T, heading string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## An account that may change markers")
	_, below, found := strings.Cut(section, heading)
	_, line, there := strings.Cut(below, "ACL SETUSER dashboard-act ")
	if !ok || !found || !there {
		t.Fatalf("docs/stores.md has no ACL line for acting below %q", heading)
	}
	line, _, _ = strings.Cut(line, "\n")
	return strings.Fields(line)
}

func TestTheDocumentedRightsToActSufficeAndEachIsNeeded(t *testing.T) {
	t.Parallel()
	for heading, args := range map[string][]string{"Redis 7.0": nil, "Redis 6:": {"--rename-command", "PEXPIRETIME", ""}} {
		t.Run(heading, func(t *testing.T) {
			server, rdb := markerstest.StartRedis(t, args...)
			rules := actingRules(t, heading)
			url := "redis://dashboard-act:PASSWORD@" + server.Addr() + "/0"
			if got := actAll(t, rdb, url, rules, args != nil); strings.Trim(got, "\n") != "" {
				t.Errorf("with every rule: %s", got)
			}
			for _, rule := range rules {
				if !strings.HasPrefix(rule, "+") && !strings.HasPrefix(rule, "~") && !strings.HasPrefix(rule, "&") || rule == "+select" {
					continue
				}
				got := actAll(t, rdb, url, slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return r == rule }), args != nil)
				if !strings.Contains(got, rule) || !strings.Contains(got, "NOPERM") {
					t.Errorf("without %s: %s", rule, got)
				}
			}
		})
	}
}

// actAll tries every action with the rules, and returns the words of those that failed, each checked to have done
// nothing.
func actAll(t *testing.T, rdb *redis.Client, url string, rules []string, old bool) string {
	t.Helper()
	do(t, rdb, "flushall")
	args := []any{"acl", "setuser", "dashboard-act", "reset"}
	for _, r := range rules {
		args = append(args, r)
	}
	do(t, rdb, args...)
	a := actor(t, url)
	locks := actorOf(t, lockConfig(t, url), url)
	redisstore.HoldFor(a, 0)
	redisstore.HoldFor(locks, 0)
	do(t, rdb, "set", "msg:1", "processing", "ex", 300)
	do(t, rdb, "set", "retry:1", "5", "ex", 300)
	do(t, rdb, "set", "msg:2", "processing")
	do(t, rdb, "hset", "lock:1", "a:1", "1")
	do(t, rdb, "pexpire", "lock:1", 300000)
	var words []string
	note := func(o dedup.Outcome, key string, there bool) bool {
		t.Helper()
		if o.Result == dedup.Refused && exists(t, rdb, key) == there {
			words = append(words, o.Text)
			return false
		}
		if !slices.Contains([]dedup.Result{dedup.Cleared, dedup.ExpirySet, dedup.Restored}, o.Result) {
			t.Errorf("%s: %+v", key, o)
		}
		return true
	}
	roundTrip := func(a markers.Actor, key string) {
		seen := seeOld(t, rdb, key, old)
		if key == "msg:1" {
			seen.Retry = &dedup.RetryCounter{Key: "retry:1", Value: "5", ExpiresMillis: seeOld(t, rdb, "retry:1", old).ExpiresMillis}
		}
		image := seen
		if note(a.Clear(t.Context(), seen, true, func(i dedup.Sighting) error { image = i; return nil }), key, true) {
			note(a.Restore(t.Context(), image), key, false)
		}
	}
	roundTrip(a, "msg:1")
	roundTrip(locks, "lock:1")
	note(a.Expire(t.Context(), seeOld(t, rdb, "msg:2", old), time.Hour), "msg:2", true)
	return strings.Join(words, "\n")
}
