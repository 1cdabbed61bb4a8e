package journal

import (
	"context"
	"database/sql"

	"dedup-dashboard/internal/alerts"
)

// keepStanding puts a message into the outbox that says what stands, in the place of those before it: one that waits is out of date, and
// what was delivered has been said since. The new one has waited since then, so that it is seen that the channel takes nothing, and is
// tried when that one would have been. Of those that are done the newest stays, and the newest that was taken: they say how the channel
// fares.
func keepStanding(ctx context.Context, tx *sql.Tx, t alerts.Tick, n alerts.Notification, body string) error {
	return run(ctx, tx,
		do(`INSERT INTO alert_outbox (id, channel, kind, grouping, made_at, due_at, tries, error, error_at, body)
			SELECT ?1, ?2, ?3, ?4, coalesce(min(made_at), ?5), coalesce(max(due_at), ?5), coalesce(max(tries), 0),
				coalesce(max(error), ''), max(error_at), ?6
			FROM alert_outbox WHERE channel = ?2 AND kind = ?3 AND state = 'due' ON CONFLICT DO NOTHING`,
			n.ID, n.Channel, string(n.Kind), n.Group, t.At.UnixMilli(), body),
		do(`DELETE FROM alert_outbox WHERE channel = ?1 AND kind = ?2 AND id <> ?3 AND state <> 'sending' AND seq NOT IN (
				SELECT max(seq) FROM alert_outbox WHERE channel = ?1 AND kind = ?2 AND done_at IS NOT NULL GROUP BY channel
				UNION SELECT max(seq) FROM alert_outbox WHERE channel = ?1 AND kind = ?2 AND state = 'sent' GROUP BY channel)`,
			n.Channel, string(n.Kind), n.ID))
}
