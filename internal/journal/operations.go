package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

// Operations keeps plans, operations, their outcomes and the images of cleared markers. Its writes are on disk when they
// return: a marker is deleted only after its image is. It is safe for concurrent use.
type Operations struct {
	keeper
	waste *waste
}

// SavePlan keeps a plan.
func (o *Operations) SavePlan(ctx context.Context, p marker.Plan) error {
	body, err := encodePlan(p)
	if err != nil {
		return fmt.Errorf("keep plan: %w", err)
	}
	return exec(ctx, o.write, "keep plan", do("INSERT INTO plans (id, made_at, body) VALUES (?, ?, ?)", p.ID, p.Made.UnixMilli(), body))
}

// Plan returns a plan, the operation that claimed it or "", and whether there is such a plan.
func (o *Operations) Plan(ctx context.Context, id string) (p marker.Plan, operation string, ok bool, err error) {
	p, ok, err = one(ctx, o.read, "read plan", func(row scanner) (p marker.Plan, err error) {
		err = row.Scan(decoded(&p, decodePlan), &operation)
		return p, err
	}, "SELECT body, coalesce(operation, '') FROM plans WHERE id = ?", id)
	return p, operation, ok, err
}

// A planClaim is how what carries a plan out claims it: an operation on markers or a job.
type planClaim struct {
	// table keeps such as claim plans of the kind.
	table               string
	id, plan, by, token string
	// free says what else stands in the way; nil where nothing can. keep keeps it.
	free, keep func(tx *sql.Tx) error
}

// begin claims a plan and keeps what claims it, both or neither. It returns the ID of what has the plan already, else that of the claim. It
// fails with admin.ErrTokenUsed when this person started another plan with the token.
func (k keeper) begin(ctx context.Context, what string, c planClaim) (string, error) {
	holder := c.id
	err := k.inOne(ctx, what, func(tx *sql.Tx) error {
		other, claimed, err := one(ctx, tx, "find who has the plan", only[string], "SELECT id FROM "+c.table+" WHERE plan = ?", c.plan)
		if claimed {
			holder = other
		}
		if claimed || err != nil {
			return err
		}
		used, _, err := one(ctx, tx, "look for the token", only[bool], "SELECT EXISTS (SELECT 1 FROM "+c.table+" WHERE token <> '' AND token = ? AND started_by = ?)", c.token, c.by)
		switch {
		case err != nil:
			return err
		case used:
			return admin.ErrTokenUsed
		case c.free != nil:
			if err := c.free(tx); err != nil {
				return err
			}
		}
		return c.keep(tx)
	})
	if err != nil {
		return "", err
	}
	return holder, nil
}

// planOfToken returns the plan that a person started with a token, or "".
func (k keeper) planOfToken(ctx context.Context, table, by, token string) (string, error) {
	plan, _, err := one(ctx, k.read, "read "+table, only[string], "SELECT plan FROM "+table+" WHERE started_by = ? AND token = ? AND token <> ''", by, token)
	return plan, err
}

// Begin claims the plan and keeps the operation, both or neither. It returns the ID of the operation that has the plan
// already, else the ID of this one. It fails with admin.ErrTokenUsed when this person started another plan with the token.
func (o *Operations) Begin(ctx context.Context, op marker.Operation, token string) (string, error) {
	return o.begin(ctx, "begin operation", planClaim{
		table: "operations", id: op.ID, plan: op.Plan.ID, by: op.By, token: token,
		keep: func(tx *sql.Tx) error {
			return run(ctx, tx,
				do(`INSERT INTO operations (id, plan, started_by, reason, token, deed, store, items, undoes, started_at)
					VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
					op.ID, op.Plan.ID, op.By, op.Reason, token, string(op.Plan.Request.Deed), op.Plan.Request.Store, len(op.Plan.Items),
					op.Plan.Request.Operation, op.Started.UnixMilli()),
				do("UPDATE plans SET operation = ? WHERE id = ?", op.ID, op.Plan.ID))
		},
	})
}

// End marks an operation as ended; one that has ended stays as it is. It fails with marker.ErrUnderWay while an item is
// begun and has no outcome.
func (o *Operations) End(ctx context.Context, id string, at time.Time, interrupted bool, stopped string) error {
	err := exec(ctx, o.write, "end operation", do(`
		UPDATE operations SET ended_at = ?, interrupted = ?, stopped = ? WHERE id = ? AND ended_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM outcomes u WHERE u.operation = operations.id AND u.done_at IS NULL)`,
		at.UnixMilli(), interrupted, stopped, id))
	if err != nil {
		return err
	}
	underWay, _, err := one(ctx, o.write, "end operation", only[bool], "SELECT EXISTS (SELECT 1 FROM outcomes WHERE operation = ? AND done_at IS NULL)", id)
	if err == nil && underWay {
		err = fmt.Errorf("end operation: %w", marker.ErrUnderWay)
	}
	return err
}

// undoneBy finds the newest operation that restored something of the operation in the row.
const undoneBy = `coalesce((SELECT u.id FROM operations u WHERE u.undoes = o.id
	AND EXISTS (SELECT 1 FROM outcomes r WHERE r.operation = u.id AND r.result = '` + string(dedup.Restored) + `')
	ORDER BY u.started_at DESC LIMIT 1), '')`

// Operation returns an operation with its plan and one outcome per item, and whether there is one.
func (o *Operations) Operation(ctx context.Context, id string) (marker.Operation, bool, error) {
	op, ok, err := one(ctx, o.read, "read operation", func(row scanner) (marker.Operation, error) {
		op := marker.Operation{ID: id}
		err := row.Scan(decoded(&op.Plan, decodePlan), &op.By, &op.Reason, millis(&op.Started), millis(&op.Ended), &op.Interrupted, &op.Stopped, &op.Undone)
		return op, err
	}, `
		SELECT p.body, o.started_by, o.reason, o.started_at, o.ended_at, o.interrupted, o.stopped, `+undoneBy+`
		FROM operations o JOIN plans p ON p.id = o.plan WHERE o.id = ?`, id)
	if err != nil || !ok {
		return op, false, err
	}
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
	err := each(ctx, o.read, "read outcomes", func(row scanner) error {
		var out marker.ItemOutcome
		var body string
		if err := row.Scan(&out.Item, millis(&out.At), &body, millis(&out.Restorable), &out.Begun); err != nil {
			return err
		}
		if out.Item < 0 || out.Item >= items {
			return fmt.Errorf("item %d of %d", out.Item, items)
		}
		if out.Begun {
			all[out.Item].Begun = true
			return nil
		}
		var err error
		out.Outcome, err = decodeOutcome(body)
		all[out.Item] = out
		return err
	}, "SELECT item, done_at, body, restorable_until, done_at IS NULL FROM outcomes WHERE operation = ?", id)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Operations returns summaries, newest first.
func (o *Operations) Operations(ctx context.Context, limit int) ([]marker.OperationSummary, error) {
	found, err := list(ctx, o.read, "read operations", func(row scanner) (marker.OperationSummary, error) {
		s := marker.OperationSummary{Results: map[dedup.Result]int{}}
		err := row.Scan(&s.ID, &s.Deed, &s.Store, &s.By, &s.Reason, millis(&s.Started), millis(&s.Ended), &s.Interrupted, &s.Items, &s.Undone)
		return s, err
	}, `
		SELECT o.id, o.deed, o.store, o.started_by, o.reason, o.started_at, o.ended_at, o.interrupted, o.items, `+undoneBy+`
		FROM operations o ORDER BY o.started_at DESC, o.rowid DESC LIMIT ?`, limit)
	for _, s := range found {
		err := each(ctx, o.read, "read outcomes", func(row scanner) error {
			var result dedup.Result
			var n int
			err := row.Scan(&result, &n)
			s.Results[result] = n
			return err
		}, "SELECT result, count(*) FROM outcomes WHERE operation = ? AND done_at IS NOT NULL GROUP BY result", s.ID)
		if err != nil {
			return nil, err
		}
	}
	return found, err
}

// ByToken returns the plan that this person started with the token, or "".
func (o *Operations) ByToken(ctx context.Context, by, token string) (string, error) {
	return o.planOfToken(ctx, "operations", by, token)
}

// Unfinished returns the operations that have not ended or have an item that is begun and has no outcome, oldest first.
func (o *Operations) Unfinished(ctx context.Context) ([]string, error) {
	return list(ctx, o.read, "read operations", only[string], `
		SELECT id FROM operations WHERE ended_at IS NULL OR id IN (SELECT operation FROM outcomes WHERE done_at IS NULL) ORDER BY started_at`)
}
