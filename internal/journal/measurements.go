package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/dedup"
)

// Measurements keeps measurements of pipelines. Its writes are on disk when they return. It is safe for concurrent use.
type Measurements struct{ keeper }

// Measurements returns the keeper of measurements.
func (db *DB) Measurements() *Measurements { return &Measurements{db.keeper()} }

// SaveMeasurement keeps a measurement, or replaces what is kept of it, and drops the oldest of its pipeline.
func (j *Measurements) SaveMeasurement(ctx context.Context, m dedup.Measurement, token string) error {
	body, err := json.Marshal(m)
	summary, err2 := json.Marshal(withoutIDs(m))
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("keep measurement: %w", err)
	}
	return j.inOne(ctx, "keep measurement", func(tx *sql.Tx) error {
		return run(ctx, tx,
			do(`INSERT INTO measurements (id, pipeline, started_at, started_by, token, running, summary, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET running = excluded.running, summary = excluded.summary, body = excluded.body`,
				m.ID, m.Pipeline, m.Started.UnixMilli(), m.By, sql.NullString{String: token, Valid: token != ""}, !m.State.Final(), string(summary), string(body)),
			do(`DELETE FROM measurements WHERE pipeline = ?1 AND running = 0 AND id NOT IN
				(SELECT id FROM measurements WHERE pipeline = ?1 ORDER BY started_at DESC, id LIMIT ?2)`, m.Pipeline, measuring.Listed))
	})
}

// withoutIDs is a measurement as lists show it.
func withoutIDs(m dedup.Measurement) dedup.Measurement {
	if m.Result != nil {
		r := *m.Result
		r.Repeated, r.Origins = nil, nil
		m.Result = &r
	}
	return m
}

// Measurement returns a measurement, and whether there is one.
func (j *Measurements) Measurement(ctx context.Context, id string) (dedup.Measurement, bool, error) {
	return one(ctx, j.read, "read measurement", fromJSON[dedup.Measurement], "SELECT body FROM measurements WHERE id = ?", id)
}

// Measurements returns the newest of a pipeline, newest first, without lists of ids.
func (j *Measurements) Measurements(ctx context.Context, pipeline string, limit int) ([]dedup.Measurement, error) {
	return list(ctx, j.read, "read measurements", fromJSON[dedup.Measurement],
		"SELECT summary FROM measurements WHERE pipeline = ? ORDER BY started_at DESC, id LIMIT ?", pipeline, limit)
}

// MeasurementByToken returns the measurement that this person started with the token, or "".
func (j *Measurements) MeasurementByToken(ctx context.Context, by, token string) (string, error) {
	id, _, err := one(ctx, j.read, "read measurement", only[string], "SELECT id FROM measurements WHERE started_by = ? AND token = ?", by, token)
	return id, err
}

// InterruptMeasurements ends those that run: an earlier process did not end them.
func (j *Measurements) InterruptMeasurements(ctx context.Context, at time.Time) error {
	left, err := list(ctx, j.read, "read measurements", fromJSON[dedup.Measurement], "SELECT body FROM measurements WHERE running = 1")
	if err != nil {
		return err
	}
	for _, m := range left {
		m.State, m.Why, m.Ended = dedup.MeasurementInterrupted, "the dashboard ended meanwhile", at.UTC()
		if err := j.SaveMeasurement(ctx, m, ""); err != nil {
			return err
		}
	}
	return nil
}
