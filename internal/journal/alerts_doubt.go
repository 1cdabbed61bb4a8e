package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"dedup-dashboard/internal/alerts"
)

// doubtedAge is by how much older it looks what a channel was told by a message that was under way at two stops: older than any repeat,
// so that what still fires is repeated at once. The message itself is not sent a third time: it may have arrived twice.
const doubtedAge = 30 * 24 * time.Hour

// doubtWhatWasTold notes of the messages that a condition names that their channels may not know what they told, as the dispatcher does
// while it runs. What a later message has told since is not in doubt.
func doubtWhatWasTold(ctx context.Context, tx *sql.Tx, older time.Duration, where string, args ...any) error {
	doubtful, err := messagesWhere(ctx, tx, where, args...)
	if err != nil {
		return err
	}
	for _, n := range doubtful {
		for key, doubt := range n.Doubts() {
			err := run(ctx, tx, do("UPDATE alert_sent SET doubt = ?, at = at - ? WHERE channel = ? AND key = ? AND at = ?",
				doubt, older.Milliseconds(), n.Channel, key.String(), n.At.UnixMilli()))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// messagesWhere returns messages of the outbox. One that cannot be read is left out: nothing is known of it.
func messagesWhere(ctx context.Context, from handle, where string, args ...any) ([]alerts.Notification, error) {
	var all []alerts.Notification
	err := each(ctx, from, "read messages of the outbox", func(row scanner) error {
		var repeated bool
		var body string
		if err := row.Scan(&repeated, &body); err != nil {
			return err
		}
		var n alerts.Notification
		if json.Unmarshal([]byte(body), &n) == nil {
			n.Repeated = repeated
			all = append(all, n)
		}
		return nil
	}, "SELECT repeated, body FROM alert_outbox WHERE "+where, args...)
	return all, err
}
