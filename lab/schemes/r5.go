package schemes

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// R5 keeps msg:processed:{id}, the value 1, from the end of the work on. It looks for the key before the work and writes it after:
// two deliveries at once both work.
type R5 struct {
	Redis *redis.Client
	Work  Work
}

// Handle looks for the key with EXISTS, works, and writes it; a failure leaves nothing.
func (c R5) Handle(ctx context.Context, id string) (Settlement, bool, error) {
	key := "msg:processed:" + id
	there, err := c.Redis.Exists(ctx, key).Result()
	if err != nil {
		return "", false, fmt.Errorf("look for %s: %w", key, err)
	}
	if there > 0 {
		return Acked, false, nil
	}
	switch err := c.Work(ctx, id); {
	case errors.Is(err, ErrDied):
		return "", true, err
	case err != nil:
		return Requeued, true, nil
	}
	return Acked, true, c.Redis.Set(ctx, key, "1", doneTTL).Err()
}
