package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
)

// The expressions of the indexes on the audit; they must be written as there.
const (
	targetOf    = `CASE WHEN json_valid(entry) THEN json_extract(entry, '$.target') END`
	operationOf = `CASE WHEN json_valid(entry) THEN json_extract(entry, '$.operation') END`
)

// Entries returns a page of the audit, newest first. It does not check the chain. An entry that cannot be decoded was
// tampered with: it comes with its number and says so.
func (a *Audit) Entries(ctx context.Context, q admin.TrailQuery) ([]admin.Entry, error) {
	a.mu.Lock()
	db, err := a.file(ctx)
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	where, args := trailFilter(q)
	rows, err := db.QueryContext(ctx, "SELECT number, entry FROM audit WHERE "+where+" ORDER BY number DESC LIMIT ?", append(args, q.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var page []admin.Entry
	for rows.Next() {
		var number int64
		var text string
		if err := rows.Scan(&number, &text); err != nil {
			return nil, fmt.Errorf("read audit: %w", err)
		}
		page = append(page, parseEntry(number, text))
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	return page, nil
}

func trailFilter(q admin.TrailQuery) (string, []any) {
	where, args := []string{"1"}, []any{}
	and := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Before > 0 {
		and("number < ?", q.Before)
	}
	switch {
	case q.Below: // what begins with the target and a slash lies before the target and "0", the character after the slash
		and("("+targetOf+" = ? OR "+targetOf+" > ? AND "+targetOf+" < ?)", q.Target, q.Target+"/", q.Target+"0")
	case q.Target != "":
		and(targetOf+" = ?", q.Target)
	}
	if q.Operation != "" {
		and(operationOf+" = ?", q.Operation)
	}
	for _, f := range []struct{ name, value string }{{"who", q.Who}, {"action", q.Action}, {"phase", q.Phase}} {
		if f.value != "" {
			and(field(f.name)+" = ?", f.value)
		}
	}
	if !q.From.IsZero() {
		and(field("at")+" >= ?", trailTime(q.From))
	}
	if !q.To.IsZero() {
		and(field("at")+" < ?", trailTime(q.To))
	}
	return strings.Join(where, " AND "), args
}

func parseEntry(number int64, text string) admin.Entry {
	var e entryJSON
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return admin.Entry{Number: number, Phase: "damaged", Detail: "this entry cannot be read: it was changed"}
	}
	at, _ := time.Parse(time.RFC3339Nano, e.At) // the zero time shows that it is not known
	return admin.Entry{
		Number: number, At: at, Operation: e.Operation, Phase: e.Phase, Who: e.Who, Role: e.Role, Method: e.Method,
		From: e.From, Action: e.Action, Target: e.Target, Detail: e.Detail,
		Reason: e.Reason, Before: e.Before, After: e.After, Hash: e.Hash,
	}
}
