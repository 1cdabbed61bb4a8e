package redis

import (
	"context"
	"errors"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/events"
)

// apart reports whether the retry counter is in another slot of a cluster than its marker, where no transaction holds both.
//
// They are then deleted in two steps, the marker first. It alone says whether the message is being worked on: nothing is touched of one that
// was taken again since it was seen. Whatever ends the clear between the steps leaves a message that is tried again with fewer attempts left, and the
// outcome says so. The other way round a clear that finds the marker taken again, or that is cut off, would have lost the count of a message that stays
// blocked. An undo restores the marker first for the same reason: from then on no consumer works on the message, and the counter follows.
func (s *session) apart() bool {
	return s.actor.servers.Cluster() && s.seen.Retry != nil && client.Slot(s.seen.Key) != client.Slot(s.seen.Retry.Key)
}

// counter begins a session with the server that holds the retry counter of the marker.
func (s *session) counter(ctx context.Context) (*session, error) {
	r := s.seen.Retry
	seen := dedup.Sighting{Marker: dedup.Marker{Store: s.seen.Store, Key: r.Key}, Type: typeString, Value: []byte(r.Value), ExpiresMillis: r.ExpiresMillis}
	return s.actor.open(ctx, seen)
}

// withCounter does something with a retry counter that is apart, and says why it was not done. The marker is done with: the counter is not left
// alone because the caller leaves.
func (s *session) withCounter(ctx context.Context, do func(context.Context, *session) (string, error)) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pace.AnswerTimeout)
	defer cancel()
	c, err := s.counter(ctx)
	if err != nil {
		return s.actor.explain.describe(err)
	}
	defer c.conn.Close()
	if err = c.begin(ctx, true); err == nil {
		var why string
		if why, err = do(ctx, c); err == nil {
			return why
		}
	}
	var lost *events.LostError
	var no refusedError
	switch {
	case errors.As(err, &no):
		return no.Error()
	case errors.As(err, &lost):
		return "whether it was is not known, the answer was lost (" + s.actor.explain.describe(c.node.At(lost.Err)) + ")"
	}
	return s.actor.explain.describe(s.actor.servers.Missed(c.node, err))
}

// clearCounter deletes a retry counter as it was seen, and says why it was not deleted.
func (s *session) clearCounter(ctx context.Context) string {
	return s.withCounter(ctx, func(ctx context.Context, c *session) (string, error) {
		now, err := c.read(ctx, c.seen.Key)
		switch {
		case err != nil:
			return "", err
		case now.kind == typeNone:
			return "", nil
		case !c.same(now):
			return "it is now " + c.describeCount(now) + describeExpiry(now), nil
		}
		_, err = c.exec(ctx, []any{"del", c.seen.Key})
		if errors.Is(err, errAborted) {
			return "it was written at this moment", nil
		}
		return "", err
	})
}

// restoreCounter writes a retry counter back where there is none, and says what became of it otherwise.
func (s *session) restoreCounter(ctx context.Context) string {
	note := ""
	why := s.withCounter(ctx, func(ctx context.Context, c *session) (string, error) {
		now, err := c.read(ctx, c.seen.Key)
		if err != nil {
			return "", err
		}
		if note = unrestoredCounter(now, c.seen.ExpiresMillis); note != "" {
			return "", nil
		}
		_, err = c.exec(ctx, c.writing(c.seen.Key, typeString, string(c.seen.Value), c.seen.ExpiresMillis)...)
		if errors.Is(err, errAborted) {
			note, err = counterThere, nil
		}
		return "", err
	})
	if why != "" {
		return "but not its retry counter: " + why
	}
	return note
}
