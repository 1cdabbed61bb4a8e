package schemes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// R1 keeps msg:dedup:{id}: the word processing while the work is under way, then JSON with status success. It reads before it
// claims, and decodes whatever it reads as JSON: the bare word makes it fail, and its delivery comes back.
type R1 struct {
	Redis *redis.Client
	Work  Work
	// TTL is how long a marker stays processing; zero means 300 s.
	TTL time.Duration
}

// Handle reads, claims with SET NX EX, works, and writes the result; a failure deletes the marker.
func (c R1) Handle(ctx context.Context, id string) (Settlement, bool, error) {
	key := "msg:dedup:" + id
	text, err := c.Redis.Get(ctx, key).Result()
	switch {
	case err == nil:
		var value struct{ Status string }
		if json.Unmarshal([]byte(text), &value) != nil {
			return Requeued, false, nil
		}
		return Acked, false, nil
	case !errors.Is(err, redis.Nil):
		return "", false, fmt.Errorf("read %s: %w", key, err)
	}
	first, err := c.Redis.SetNX(ctx, key, "processing", orDefault(c.TTL)).Result()
	if err != nil {
		return "", false, fmt.Errorf("claim %s: %w", key, err)
	}
	if !first {
		// Somebody was faster: taken for a duplicate.
		return Acked, false, nil
	}
	switch err := c.Work(ctx, id); {
	case errors.Is(err, ErrDied):
		return "", true, err
	case err != nil:
		return Requeued, true, c.Redis.Del(ctx, key).Err()
	}
	done := fmt.Sprintf(`{"status": "success", "result": null, "time": %.6f}`, float64(time.Now().UnixMicro())/1e6)
	return Acked, true, c.Redis.Set(ctx, key, done, doneTTL).Err()
}
