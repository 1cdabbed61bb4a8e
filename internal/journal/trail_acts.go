package journal

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
)

// begins selects the entries that begin an action, or are all that there is of it, written as in the index on them. What cannot be decoded was tampered with and
// is never left out.
const begins = `CASE WHEN json_valid(entry) THEN json_extract(entry, '$.phase') IN ('intent', 'planned', 'denied') AND json_extract(entry, '$.action') NOT IN ('clear_marker', 'set_expiry_marker', 'restore_marker') OR json_extract(entry, '$.action') IN ('key_audit', 'sign_in', 'sign_out_everywhere') ELSE 1 END`

// ended is the number of the entry with the outcome of the action in the row a, NULL without one.
const ended = `(SELECT o.number FROM audit o WHERE CASE WHEN json_valid(o.entry) THEN json_extract(o.entry, '$.operation') END = a.operation
	AND a.phase = 'intent' AND o.number > a.number AND json_extract(o.entry, '$.action') = a.action AND json_extract(o.entry, '$.phase') <> 'intent'
	ORDER BY o.number DESC LIMIT 1)`

// field reads a field of an entry; NULL of one that cannot be decoded.
func field(name string) string {
	return "CASE WHEN json_valid(entry) THEN json_extract(entry, '$." + name + "') END"
}

// Acts returns a page of what was done, newest first: each action once, with its outcome.
func (a *Audit) Acts(ctx context.Context, q admin.TrailQuery) ([]admin.Act, error) {
	db, _, _, err := a.opened(ctx)
	if err != nil {
		return nil, err
	}
	phase := q.Phase
	q.Phase = ""
	where, args := trailFilter(q)
	// The plus keeps SQLite from the index on targets: it would sort all entries on a store to find a page of its actions.
	where = strings.ReplaceAll(where, targetOf, "+"+targetOf)
	outcome := "1"
	if phase != "" {
		outcome, args = "coalesce(json_extract(e.entry, '$.phase'), f.phase) = ?", append(args, phase)
	}
	return list(ctx, db, "read audit", func(row scanner) (act admin.Act, err error) {
		var number int64
		var text string
		var last sql.NullInt64
		var lastText sql.NullString
		if err := row.Scan(&number, &text, &last, &lastText); err != nil {
			return act, err
		}
		act.Entry = parseEntry(number, text)
		if last.Valid {
			act.Outcome = parseEntry(last.Int64, lastText.String)
		}
		return act, nil
	}, `
		WITH a AS (SELECT number, entry, `+field("operation")+` AS operation, `+field("phase")+` AS phase, `+field("action")+` AS action
			FROM audit WHERE `+begins+` AND `+where+` ORDER BY number DESC),
		f AS (SELECT number, entry, phase, `+ended+` AS outcome FROM a)
		SELECT f.number, f.entry, e.number, e.entry FROM f LEFT JOIN audit e ON e.number = f.outcome
		WHERE `+outcome+` ORDER BY f.number DESC LIMIT ?`, append(args, q.Limit)...)
}

// trailTime writes a bound so that it compares with the times of entries, which have up to nine digits behind the second.
func trailTime(t time.Time) string { return strings.TrimSuffix(t.UTC().Format(time.RFC3339), "Z") }
