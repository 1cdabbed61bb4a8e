package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// keepSilences is how long a silence can be looked at after it has ended; the audit keeps who made it for good.
const keepSilences = 90 * 24 * time.Hour

// AddSilence keeps a silence, and drops those that ended long ago. Times are kept to the millisecond.
func (a *Alerts) AddSilence(ctx context.Context, s alerts.Silence) error {
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("keep silence: %w", err)
	}
	return a.inOne(ctx, "keep silence", func(tx *sql.Tx) error {
		return run(ctx, tx,
			do("INSERT INTO alert_silences (id, starts_at, ends_at, body) VALUES (?, ?, ?, ?)", s.ID, s.Starts.UnixMilli(), s.Ends.UnixMilli(), string(body)),
			do("DELETE FROM alert_silences WHERE ends_at < ?", time.Now().Add(-keepSilences).UnixMilli()))
	})
}

// ExpireSilence ends a silence at a time and keeps who did; one that has ended before stays as it is. It fails with dedup.NotFound when
// there is none.
func (a *Alerts) ExpireSilence(ctx context.Context, id, by string, at time.Time) error {
	return a.inOne(ctx, "expire silence", func(tx *sql.Tx) error {
		_, there, err := one(ctx, tx, "find it", only[int], "SELECT 1 FROM alert_silences WHERE id = ?", id)
		if err != nil {
			return err
		}
		if !there {
			return &dedup.Error{Kind: dedup.NotFound, Public: "There is no such silence; it may have ended long ago"}
		}
		return run(ctx, tx, do("UPDATE alert_silences SET ends_at = ?1, body = json_set(body, '$.EndedBy', ?2) WHERE id = ?3 AND ends_at > ?1", at.UnixMilli(), by, id))
	})
}

// Silences returns those that have not ended, by their ends.
func (a *Alerts) Silences(ctx context.Context) ([]alerts.Silence, error) {
	return a.SilencesSince(ctx, time.Now())
}

// SilencesSince returns those that end after a time, whether or not they have begun, by their ends. One that cannot be read is left out.
func (a *Alerts) SilencesSince(ctx context.Context, after time.Time) ([]alerts.Silence, error) {
	var all []alerts.Silence
	err := each(ctx, a.read, "read silences", func(row scanner) error {
		var starts, ends time.Time
		var id, body string
		var s alerts.Silence
		if err := row.Scan(&id, millis(&starts), millis(&ends), &body); err != nil {
			return err
		}
		if a.unread.row("a silence cannot be read: it covers nothing", id, body, &s, func() string { return s.ID }) {
			s.Starts, s.Ends = starts, ends
			all = append(all, s)
		}
		return nil
	}, "SELECT id, starts_at, ends_at, body FROM alert_silences WHERE ends_at > ? ORDER BY ends_at, id", after.UnixMilli())
	return all, err
}
