package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	inWork = "processing"
	isDone = "done"
)

// key is where the marker of the message is.
func (h *handling) key() string {
	if h.upper {
		return h.prefix + strings.ToUpper(h.id)
	}
	return h.prefix + h.id
}

// marking of a key: SET with an expiry, or DEL.
func (h *handling) marking(ctx context.Context, value string, claim, done time.Duration) marking {
	return marking{
		claim: claim, done: done,
		mark:   func() error { return h.redis.Set(ctx, h.key(), value, done).Err() },
		remove: func() error { return h.redis.Del(ctx, h.key()).Err() },
	}
}

// found asks what the key says that was there before.
func (h *handling) found(ctx context.Context) (verdict, error) {
	value, err := h.redis.Get(ctx, h.key()).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return metFlight, nil
	case err != nil:
		return storeTrouble, err
	case strings.Contains(value, isDone):
		return metDone, nil
	}
	return metFlight, nil
}

// claimNX claims by SETNX and EXPIRE; ok is false with a verdict if there is nothing to do.
func (h *handling) claimNX(ctx context.Context, claim time.Duration) (v verdict, ok bool, err error) {
	first, err := h.redis.Do(ctx, "SETNX", h.key(), inWork).Bool()
	if err != nil {
		return storeTrouble, false, err
	}
	if !first {
		v, err := h.found(ctx)
		return v, false, err
	}
	if err := h.redis.Expire(ctx, h.key(), claim).Err(); err != nil {
		return storeTrouble, false, err
	}
	return worked, true, nil
}

// textStatus: SETNX and EXPIRE, then SET done; a failure deletes.
func textStatus(claim, done time.Duration) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		if v, ok, err := h.claimNX(ctx, claim); !ok {
			return v, err
		}
		return h.finish(h.marking(ctx, isDone, claim, done))
	}
}

// unfinished claims, finds that a share of the messages needs no work, and leaves their claim behind.
func unfinished(inner scheme, claim time.Duration, share float64) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		if draw("unfinished"+h.id) >= share {
			return inner(ctx, h)
		}
		v, ok, err := h.claimNX(ctx, claim)
		if !ok {
			return v, err
		}
		h.orphaned(claim)
		return notMine, nil
	}
}

// ackFirst marks done only once the ack was sent.
func ackFirst(claim, done time.Duration) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		if v, ok, err := h.claimNX(ctx, claim); !ok {
			return v, err
		}
		m := h.marking(ctx, isDone, claim, done)
		switch err := h.effect(); {
		case errors.Is(err, errDied):
			h.orphaned(claim)
			return diedInWork, nil
		case err != nil:
			return failedWork, m.remove()
		}
		h.afterAck = func() {
			h.note("mark", m.mark())
			h.marked(done)
		}
		return worked, nil
	}
}

// setNXEX: SET NX EX, then SET done EX.
func setNXEX(claim, done time.Duration) scheme { return renewed(claim, done, 0, false) }

// renewed: as setNXEX, and each so often the claim is renewed while the work goes on, by EXPIRE or by SET XX.
func renewed(claim, done, each time.Duration, byExpire bool) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		first, err := h.redis.SetNX(ctx, h.key(), inWork, claim).Result()
		if err != nil {
			return storeTrouble, err
		}
		if !first {
			return h.found(ctx)
		}
		m := h.marking(ctx, isDone, claim, done)
		if each > 0 {
			m.ended = h.renewing(ctx, claim, each, byExpire)
		}
		return h.finish(m)
	}
}

// renewing renews a claim until what it returns is called, which is at once when the consumer dies.
func (h *handling) renewing(ctx context.Context, claim, each time.Duration, byExpire bool) (stop func()) {
	over := make(chan struct{})
	var renewer sync.WaitGroup
	renewer.Go(func() {
		for wait(over, each) {
			if byExpire {
				h.redis.Expire(ctx, h.key(), claim)
			} else {
				h.redis.Do(ctx, "SET", h.key(), inWork, "XX", "EX", int(claim.Seconds()))
			}
		}
	})
	return func() { close(over); renewer.Wait() }
}

// jsonStatus: GET, SET NX EX, SET of JSON EX.
func jsonStatus(claim, done time.Duration) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		value, err := h.redis.Get(ctx, h.key()).Result()
		switch {
		case err == nil && strings.Contains(value, "success"):
			return metDone, nil
		case err == nil:
			return metFlight, nil
		case !errors.Is(err, redis.Nil):
			return storeTrouble, err
		}
		first, err := h.redis.SetNX(ctx, h.key(), inWork, claim).Result()
		if err != nil {
			return storeTrouble, err
		}
		if !first {
			return metFlight, nil
		}
		text := fmt.Sprintf(`{"status": "success", "result": "ok", "time": %.6f}`, float64(now())/1e6)
		return h.finish(h.marking(ctx, text, claim, done))
	}
}

// doneFlag: GET or EXISTS first, work, SET 1 EX.
func doneFlag(ask string, done time.Duration) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		answer, err := h.redis.Do(ctx, ask, h.key()).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return storeTrouble, err
		}
		if err == nil && answer != int64(0) { // EXISTS says 0
			return metDone, nil
		}
		m := h.marking(ctx, "1", 0, done)
		m.remove = nil
		return h.finish(m)
	}
}

const claimScript = `
local v = redis.call('GET', KEYS[1])
if v then return v end
redis.call('SET', KEYS[1], 'processing', 'EX', ARGV[1])
return 'claimed'`

// lua: one script asks and claims.
func lua(claim, done time.Duration) scheme {
	script := redis.NewScript(claimScript)
	return func(ctx context.Context, h *handling) (verdict, error) {
		value, err := script.Run(ctx, h.redis, []string{h.key()}, int(claim.Seconds())).Text()
		switch {
		case err != nil:
			return storeTrouble, err
		case value == isDone:
			return metDone, nil
		case value != "claimed":
			return metFlight, nil
		}
		return h.finish(h.marking(ctx, isDone, claim, done))
	}
}

// multi: SETNX and EXPIRE in one transaction, so that a hit renews the expiry of whatever is there.
func multi(claim, done time.Duration) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		var first *redis.Cmd
		_, err := h.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
			first = p.Do(ctx, "SETNX", h.key(), inWork)
			p.Expire(ctx, h.key(), claim)
			return nil
		})
		if err != nil {
			return storeTrouble, err
		}
		if n, _ := first.Bool(); !n {
			v, err := h.found(ctx)
			if v == metDone {
				h.marked(claim) // the done marker ends with the claim's life now
			}
			return v, err
		}
		return h.finish(h.marking(ctx, isDone, claim, done))
	}
}

// timestamp: SET of milliseconds NX EX at the start; a hit is acked; a failure deletes.
func timestamp(life time.Duration) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		first, err := h.redis.SetNX(ctx, h.key(), fmt.Sprint(time.Now().UnixMilli()), life).Result()
		if err != nil {
			return storeTrouble, err
		}
		if !first {
			return metDone, nil
		}
		m := h.marking(ctx, "", 0, life)
		m.mark = nil
		return h.finish(m)
	}
}

// waiting: what meets work in flight asks again and again until it ended.
func waiting(claim, done time.Duration) scheme {
	inner := textStatus(claim, done)
	return func(ctx context.Context, h *handling) (verdict, error) {
		v, err := inner(ctx, h)
		for err == nil && v == metFlight {
			h.ledger.add(event{Kind: kindHit, ID: h.id})
			if !wait(h.died, 100*time.Millisecond) {
				return diedInWork, nil
			}
			switch value, err := h.redis.Get(ctx, h.key()).Result(); {
			case errors.Is(err, redis.Nil):
				return inner(ctx, h) // it failed: ours now
			case err == nil && value == isDone:
				return metDone, nil
			}
		}
		return v, err
	}
}
