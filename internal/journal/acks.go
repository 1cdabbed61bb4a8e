package journal

import (
	"context"
	"database/sql"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
)

// keepAcks keeps the acknowledgements of the alerts of a tick, and why those ended that they have no longer.
func keepAcks(ctx context.Context, tx *sql.Tx, t alerts.Tick) error {
	kept, err := acksKept(ctx, tx)
	if err != nil {
		return err
	}
	for i := range t.Alerts {
		one := &t.Alerts[i]
		key, ack := one.Key.String(), one.Ack
		before := kept[key]
		if before != nil && (ack == nil || ack.At.UnixMilli() != before.At.UnixMilli()) {
			if err := keepEndedAck(ctx, tx, before.EndedAs(one, t.At, t.By)); err != nil {
				return err
			}
		}
		switch {
		case ack != nil:
			err = run(ctx, tx, do("INSERT OR REPLACE INTO alert_acks (key, made_by, note, made_at, until, tier) VALUES (?, ?, ?, ?, ?, ?)",
				key, ack.By, ack.Note, ack.At.UnixMilli(), toMillis(ack.Until), int(ack.Tier)))
		case before != nil:
			err = run(ctx, tx, do("DELETE FROM alert_acks WHERE key = ?", key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// acksKept are the acknowledgements that hold, by the keys of their alerts.
func acksKept(ctx context.Context, tx *sql.Tx) (map[string]*alerts.Ack, error) {
	kept := map[string]*alerts.Ack{}
	err := each(ctx, tx, "read acknowledgements", func(row scanner) error {
		var key string
		ack := &alerts.Ack{}
		err := row.Scan(&key, &ack.By, &ack.Note, millis(&ack.At), millis(&ack.Until), tier(&ack.Tier))
		kept[key] = ack
		return err
	}, "SELECT key, made_by, note, made_at, until, tier FROM alert_acks")
	return kept, err
}

func keepEndedAck(ctx context.Context, tx *sql.Tx, e alerts.EndedAck) error {
	return run(ctx, tx,
		do("INSERT INTO alert_acks_ended (key, made_by, note, made_at, until, tier, ended_at, why, ended_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			e.Key.String(), e.By, e.Note, e.At.UnixMilli(), toMillis(e.Until), int(e.Tier), e.Ended.UnixMilli(), string(e.Why), e.EndedBy),
		do("DELETE FROM alert_acks_ended WHERE ended_at < ?", e.Ended.Add(-keepEdges).UnixMilli()))
}

// EndedAcks returns the newest acknowledgements of an alert that hold no more, the last to end first, at most limit.
func (a *Alerts) EndedAcks(ctx context.Context, of rule.Key, limit int) ([]alerts.EndedAck, error) {
	return list(ctx, a.read, "read acknowledgements", func(row scanner) (alerts.EndedAck, error) {
		e := alerts.EndedAck{Key: of}
		err := row.Scan(&e.By, &e.Note, millis(&e.At), millis(&e.Until), tier(&e.Tier), millis(&e.Ended), &e.Why, &e.EndedBy)
		return e, err
	}, "SELECT made_by, note, made_at, until, tier, ended_at, why, ended_by FROM alert_acks_ended WHERE key = ? ORDER BY ended_at DESC, id DESC LIMIT ?", of.String(), limit)
}
