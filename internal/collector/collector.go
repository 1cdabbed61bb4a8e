// Package collector turns brokers and stores into figures on timers and publishes one immutable snapshot per round.
package collector

import (
	"context"
	"log/slog"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// Config says how often and how patiently sources are read.
type Config struct {
	// Interval is the time between two rounds: 15 s unless configured.
	Interval time.Duration `yaml:"interval"`
	// Timeout bounds one reading of one source; it is below the interval.
	Timeout time.Duration `yaml:"timeout"`
}

// Broker is the read side of one RabbitMQ cluster. Its methods honour ctx and may be called one at a time.
type Broker interface {
	Name() string
	Sample(ctx context.Context) (dedup.BrokerSample, error)
	Totals(ctx context.Context) (dedup.QueueTotals, error)
	Topology(ctx context.Context) (dedup.Topology, error)
}

// Store is the read side of one dedup store. Stats fails when the store does not answer; its last pass is then stale.
type Store interface {
	Name() string
	Scheme() dedup.Scheme
	Stats(ctx context.Context) (dedup.StoreStats, error)
}

// Reporter reads the counters that a pipeline's consumers report.
type Reporter interface {
	Name() string
	Reported(ctx context.Context, pipeline string) (dedup.Reported, error)
}

// Deps are what the collector reads from and writes to.
type Deps struct {
	Brokers   []Broker
	Stores    []Store
	Reporters []Reporter // by store name: Pipeline.ReportedStore
	Pipelines []dedup.Pipeline
	Series    *series.DB
	Log       *slog.Logger
	// Changed is called with a topic (overview, pipeline:NAME) after a snapshot was published; it must not block.
	Changed func(topic string)
}

// Collector samples the sources and publishes snapshots. It is safe for concurrent use.
type Collector struct {
	cfg  Config
	deps Deps
}

// New returns a collector that has not started.
func New(cfg Config, deps Deps) (*Collector, error) { return &Collector{cfg: cfg, deps: deps}, nil }

// Run samples until ctx ends and then returns nil.
func (c *Collector) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Snapshot returns the newest snapshot; before the first round one without pipelines' figures and Round 0. Never nil.
func (c *Collector) Snapshot() *dedup.Snapshot { return &dedup.Snapshot{Interval: c.cfg.Interval} }

// Tried reports whether a first attempt at every source has ended.
func (c *Collector) Tried() bool { return false }
