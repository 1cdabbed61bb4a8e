package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Baselines keeps the acknowledged dead letters of each pipeline. It is safe for concurrent use.
type Baselines struct {
	read  *sql.DB
	write *sql.DB
}

// Baselines returns the keeper of acknowledged dead letters.
func (db *DB) Baselines() *Baselines { return &Baselines{read: db.main, write: db.acts} }

// Baselines returns every baseline by the name of its pipeline.
func (b *Baselines) Baselines(ctx context.Context) (map[string]dedup.Baseline, error) {
	rows, err := b.read.QueryContext(ctx, "SELECT pipeline, count, own, acknowledged, made_by, made_at, reason FROM dead_letter_baselines")
	if err != nil {
		return nil, fmt.Errorf("read baselines: %w", err)
	}
	defer func() { _ = rows.Close() }()
	all := map[string]dedup.Baseline{}
	for rows.Next() {
		var pipeline string
		var at int64
		var line dedup.Baseline
		var own sql.NullInt64
		if err := rows.Scan(&pipeline, &line.Count, &own, &line.Acknowledged, &line.By, &at, &line.Reason); err != nil {
			return nil, fmt.Errorf("read baselines: %w", err)
		}
		line.At, line.Own, line.Split = time.UnixMilli(at), own.Int64, own.Valid
		all[pipeline] = line
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read baselines: %w", err)
	}
	return all, nil
}

// SetBaseline replaces the baseline of a pipeline.
func (b *Baselines) SetBaseline(ctx context.Context, pipeline string, line dedup.Baseline) error {
	_, err := b.write.ExecContext(ctx, `
		INSERT INTO dead_letter_baselines (pipeline, count, own, acknowledged, made_by, made_at, reason) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (pipeline) DO UPDATE SET count = excluded.count, own = excluded.own, acknowledged = excluded.acknowledged,
			made_by = excluded.made_by, made_at = excluded.made_at, reason = excluded.reason`,
		pipeline, line.Count, sql.NullInt64{Int64: line.Own, Valid: line.Split}, line.Acknowledged, line.By, line.At.UnixMilli(), line.Reason)
	if err != nil {
		return fmt.Errorf("keep baseline: %w", err)
	}
	return nil
}

// LowerBaseline lowers what the baseline that was made at the same time counts, and forgets its own part where that is not known any more. A
// baseline that was made since then, or is as low, stays.
func (b *Baselines) LowerBaseline(ctx context.Context, pipeline string, to dedup.Baseline) error {
	_, err := b.write.ExecContext(ctx, `
		UPDATE dead_letter_baselines SET count = min(count, ?1), own = CASE WHEN ?5 THEN min(own, ?2) END
		WHERE pipeline = ?3 AND made_at = ?4 AND (count > ?1 OR own IS NOT NULL AND NOT ?5)`,
		to.Count, to.Own, pipeline, to.At.UnixMilli(), to.Split) // an own part that is not known stays so
	if err != nil {
		return fmt.Errorf("lower baseline: %w", err)
	}
	return nil
}

// RemoveBaseline removes the baseline of a pipeline and returns it, and whether there was one.
func (b *Baselines) RemoveBaseline(ctx context.Context, pipeline string) (dedup.Baseline, bool, error) {
	var line dedup.Baseline
	var at int64
	var own sql.NullInt64
	err := b.write.QueryRowContext(ctx, "DELETE FROM dead_letter_baselines WHERE pipeline = ? RETURNING count, own, acknowledged, made_by, made_at, reason", pipeline).
		Scan(&line.Count, &own, &line.Acknowledged, &line.By, &at, &line.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		return dedup.Baseline{}, false, nil
	}
	if err != nil {
		return dedup.Baseline{}, false, fmt.Errorf("remove baseline: %w", err)
	}
	line.At, line.Own, line.Split = time.UnixMilli(at), own.Int64, own.Valid
	return line, true, nil
}
