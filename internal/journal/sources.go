package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// Sources keeps how each source was. It is safe for concurrent use.
type Sources struct{ db *sql.DB }

// Sources returns the keeper of how sources were. What a power cut takes of it is no more than the last rounds, so that it waits for no
// disk as acts do.
func (db *DB) Sources() *Sources { return &Sources{db: db.main} }

// SourceRecords returns what was kept last; the zero value where nothing was.
func (s *Sources) SourceRecords(ctx context.Context) (dedup.SourceRecords, error) {
	var text []byte
	var r dedup.SourceRecords
	err := s.db.QueryRowContext(ctx, "SELECT record FROM source_records").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return dedup.SourceRecords{}, fmt.Errorf("read how sources were: %w", err)
	}
	return r, nil
}

// KeepSourceRecords replaces what was kept.
func (s *Sources) KeepSourceRecords(ctx context.Context, r dedup.SourceRecords) error {
	text, err := json.Marshal(r)
	if err == nil {
		_, err = s.db.ExecContext(ctx, `
			INSERT INTO source_records (id, kept_at, record) VALUES (1, ?, ?)
			ON CONFLICT (id) DO UPDATE SET kept_at = excluded.kept_at, record = excluded.record`, r.Kept.UnixMilli(), text)
	}
	if err != nil {
		return fmt.Errorf("keep how sources are: %w", err)
	}
	return nil
}
