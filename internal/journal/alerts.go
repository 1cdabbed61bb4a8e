package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

const (
	// keepEdges is how long edges of alerts are kept, and maxEdges how many: the newest.
	keepEdges = 90 * 24 * time.Hour
	maxEdges  = 100_000
)

// Alerts keeps the life of alerts, what happened to them, the messages about them, silences and acknowledgements. Its writes are on disk
// when they return. It is safe for concurrent use.
type Alerts struct {
	keeper
	unread *unread
}

// Alerts returns the keeper of alerts.
func (db *DB) Alerts() *Alerts { return &Alerts{keeper: db.keeper(), unread: db.unread} }

// CommitTick keeps what an evaluation came to: the states of its alerts, their edges, the messages that are due and what channels were
// told, all or nothing. Alerts that are not in it stay as they are; those that are in it have the acknowledgements that it says.
func (a *Alerts) CommitTick(ctx context.Context, t alerts.Tick) error {
	return a.inOne(ctx, "keep alerts", func(tx *sql.Tx) error {
		for _, step := range []func(context.Context, *sql.Tx, alerts.Tick) error{keepSent, keepStates, keepAcks, keepEdgesOf, keepDue} {
			if err := step(ctx, tx, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// quiet says whether a state says no more than that nothing is amiss. Most do, and they are not kept: thousands would be written anew at
// each evaluation.
func quiet(a alerts.Alert) bool {
	s := a.State
	return s.Phase == alerts.PhaseNormal && s.Tier <= dedup.Normal && s.Health == rule.HealthOK && s.Reached == [3]time.Time{} &&
		s.Below == [3]time.Time{} && s.Resumed.IsZero() && a.Flapping.IsZero()
}

func keepStates(ctx context.Context, tx *sql.Tx, t alerts.Tick) error {
	kept := map[string]bool{}
	err := each(ctx, tx, "read the keys of alerts", func(row scanner) error {
		key, err := only[string](row)
		kept[key] = true
		return err
	}, "SELECT key FROM alert_states")
	if err != nil {
		return err
	}
	err = repeat(ctx, tx, "INSERT OR REPLACE INTO alert_states (key, quiet, body) VALUES (?, ?, ?)", func(upsert func(...any) error) error {
		for _, one := range t.Alerts {
			key := one.Key.String()
			if quiet(one) && !kept[key] {
				continue
			}
			one.Ack, one.Silences = nil, nil // which are kept apart
			one.Last, one.LastOK = finite(one.Last), finite(one.LastOK)
			body, err := json.Marshal(one)
			if err == nil {
				err = upsert(key, quiet(one), string(body))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// One that is over stays until every channel that was told of it has heard so.
	return run(ctx, tx, do("DELETE FROM alert_states WHERE quiet = 1 AND key NOT IN (SELECT key FROM alert_sent)"))
}

// finite makes the figures of a judgement such that JSON holds them: it has no infinity, and none that is not a number. What the judgement
// says in words stays.
func finite(j rule.Judgement) rule.Judgement {
	for _, v := range []*float64{&j.Value, &j.Limit, &j.N} {
		*v = finiteNumber(*v)
	}
	return j
}

func finiteNumber(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v, -math.MaxFloat64), math.MaxFloat64)
}

func keepEdgesOf(ctx context.Context, tx *sql.Tx, t alerts.Tick) error {
	if len(t.Edges) == 0 {
		return nil
	}
	for _, e := range t.Edges {
		e.Judgement = finite(e.Judgement)
		body, err := json.Marshal(e)
		if err == nil {
			err = run(ctx, tx, do("INSERT INTO alert_edges (at, key, subject, edge, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
				e.Edge.At.UnixMilli(), e.Judgement.Key.String(), e.Judgement.Key.Subject, string(e.Kind), string(body)))
		}
		if err != nil {
			return err
		}
	}
	return run(ctx, tx,
		do("DELETE FROM alert_edges WHERE at < ?", t.At.Add(-keepEdges).UnixMilli()),
		do("DELETE FROM alert_edges WHERE id <= (SELECT id FROM alert_edges ORDER BY id DESC LIMIT 1 OFFSET ?)", maxEdges))
}

// LoadAlerts returns the alerts that were not plainly normal after the newest evaluation, with their acknowledgements, by key. One that
// cannot be read is left out.
func (a *Alerts) LoadAlerts(ctx context.Context) ([]alerts.Alert, error) {
	var all []alerts.Alert
	err := each(ctx, a.read, "read alerts", func(row scanner) error {
		var key, body string
		var acknowledged bool
		var ack alerts.Ack
		if err := row.Scan(&key, &body, &acknowledged, &ack.By, &ack.Note, millis(&ack.At), millis(&ack.Until), tier(&ack.Tier)); err != nil {
			return err
		}
		var one alerts.Alert
		if !a.unread.row("an alert of before cannot be read: it begins anew", key, body, &one, func() string { return one.Key.String() }) {
			return nil
		}
		if acknowledged {
			one.Ack = &ack
		}
		all = append(all, one)
		return nil
	}, `
		SELECT s.key, s.body, k.made_at IS NOT NULL, coalesce(k.made_by, ''), coalesce(k.note, ''), k.made_at, k.until, k.tier
		FROM alert_states s LEFT JOIN alert_acks k ON k.key = s.key ORDER BY s.key`)
	return all, err
}

// tierOf returns a tier as it was kept, and unknown for a number that is none.
func tierOf(n int64) dedup.Tier {
	if n < 0 || n > int64(dedup.Emergency) {
		return dedup.TierUnknown
	}
	return dedup.Tier(n)
}

// tier is where a column is scanned into that holds a tier.
func tier(into *dedup.Tier) column[int64] {
	return func(n sql.Null[int64]) error { *into = tierOf(n.V); return nil }
}

// History returns the newest edges of an alert, of all alerts of a subject with a key without a rule, or of all with none, that are older
// than a time, newest first. It returns at most limit and those that happened at the same time as the last of them, so that the time of the
// last one is where to go on.
func (a *Alerts) History(ctx context.Context, of rule.Key, limit int, before time.Time) ([]alerts.Transition, error) {
	where, args := "at < ?1", []any{before.UnixMilli(), limit - 1}
	switch {
	case of.Rule != "":
		where, args = where+" AND key = ?3", append(args, of.String())
	case of != rule.Key{}: // whose key is the end of those of its alerts
		where, args = where+" AND subject = ?3 AND substr(key, -length(?4)) = ?4", append(args, of.Subject, of.String())
	}
	return a.edges(ctx, `
		SELECT key, body FROM alert_edges WHERE `+where+` AND at >= coalesce((
			SELECT at FROM alert_edges WHERE `+where+` ORDER BY at DESC LIMIT 1 OFFSET ?2), 0) ORDER BY at DESC, id DESC`, args...)
}

// EdgesSince returns the edges that are not older than a time, oldest first.
func (a *Alerts) EdgesSince(ctx context.Context, from time.Time) ([]alerts.Transition, error) {
	return a.edges(ctx, "SELECT key, body FROM alert_edges WHERE at >= ? ORDER BY at, id", from.UnixMilli())
}

func (a *Alerts) edges(ctx context.Context, query string, args ...any) ([]alerts.Transition, error) {
	var all []alerts.Transition
	err := each(ctx, a.read, "read the history of alerts", func(row scanner) error {
		var key, body string
		var e alerts.Transition
		if err := row.Scan(&key, &body); err != nil {
			return err
		}
		if a.unread.row("what happened to an alert cannot be read: its history is not whole", key, body, &e, func() string { return e.Judgement.Key.String() }) {
			all = append(all, e)
		}
		return nil
	}, query, args...)
	return all, err
}
