package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

// A verdict is what a consumer found out about a delivery.
type verdict int

const (
	worked verdict = iota
	metDone
	metFlight
	failedWork
	diedInWork
	storeTrouble
	notMine
)

// A handling is one delivery in the hands of a consumer.
type handling struct {
	p    *pipe
	ctx  context.Context // ends when the consumer dies
	id   string
	copy int64
	// after is done once the ack was sent.
	after *func()
}

var background = context.Background()

// work does the work; errFailed and errDied are those of the case.
var (
	errFailed = errors.New("the work failed")
	errDied   = errors.New("the consumer died")
)

func (h handling) work() error {
	attempt := h.p.ledger.begin(h.id)
	took := h.p.workTime()
	began := time.Now()
	timer := time.NewTimer(took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.ctx.Done():
		h.p.ledger.end(h.id, h.copy, time.Since(began), false, true)
		return errDied
	}
	if h.p.fails(h.id, attempt) {
		h.p.ledger.end(h.id, h.copy, time.Since(began), true, false)
		return errFailed
	}
	h.p.ledger.end(h.id, h.copy, time.Since(began), false, false)
	return nil
}

type scheme func(h handling) (verdict, error)

func (h handling) orphaned(life time.Duration) {
	h.p.ledger.add(event{Kind: "orphan", ID: h.id, Dur: life.Microseconds()})
}

func (h handling) marked(life time.Duration) {
	h.p.ledger.add(event{Kind: "mark", ID: h.id, Dur: life.Microseconds()})
}

// textStatus: SETNX + EXPIRE, then SET done; a failure deletes.
func textStatus(claim, done time.Duration) scheme {
	return func(h handling) (verdict, error) {
		r, key := h.p.redis, h.p.key(h.id)
		first, err := r.Do(background, "SETNX", key, "processing").Bool()
		if err != nil {
			return storeTrouble, err
		}
		if !first {
			return found(r, key, "done")
		}
		if err := r.Expire(background, key, claim).Err(); err != nil {
			return storeTrouble, err
		}
		return finish(h, key, "done", claim, done)
	}
}

func found(r *redis.Client, key, done string) (verdict, error) {
	value, err := r.Get(background, key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return metFlight, nil
	case err != nil:
		return storeTrouble, err
	case strings.Contains(value, done):
		return metDone, nil
	}
	return metFlight, nil
}

// finish works and marks.
func finish(h handling, key, value string, claim, done time.Duration) (verdict, error) {
	r := h.p.redis
	switch err := h.work(); {
	case errors.Is(err, errDied):
		h.orphaned(claim)
		return diedInWork, nil
	case err != nil:
		return failedWork, r.Del(background, key).Err()
	}
	err := r.Set(background, key, value, done).Err()
	h.marked(done)
	return worked, err
}

// setNXEX: SET NX EX, then SET done EX. With renew the claim is renewed while the work goes on.
func setNXEX(claim, done, renew time.Duration) scheme {
	return func(h handling) (verdict, error) {
		r, key := h.p.redis, h.p.key(h.id)
		first, err := r.SetNX(background, key, "processing", claim).Result()
		if err != nil {
			return storeTrouble, err
		}
		if !first {
			return found(r, key, "done")
		}
		if renew > 0 {
			ctx, cancel := context.WithCancel(h.ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				t := time.NewTicker(renew)
				defer t.Stop()
				for {
					select {
					case <-ctx.Done():
						return
					case <-t.C:
						if h.p.renewExpire {
							r.Expire(background, key, claim)
						} else {
							r.Do(background, "SET", key, "processing", "XX", "EX", int(claim.Seconds()))
						}
					}
				}
			}()
			defer cancel()
			verdict, err := finishAfter(h, key, claim, done, func() { cancel(); <-ended })
			return verdict, err
		}
		return finish(h, key, "done", claim, done)
	}
}

func finishAfter(h handling, key string, claim, done time.Duration, stop func()) (verdict, error) {
	err := h.work()
	stop()
	switch {
	case errors.Is(err, errDied):
		h.orphaned(claim)
		return diedInWork, nil
	case err != nil:
		return failedWork, h.p.redis.Del(background, key).Err()
	}
	err = h.p.redis.Set(background, key, "done", done).Err()
	h.marked(done)
	return worked, err
}

// jsonStatus: GET, SET NX EX, SET json EX.
func jsonStatus(claim, done time.Duration) scheme {
	return func(h handling) (verdict, error) {
		r, key := h.p.redis, h.p.key(h.id)
		value, err := r.Get(background, key).Result()
		switch {
		case err == nil && strings.Contains(value, "success"):
			return metDone, nil
		case err == nil:
			return metFlight, nil
		case !errors.Is(err, redis.Nil):
			return storeTrouble, err
		}
		first, err := r.SetNX(background, key, "processing", claim).Result()
		if err != nil {
			return storeTrouble, err
		}
		if !first {
			return metFlight, nil
		}
		return finish(h, key, fmt.Sprintf(`{"status": "success", "result": "ok", "time": %.6f}`, float64(time.Now().UnixMicro())/1e6), claim, done)
	}
}

// flag: GET or EXISTS first, work, SET 1 EX.
func doneFlag(ask string, done time.Duration) scheme {
	return func(h handling) (verdict, error) {
		r, key := h.p.redis, h.p.key(h.id)
		var there bool
		if ask == "EXISTS" {
			n, err := r.Exists(background, key).Result()
			if err != nil {
				return storeTrouble, err
			}
			there = n > 0
		} else {
			_, err := r.Get(background, key).Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return storeTrouble, err
			}
			there = err == nil
		}
		if there {
			return metDone, nil
		}
		switch err := h.work(); {
		case errors.Is(err, errDied):
			return diedInWork, nil
		case err != nil:
			return failedWork, nil
		}
		err := r.Set(background, key, "1", done).Err()
		h.marked(done)
		return worked, err
	}
}

var claimScript = redis.NewScript(`
local v = redis.call('GET', KEYS[1])
if v then return v end
redis.call('SET', KEYS[1], 'processing', 'EX', ARGV[1])
return 'claimed'`)

// lua: one script asks and claims.
func lua(claim, done time.Duration) scheme {
	return func(h handling) (verdict, error) {
		r, key := h.p.redis, h.p.key(h.id)
		value, err := claimScript.Run(background, r, []string{key}, int(claim.Seconds())).Text()
		switch {
		case err != nil:
			return storeTrouble, err
		case value == "done":
			return metDone, nil
		case value != "claimed":
			return metFlight, nil
		}
		return finish(h, key, "done", claim, done)
	}
}

// multi: SETNX and EXPIRE in one transaction, so that a hit renews the expiry of whatever is there.
func multi(claim, done time.Duration) scheme {
	return func(h handling) (verdict, error) {
		r, key := h.p.redis, h.p.key(h.id)
		var first *redis.Cmd
		_, err := r.TxPipelined(background, func(p redis.Pipeliner) error {
			first = p.Do(background, "SETNX", key, "processing")
			p.Expire(background, key, claim)
			return nil
		})
		if err != nil {
			return storeTrouble, err
		}
		if n, _ := first.Bool(); !n {
			v, err := found(r, key, "done")
			if v == metDone {
				h.marked(claim) // the done marker ends with the claim's life now
			}
			return v, err
		}
		return finish(h, key, "done", claim, done)
	}
}

// timestamp: SET ms NX EX at the start; a hit is acked; a failure deletes.
func timestamp(life time.Duration) scheme {
	return func(h handling) (verdict, error) {
		r, key := h.p.redis, h.p.key(h.id)
		first, err := r.SetNX(background, key, fmt.Sprint(time.Now().UnixMilli()), life).Result()
		if err != nil {
			return storeTrouble, err
		}
		if !first {
			return metDone, nil
		}
		switch err := h.work(); {
		case errors.Is(err, errDied):
			return diedInWork, nil
		case err != nil:
			return failedWork, r.Del(background, key).Err()
		}
		h.marked(life)
		return worked, nil
	}
}

// statusRow: INSERT, work, UPDATE; a failure deletes the row. With conflict it is ON CONFLICT DO NOTHING of PostgreSQL.
func statusRow(insert, look, update, remove, done string) scheme {
	return func(h handling) (verdict, error) {
		db := h.p.db
		result, err := db.ExecContext(background, insert, h.id)
		var clash *mysql.MySQLError
		there := errors.As(err, &clash) && clash.Number == 1062
		if err != nil && !there {
			return storeTrouble, err
		}
		if err == nil {
			n, err := result.RowsAffected()
			if err != nil {
				return storeTrouble, err
			}
			there = n != 1 // 2 by ON DUPLICATE KEY UPDATE
		}
		if there {
			var status string
			switch err := db.QueryRowContext(background, look, h.id).Scan(&status); {
			case errors.Is(err, sql.ErrNoRows):
				return metFlight, nil
			case err != nil:
				return storeTrouble, err
			case status == done:
				return metDone, nil
			}
			return metFlight, nil
		}
		switch err := h.work(); {
		case errors.Is(err, errDied):
			h.orphaned(time.Hour)
			return diedInWork, nil
		case err != nil:
			_, err := db.ExecContext(background, remove, h.id)
			return failedWork, err
		}
		_, err = db.ExecContext(background, update, h.id)
		h.marked(24 * time.Hour)
		return worked, err
	}
}

// oneTransaction: the insert of the marker and the work are one transaction.
func oneTransaction(insert, business string) scheme {
	return func(h handling) (v verdict, err error) {
		tx, err := h.p.db.BeginTx(background, nil)
		if err != nil {
			return storeTrouble, err
		}
		defer func() {
			if v != worked {
				_ = tx.Rollback()
			}
		}()
		result, err := tx.ExecContext(background, insert, h.id)
		if err != nil {
			return storeTrouble, err
		}
		if n, err := result.RowsAffected(); err != nil {
			return storeTrouble, err
		} else if n == 0 {
			return metDone, nil
		}
		switch err := h.work(); {
		case errors.Is(err, errDied):
			return diedInWork, nil
		case err != nil:
			return failedWork, nil
		}
		if _, err := tx.ExecContext(background, business, h.id); err != nil {
			return storeTrouble, err
		}
		if err := tx.Commit(); err != nil {
			return storeTrouble, err
		}
		h.marked(24 * time.Hour)
		return worked, nil
	}
}

// ackFirst marks done only once the ack was sent.
func ackFirst(claim, done time.Duration) scheme {
	return func(h handling) (verdict, error) {
		r, key := h.p.redis, h.p.key(h.id)
		first, err := r.Do(background, "SETNX", key, "processing").Bool()
		if err != nil {
			return storeTrouble, err
		}
		if !first {
			return found(r, key, "done")
		}
		r.Expire(background, key, claim)
		switch err := h.work(); {
		case errors.Is(err, errDied):
			h.orphaned(claim)
			return diedInWork, nil
		case err != nil:
			return failedWork, r.Del(background, key).Err()
		}
		*h.after = func() {
			r.Set(background, key, "done", done)
			h.marked(done)
		}
		return worked, nil
	}
}

// waiting: what meets work in flight asks again and again until it ended.
func waiting(claim, done time.Duration) scheme {
	inner := textStatus(claim, done)
	return func(h handling) (verdict, error) {
		v, err := inner(h)
		for err == nil && v == metFlight {
			h.p.ledger.add(event{Kind: "hit", ID: h.id})
			if !sleep(h.ctx, 100*time.Millisecond) {
				return diedInWork, nil
			}
			switch value, err := h.p.redis.Get(background, h.p.key(h.id)).Result(); {
			case errors.Is(err, redis.Nil):
				return inner(h) // it failed: ours now
			case err == nil && value == "done":
				return metDone, nil
			}
		}
		return v, err
	}
}

// inProcess tries failed work again within the delivery.
func inProcess(inner scheme, tries int) scheme {
	return func(h handling) (verdict, error) {
		for n := 1; ; n++ {
			v, err := inner(h)
			if v != failedWork || err != nil || n == tries {
				return v, err
			}
			sleep(h.ctx, 100*time.Millisecond)
		}
	}
}

// lookFirst asks for the row before it inserts it.
func lookFirst(look, done string, inner scheme) scheme {
	return func(h handling) (verdict, error) {
		var status string
		switch err := h.p.db.QueryRowContext(background, look, h.id).Scan(&status); {
		case errors.Is(err, sql.ErrNoRows):
			return inner(h)
		case err != nil:
			return storeTrouble, err
		case status == done:
			return metDone, nil
		}
		return metFlight, nil
	}
}
