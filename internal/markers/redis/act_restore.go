package redis

import (
	"context"
	"errors"
	"strconv"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/redis/events"
	"dedup-dashboard/internal/markers/redis/layout"
)

func (s *session) restore(ctx context.Context) (dedup.Outcome, error) {
	if err := s.begin(ctx, true); err != nil {
		return dedup.Outcome{}, err
	}
	now, err := s.read(ctx, s.seen.Key)
	if err != nil {
		return dedup.Outcome{}, err
	}
	if outcome := s.unrestorable(now); outcome != nil {
		return *outcome, nil
	}
	commands := s.writing(s.seen.Key, s.seen.Type, string(s.seen.Value), s.seen.ExpiresMillis)
	counter, note, err := s.writingRetry(ctx)
	if err != nil {
		return dedup.Outcome{}, err
	}
	acts := []*events.OwnAct{{Key: s.seen.Key, Event: "set", State: s.seen.State, Value: string(s.seen.Value)}}
	if len(counter) > 0 {
		acts = append(acts, &events.OwnAct{Key: s.seen.Retry.Key, Event: "set", Value: s.seen.Retry.Value})
	}
	noted := s.own.Begin(acts...)
	_, err = s.exec(ctx, append(commands, counter...)...)
	s.own.End(noted, err)
	if errors.Is(err, errAborted) {
		return s.overtaken(ctx), nil
	}
	if err != nil {
		return dedup.Outcome{}, err
	}
	outcome, err := s.proof(ctx, settleRestore)
	if outcome.Result == dedup.Restored && s.apart() {
		note = s.restoreCounter(ctx)
	}
	if outcome.Result == dedup.Restored {
		outcome.Text = note
	}
	return outcome, err
}

// writing returns the commands that create a key with its absolute expiry. They run under WATCH on a key that is not there.
func (s *session) writing(key, kind, value string, expires int64) [][]any {
	at := strconv.FormatInt(expires, 10)
	create := []any{"set", key, value, "nx"}
	switch {
	case kind == typeHash:
		create = []any{"hset", key}
		for field, v := range s.fields {
			create = append(create, field, v)
		}
	case expires != layout.NoExpiry && !s.relative:
		return [][]any{{"set", key, value, "pxat", at, "nx"}}
	}
	if expires == layout.NoExpiry {
		return [][]any{create}
	}
	return [][]any{create, {"pexpireat", key, at}}
}

// writingRetry returns the commands that create the retry counter of the image, or why it is left out.
func (s *session) writingRetry(ctx context.Context) (commands [][]any, note string, err error) {
	counter := s.seen.Retry
	if counter == nil || s.apart() {
		return nil, "", nil
	}
	now, err := s.read(ctx, counter.Key)
	if err != nil {
		return nil, "", err
	}
	if note := unrestoredCounter(now, counter.ExpiresMillis); note != "" {
		return nil, note, nil
	}
	return s.writing(counter.Key, typeString, counter.Value, counter.ExpiresMillis), "", nil
}

// counterThere is why a retry counter is not restored that consumers have begun again.
const counterThere = "its retry counter is there again and was left alone"

// unrestoredCounter says why a retry counter is not restored, empty where it is.
func unrestoredCounter(now reading, expires int64) string {
	switch {
	case now.kind != typeNone:
		return counterThere
	case passed(expires, now.clock):
		return "its retry counter has expired and was not restored"
	}
	return ""
}

// unrestorable says why an image cannot be restored, nil if it can.
func (s *session) unrestorable(now reading) *dedup.Outcome {
	outcome := refused(alreadyExpired)
	switch {
	case now.kind != typeNone:
		outcome = refused("there is a marker again: nothing was overwritten")
		outcome.Now = s.sighting(now)
	case !passed(s.seen.ExpiresMillis, now.clock):
		return nil
	}
	return &outcome
}

// overtaken words a restore at whose moment one of its keys was written by somebody else.
func (s *session) overtaken(ctx context.Context) dedup.Outcome {
	now, err := s.read(context.WithoutCancel(ctx), s.seen.Key)
	if err == nil {
		if outcome := s.unrestorable(now); outcome != nil {
			return *outcome
		}
	}
	return refused("the marker or its retry counter was written by somebody else at this moment: nothing was overwritten")
}
