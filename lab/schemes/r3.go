package schemes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// retryLimit is the number of failures at which R3 gives a message up.
const retryLimit = 5

// R3 keeps msg:{id}, processing and then done, and counts failures in retry:{id}. It writes each value and its expiry by two
// commands. What is in flight comes back; at the fifth failure the message is acked without its work.
type R3 struct {
	Redis *redis.Client
	Work  Work
	// TTL is how long a marker stays processing; zero means 300 s.
	TTL time.Duration
	// Claimed is called between SETNX and EXPIRE, where a consumer that dies leaves a marker for ever. It may be nil.
	Claimed Work
}

// Handle claims with SETNX and EXPIRE, works, and writes done; a failure deletes the marker and counts.
func (c R3) Handle(ctx context.Context, id string) (Settlement, bool, error) {
	key := "msg:" + id
	first, err := c.Redis.Do(ctx, "SETNX", key, "processing").Bool()
	if err != nil {
		return "", false, fmt.Errorf("claim %s: %w", key, err)
	}
	if !first {
		return c.found(ctx, key)
	}
	if c.Claimed != nil {
		if err := c.Claimed(ctx, id); err != nil {
			return "", false, err
		}
	}
	if err := c.Redis.Expire(ctx, key, orDefault(c.TTL)).Err(); err != nil {
		return "", false, fmt.Errorf("limit %s: %w", key, err)
	}
	switch err := c.Work(ctx, id); {
	case errors.Is(err, ErrDied):
		return "", true, err
	case err != nil:
		s, err := c.failed(ctx, id)
		return s, true, err
	}
	if err := c.Redis.Set(ctx, key, "done", 0).Err(); err != nil {
		return "", true, fmt.Errorf("mark %s: %w", key, err)
	}
	if err := c.Redis.Expire(ctx, key, doneTTL).Err(); err != nil {
		return "", true, fmt.Errorf("limit %s: %w", key, err)
	}
	return Acked, true, c.Redis.Del(ctx, "retry:"+id).Err()
}

func (c R3) found(ctx context.Context, key string) (Settlement, bool, error) {
	switch value, err := c.Redis.Get(ctx, key).Result(); {
	case err != nil && !errors.Is(err, redis.Nil):
		return "", false, fmt.Errorf("read %s: %w", key, err)
	case value == "done":
		return Acked, false, nil
	}
	return Requeued, false, nil
}

func (c R3) failed(ctx context.Context, id string) (Settlement, error) {
	if err := c.Redis.Del(ctx, "msg:"+id).Err(); err != nil {
		return "", fmt.Errorf("release msg:%s: %w", id, err)
	}
	count, err := c.Redis.Get(ctx, "retry:"+id).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read retry:%s: %w", id, err)
	}
	count++
	if err := c.Redis.Set(ctx, "retry:"+id, strconv.Itoa(count), 0).Err(); err != nil {
		return "", fmt.Errorf("count retry:%s: %w", id, err)
	}
	if err := c.Redis.Expire(ctx, "retry:"+id, doneTTL).Err(); err != nil {
		return "", fmt.Errorf("limit retry:%s: %w", id, err)
	}
	if count >= retryLimit {
		return Acked, nil
	}
	return Requeued, nil
}
