package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/events"
	"dedup-dashboard/internal/markers/redis/layout"
)

const (
	// watchFor is how long a marker without expiry is held under WATCH and must not be touched before it is changed. Its
	// value is a constant and it has no expiry to tell it from another, so it may have been cleared and taken again since
	// it was seen; a consumer that has just taken it sets its expiry within this time, and that ends the action.
	watchFor = 5 * time.Second
	// maxHolds bounds the connections that hold such a marker, maxActs those of all other actions. 500 markers without
	// expiry take 500/16 × 5 s, less than 3 minutes.
	maxHolds = 16
	maxActs  = 8
)

// actor changes markers that are Redis strings or hashes. Every action has a connection of its own, which is closed
// behind it: no WATCH and no half transaction can be left to the next one.
type actor struct {
	layout  *layout.Layout
	servers *client.Servers
	log     *slog.Logger
	explain actExplainer
	// watchFor is the constant of this name; a test shortens it.
	watchFor time.Duration
	// own notes each act for who counts the notifications of the store; nil where nobody does.
	own   *events.OwnActs
	holds chan struct{}
	acts  chan struct{}
}

// OpenActor returns what changes the markers of the store, nil without an error where the configuration has no account to act with.
func (k Kind) OpenActor(c markers.Config, log *slog.Logger) (markers.Actor, error) {
	if c.Act.Redis.URL.IsZero() {
		return nil, nil
	}
	l, err := layout.New(c, k.Form)
	if err != nil {
		return nil, fmt.Errorf("open store %s for acting: %w", c.Name, err)
	}
	options, err := client.Options(c.Act.Redis)
	if err != nil {
		return nil, fmt.Errorf("open store %s for acting: act.redis.url %w", c.Name, err)
	}
	if watched, err := client.ParseURL(c.Redis); err == nil && watched.DB != options.DB {
		return nil, fmt.Errorf("open store %s for acting: act.redis.url names database %d and redis.url database %d: markers would be "+
			"sought where they are not", c.Name, options.DB, watched.DB)
	}
	options.PoolSize, options.MaxActiveConns = maxHolds+maxActs, maxHolds+maxActs
	// An action has no reason to hide from the server's statistics, and each try would cost a round trip.
	options.OnConnect = nil
	e := actExplainer{Explainer: client.ExplainerOf(c.Act.Redis, options)}
	for _, p := range layout.Claims(c) {
		e.Patterns = append(e.Patterns, strings.TrimPrefix(client.ACLPattern(p.Raw.Text), "%R"))
	}
	return &actor{
		layout: l, servers: client.Open(c.Act.Redis, options), log: log, explain: e, watchFor: watchFor,
		holds: make(chan struct{}, maxHolds), acts: make(chan struct{}, maxActs),
	}, nil
}

// Name returns the configured name of the store.
func (a *actor) Name() string { return a.layout.Config.Name }

// Close ends all connections.
func (a *actor) Close() error { return a.servers.Close() }

// Clear deletes the marker if its type, its value and its exact expiry are what was seen. The image that keep gets holds
// the retry counter only if it is to be deleted too: an undo restores what was deleted, no more.
func (a *actor) Clear(ctx context.Context, seen dedup.Sighting, alsoRetry bool, keep func(dedup.Sighting) error) dedup.Outcome {
	if seen.State == dedup.StateUnknown {
		return refused("what cannot be decoded is never cleared")
	}
	if !alsoRetry {
		seen.Retry = nil
	}
	return a.act(ctx, a.turn(seen), seen, func(s *session) (dedup.Outcome, error) { return s.clear(ctx, keep) }, settleClear)
}

// Expire gives a marker without expiry a time to live, counted from now by the server's clock.
func (a *actor) Expire(ctx context.Context, seen dedup.Sighting, ttl time.Duration) dedup.Outcome {
	if seen.ExpiresMillis != dedup.NoExpiry {
		return refused("the marker has an expiry: it ends by itself")
	}
	if ttl < time.Millisecond {
		return refused("a time to live of %s would delete the marker at once", ttl)
	}
	seen.Retry = nil
	return a.act(ctx, a.holds, seen, func(s *session) (dedup.Outcome, error) { return s.expire(ctx, ttl) }, settleExpire)
}

// Restore writes the image back if there is no marker, with the retry counter if there is none. The server may be
// another one than that of the image: an undo outlives restarts and failovers.
func (a *actor) Restore(ctx context.Context, image dedup.Sighting) dedup.Outcome {
	return a.act(ctx, a.acts, image, func(s *session) (dedup.Outcome, error) { return s.restore(ctx) }, settleRestore)
}

// turn returns the queue of a clear: a marker without expiry holds its connection for seconds.
func (a *actor) turn(seen dedup.Sighting) chan struct{} {
	if seen.ExpiresMillis == dedup.NoExpiry {
		return a.holds
	}
	return a.acts
}

// act runs one action in a session of its own when its turn comes, and reads again after an answer was lost.
func (a *actor) act(ctx context.Context, turn chan struct{}, seen dedup.Sighting,
	do func(*session) (dedup.Outcome, error), settle func(*session, reading) dedup.Outcome) dedup.Outcome {
	if why := a.inadmissible(seen); why != "" {
		return refused("%s", why)
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return dedup.Outcome{Result: dedup.NotDone, Text: "it was stopped before its turn came"}
	}
	s, err := a.open(ctx, seen)
	if err != nil {
		return a.failed(ctx, seen, err)
	}
	outcome, err := do(s)
	_ = s.conn.Close()
	var lost *events.LostError
	var no refusedError
	switch {
	case errors.As(err, &lost):
		a.log.Warn("the answer to an action on a marker was lost", "key", codec.Printable(seen.Key), "err", lost.Err)
		return a.reread(ctx, s, lost, settle)
	case errors.As(err, &no):
		return refused("%s", no)
	case err != nil:
		return a.failed(ctx, seen, a.servers.Missed(s.node, err))
	}
	return outcome
}

// failed words an error before which nothing was done.
func (a *actor) failed(ctx context.Context, seen dedup.Sighting, err error) dedup.Outcome {
	if ctx.Err() != nil {
		return dedup.Outcome{Result: dedup.NotDone, Text: "it was stopped before anything was done"}
	}
	a.log.Warn("an action on a marker failed", "key", codec.Printable(seen.Key), "err", err)
	return a.explain.outcome(err)
}

// inadmissible says why a sighting cannot be acted on, whatever the store holds now.
func (a *actor) inadmissible(seen dedup.Sighting) string {
	class, id := a.layout.Known(seen.Key)
	switch {
	case seen.Store != "" && seen.Store != a.Name():
		return "it is a marker of the store " + codec.Printable(seen.Store)
	case class == layout.Foreign:
		return "the key is no marker of this store"
	case seen.Retry != nil && !a.countsFor(seen.Retry.Key, id, class):
		return "the retry counter is not that of this marker"
	case seen.Type != typeString && seen.Type != typeHash:
		return "a Redis value of type " + codec.Printable(seen.Type) + " cannot be compared"
	case seen.ExpiresMillis < 0 && seen.ExpiresMillis != dedup.NoExpiry || seen.ExpiresMillis == 0:
		return "its exact expiry was not seen"
	}
	if seen.Type == typeHash {
		if _, err := hashFields(seen.Value); err != nil {
			return "the fields that were seen cannot be read: " + err.Error()
		}
	}
	return ""
}

// countsFor reports whether a key is that of the retry counter of the marker with this id.
func (a *actor) countsFor(key, id string, class layout.Class) bool {
	counter, ok := a.layout.RetryKeyOf(id)
	return ok && class == layout.Marker && counter == key
}

// reread finds out what an action whose answer was lost has done. The lost connection was closed first, and Redis has
// either done what a connection sent before it reads from one that was opened later, or drops it with the connection.
func (a *actor) reread(ctx context.Context, before *session, lost *events.LostError, settle func(*session, reading) dedup.Outcome) dedup.Outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*pace.AnswerTimeout)
	defer cancel()
	a.servers.Outdated()
	outcome := a.settled(ctx, before, settle)
	if outcome.Result == dedup.UnknownOutcome {
		outcome.Text = "the answer was lost (" + a.explain.describe(before.node.At(lost.Err)) + "), and " + outcome.Text
	}
	switch {
	case !before.apart():
	case outcome.Result == dedup.Cleared:
		alone := dedup.ClearedAlone("it was not tried, because the answer was lost")
		outcome.Text = alone.Text
	case outcome.Result == dedup.Restored:
		outcome.Text = "but not its retry counter: it was not tried, because the answer was lost"
	}
	return outcome
}

// settled reads a marker again, and says what became of it.
func (a *actor) settled(ctx context.Context, before *session, settle func(*session, reading) dedup.Outcome) dedup.Outcome {
	s, err := a.open(ctx, before.seen)
	if err != nil {
		return unsure("it could not be read again: " + a.explain.describe(err))
	}
	defer s.conn.Close()
	s.at, s.lost = before.at, true
	now, err := s.readIdentified(ctx)
	if err != nil {
		return unsure("it could not be read again: " + a.explain.describe(s.node.At(err)))
	}
	outcome := dedup.Outcome{}
	if s.server == before.server {
		outcome = settle(s, now)
	} else {
		outcome = unsure("another server answers since; there it is " + s.describe(now))
	}
	outcome.Now = s.sighting(now)
	return outcome
}

func (s *session) readIdentified(ctx context.Context) (reading, error) {
	if err := s.identify(ctx); err != nil {
		return reading{}, err
	}
	return s.read(ctx, s.seen.Key)
}

func refused(format string, args ...any) dedup.Outcome {
	return dedup.Outcome{Result: dedup.Refused, Text: fmt.Sprintf(format, args...)}
}
