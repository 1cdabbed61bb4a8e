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
type Measurements struct {
	read  *sql.DB
	write *sql.DB
}

// Measurements returns the keeper of measurements.
func (db *DB) Measurements() *Measurements { return &Measurements{read: db.main, write: db.acts} }

// SaveMeasurement keeps a measurement, or replaces what is kept of it, and drops the oldest of its pipeline.
func (j *Measurements) SaveMeasurement(ctx context.Context, m dedup.Measurement, token string) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("keep measurement: %w", err)
	}
	summary, err := json.Marshal(withoutIDs(m))
	if err != nil {
		return fmt.Errorf("keep measurement: %w", err)
	}
	tx, err := j.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("keep measurement: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	for _, step := range []struct {
		statement string
		arguments []any
	}{
		{`INSERT INTO measurements (id, pipeline, started_at, started_by, token, running, summary, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET running = excluded.running, summary = excluded.summary, body = excluded.body`,
			[]any{m.ID, m.Pipeline, m.Started.UnixMilli(), m.By, sql.NullString{String: token, Valid: token != ""}, !m.State.Final(), string(summary), string(body)}},
		{`DELETE FROM measurements WHERE pipeline = ?1 AND running = 0 AND id NOT IN
			(SELECT id FROM measurements WHERE pipeline = ?1 ORDER BY started_at DESC, id LIMIT ?2)`, []any{m.Pipeline, measuring.Listed}},
	} {
		if _, err := tx.ExecContext(ctx, step.statement, step.arguments...); err != nil {
			return fmt.Errorf("keep measurement: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("keep measurement: %w", err)
	}
	return nil
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
	var body string
	var m dedup.Measurement
	err := j.read.QueryRowContext(ctx, "SELECT body FROM measurements WHERE id = ?", id).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return m, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &m)
	}
	if err != nil {
		return m, false, fmt.Errorf("read measurement: %w", err)
	}
	return m, true, nil
}

// Measurements returns the newest of a pipeline, newest first, without lists of ids.
func (j *Measurements) Measurements(ctx context.Context, pipeline string, limit int) ([]dedup.Measurement, error) {
	return j.list(ctx, "SELECT summary FROM measurements WHERE pipeline = ? ORDER BY started_at DESC, id LIMIT ?", pipeline, limit)
}

func (j *Measurements) list(ctx context.Context, query string, arguments ...any) ([]dedup.Measurement, error) {
	rows, err := j.read.QueryContext(ctx, query, arguments...)
	if err != nil {
		return nil, fmt.Errorf("read measurements: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []dedup.Measurement
	for rows.Next() {
		var body string
		var m dedup.Measurement
		if err := rows.Scan(&body); err != nil {
			return nil, fmt.Errorf("read measurements: %w", err)
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			return nil, fmt.Errorf("read measurements: %w", err)
		}
		all = append(all, m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read measurements: %w", err)
	}
	return all, nil
}

// MeasurementByToken returns the measurement that this person started with the token, or "".
func (j *Measurements) MeasurementByToken(ctx context.Context, by, token string) (string, error) {
	var id string
	err := j.read.QueryRowContext(ctx, "SELECT id FROM measurements WHERE started_by = ? AND token = ?", by, token).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read measurement: %w", err)
	}
	return id, nil
}

// InterruptMeasurements ends those that run: an earlier process did not end them.
func (j *Measurements) InterruptMeasurements(ctx context.Context, at time.Time) error {
	left, err := j.list(ctx, "SELECT body FROM measurements WHERE running = 1")
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
