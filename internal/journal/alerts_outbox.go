package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

const (
	// keepDelivered is how long messages can be looked at after they were delivered or given up.
	keepDelivered = 7 * 24 * time.Hour
	// keepTold is how long it is known what a channel was told of an alert that is not known any more and of which nothing was told since.
	keepTold = 90 * 24 * time.Hour
)

// keepDue puts messages into the outbox. One that is there already is the same: the plan was made again.
func keepDue(ctx context.Context, tx *sql.Tx, t alerts.Tick) error {
	if len(t.Due) == 0 {
		return nil
	}
	for _, n := range t.Due {
		if n.Kind == alerts.NotifyWatchdog { // a sign of life that is late says nothing
			_, err := tx.ExecContext(ctx, "DELETE FROM alert_outbox WHERE channel = ? AND kind = ? AND state = 'due'", n.Channel, string(n.Kind))
			if err != nil {
				return err
			}
		}
		body, err := encodeNotification(n)
		if err != nil {
			return err
		}
		if n.Kind == alerts.NotifyStanding {
			if err := keepStanding(ctx, tx, t, n, body); err != nil {
				return err
			}
			continue
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO alert_outbox (id, channel, kind, grouping, made_at, due_at, body) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			n.ID, n.Channel, string(n.Kind), n.Group, t.At.UnixMilli(), t.At.UnixMilli(), body)
		if err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM alert_outbox WHERE done_at < ?", t.At.Add(-keepDelivered).UnixMilli())
	return err
}

func encodeNotification(n alerts.Notification) (string, error) {
	list := make([]alerts.NotifiedAlert, len(n.Alerts))
	for i, one := range n.Alerts {
		one.Value, one.Limit, one.N = finiteNumber(one.Value), finiteNumber(one.Limit), finiteNumber(one.N)
		list[i] = one
	}
	n.Alerts = list
	body, err := json.Marshal(n)
	return string(body), err
}

// keepSent keeps what channels were told since the tick before.
func keepSent(ctx context.Context, tx *sql.Tx, t alerts.Tick) error {
	if len(t.Sent) == 0 {
		return nil
	}
	for _, s := range t.Sent {
		var err error
		if s.Tier <= dedup.Normal && s.Flapping.IsZero() {
			_, err = tx.ExecContext(ctx, "DELETE FROM alert_sent WHERE channel = ? AND key = ?", s.Channel, s.Key.String())
		} else {
			_, err = tx.ExecContext(ctx, `
				INSERT OR REPLACE INTO alert_sent (channel, key, tier, at, began, left_out, flapping, peak, doubt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				s.Channel, s.Key.String(), int(s.Tier), s.At.UnixMilli(), toMillis(s.Began), s.LeftOut, toMillis(s.Flapping), int(s.Peak), s.Doubt)
		}
		if err != nil {
			return err
		}
	}
	// An alert may fire for longer than that, and a clock may be ahead: what the dispatcher knows of it must not be lost with a restart.
	_, err := tx.ExecContext(ctx, `
		DELETE FROM alert_sent WHERE at < ? AND key NOT IN (SELECT key FROM alert_states)`, t.At.Add(-keepTold).UnixMilli())
	return err
}

// SentLog returns what each channel was last told of each alert that is not over for it.
func (a *Alerts) SentLog(ctx context.Context) ([]alerts.Sent, error) {
	rows, err := a.read.QueryContext(ctx, "SELECT channel, key, tier, at, began, left_out, flapping, peak, doubt FROM alert_sent ORDER BY channel, key")
	if err != nil {
		return nil, fmt.Errorf("read what channels were told: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []alerts.Sent
	for rows.Next() {
		var s alerts.Sent
		var key string
		var tier, at, peak int64
		var began, flapping sql.NullInt64
		if err := rows.Scan(&s.Channel, &key, &tier, &at, &began, &s.LeftOut, &flapping, &peak, &s.Doubt); err != nil {
			return nil, fmt.Errorf("read what channels were told: %w", err)
		}
		var ok bool
		if s.Key, ok = rule.ParseKey(key); !ok {
			a.unread.note("what a channel was told cannot be read: it is not told the end", s.Channel+" "+key, errOtherRow)
			continue
		}
		s.Tier, s.Peak, s.At = tierOf(tier), tierOf(peak), time.UnixMilli(at).UTC()
		s.Began, s.Flapping = fromMillis(began), fromMillis(flapping)
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read what channels were told: %w", err)
	}
	return all, nil
}

// Recover settles what was under way when the dashboard was stopped, and fails the messages of channels that are none of these. What those
// were told is forgotten: one that is configured again may be another receiver, and does not know what ended or began meanwhile. It runs
// before anything is claimed, and before SentLog is read; running it again changes nothing.
func (a *Alerts) Recover(ctx context.Context, channels []string, at time.Time) (outbox.Recovered, error) {
	var found outbox.Recovered
	known, err := json.Marshal(append([]string{}, channels...)) // none is [], since no comparison holds with null
	if err != nil {
		return found, fmt.Errorf("recover the outbox: %w", err)
	}
	now := at.UnixMilli()
	err = a.inOne(ctx, "recover the outbox", func(tx *sql.Tx) error {
		if err := doubtWhatWasTold(ctx, tx, doubtedAge, "state = 'sending' AND repeated = 1"); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM alert_sent WHERE channel NOT IN (SELECT value FROM json_each(?))", string(known))
		if err != nil {
			return err
		}
		// The first plan says all that stands anew, and to whom.
		if _, err := tx.ExecContext(ctx, "DELETE FROM alert_outbox WHERE kind = ? AND done_at IS NULL", alerts.NotifyStanding); err != nil {
			return err
		}
		for _, step := range []struct {
			count     *int
			statement string
			arguments []any
		}{
			{&found.Orphans, `UPDATE alert_outbox SET state = 'failed', done_at = ?1, error_at = ?1, error = 'No such channel is configured any more.'
				WHERE done_at IS NULL AND channel NOT IN (SELECT value FROM json_each(?2))`, []any{now, string(known)}},
			{&found.Unknown, `UPDATE alert_outbox SET state = 'unknown', done_at = ?1, error_at = ?1,
				error = 'The dashboard was stopped twice while it was under way: it may have been delivered.'
				WHERE state = 'sending' AND repeated = 1`, []any{now}},
			{new(int), `UPDATE alert_outbox SET made_at = min(made_at, ?1), due_at = min(due_at, ?1), error_at = min(error_at, ?1)
				WHERE done_at IS NULL AND coalesce(error_at, made_at) > ?1`, []any{now}}, // the clock was set back
			{&found.Repeated, "UPDATE alert_outbox SET state = 'due', repeated = 1, due_at = min(due_at, ?1) WHERE state = 'sending'", []any{now}},
		} {
			res, err := tx.ExecContext(ctx, step.statement, step.arguments...)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			*step.count = int(n)
		}
		return nil
	})
	return found, err
}

// Finish keeps what became of a message that was claimed.
func (a *Alerts) Finish(ctx context.Context, id string, o outbox.Outcome) error {
	statement, args := "UPDATE alert_outbox SET state = 'sent', done_at = ? WHERE id = ?", []any{o.At.UnixMilli(), id}
	switch o.Result {
	case outbox.DeliveryRetry:
		statement = "UPDATE alert_outbox SET state = 'due', error_at = ?, due_at = ?, error = ?, repeated = max(repeated, ?) WHERE id = ?"
		args = []any{o.At.UnixMilli(), o.Retry.UnixMilli(), o.Error, o.Doubtful, id}
	case outbox.DeliveryFailed:
		return a.fail(ctx, id, o)
	}
	if _, err := a.write.ExecContext(ctx, statement, args...); err != nil {
		return fmt.Errorf("finish a message: %w", err)
	}
	return nil
}

// fail keeps that a message was given up, and that its channel may not know what it told.
func (a *Alerts) fail(ctx context.Context, id string, o outbox.Outcome) error {
	return a.inOne(ctx, "finish a message", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			UPDATE alert_outbox SET state = 'failed', done_at = ?1, error_at = ?1, error = ?2, repeated = max(repeated, ?3) WHERE id = ?4`,
			o.At.UnixMilli(), o.Error, o.Doubtful, id)
		if err != nil {
			return err
		}
		return doubtWhatWasTold(ctx, tx, 0, "id = ?", id)
	})
}

// ChannelStats returns how each channel fares that has had a message lately.
func (a *Alerts) ChannelStats(ctx context.Context) (map[string]outbox.ChannelStats, error) {
	// Of max alone SQLite takes the other columns from the row that has it.
	rows, err := a.read.QueryContext(ctx, `
		SELECT c.channel, c.depth, c.oldest, c.success, e.error, e.newest FROM (
			SELECT channel, count(*) FILTER (WHERE done_at IS NULL) AS depth, min(made_at) FILTER (WHERE done_at IS NULL) AS oldest,
				max(done_at) FILTER (WHERE state = 'sent') AS success FROM alert_outbox GROUP BY channel) c
		LEFT JOIN (SELECT channel, error, max(error_at) AS newest FROM alert_outbox WHERE error <> '' GROUP BY channel) e ON e.channel = c.channel`)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	defer func() { _ = rows.Close() }()
	all := map[string]outbox.ChannelStats{}
	for rows.Next() {
		var s outbox.ChannelStats
		var oldest, success, failed sql.NullInt64
		var why sql.NullString
		if err := rows.Scan(&s.Channel, &s.Depth, &oldest, &success, &why, &failed); err != nil {
			return nil, fmt.Errorf("read the outbox: %w", err)
		}
		s.Oldest, s.LastSuccess, s.LastError, s.LastErrorAt = fromMillis(oldest), fromMillis(success), why.String, fromMillis(failed)
		all[s.Channel] = s
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return all, nil
}

// backlogWaiting finds what waits. A message that tells that messages wait (?1) does not make them wait for longer.
const backlogWaiting = `
	SELECT channel, error, made_at FROM alert_outbox o WHERE done_at IS NULL AND NOT ` + tellsOnlyOf + ` ORDER BY made_at, seq LIMIT 1`

// backlogGivenUp finds what was given up, or may never have arrived, since a time (?2); and the newest message of each of the channels (?3)
// where it was given up, however long ago, since nothing says that the channel takes messages again. That a message about these very
// alerts (?1) was given up is no news: it would be told to the channel that did not take it, for ever.
const backlogGivenUp = `
	SELECT seq, channel, error FROM alert_outbox o WHERE done_at >= ?2 AND state IN ('failed', 'unknown') AND NOT ` + tellsOnlyOf + `
	UNION
	SELECT n.seq, n.channel, n.error FROM json_each(?3) c JOIN alert_outbox n ON n.seq = (
		SELECT seq FROM alert_outbox o WHERE channel = c.value AND done_at IS NOT NULL AND (state = 'sent' OR NOT ` + tellsOnlyOf + `)
		ORDER BY done_at DESC, seq DESC LIMIT 1)
	WHERE n.state <> 'sent'
	ORDER BY channel, seq DESC`

// tellsOnlyOf says of a message o whether it tells of alerts, and of none but those of the rules in the JSON ?1.
const tellsOnlyOf = `(
	SELECT coalesce(min(a.value ->> '$.Key.Rule' IN (SELECT value FROM json_each(?1))), 0)
	FROM json_each(CASE WHEN json_valid(o.body) THEN o.body ELSE '{}' END, '$.Alerts') a)`

// Backlog returns how the outbox stands. The channels are those that are configured: of one that is not, nothing is expected any more.
func (a *Alerts) Backlog(ctx context.Context, channels ...string) (rule.Backlog, error) {
	b, err := a.waiting(ctx)
	if err != nil {
		return b, fmt.Errorf("read the outbox: %w", err)
	}
	known, err := json.Marshal(channels)
	if err != nil {
		return b, fmt.Errorf("read the outbox: %w", err)
	}
	since := time.Now().Add(-time.Hour).UnixMilli()
	rows, err := a.read.QueryContext(ctx, backlogGivenUp, `["`+alerts.RuleDeliveryFailed+`","`+alerts.RuleOutboxOld+`"]`, since, string(known))
	if err != nil {
		return b, fmt.Errorf("read the outbox: %w", err)
	}
	defer func() { _ = rows.Close() }()
	last := ""
	for rows.Next() {
		var seq int64
		var channel, why string
		if err := rows.Scan(&seq, &channel, &why); err != nil {
			return b, fmt.Errorf("read the outbox: %w", err)
		}
		b.Failed++
		if channel != last { // the newest of a channel says why
			b.Errors = append(b.Errors, channel+": "+why)
		}
		last = channel
	}
	return b, rows.Err()
}

func (a *Alerts) waiting(ctx context.Context) (rule.Backlog, error) {
	var b rule.Backlog
	if err := a.read.QueryRowContext(ctx, "SELECT count(*) FROM alert_outbox WHERE done_at IS NULL").Scan(&b.Waiting); err != nil || b.Waiting == 0 {
		return b, err
	}
	var made int64
	err := a.read.QueryRowContext(ctx, backlogWaiting, `["`+alerts.RuleOutboxOld+`"]`).Scan(&b.Channel, &b.Error, &made)
	if errors.Is(err, sql.ErrNoRows) {
		return b, nil
	}
	b.Oldest = time.UnixMilli(made).UTC()
	return b, err
}
