package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

// Operations keeps plans, operations, their outcomes and the images of cleared markers. Its writes are on disk when they
// return: a marker is deleted only after its image is. It is safe for concurrent use.
type Operations struct {
	read *sql.DB
	// write has one connection, so that writers queue here and not in SQLite.
	write *sql.DB
	waste *waste
}

// SavePlan keeps a plan.
func (o *Operations) SavePlan(ctx context.Context, p marker.Plan) error {
	body, err := encodePlan(p)
	if err != nil {
		return fmt.Errorf("keep plan: %w", err)
	}
	_, err = o.write.ExecContext(ctx, "INSERT INTO plans (id, made_at, body) VALUES (?, ?, ?)", p.ID, p.Made.UnixMilli(), body)
	if err != nil {
		return fmt.Errorf("keep plan: %w", err)
	}
	return nil
}

// Plan returns a plan, the operation that claimed it or "", and whether there is such a plan.
func (o *Operations) Plan(ctx context.Context, id string) (marker.Plan, string, bool, error) {
	var body string
	var operation sql.NullString
	err := o.read.QueryRowContext(ctx, "SELECT body, operation FROM plans WHERE id = ?", id).Scan(&body, &operation)
	if errors.Is(err, sql.ErrNoRows) {
		return marker.Plan{}, "", false, nil
	}
	if err != nil {
		return marker.Plan{}, "", false, fmt.Errorf("read plan: %w", err)
	}
	p, err := decodePlan(body)
	return p, operation.String, err == nil, err
}

// Begin claims the plan and keeps the operation, both or neither. It returns the ID of the operation that has the plan
// already, else the ID of this one. It fails with admin.ErrTokenUsed when this person started another plan with the token.
func (o *Operations) Begin(ctx context.Context, op marker.Operation, token string) (string, error) {
	tx, err := o.write.BeginTx(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("begin operation: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	if holder, err := holderOf(ctx, tx, op, token); holder != "" || err != nil {
		return holder, err
	}
	if err := insertOperation(ctx, tx, op, token); err != nil {
		return "", fmt.Errorf("begin operation: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return "", fmt.Errorf("begin operation: %w", err)
	}
	return op.ID, nil
}

// holderOf returns the operation that has the plan, or "".
func holderOf(ctx context.Context, tx *sql.Tx, op marker.Operation, token string) (string, error) {
	var holder string
	err := tx.QueryRowContext(ctx, "SELECT id FROM operations WHERE plan = ?", op.Plan.ID).Scan(&holder)
	if err == nil {
		return holder, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("begin operation: %w", err)
	}
	var used bool
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM operations WHERE token <> '' AND token = ? AND started_by = ?)", token, op.By).Scan(&used)
	if err != nil {
		return "", fmt.Errorf("begin operation: %w", err)
	}
	if used {
		return "", fmt.Errorf("begin operation: %w", admin.ErrTokenUsed)
	}
	return "", nil
}

func insertOperation(ctx context.Context, tx *sql.Tx, op marker.Operation, token string) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO operations (id, plan, started_by, reason, token, deed, store, items, undoes, started_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		op.ID, op.Plan.ID, op.By, op.Reason, token, string(op.Plan.Request.Deed), op.Plan.Request.Store, len(op.Plan.Items),
		op.Plan.Request.Operation, op.Started.UnixMilli())
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE plans SET operation = ? WHERE id = ?", op.ID, op.Plan.ID)
	return err
}

// End marks an operation as ended; one that has ended stays as it is. It fails with marker.ErrUnderWay while an item is
// begun and has no outcome.
func (o *Operations) End(ctx context.Context, id string, at time.Time, interrupted bool, stopped string) error {
	_, err := o.write.ExecContext(ctx, `
		UPDATE operations SET ended_at = ?, interrupted = ?, stopped = ? WHERE id = ? AND ended_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM outcomes u WHERE u.operation = operations.id AND u.done_at IS NULL)`,
		at.UnixMilli(), interrupted, stopped, id)
	if err != nil {
		return fmt.Errorf("end operation: %w", err)
	}
	var underWay bool
	err = o.write.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM outcomes WHERE operation = ? AND done_at IS NULL)", id).Scan(&underWay)
	if err != nil {
		return fmt.Errorf("end operation: %w", err)
	}
	if underWay {
		return fmt.Errorf("end operation: %w", marker.ErrUnderWay)
	}
	return nil
}

// undoneBy finds the newest operation that restored something of the operation in the row.
const undoneBy = `coalesce((SELECT u.id FROM operations u WHERE u.undoes = o.id
	AND EXISTS (SELECT 1 FROM outcomes r WHERE r.operation = u.id AND r.result = '` + string(dedup.Restored) + `')
	ORDER BY u.started_at DESC LIMIT 1), '')`

// Operation returns an operation with its plan and one outcome per item, and whether there is one.
func (o *Operations) Operation(ctx context.Context, id string) (marker.Operation, bool, error) {
	op := marker.Operation{ID: id}
	var body string
	var started int64
	var ended sql.NullInt64
	err := o.read.QueryRowContext(ctx, `
		SELECT p.body, o.started_by, o.reason, o.started_at, o.ended_at, o.interrupted, o.stopped, `+undoneBy+`
		FROM operations o JOIN plans p ON p.id = o.plan WHERE o.id = ?`, id).
		Scan(&body, &op.By, &op.Reason, &started, &ended, &op.Interrupted, &op.Stopped, &op.Undone)
	if errors.Is(err, sql.ErrNoRows) {
		return marker.Operation{}, false, nil
	}
	if err != nil {
		return marker.Operation{}, false, fmt.Errorf("read operation: %w", err)
	}
	if op.Plan, err = decodePlan(body); err != nil {
		return marker.Operation{}, false, err
	}
	op.Started, op.Ended = fromMillis(sql.NullInt64{Int64: started, Valid: true}), fromMillis(ended)
	if op.Outcomes, err = o.outcomes(ctx, id, len(op.Plan.Items)); err != nil {
		return marker.Operation{}, false, err
	}
	return op, true, nil
}

func (o *Operations) outcomes(ctx context.Context, id string, items int) ([]marker.ItemOutcome, error) {
	all := make([]marker.ItemOutcome, items)
	for i := range all {
		all[i].Item = i
	}
	rows, err := o.read.QueryContext(ctx, "SELECT item, done_at, body, restorable_until FROM outcomes WHERE operation = ?", id)
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var item int
		var done, until sql.NullInt64
		var body string
		if err := rows.Scan(&item, &done, &body, &until); err != nil {
			return nil, fmt.Errorf("read outcomes: %w", err)
		}
		if item < 0 || item >= items {
			return nil, fmt.Errorf("read outcomes: item %d of %d", item, items)
		}
		out := &all[item]
		if out.Begun = !done.Valid; out.Begun {
			continue
		}
		out.At, out.Restorable = fromMillis(done), fromMillis(until)
		if out.Outcome, err = decodeOutcome(body); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	return all, nil
}

// Operations returns summaries, newest first.
func (o *Operations) Operations(ctx context.Context, limit int) ([]marker.OperationSummary, error) {
	rows, err := o.read.QueryContext(ctx, `
		SELECT o.id, o.deed, o.store, o.started_by, o.reason, o.started_at, o.ended_at, o.interrupted, o.items, `+undoneBy+`
		FROM operations o ORDER BY o.started_at DESC, o.rowid DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []marker.OperationSummary
	for rows.Next() {
		s := marker.OperationSummary{Results: map[dedup.Result]int{}}
		var started, ended sql.NullInt64
		if err := rows.Scan(&s.ID, &s.Deed, &s.Store, &s.By, &s.Reason, &started, &ended, &s.Interrupted, &s.Items, &s.Undone); err != nil {
			return nil, fmt.Errorf("read operations: %w", err)
		}
		s.Started, s.Ended = fromMillis(started), fromMillis(ended)
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	for i := range list {
		if err := o.countResults(ctx, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (o *Operations) countResults(ctx context.Context, s *marker.OperationSummary) error {
	rows, err := o.read.QueryContext(ctx, "SELECT result, count(*) FROM outcomes WHERE operation = ? AND done_at IS NOT NULL GROUP BY result", s.ID)
	if err != nil {
		return fmt.Errorf("read outcomes: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var result string
		var n int
		if err := rows.Scan(&result, &n); err != nil {
			return fmt.Errorf("read outcomes: %w", err)
		}
		s.Results[dedup.Result(result)] = n
	}
	return rows.Err()
}

// ByToken returns the plan that this person started with the token, or "".
func (o *Operations) ByToken(ctx context.Context, by, token string) (string, error) {
	var plan string
	err := o.read.QueryRowContext(ctx, "SELECT plan FROM operations WHERE started_by = ? AND token = ? AND token <> ''", by, token).Scan(&plan)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read operations: %w", err)
	}
	return plan, nil
}

// Unfinished returns the operations that have not ended or have an item that is begun and has no outcome, oldest first.
func (o *Operations) Unfinished(ctx context.Context) ([]string, error) {
	rows, err := o.read.QueryContext(ctx, `
		SELECT id FROM operations WHERE ended_at IS NULL OR id IN (SELECT operation FROM outcomes WHERE done_at IS NULL) ORDER BY started_at`)
	if err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read operations: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// fromMillis returns a time in UTC, and the zero time for NULL.
func fromMillis(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}

func toMillis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}
