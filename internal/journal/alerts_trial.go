package journal

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/alerts"
)

// Took keeps that a channel took a message that was sent past the outbox, as one for trial is: it shows that the channel works.
func (a *Alerts) Took(ctx context.Context, n alerts.Notification, at time.Time) error {
	body, err := encodeNotification(n)
	if err == nil {
		_, err = a.write.ExecContext(ctx, `
			INSERT INTO alert_outbox (id, channel, kind, grouping, state, made_at, due_at, done_at, tries, body)
			VALUES (?1, ?2, ?3, ?4, 'sent', ?5, ?5, ?6, 1, ?7)`,
			n.ID, n.Channel, string(n.Kind), n.Group, n.At.UnixMilli(), at.UnixMilli(), body)
	}
	if err != nil {
		return fmt.Errorf("keep that a message was taken: %w", err)
	}
	return nil
}
