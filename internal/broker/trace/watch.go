package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

const (
	// tick is how often the trace looks at itself, and round how often at the broker, whose statistics are 5 s old.
	tick  = time.Second
	round = 5 * time.Second
	// blind is for how long the broker may tell nothing before the trace ends: what it does to it is then not known.
	blind = 15 * time.Second
	// A quarter of what the queue of the trace holds says that it is not read as quickly as it is filled.
	MaxDepth      = maxTapped / 4
	maxDepthBytes = maxTappedBytes / 4
	// slack is how far a backlog may grow that is small.
	slack = 1000
)

// watchItself ends the trace when its own queue fills, when it is too much for us, or when the guard has gone.
func (s *session) watchItself(ctx context.Context) {
	channel, err := s.tap.conn.Another()
	if err != nil {
		s.stop("the queue of the trace cannot be looked at: %s", publicText(s.tap.conn.Fail(err)))
		return
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := s.seen.Load()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.guardEnded():
			s.stop("the process that would switch tracing off after a crash has ended")
			return
		case <-ticker.C:
		}
		depth, err := s.depth(ctx, channel)
		seen := s.seen.Load()
		rate := seen - last
		last = seen
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.stop("%s", publicText(err))
			return
		case depth > MaxDepth:
			s.stop("%d messages of the trace wait to be read: the broker delivers more than can be traced", depth)
			return
		case rate > stopAt*maxRate:
			s.stop("%d deliveries came within a second; a trace ends at %d", rate, stopAt*maxRate)
			return
		}
	}
}

// errNoAnswer says that the connection of the trace is stuck.
var errNoAnswer = errors.New("the broker does not answer on the connection of the trace")

// depth asks how many messages of the trace wait, for a while. The library waits for the answer for as long as the connection lives.
func (s *session) depth(ctx context.Context, channel *amqp091.Channel) (int, error) {
	type answer struct {
		depth int
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		depth, err := s.tap.depthOn(channel)
		if err != nil {
			err = s.tap.conn.Fail(err)
		}
		answers <- answer{depth, err}
	}()
	select {
	case a := <-answers:
		return a.depth, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(round):
		return 0, errNoAnswer
	}
}

// watchBroker ends the trace when it could harm the broker, or when somebody else ends tracing.
func (s *session) watchBroker(ctx context.Context) {
	told, seen, size := time.Now(), s.seen.Load(), s.size.Load()
	every(ctx, round, func() bool {
		nowSeen, nowSize := s.seen.Load(), s.size.Load()
		own := load{float64(nowSeen-seen) / round.Seconds(), float64(nowSize-size) / round.Seconds()}
		seen, size = nowSeen, nowSize
		why, err := s.harm(ctx, own)
		switch {
		case ctx.Err() != nil:
			return false
		case why != "":
			s.stop("%s", why)
			return false
		case err == nil:
			told = time.Now()
		case time.Since(told) > blind:
			s.stop("the broker did not tell for %s how it fares: %s", time.Since(told).Round(time.Second), publicText(err))
			return false
		}
		return true
	})
}

// A load is what passes in a second.
type load struct{ messages, bytes float64 }

// harm says why the trace must end; "" where it need not. What the trace itself takes from the broker is none of the vhost's traffic.
func (s *session) harm(ctx context.Context, own load) (string, error) {
	v, ok, err := find(ctx, s.t.watch, s.vhost)
	if err != nil {
		return "", err
	}
	switch {
	case !ok:
		return "the vhost is gone", nil
	case !v.Tracing:
		return "somebody switched tracing off", nil
	case v.Rate != nil && *v.Rate-own.messages > stopAt*maxRate:
		return fmt.Sprintf("the vhost publishes and delivers %.0f messages a second by now; a trace ends at %d", *v.Rate-own.messages, stopAt*maxRate), nil
	case v.Bytes != nil && *v.Bytes-own.bytes > stopAt*maxBytes:
		return fmt.Sprintf("%.0f MB a second come and go in the vhost by now; a trace ends at %d", (*v.Bytes-own.bytes)/1e6, stopAt*maxBytes/1_000_000), nil
	}
	all, err := s.t.watch.Nodes(ctx)
	if err != nil {
		return "", err
	}
	if why := trouble(all); why != "" {
		return why, nil
	}
	return s.queuesHarmed(ctx)
}

func (s *session) queuesHarmed(ctx context.Context) (string, error) {
	var backlog int64
	for _, ref := range s.queues {
		queue, err := s.t.watch.Queue(ctx, ref)
		if err != nil {
			return "", err
		}
		if queue.State == "flow" {
			return fmt.Sprintf("queue %s is in flow: more comes than it can take", broker.Quote(ref.Name)), nil
		}
		if queue.Ready != nil {
			backlog += *queue.Ready
		}
	}
	if backlog > 2*s.backlog+slack {
		return fmt.Sprintf("%d messages wait in the queues; there were %d when the trace began", backlog, s.backlog), nil
	}
	ours, err := s.t.watch.Queue(ctx, dedup.QueueRef{Vhost: s.vhost, Name: s.tap.queue})
	if err == nil && ours.Bytes != nil && *ours.Bytes > maxDepthBytes {
		return fmt.Sprintf("%d MB of the trace wait to be read", *ours.Bytes/1_000_000), nil
	}
	return "", err
}
