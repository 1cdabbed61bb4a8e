package truth

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A stopwatch takes the times of one handling of a delivery at the points between which the store sees the work: the claim and
// the mark that it is done. The store executes each between the moment at which it is sent and that of its reply.
type stopwatch struct {
	// work is what the work alone took.
	work time.Duration
	// sets are the commands by which the scheme wrote its markers: the claim, then the mark.
	sets []sent
}

// A sent is when a command was sent and when its reply came.
type sent struct{ at, replied time.Time }

type stopwatchKey struct{}

// within returns a context in which work and commands are timed by the stopwatch.
func (s *stopwatch) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, stopwatchKey{}, s)
}

// watchOf returns the stopwatch of a context, nil when it has none.
func watchOf(ctx context.Context) *stopwatch {
	s, _ := ctx.Value(stopwatchKey{}).(*stopwatch)
	return s
}

// bounds returns the least and the largest time that the store can have seen from the claim to the mark. Where they were not
// timed it lies between the work alone and all of the handling.
func (s *stopwatch) bounds(handled time.Duration) (least, most time.Duration) {
	if len(s.sets) < 2 {
		return s.work, handled
	}
	claim, mark := s.sets[0], s.sets[1]
	return mark.at.Sub(claim.replied), mark.replied.Sub(claim.at)
}

// A timedCommands is a hook of a Redis client that tells stopwatches when markers are written.
type timedCommands struct{}

// DialHook leaves connecting as it is.
func (timedCommands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook times SET and SETNX.
func (timedCommands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		watch := watchOf(ctx)
		if name := strings.ToLower(command.Name()); watch == nil || name != "set" && name != "setnx" {
			return next(ctx, command)
		}
		began := time.Now()
		err := next(ctx, command)
		watch.sets = append(watch.sets, sent{began, time.Now()})
		return err
	}
}

// ProcessPipelineHook leaves pipelines as they are: no scheme has one.
func (timedCommands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
