package shop

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
)

// An outcome is a field of the hash dedupstats:{pipeline}, as docs/consumers.md defines it.
type outcome string

const (
	outcomeProcessed         outcome = "processed"
	outcomeDuplicateDone     outcome = "duplicate_done"
	outcomeDuplicateInFlight outcome = "duplicate_in_flight"
	outcomeFailed            outcome = "failed"
)

// A settlement is what a consumer reports about one delivery once it is settled.
type settlement struct {
	outcome outcome
	// ack is the time from arrival to ack, 0 if the delivery was returned; work the time of the work, 0 if it did not run.
	ack, work time.Duration
	acked     bool
	worked    bool
}

// A reporter counts settlements in the Redis hash of its pipeline. A nil reporter counts nothing.
type reporter struct {
	redis *redis.Client
	key   string
}

func newReporter(client *redis.Client, pipeline string) *reporter {
	return &reporter{redis: client, key: "dedupstats:" + pipeline}
}

// report sends all increments of one settlement in one transaction, so that a reader never sees half of it.
func (r *reporter) report(ctx context.Context, s settlement) error {
	if r == nil {
		return nil
	}
	_, err := r.redis.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.HIncrBy(ctx, r.key, string(s.outcome), 1)
		if s.acked {
			r.latency(ctx, pipe, "ack", s.ack)
		}
		if s.worked {
			r.latency(ctx, pipe, "work", s.work)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("report to %s: %w", r.key, err)
	}
	return nil
}

func (r *reporter) latency(ctx context.Context, pipe redis.Pipeliner, name string, took time.Duration) {
	pipe.HIncrBy(ctx, r.key, bucketField(name, bucket(took)), 1)
	pipe.HIncrBy(ctx, r.key, name+"_sum_us", took.Microseconds())
}

// bucketField is the hash field of the bucket with this index, as in ack_le_0.025.
func bucketField(name string, index int) string {
	bound := dedup.LatencyBounds()[index]
	if math.IsInf(bound, 1) {
		return name + "_le_inf"
	}
	return name + "_le_" + strconv.FormatFloat(bound, 'f', -1, 64)
}
