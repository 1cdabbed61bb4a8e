package journal

import (
	"context"
	"database/sql"
	"fmt"

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
			_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO alert_acks (key, made_by, note, made_at, until, tier) VALUES (?, ?, ?, ?, ?, ?)",
				key, ack.By, ack.Note, ack.At.UnixMilli(), toMillis(ack.Until), int(ack.Tier))
		case before != nil:
			_, err = tx.ExecContext(ctx, "DELETE FROM alert_acks WHERE key = ?", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// acksKept are the acknowledgements that hold, by the keys of their alerts.
func acksKept(ctx context.Context, tx *sql.Tx) (map[string]*alerts.Ack, error) {
	rows, err := tx.QueryContext(ctx, "SELECT key, made_by, note, made_at, until, tier FROM alert_acks")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	kept := map[string]*alerts.Ack{}
	for rows.Next() {
		var key string
		var at, until sql.NullInt64
		var tier int64
		ack := &alerts.Ack{}
		if err := rows.Scan(&key, &ack.By, &ack.Note, &at, &until, &tier); err != nil {
			return nil, err
		}
		ack.At, ack.Until, ack.Tier = fromMillis(at), fromMillis(until), tierOf(tier)
		kept[key] = ack
	}
	return kept, rows.Err()
}

func keepEndedAck(ctx context.Context, tx *sql.Tx, e alerts.EndedAck) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO alert_acks_ended (key, made_by, note, made_at, until, tier, ended_at, why, ended_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		e.Key.String(), e.By, e.Note, e.At.UnixMilli(), toMillis(e.Until), int(e.Tier), e.Ended.UnixMilli(), string(e.Why), e.EndedBy)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM alert_acks_ended WHERE ended_at < ?", e.Ended.Add(-keepEdges).UnixMilli())
	return err
}

// EndedAcks returns the newest acknowledgements of an alert that hold no more, the last to end first, at most limit.
func (a *Alerts) EndedAcks(ctx context.Context, of rule.Key, limit int) ([]alerts.EndedAck, error) {
	rows, err := a.read.QueryContext(ctx, "SELECT made_by, note, made_at, until, tier, ended_at, why, ended_by FROM alert_acks_ended WHERE key = ? ORDER BY ended_at DESC, id DESC LIMIT ?", of.String(), limit)
	if err != nil {
		return nil, fmt.Errorf("read acknowledgements: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []alerts.EndedAck
	for rows.Next() {
		e := alerts.EndedAck{Key: of}
		var at, until, ended sql.NullInt64
		var tier int64
		if err := rows.Scan(&e.By, &e.Note, &at, &until, &tier, &ended, &e.Why, &e.EndedBy); err != nil {
			return nil, fmt.Errorf("read acknowledgements: %w", err)
		}
		e.At, e.Until, e.Ended, e.Tier = fromMillis(at), fromMillis(until), fromMillis(ended), tierOf(tier)
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read acknowledgements: %w", err)
	}
	return all, nil
}
