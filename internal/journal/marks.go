package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// keepMarks is how long marks are kept, and maxMarks how many: the newest.
	keepMarks = 90 * 24 * time.Hour
	maxMarks  = 10_000
)

// Marks keeps what people and deployments say happened. It is safe for concurrent use.
type Marks struct {
	read  *sql.DB
	write *sql.DB
}

// Marks returns the keeper of marks.
func (db *DB) Marks() *Marks { return &Marks{read: db.main, write: db.acts} }

// AddMark keeps a mark, and drops those that are too old or too many. Times are kept to the millisecond.
func (m *Marks) AddMark(ctx context.Context, mark dedup.Mark) error {
	tx, err := m.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("keep mark: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	for _, step := range []struct {
		statement string
		arguments []any
	}{
		{"INSERT INTO marks (at, pipeline, text, made_by, made_at) VALUES (?, ?, ?, ?, ?)",
			[]any{mark.At.UnixMilli(), mark.Pipeline, mark.Text, mark.By, mark.Made.UnixMilli()}},
		{"DELETE FROM marks WHERE at < ?", []any{mark.Made.Add(-keepMarks).UnixMilli()}},
		{"DELETE FROM marks WHERE id <= (SELECT id FROM marks ORDER BY id DESC LIMIT 1 OFFSET ?)", []any{maxMarks}},
	} {
		if _, err := tx.ExecContext(ctx, step.statement, step.arguments...); err != nil {
			return fmt.Errorf("keep mark: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("keep mark: %w", err)
	}
	return nil
}

// MarksSince returns the newest marks that are not older than a time, at most limit, oldest first.
func (m *Marks) MarksSince(ctx context.Context, from time.Time, limit int) ([]dedup.Mark, error) {
	rows, err := m.read.QueryContext(ctx, `
		SELECT at, pipeline, text, made_by, made_at FROM (SELECT * FROM marks WHERE at >= ? ORDER BY at DESC, id DESC LIMIT ?) ORDER BY at, id`,
		from.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("read marks: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []dedup.Mark
	for rows.Next() {
		var mark dedup.Mark
		var at, made int64
		if err := rows.Scan(&at, &mark.Pipeline, &mark.Text, &mark.By, &made); err != nil {
			return nil, fmt.Errorf("read marks: %w", err)
		}
		mark.At, mark.Made = time.UnixMilli(at), time.UnixMilli(made)
		all = append(all, mark)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read marks: %w", err)
	}
	return all, nil
}
