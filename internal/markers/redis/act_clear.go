package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/events"
	"dedup-dashboard/internal/markers/redis/layout"
)

func (s *session) clear(ctx context.Context, keep func(dedup.Sighting) error) (dedup.Outcome, error) {
	now, same, err := s.watch(ctx)
	if err != nil {
		return dedup.Outcome{}, err
	}
	if !same {
		return s.different(now), nil
	}
	if text, err := s.compareRetry(ctx); text != "" || err != nil {
		return dedup.Outcome{Result: dedup.Changed, Text: text, Now: s.sighting(now)}, err
	}
	image := *s.sighting(now)
	image.Retry = s.seen.Retry
	if image.Value == nil {
		return refused("its fields are not text, so no exact pre-image can be kept"), nil
	}
	if err := keep(image); err != nil {
		return refused("could not keep the pre-image: %s", dedup.PublicText(err)), nil
	}
	commands := [][]any{{"del", s.seen.Key}}
	if s.seen.Retry != nil && !s.apart() {
		commands = append(commands, []any{"del", s.seen.Retry.Key})
	}
	if wake := s.wake(); wake != nil {
		commands = append(commands, wake)
	}
	noted := s.own.Begin(&events.OwnAct{Key: s.seen.Key, Event: "del"})
	answers, err := s.exec(ctx, commands...)
	if err == nil && answers[0] != int64(1) {
		s.own.End(noted, events.ErrUndone)
	} else {
		s.own.End(noted, err)
	}
	if errors.Is(err, errAborted) {
		return s.touched(ctx), nil
	}
	if err != nil {
		return dedup.Outcome{}, err
	}
	outcome := s.cleared(answers)
	if outcome.Result == dedup.Cleared && s.apart() {
		if why := s.clearCounter(ctx); why != "" {
			return dedup.ClearedAlone(why), nil
		}
	}
	return outcome, nil
}

// cleared words the answers of a clear: whether the marker was deleted, its retry counter with it, and whether its waiters were woken.
func (s *session) cleared(answers []any) dedup.Outcome {
	if n, ok := answers[0].(int64); !ok || n != 1 {
		return dedup.Outcome{Result: dedup.Gone, Text: "it ended by itself at this moment"}
	}
	if s.seen.Retry != nil && !s.apart() {
		if err, failed := answers[1].(error); failed {
			return dedup.ClearedAlone(codec.Printable(err.Error()))
		}
	}
	outcome := dedup.Outcome{Result: dedup.Cleared}
	if err, failed := answers[len(answers)-1].(error); failed {
		outcome.Text = "but not what goes with it: " + codec.Printable(err.Error())
	}
	return outcome
}

// compareRetry says what the retry counter is now, if that is not what was seen.
func (s *session) compareRetry(ctx context.Context) (string, error) {
	if s.seen.Retry == nil {
		return "", nil
	}
	at := s
	if s.apart() {
		var err error
		if at, err = s.counter(ctx); err != nil {
			return "", err
		}
		defer at.conn.Close()
	}
	now, err := at.read(ctx, s.seen.Retry.Key)
	switch {
	case err != nil:
		return "", s.actor.servers.Missed(at.node, err)
	case now.matches(typeString, s.seen.Retry.Value, nil) && at.sameExpiry(now.expires, s.seen.Retry.ExpiresMillis):
		return "", nil
	case now.kind == typeNone:
		return "its retry counter is gone", nil
	case now.kind == typeString:
		return "its retry counter is now " + s.describeCount(now) + describeExpiry(now), nil
	}
	return "its retry counter is now of type " + codec.Printable(now.kind), nil
}

// describeCount says where a retry counter stands, and of what is no count how long it is.
func (s *session) describeCount(r reading) string {
	if n, err := strconv.ParseInt(r.value, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return "no count (" + s.outline(r) + ")"
}

func (s *session) expire(ctx context.Context, ttl time.Duration) (dedup.Outcome, error) {
	now, same, err := s.watch(ctx)
	if err != nil {
		return dedup.Outcome{}, err
	}
	if !same {
		return s.different(now), nil
	}
	// An absolute time, unlike that of PEXPIRE, can be recognised when the answer is lost.
	s.at = now.clock.UnixMilli() + ttl.Milliseconds()
	// Noted before, so that nobody who reads the marker behind it takes the expiry for its consumer's. One that is not given is on no marker.
	s.layout.Late.Note(s.seen.Key, layout.LateExpiry{Expires: s.at, Seen: layout.KnownSince(s.seen), At: time.Now()})
	answers, err := s.exec(ctx, []any{"pexpireat", s.seen.Key, s.at})
	if errors.Is(err, errAborted) {
		return s.touched(ctx), nil
	}
	if err != nil {
		return dedup.Outcome{}, err
	}
	if answers[0] != int64(1) {
		return s.touched(ctx), nil
	}
	return s.proof(ctx, settleExpire)
}

// proof reads a marker that was written, and claims success only if it reads as it was written.
func (s *session) proof(ctx context.Context, settle func(*session, reading) dedup.Outcome) (dedup.Outcome, error) {
	now, err := s.read(context.WithoutCancel(ctx), s.seen.Key)
	if err != nil {
		return dedup.Outcome{}, &events.LostError{Err: err}
	}
	outcome := settle(s, now)
	if outcome.Result == dedup.UnknownOutcome {
		outcome.Text = "the store agreed, but " + outcome.Text
	}
	outcome.Now = s.sighting(now)
	return outcome, nil
}
