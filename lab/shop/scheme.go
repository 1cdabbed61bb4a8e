package shop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// The times to live of the schemes, and the number of failures after which text-status acks without the work.
const (
	processingTTL = 300 * time.Second
	doneTTL       = 86400 * time.Second
	maxRetries    = 5
)

// A claim is what a consumer learns when it asks whether it may work on a message.
type claim int

const (
	claimed claim = iota
	alreadyDone
	inFlight
	// lostRace is an in-flight hit that json-status takes for a duplicate and acks.
	lostRace
	// present is a hit on a marker that does not say whether the work was done, and is acked.
	present
	// diedHalfway is a claim whose process ended between SETNX and EXPIRE.
	diedHalfway
)

// A scheme keeps the markers of one pipeline.
type scheme interface {
	// claim asks for the message; die makes the process end between the two commands of a claim that has two.
	claim(ctx context.Context, id string, die bool) (claim, error)
	// done marks the message as processed.
	done(ctx context.Context, id string) error
	// failed releases the message after a failure; giveUp says that the delivery must be acked all the same.
	failed(ctx context.Context, id string) (giveUp bool, err error)
}

func newScheme(name SchemeName, client *redis.Client) scheme {
	switch name {
	case JSONStatus:
		return jsonStatus{client}
	case Timestamp:
		return timestamp{client}
	}
	return textStatus{client}
}

// textStatus sends each command by itself, in the order in which the consumers that it stands for do: the gaps
// between the commands are where its hazards come from.
type textStatus struct{ redis *redis.Client }

func (s textStatus) claim(ctx context.Context, id string, die bool) (claim, error) {
	key := "msg:" + id
	// The command SETNX itself, as the consumers that this stands for send it: command statistics tell it from SET NX.
	first, err := s.redis.Do(ctx, "SETNX", key, "processing").Bool()
	if err != nil {
		return 0, fmt.Errorf("claim %s: %w", key, err)
	}
	if first {
		if die {
			return diedHalfway, nil
		}
		if err := s.redis.Expire(ctx, key, processingTTL).Err(); err != nil {
			return 0, fmt.Errorf("limit the claim %s: %w", key, err)
		}
		return claimed, nil
	}
	state, err := s.redis.Get(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("read %s: %w", key, err)
	}
	if state == "done" {
		return alreadyDone, nil
	}
	return inFlight, nil
}

func (s textStatus) done(ctx context.Context, id string) error {
	key := "msg:" + id
	if err := s.redis.Set(ctx, key, "done", 0).Err(); err != nil {
		return fmt.Errorf("mark %s done: %w", key, err)
	}
	if err := s.redis.Expire(ctx, key, doneTTL).Err(); err != nil {
		return fmt.Errorf("limit %s: %w", key, err)
	}
	if err := s.redis.Del(ctx, "retry:"+id).Err(); err != nil {
		return fmt.Errorf("clear retry:%s: %w", id, err)
	}
	return nil
}

func (s textStatus) failed(ctx context.Context, id string) (bool, error) {
	retry := "retry:" + id
	if err := s.redis.Del(ctx, "msg:"+id).Err(); err != nil {
		return false, fmt.Errorf("release msg:%s: %w", id, err)
	}
	count, err := s.redis.Get(ctx, retry).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("read %s: %w", retry, err)
	}
	count++
	if err := s.redis.Set(ctx, retry, strconv.Itoa(count), 0).Err(); err != nil {
		return false, fmt.Errorf("count %s: %w", retry, err)
	}
	if err := s.redis.Expire(ctx, retry, doneTTL).Err(); err != nil {
		return false, fmt.Errorf("limit %s: %w", retry, err)
	}
	return count >= maxRetries, nil
}

// jsonStatus reads first and then claims with SET NX EX, as the consumers that it stands for do.
type jsonStatus struct{ redis *redis.Client }

func (s jsonStatus) claim(ctx context.Context, id string, _ bool) (claim, error) {
	key := "msg:dedup:" + id
	state, err := s.redis.Get(ctx, key).Result()
	switch {
	case err == nil && state == "processing":
		return inFlight, nil
	case err == nil:
		return alreadyDone, nil
	case !errors.Is(err, redis.Nil):
		return 0, fmt.Errorf("read %s: %w", key, err)
	}
	first, err := s.redis.SetNX(ctx, key, "processing", processingTTL).Result()
	if err != nil {
		return 0, fmt.Errorf("claim %s: %w", key, err)
	}
	if !first {
		return lostRace, nil
	}
	return claimed, nil
}

func (s jsonStatus) done(ctx context.Context, id string) error {
	key := "msg:dedup:" + id
	if err := s.redis.Set(ctx, key, jsonStatusValue(id, time.Now()), doneTTL).Err(); err != nil {
		return fmt.Errorf("mark %s done: %w", key, err)
	}
	return nil
}

func (s jsonStatus) failed(ctx context.Context, id string) (bool, error) {
	if err := s.redis.Del(ctx, "msg:dedup:"+id).Err(); err != nil {
		return false, fmt.Errorf("release msg:dedup:%s: %w", id, err)
	}
	return false, nil
}

// jsonStatusValue is the success value; the result holds characters outside ASCII because real results do.
func jsonStatusValue(id string, at time.Time) string {
	return pythonJSON([]field{
		{"status", "success"},
		{"result", []field{{"id", id}, {"note", "支付成功"}}},
		{"time", float64(at.UnixMicro()) / 1e6},
	})
}

// timestamp marks a message before the work and never says that the work was done, as the consumers that it stands for do.
type timestamp struct{ redis *redis.Client }

func (s timestamp) claim(ctx context.Context, id string, _ bool) (claim, error) {
	key := "dedup:" + id
	first, err := s.redis.SetNX(ctx, key, strconv.FormatInt(time.Now().UnixMilli(), 10), doneTTL).Result()
	if err != nil {
		return 0, fmt.Errorf("claim %s: %w", key, err)
	}
	if !first {
		return present, nil
	}
	return claimed, nil
}

func (s timestamp) done(context.Context, string) error { return nil }

func (s timestamp) failed(ctx context.Context, id string) (bool, error) {
	if err := s.redis.Del(ctx, "dedup:"+id).Err(); err != nil {
		return false, fmt.Errorf("release dedup:%s: %w", id, err)
	}
	return false, nil
}
