package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
)

const (
	// holdTries and holdFor are how many deliveries of a message are begun, and for how long it waits since it was made, until it holds up
	// no other any more: a message that its channel never takes must not keep later ones from being told.
	holdTries = 5
	holdFor   = 10 * time.Minute
	// unreadableMessage is why a message fails that cannot be read.
	unreadableMessage = "The message cannot be read; another version of the dashboard wrote it."
)

// claimable finds the message of a channel (?1) that has been due for longest at a time (?2). A message waits for those of its group that
// were made before it, unless they hold up none any more (?3, ?4). One without a group, as a digest is, tells of alerts of any group: it
// waits for all before it, and all after it wait for it. A sign of life tells of no alert. One that waits since a time that is not yet was
// put off by a clock that was set back since: it is due.
const claimable = `
	SELECT o.seq, o.made_at, o.tries, o.repeated, o.id, o.body FROM alert_outbox o
	WHERE o.channel = ?1 AND o.done_at IS NULL AND (o.due_at <= ?2 OR coalesce(o.error_at, o.made_at) > ?2) AND NOT EXISTS (
		SELECT 1 FROM alert_outbox e WHERE e.channel = ?1 AND e.done_at IS NULL AND e.seq < o.seq AND e.tries < ?3 AND e.made_at > ?4
		AND (e.grouping = o.grouping OR '' IN (e.grouping, o.grouping) AND '` + string(alerts.NotifyWatchdog) + `' NOT IN (e.kind, o.kind)))
	ORDER BY o.due_at, o.seq LIMIT 1`

// Claim marks the message of a channel that has been due for longest as under way and returns it; without an ID when there is none: one
// that nobody takes lets those of other groups pass, and after a while all. What later ones have told meanwhile is left out of it, so that
// the last that a channel hears of an alert is the newest; one of which nothing is left is dropped. One that is under way already was
// claimed without us knowing, and never sent: each channel has one worker, which finishes what it sends.
func (a *Alerts) Claim(ctx context.Context, channel string, at time.Time) (outbox.Outgoing, error) {
	for {
		out, err := a.claim(ctx, channel, at)
		if !errors.Is(err, errOvertaken) {
			return out, err
		}
	}
}

// errOvertaken means that later messages have told all that a message tells, and that it was dropped.
var errOvertaken = errors.New("later messages have told all of it")

func (a *Alerts) claim(ctx context.Context, channel string, at time.Time) (outbox.Outgoing, error) {
	type due struct {
		outbox.Outgoing
		seq      int64
		id, body string
	}
	d, there, err := one(ctx, a.read, "claim a message", func(row scanner) (d due, err error) {
		err = row.Scan(&d.seq, millis(&d.Made), &d.Tries, &d.Repeated, &d.id, &d.body)
		return d, err
	}, claimable, channel, at.UnixMilli(), holdTries, at.Add(-holdFor).UnixMilli())
	if err != nil || !there {
		return outbox.Outgoing{}, err
	}
	out := d.Outgoing
	if err := json.Unmarshal([]byte(d.body), &out.Notification); err != nil {
		// It can never be sent, and must not hold up the others.
		why := outbox.Outcome{Result: outbox.DeliveryFailed, At: at, Error: unreadableMessage}
		return outbox.Outgoing{}, errors.Join(fmt.Errorf("claim a message: %w", err), a.Finish(ctx, d.id, why))
	}
	statement := "UPDATE alert_outbox SET state = 'sending', tries = tries + 1 WHERE id = ? AND done_at IS NULL"
	left, err := a.leaveOut(ctx, &out.Notification, d.seq)
	if err != nil {
		return outbox.Outgoing{}, fmt.Errorf("claim a message: %w", err)
	}
	if !left {
		statement = "DELETE FROM alert_outbox WHERE id = ? AND done_at IS NULL"
	}
	n, err := rowsChanged(ctx, a.write, statement, d.id)
	switch {
	case err != nil:
		return outbox.Outgoing{}, fmt.Errorf("claim a message: %w", err)
	case n != 1:
		return outbox.Outgoing{}, nil // a newer one took its place meanwhile
	case !left:
		return outbox.Outgoing{}, errOvertaken
	}
	out.Repeated, out.Tries = d.Repeated, out.Tries+1
	return out, nil
}

// leaveOut takes out of a message what later ones of its channel told, which arrived or may have, and returns false when nothing is left
// then. What they only counted nobody has read.
func (a *Alerts) leaveOut(ctx context.Context, n *alerts.Notification, seq int64) (bool, error) {
	if len(n.Alerts)+len(n.Counted) == 0 {
		return true, nil
	}
	later, err := messagesWhere(ctx, a.read, "channel = ? AND seq > ? AND (state IN ('sent', 'unknown') OR repeated = 1)", n.Channel, seq)
	if err != nil {
		return false, err
	}
	told := map[rule.Key]bool{}
	for _, l := range later {
		for _, one := range l.Alerts {
			told[one.Key] = true
		}
	}
	n.Alerts = slices.DeleteFunc(n.Alerts, func(one alerts.NotifiedAlert) bool { return told[one.Key] })
	counted := len(n.Counted)
	n.Counted = slices.DeleteFunc(n.Counted, func(k rule.Key) bool { return told[k] })
	n.LeftOut -= counted - len(n.Counted)
	return len(n.Alerts)+n.LeftOut > 0, nil
}
