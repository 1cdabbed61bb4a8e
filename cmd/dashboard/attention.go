package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

// attention keeps acknowledgements and silences, and lets the engine know of them at once.
type attention struct {
	engine  *alerts.Engine
	records *journal.Alerts
	log     *slog.Logger
}

// Acknowledge implements admin.AlertingDeps.
func (a *attention) Acknowledge(ctx context.Context, alert, by, note string, until time.Time) error {
	key, err := alertKey(alert)
	if err != nil {
		return err
	}
	return a.engine.Acknowledge(ctx, key, by, note, until)
}

// Unacknowledge implements admin.AlertingDeps. Who does it stands in the audit.
func (a *attention) Unacknowledge(ctx context.Context, alert, _ string) error {
	key, err := alertKey(alert)
	if err != nil {
		return err
	}
	return a.engine.Unacknowledge(ctx, key)
}

func alertKey(text string) (alerts.Key, error) {
	key, ok := alerts.ParseKey(text)
	if !ok {
		return key, &dedup.Error{Kind: dedup.NotFound, Public: "There is no such alert"}
	}
	return key, nil
}

// AddSilence implements admin.AlertingDeps.
func (a *attention) AddSilence(ctx context.Context, asked admin.NewSilence) (string, error) {
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

// ExpireSilence implements admin.AlertingDeps.
func (a *attention) ExpireSilence(ctx context.Context, id, by string) error {
	if err := a.records.ExpireSilence(ctx, id, by, time.Now()); err != nil {
		return err
	}
	a.reload(ctx)
	return nil
}

// reload lets the engine know at once. When it cannot, it reads the silences with its next evaluation: what was asked for is done.
func (a *attention) reload(ctx context.Context) {
	if err := a.engine.ReloadSilences(ctx); err != nil {
		a.log.Warn("a silence holds only from the next evaluation on", "err", err)
	}
}

// alertRecords are those of the journal, as pages ask for them.
type alertRecords struct{ *journal.Alerts }

// Silences returns those that end after a time.
func (r alertRecords) Silences(ctx context.Context, after time.Time) ([]alerts.Silence, error) {
	return r.SilencesSince(ctx, after)
}
