package journal

import (
	"context"
	"database/sql"

	"dedup-dashboard/internal/dedup"
)

// Baselines keeps the acknowledged dead letters of each pipeline. It is safe for concurrent use.
type Baselines struct{ keeper }

// Baselines returns the keeper of acknowledged dead letters.
func (db *DB) Baselines() *Baselines { return &Baselines{db.keeper()} }

const baselineColumns = "pipeline, count, own, acknowledged, made_by, made_at, reason"

// A pipelineBaseline is the baseline of one pipeline.
type pipelineBaseline struct {
	pipeline string
	dedup.Baseline
}

func scanBaseline(row scanner) (b pipelineBaseline, err error) {
	var own sql.NullInt64
	err = row.Scan(&b.pipeline, &b.Count, &own, &b.Acknowledged, &b.By, millis(&b.At), &b.Reason)
	b.At, b.Own, b.Split = b.At.Local(), own.Int64, own.Valid
	return b, err
}

// Baselines returns every baseline by the name of its pipeline.
func (b *Baselines) Baselines(ctx context.Context) (map[string]dedup.Baseline, error) {
	found, err := list(ctx, b.read, "read baselines", scanBaseline, "SELECT "+baselineColumns+" FROM dead_letter_baselines")
	if err != nil {
		return nil, err
	}
	all := map[string]dedup.Baseline{}
	for _, one := range found {
		all[one.pipeline] = one.Baseline
	}
	return all, nil
}

// SetBaseline replaces the baseline of a pipeline.
func (b *Baselines) SetBaseline(ctx context.Context, pipeline string, line dedup.Baseline) error {
	return exec(ctx, b.write, "keep baseline", do(`
		INSERT INTO dead_letter_baselines (`+baselineColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (pipeline) DO UPDATE SET count = excluded.count, own = excluded.own, acknowledged = excluded.acknowledged,
			made_by = excluded.made_by, made_at = excluded.made_at, reason = excluded.reason`,
		pipeline, line.Count, sql.NullInt64{Int64: line.Own, Valid: line.Split}, line.Acknowledged, line.By, line.At.UnixMilli(), line.Reason))
}

// LowerBaseline lowers what the baseline that was made at the same time counts, and forgets its own part where that is not known any more. A
// baseline that was made since then, or is as low, stays.
func (b *Baselines) LowerBaseline(ctx context.Context, pipeline string, to dedup.Baseline) error {
	return exec(ctx, b.write, "lower baseline", do(`
		UPDATE dead_letter_baselines SET count = min(count, ?1), own = CASE WHEN ?5 THEN min(own, ?2) END
		WHERE pipeline = ?3 AND made_at = ?4 AND (count > ?1 OR own IS NOT NULL AND NOT ?5)`,
		to.Count, to.Own, pipeline, to.At.UnixMilli(), to.Split)) // an own part that is not known stays so
}

// RemoveBaseline removes the baseline of a pipeline and returns it, and whether there was one.
func (b *Baselines) RemoveBaseline(ctx context.Context, pipeline string) (dedup.Baseline, bool, error) {
	was, there, err := one(ctx, b.write, "remove baseline", scanBaseline, "DELETE FROM dead_letter_baselines WHERE pipeline = ? RETURNING "+baselineColumns, pipeline)
	return was.Baseline, there, err
}
