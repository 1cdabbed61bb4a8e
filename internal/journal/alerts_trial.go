package journal

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/alerts"
)

// Took keeps that a channel took a message that was sent past the outbox, as one for trial is: it shows that the channel works.
func (a *Alerts) Took(ctx context.Context, n alerts.Notification, at time.Time) error {
	const what = "keep that a message was taken"
	body, err := encodeNotification(n)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return exec(ctx, a.write, what, do(`
		INSERT INTO alert_outbox (id, channel, kind, grouping, state, made_at, due_at, done_at, tries, body)
		VALUES (?1, ?2, ?3, ?4, 'sent', ?5, ?5, ?6, 1, ?7)`,
		n.ID, n.Channel, string(n.Kind), n.Group, n.At.UnixMilli(), at.UnixMilli(), body))
}
