package journal

import (
	"context"
	"database/sql"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// keepMarks is how long marks are kept, and maxMarks how many: the newest.
	keepMarks = 90 * 24 * time.Hour
	maxMarks  = 10_000
)

// Marks keeps what people and deployments say happened. It is safe for concurrent use.
type Marks struct{ keeper }

// Marks returns the keeper of marks.
func (db *DB) Marks() *Marks { return &Marks{db.keeper()} }

// AddMark keeps a mark, and drops those that are too old or too many. Times are kept to the millisecond.
func (m *Marks) AddMark(ctx context.Context, mark dedup.Mark) error {
	return m.inOne(ctx, "keep mark", func(tx *sql.Tx) error {
		return run(ctx, tx,
			do("INSERT INTO marks (at, pipeline, text, made_by, made_at) VALUES (?, ?, ?, ?, ?)", mark.At.UnixMilli(), mark.Pipeline, mark.Text, mark.By, mark.Made.UnixMilli()),
			do("DELETE FROM marks WHERE at < ?", mark.Made.Add(-keepMarks).UnixMilli()),
			do("DELETE FROM marks WHERE id <= (SELECT id FROM marks ORDER BY id DESC LIMIT 1 OFFSET ?)", maxMarks))
	})
}

// MarksSince returns the newest marks that are not older than a time, at most limit, oldest first.
func (m *Marks) MarksSince(ctx context.Context, from time.Time, limit int) ([]dedup.Mark, error) {
	return list(ctx, m.read, "read marks", func(row scanner) (mark dedup.Mark, err error) {
		err = row.Scan(millis(&mark.At), &mark.Pipeline, &mark.Text, &mark.By, millis(&mark.Made))
		mark.At, mark.Made = mark.At.Local(), mark.Made.Local()
		return mark, err
	}, `
		SELECT at, pipeline, text, made_by, made_at FROM (SELECT * FROM marks WHERE at >= ? ORDER BY at DESC, id DESC LIMIT ?) ORDER BY at, id`,
		from.UnixMilli(), limit)
}
