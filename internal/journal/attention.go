package journal

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"dedup-dashboard/internal/admin/alerting"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// attended is the engine whose alerts people attend to.
type attended interface {
	Acknowledge(ctx context.Context, k rule.Key, by, note string, seen dedup.Tier, until time.Time) error
	Unacknowledge(ctx context.Context, k rule.Key, by string) error
	ReloadSilences(ctx context.Context) error
}

// Attention keeps what people say of alerts, acknowledgements and silences, and lets the engine know of it at once. It is what
// alerting.Alerting keeps them in, and what pages read them and the history from. It is safe for concurrent use.
type Attention struct {
	records *Alerts
	engine  attended
	log     *slog.Logger
}

// Attention returns the keeper of what people say of the alerts of an engine.
func (a *Alerts) Attention(engine attended, log *slog.Logger) *Attention {
	return &Attention{records: a, engine: engine, log: log}
}

// Acknowledge notes that somebody attends to an alert, which is named by its key and was seen at a tier.
func (a *Attention) Acknowledge(ctx context.Context, alert, by, note string, seen dedup.Tier, until time.Time) error {
	key, err := keyNamed(alert)
	if err != nil {
		return err
	}
	return a.engine.Acknowledge(ctx, key, by, note, seen, until)
}

// Unacknowledge takes an acknowledgement back.
func (a *Attention) Unacknowledge(ctx context.Context, alert, by string) error {
	key, err := keyNamed(alert)
	if err != nil {
		return err
	}
	return a.engine.Unacknowledge(ctx, key, by)
}

func keyNamed(text string) (rule.Key, error) {
	key, ok := rule.ParseKey(text)
	if !ok {
		return key, &dedup.Error{Kind: dedup.NotFound, Public: "There is no such alert"}
	}
	return key, nil
}

// AddSilence keeps a silence and returns its id. One that is not valid is an error of kind invalid.
func (a *Attention) AddSilence(ctx context.Context, asked alerting.NewSilence) (string, error) {
	s := alerts.Silence{
		ID: rand.Text(), Author: asked.Author, Reason: asked.Reason,
		Starts: asked.Starts, Ends: asked.Ends, Created: time.Now().UTC().Truncate(time.Millisecond),
	}
	for _, m := range asked.Matchers {
		s.Matchers = append(s.Matchers, alerts.Matcher{Name: m.Label, Op: alerts.MatchOp(m.Op), Value: m.Value})
	}
	if err := s.Validate(); err != nil {
		return "", err
	}
	if err := a.records.AddSilence(ctx, s); err != nil {
		return "", err
	}
	a.reload(ctx)
	return s.ID, nil
}

// ExpireSilence ends a silence now. One that there is not is an error of kind not_found.
func (a *Attention) ExpireSilence(ctx context.Context, id, by string) error {
	if err := a.records.ExpireSilence(ctx, id, by, time.Now()); err != nil {
		return err
	}
	a.reload(ctx)
	return nil
}

// reload lets the engine know at once. When it cannot, it reads the silences with its next evaluation: what was asked for is done.
func (a *Attention) reload(ctx context.Context) {
	if err := a.engine.ReloadSilences(ctx); err != nil {
		a.log.Warn("a silence holds only from the next evaluation on", "err", err)
	}
}

// History returns the newest edges of an alert, or of all alerts of a subject with a key without a rule, that are older than a time, newest
// first: at most limit and those that happened at the same time as the last of them.
func (a *Attention) History(ctx context.Context, of rule.Key, limit int, before time.Time) ([]alerts.Transition, error) {
	return a.records.History(ctx, of, limit, before)
}

// EndedAcks returns the newest acknowledgements of an alert that hold no more, the last to end first, at most limit.
func (a *Attention) EndedAcks(ctx context.Context, of rule.Key, limit int) ([]alerts.EndedAck, error) {
	return a.records.EndedAcks(ctx, of, limit)
}

// Silences returns those that end after a time, whether or not they have begun.
func (a *Attention) Silences(ctx context.Context, after time.Time) ([]alerts.Silence, error) {
	return a.records.SilencesSince(ctx, after)
}
