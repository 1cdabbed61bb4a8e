package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Effects keeps what the effect checks remember. It is safe for concurrent use.
type Effects struct{ keeper }

// Effects returns the keeper of what effect checks remember.
func (db *DB) Effects() *Effects { return &Effects{db.keeper()} }

// EffectRecord returns the record of a pipeline; the zero record where there is none.
func (e *Effects) EffectRecord(ctx context.Context, pipeline string) (dedup.EffectRecord, error) {
	r, _, err := one(ctx, e.read, "read the record of an effect check", fromJSON[dedup.EffectRecord], "SELECT record FROM effect_records WHERE pipeline = ?", pipeline)
	return r, err
}

// KeepEffectRecord replaces the record of a pipeline.
func (e *Effects) KeepEffectRecord(ctx context.Context, pipeline string, r dedup.EffectRecord) error {
	const what = "keep the record of an effect check"
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return exec(ctx, e.write, what, do(`
		INSERT INTO effect_records (pipeline, kept_at, record) VALUES (?, ?, ?)
		ON CONFLICT (pipeline) DO UPDATE SET kept_at = excluded.kept_at, record = excluded.record`,
		pipeline, time.Now().UnixMilli(), text))
}
