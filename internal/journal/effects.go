package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Effects keeps what the effect checks remember. It is safe for concurrent use.
type Effects struct {
	read  *sql.DB
	write *sql.DB
}

// Effects returns the keeper of what effect checks remember.
func (db *DB) Effects() *Effects { return &Effects{read: db.main, write: db.acts} }

// EffectRecord returns the record of a pipeline; the zero record where there is none.
func (e *Effects) EffectRecord(ctx context.Context, pipeline string) (dedup.EffectRecord, error) {
	var text []byte
	var r dedup.EffectRecord
	err := e.read.QueryRowContext(ctx, "SELECT record FROM effect_records WHERE pipeline = ?", pipeline).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return dedup.EffectRecord{}, fmt.Errorf("read the record of an effect check: %w", err)
	}
	return r, nil
}

// KeepEffectRecord replaces the record of a pipeline.
func (e *Effects) KeepEffectRecord(ctx context.Context, pipeline string, r dedup.EffectRecord) error {
	text, err := json.Marshal(r)
	if err == nil {
		_, err = e.write.ExecContext(ctx, `
			INSERT INTO effect_records (pipeline, kept_at, record) VALUES (?, ?, ?)
			ON CONFLICT (pipeline) DO UPDATE SET kept_at = excluded.kept_at, record = excluded.record`,
			pipeline, time.Now().UnixMilli(), text)
	}
	if err != nil {
		return fmt.Errorf("keep the record of an effect check: %w", err)
	}
	return nil
}
