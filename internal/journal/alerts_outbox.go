package journal

import (
	"context"
	"database/sql"
	"encoding/json"
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
			if err := run(ctx, tx, do("DELETE FROM alert_outbox WHERE channel = ? AND kind = ? AND state = 'due'", n.Channel, string(n.Kind))); err != nil {
				return err
			}
		}
		body, err := encodeNotification(n)
		if err != nil {
			return err
		}
		if n.Kind == alerts.NotifyStanding {
			err = keepStanding(ctx, tx, t, n, body)
		} else {
			err = run(ctx, tx, do("INSERT INTO alert_outbox (id, channel, kind, grouping, made_at, due_at, body) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
				n.ID, n.Channel, string(n.Kind), n.Group, t.At.UnixMilli(), t.At.UnixMilli(), body))
		}
		if err != nil {
			return err
		}
	}
	return run(ctx, tx, do("DELETE FROM alert_outbox WHERE done_at < ?", t.At.Add(-keepDelivered).UnixMilli()))
}

func encodeNotification(n alerts.Notification) (string, error) {
	list := make([]alerts.NotifiedAlert, len(n.Alerts))
	for i, one := range n.Alerts {
		one.Value, one.Limit, one.N = finiteNumber(one.Value), finiteNumber(one.Limit), finiteNumber(one.N)
		list[i] = one
	}
	n.Alerts = list
	return asJSON(n)
}

// keepSent keeps what channels were told since the tick before.
func keepSent(ctx context.Context, tx *sql.Tx, t alerts.Tick) error {
	if len(t.Sent) == 0 {
		return nil
	}
	for _, s := range t.Sent {
		keep := do("INSERT OR REPLACE INTO alert_sent ("+sentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			s.Channel, s.Key.String(), int(s.Tier), s.At.UnixMilli(), toMillis(s.Began), s.LeftOut, toMillis(s.Flapping), int(s.Peak), s.Doubt)
		if s.Tier <= dedup.Normal && s.Flapping.IsZero() {
			keep = do("DELETE FROM alert_sent WHERE channel = ? AND key = ?", s.Channel, s.Key.String())
		}
		if err := run(ctx, tx, keep); err != nil {
			return err
		}
	}
	// An alert may fire for longer than that, and a clock may be ahead: what the dispatcher knows of it must not be lost with a restart.
	return run(ctx, tx, do("DELETE FROM alert_sent WHERE at < ? AND key NOT IN (SELECT key FROM alert_states)", t.At.Add(-keepTold).UnixMilli()))
}

const sentColumns = "channel, key, tier, at, began, left_out, flapping, peak, doubt"

// SentLog returns what each channel was last told of each alert that is not over for it.
func (a *Alerts) SentLog(ctx context.Context) ([]alerts.Sent, error) {
	var all []alerts.Sent
	err := each(ctx, a.read, "read what channels were told", func(row scanner) error {
		var s alerts.Sent
		var key string
		if err := row.Scan(&s.Channel, &key, tier(&s.Tier), millis(&s.At), millis(&s.Began), &s.LeftOut, millis(&s.Flapping), tier(&s.Peak), &s.Doubt); err != nil {
			return err
		}
		var ok bool
		if s.Key, ok = rule.ParseKey(key); !ok {
			a.unread.note("what a channel was told cannot be read: it is not told the end", s.Channel+" "+key, errOtherRow)
			return nil
		}
		all = append(all, s)
		return nil
	}, "SELECT "+sentColumns+" FROM alert_sent ORDER BY channel, key")
	return all, err
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
		err := run(ctx, tx,
			do("DELETE FROM alert_sent WHERE channel NOT IN (SELECT value FROM json_each(?))", string(known)),
			// The first plan says all that stands anew, and to whom.
			do("DELETE FROM alert_outbox WHERE kind = ? AND done_at IS NULL", alerts.NotifyStanding))
		if err != nil {
			return err
		}
		for _, step := range []struct {
			count *int
			step
		}{
			{&found.Orphans, do(`UPDATE alert_outbox SET state = 'failed', done_at = ?1, error_at = ?1, error = 'No such channel is configured any more.'
				WHERE done_at IS NULL AND channel NOT IN (SELECT value FROM json_each(?2))`, now, string(known))},
			{&found.Unknown, do(`UPDATE alert_outbox SET state = 'unknown', done_at = ?1, error_at = ?1,
				error = 'The dashboard was stopped twice while it was under way: it may have been delivered.'
				WHERE state = 'sending' AND repeated = 1`, now)},
			{new(int), do(`UPDATE alert_outbox SET made_at = min(made_at, ?1), due_at = min(due_at, ?1), error_at = min(error_at, ?1)
				WHERE done_at IS NULL AND coalesce(error_at, made_at) > ?1`, now)}, // the clock was set back
			{&found.Repeated, do("UPDATE alert_outbox SET state = 'due', repeated = 1, due_at = min(due_at, ?1) WHERE state = 'sending'", now)},
		} {
			n, err := rowsChanged(ctx, tx, step.statement, step.args...)
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
	return exec(ctx, a.write, "finish a message", do(statement, args...))
}

// fail keeps that a message was given up, and that its channel may not know what it told.
func (a *Alerts) fail(ctx context.Context, id string, o outbox.Outcome) error {
	return a.inOne(ctx, "finish a message", func(tx *sql.Tx) error {
		err := run(ctx, tx, do("UPDATE alert_outbox SET state = 'failed', done_at = ?1, error_at = ?1, error = ?2, repeated = max(repeated, ?3) WHERE id = ?4",
			o.At.UnixMilli(), o.Error, o.Doubtful, id))
		if err != nil {
			return err
		}
		return doubtWhatWasTold(ctx, tx, 0, "id = ?", id)
	})
}

// ChannelStats returns how each channel fares that has had a message lately.
func (a *Alerts) ChannelStats(ctx context.Context) (map[string]outbox.ChannelStats, error) {
	// Of max alone SQLite takes the other columns from the row that has it.
	all := map[string]outbox.ChannelStats{}
	err := each(ctx, a.read, "read the outbox", func(row scanner) error {
		var s outbox.ChannelStats
		err := row.Scan(&s.Channel, &s.Depth, millis(&s.Oldest), millis(&s.LastSuccess), &s.LastError, millis(&s.LastErrorAt))
		all[s.Channel] = s
		return err
	}, `
		SELECT c.channel, c.depth, c.oldest, c.success, coalesce(e.error, ''), e.newest FROM (
			SELECT channel, count(*) FILTER (WHERE done_at IS NULL) AS depth, min(made_at) FILTER (WHERE done_at IS NULL) AS oldest,
				max(done_at) FILTER (WHERE state = 'sent') AS success FROM alert_outbox GROUP BY channel) c
		LEFT JOIN (SELECT channel, error, max(error_at) AS newest FROM alert_outbox WHERE error <> '' GROUP BY channel) e ON e.channel = c.channel`)
	if err != nil {
		return nil, err
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
	last := ""
	err = each(ctx, a.read, "read the outbox", func(row scanner) error {
		var seq int64
		var channel, why string
		err := row.Scan(&seq, &channel, &why)
		b.Failed++
		if channel != last { // the newest of a channel says why
			b.Errors = append(b.Errors, channel+": "+why)
		}
		last = channel
		return err
	}, backlogGivenUp, `["`+alerts.RuleDeliveryFailed+`","`+alerts.RuleOutboxOld+`"]`, time.Now().Add(-time.Hour).UnixMilli(), string(known))
	return b, err
}

func (a *Alerts) waiting(ctx context.Context) (rule.Backlog, error) {
	waiting, _, err := one(ctx, a.read, "count messages", only[int64], "SELECT count(*) FROM alert_outbox WHERE done_at IS NULL")
	if err != nil || waiting == 0 {
		return rule.Backlog{}, err
	}
	b, _, err := one(ctx, a.read, "find what waits", func(row scanner) (b rule.Backlog, err error) {
		err = row.Scan(&b.Channel, &b.Error, millis(&b.Oldest))
		return b, err
	}, backlogWaiting, `["`+alerts.RuleOutboxOld+`"]`)
	b.Waiting = waiting
	return b, err
}
