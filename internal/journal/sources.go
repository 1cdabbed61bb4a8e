package journal

import (
	"context"
	"database/sql"
	"encoding/json"
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
	r, _, err := one(ctx, s.db, "read how sources were", fromJSON[dedup.SourceRecords], "SELECT record FROM source_records")
	return r, err
}

// KeepSourceRecords replaces what was kept.
func (s *Sources) KeepSourceRecords(ctx context.Context, r dedup.SourceRecords) error {
	const what = "keep how sources are"
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return exec(ctx, s.db, what, do(`
		INSERT INTO source_records (id, kept_at, record) VALUES (1, ?, ?)
		ON CONFLICT (id) DO UPDATE SET kept_at = excluded.kept_at, record = excluded.record`, r.Kept.UnixMilli(), text))
}
