package schemes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// R6 keeps dedup:{id}, the time at which the work began, and nothing else: whatever has a key is acked.
type R6 struct {
	Redis *redis.Client
	Work  Work
}

// Handle claims with SET NX EX and works; an exception deletes the key.
func (c R6) Handle(ctx context.Context, id string) (Settlement, bool, error) {
	key := "dedup:" + id
	first, err := c.Redis.SetNX(ctx, key, time.Now().UnixMilli(), doneTTL).Result()
	if err != nil {
		return "", false, fmt.Errorf("claim %s: %w", key, err)
	}
	if !first {
		return Acked, false, nil
	}
	switch err := c.Work(ctx, id); {
	case errors.Is(err, ErrDied):
		return "", true, err
	case err != nil:
		return Requeued, true, c.Redis.Del(ctx, key).Err()
	}
	return Acked, true, nil
}
