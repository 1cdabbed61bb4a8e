package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/known"
	"dedup-dashboard/internal/markers/redis/layout"
)

const (
	// touchSample is how many done markers a pass looks at: three commands of about a microsecond for each.
	touchSample = 2000
	// touchAge is how long a marker must have been done: a sooner sample would miss what still comes.
	touchAge = 10 * time.Minute
	// touchSlack is how much later than it was done a marker must have been touched. Redis counts idle time in whole seconds
	// on a clock that it moves once a second.
	touchSlack = 3 * time.Second
	// sharedRefs is the count of references of a value that the server shares between keys: OBJ_SHARED_REFCOUNT in Redis' server.h.
	sharedRefs = 1<<31 - 1
)

// touch samples done markers in a pass and tells how many of them were asked for again. A failing SETNX or SET NX and a GET
// move an object's idle time, EXISTS, TTL, OBJECT and SCAN do not (LOOKUP_NOTOUCH in Redis' db.c).
type touch struct {
	// able is whether the scheme's consumers touch a marker that they meet.
	able    bool
	ttl     time.Duration
	own     *known.Reads
	offered int
	keys    []string
	// found adds up what the samples of all servers tell; sampled says that there was one.
	found   dedup.Touched
	sampled bool
	// running, if set, takes the place of how long the server has been running.
	running time.Duration
}

func newTouch(l *layout.Layout) *touch {
	t := &touch{ttl: l.Config.TTL.Done}
	switch l.Config.Preset {
	case "redis-json-status", "redis-text-status", "redis-timestamp":
		t.able = l.LongLived != "" && t.ttl > touchAge
	}
	return t
}

// offer takes a marker that its life has told to be done into the sample, each with the same chance. Its value was not read.
func (t *touch) offer(key string, e expiry) {
	if !t.able || t.age(e) < touchAge || t.own.Has(key) {
		return
	}
	t.offered++
	if len(t.keys) < touchSample {
		t.keys = append(t.keys, key)
	} else if i := rand.IntN(t.offered); i < touchSample {
		t.keys[i] = key
	}
}

// age is how long a marker has been done; negative when it lives longer than consumers let it.
func (t *touch) age(e expiry) time.Duration {
	return t.ttl - time.Duration(e.at-e.now)*time.Millisecond
}

// settle looks at the sample of one server, and makes room for that of the next.
func (t *touch) settle(ctx context.Context, conn *redis.Conn, now client.Info, b *expiryBatch) error {
	keys := t.keys
	t.keys, t.offered, t.sampled = nil, 0, t.sampled || len(keys) > 0
	running := t.running
	if n := now.Number("uptime_in_seconds"); n != nil && running == 0 {
		running = time.Duration(*n) * time.Second
	}
	if why := t.refusal(now); why != "" {
		t.found.Why = why
	}
	for rest := keys; len(rest) > 0 && t.found.Why == ""; {
		n := min(len(rest), maxPipeline/3)
		if err := t.ask(ctx, conn, rest[:n], running-time.Minute, b, &t.found); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// result is what the samples came to; nil where the scheme does not allow to tell. Where one server cannot tell, all of them do not.
func (t *touch) result() *dedup.Touched {
	if !t.able {
		return nil
	}
	out := t.found
	switch {
	case out.Why != "":
		out.Sampled, out.Touched = 0, 0
	case out.Sampled == 0 && t.sampled:
		out.Why = "the server has been running for too short a time: what was asked for before it started does not show"
	case out.Sampled == 0:
		out.Why = "no done marker is 10 minutes old"
	}
	return &out
}

// refusal says why idle times tell nothing on this server now.
func (t *touch) refusal(now client.Info) string {
	switch {
	case t.own.Overflowed():
		return "the dashboard itself has read too many done markers"
	case now["role"] != "master":
		return "the server is a replica: what consumers ask its primary for does not show on it"
	case now["second_repl_offset"] != "" && now["second_repl_offset"] != "-1":
		return "the server was a replica before: it may have loaded its markers after they were done"
	case now["loading"] == "1":
		return "the server is loading its data"
	case now["rdb_bgsave_in_progress"] == "1", now["aof_rewrite_in_progress"] == "1":
		return "the server is saving its data, and keeps no idle times meanwhile"
	case strings.HasSuffix(now["maxmemory_policy"], "lfu"):
		return "the server's maxmemory-policy " + now["maxmemory_policy"] + " keeps no idle times"
	}
	return ""
}

// ask looks at a few markers. The idle time stands before the expiry: a marker that is written in between goes with the
// later expiry, and is too young then.
func (t *touch) ask(ctx context.Context, conn *redis.Conn, keys []string, oldest time.Duration, b *expiryBatch, out *dedup.Touched) error {
	idle, refs, ends := make([]*redis.IntCmd, len(keys)), make([]*redis.IntCmd, len(keys)), make([]*redis.IntCmd, len(keys))
	pipe := conn.Pipeline()
	for i, key := range keys {
		idle[i] = redis.NewIntCmd(ctx, "object", "idletime", key)
		refs[i] = redis.NewIntCmd(ctx, "object", "refcount", key)
		ends[i] = redis.NewIntCmd(ctx, b.command, key)
		for _, cmd := range []*redis.IntCmd{idle[i], refs[i], ends[i]} {
			_ = pipe.Process(ctx, cmd)
		}
	}
	clock := pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil && !client.IsAnswer(err, "") && err != redis.Nil {
		return err
	}
	now, err := clock.Result()
	if err != nil {
		return err
	}
	for i := range keys {
		for _, cmd := range []*redis.IntCmd{idle[i], refs[i]} {
			switch err := cmd.Err(); {
			case client.IsAnswer(err, "NOPERM"):
				out.Why = "the account may not ask for idle times: grant it +object|idletime +object|refcount"
				return nil
			case err != nil && err != redis.Nil:
				out.Why = "the server does not tell idle times: " + codec.Printable(err.Error())
				return nil
			}
		}
		if refs[i].Val() == sharedRefs {
			out.Why = "the markers' values are objects that the server shares between keys, and their idle times with them"
			return nil
		}
		age := t.age(expiry{b.absolute(ends[i].Val(), now.UnixMilli()), now.UnixMilli()})
		if idle[i].Err() != nil || ends[i].Err() != nil || ends[i].Val() < 0 || age < touchAge || age > oldest || t.own.Has(keys[i]) {
			continue
		}
		out.Sampled++
		if time.Duration(idle[i].Val())*time.Second < age-touchSlack {
			out.Touched++
		}
	}
	return nil
}

// sampled settles the sample of a server when it was walked over.
func (w *walk) sampled(ctx context.Context) error {
	if !w.touch.able {
		return nil
	}
	started := time.Now()
	now, err := readInfo(ctx, w.conn)
	if err != nil {
		return err
	}
	asked := len(w.touch.keys)
	err = w.touch.settle(ctx, w.conn, now, w.expiries)
	w.pace.Spent(time.Since(started), 0, 100*asked)
	if err != nil {
		return fmt.Errorf("ask for idle times: %w", err)
	}
	return w.pace.Rest(ctx)
}
