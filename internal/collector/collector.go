// Package collector turns brokers and stores into figures on timers and publishes one immutable snapshot per round.
package collector

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/effect"
	"dedup-dashboard/internal/collector/records"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// Config says how often and how patiently sources are read.
type Config struct {
	// Interval is the time between two rounds: 15 s unless configured.
	Interval time.Duration `yaml:"interval"`
	// Timeout bounds one reading of one source; it is below the interval, two thirds of it unless configured.
	Timeout time.Duration `yaml:"timeout"`
	// Windows are the spans over which figures are computed, shortest first: those of dedup.Windows unless a bench asks for others.
	Windows []time.Duration `yaml:"-"`
}

// withDefaults fills what is not set, or says what is wrong.
func (c Config) withDefaults() (Config, error) {
	if c.Interval == 0 {
		c.Interval = 15 * time.Second
	}
	if c.Interval < time.Second {
		return c, fmt.Errorf("interval %s is shorter than 1 s", c.Interval)
	}
	if c.Timeout == 0 {
		c.Timeout = c.Interval * 2 / 3
	}
	if c.Timeout < 0 || c.Timeout >= c.Interval {
		return c, fmt.Errorf("timeout %s is not below the interval %s", c.Timeout, c.Interval)
	}
	if len(c.Windows) == 0 {
		c.Windows = dedup.Windows()
	}
	return c, nil
}

// Store is the read side of one dedup store. Stats fails when the store does not answer; its last pass is then stale.
type Store interface {
	Name() string
	Scheme() dedup.Scheme
	Stats(ctx context.Context) (dedup.StoreStats, error)
}

// Reporter reads the counters that a pipeline's consumers report. It is called for several pipelines at once.
type Reporter interface {
	Name() string
	Reported(ctx context.Context, pipeline string) (dedup.Reported, error)
}

// Deps are what the collector reads from and writes to.
type Deps struct {
	Brokers   []source.Broker
	Stores    []Store
	Reporters []Reporter // by store name: Pipeline.ReportedStore
	Pipelines []dedup.Pipeline
	// Live are the readers of live counts by broker; none for one that does not tell them.
	Live map[string]source.LiveReader
	// Baselines keeps the acknowledged dead letters; nil where nobody can acknowledge any.
	Baselines records.Baselines
	// Effects are the effect checks of the pipelines that have one; Records keeps what they remember, nil where nothing does.
	Effects []effect.Checker
	Records effect.Records
	// Memory keeps how sources were over a restart; nil where nothing does.
	Memory records.Sources
	// Marks keeps what people and deployments say happened; nil where nobody can say it.
	Marks  records.Marks
	Series *series.DB
	Log    *slog.Logger
	// Changed is called with a topic (overview, pipeline:NAME) after a snapshot was published; it must not block.
	Changed func(topic string)
}

// Collector samples the sources and publishes snapshots. It is safe for concurrent use.
type Collector struct {
	cfg     Config
	log     *slog.Logger
	changed func(topic string)
	history counter.History

	brokers   []*brokerWatch
	stores    []*storeWatch
	effects   []*effect.Watch
	lives     []*source.LiveSource
	pipelines []*pipeline
	sources   []*source.Source
	wake      chan struct{}
	snapshot  atomic.Pointer[dedup.Snapshot]

	// The rest belongs to the round, which is one goroutine, and to whoever has the turn.
	turn         sync.Mutex
	book         *counter.Book
	past         counter.Past
	number       uint64
	turns        *source.Turns
	healths      []*healthSeries
	acknowledged *records.Acknowledged
	marks        *records.Marked
	memory       *records.Memory
	// beside are the readings that a round began and did not wait for.
	beside sync.WaitGroup
}

// New returns a collector that has not started. Names that lead nowhere are an error.
func New(cfg Config, deps Deps) (*Collector, error) {
	if deps.Series == nil {
		return nil, fmt.Errorf("start the collector: it has no history to write to")
	}
	return newCollector(cfg, deps, deps.Series)
}

func newCollector(cfg Config, deps Deps, h counter.History) (*Collector, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start the collector: %w", err)
	}
	c := &Collector{cfg: cfg, log: deps.Log, changed: deps.Changed, history: h, book: counter.NewBook(),
		wake: make(chan struct{}, 1), turns: source.NewTurns()}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.changed == nil {
		c.changed = func(string) {}
	}
	c.past = counter.NewPast(c.book, h, cfg.Interval, cfg.Windows, c.log)
	w := &wiring{cfg: cfg, book: c.book, log: c.log, turned: c.wakeUp}
	if err := w.wire(deps); err != nil {
		return nil, fmt.Errorf("start the collector: %w", err)
	}
	c.brokers, c.stores, c.effects, c.lives, c.pipelines, c.sources = w.brokers, w.stores, w.effects, w.lives, w.pipelines, w.sources
	for _, s := range c.sources {
		c.healths = append(c.healths, newHealthSeries(s, c.book))
	}
	c.acknowledged = records.NewAcknowledged(deps.Baselines, &c.beside, c.log)
	c.marks, c.memory = records.NewMarked(deps.Marks, &c.beside, c.log), records.NewMemory(deps.Memory, &c.beside, c.log)
	c.snapshot.Store(&dedup.Snapshot{Interval: cfg.Interval})
	return c, nil
}

// Run samples until ctx ends and then returns nil.
func (c *Collector) Run(ctx context.Context) error {
	earlier := c.memory.Recall(ctx)
	for _, s := range c.sources {
		if r, ok := earlier.Of(s.Name, s.Place); ok {
			s.Resume(r, earlier.Gone)
		}
	}
	var running sync.WaitGroup
	for _, s := range c.sources {
		running.Go(func() { s.Run(ctx) })
	}
	for _, b := range c.brokers {
		running.Go(func() { b.read.Run(ctx) })
	}
	for _, l := range c.lives {
		running.Go(func() { l.Source.Run(ctx) })
	}
	for _, e := range c.effects {
		running.Go(func() { e.Run(ctx) })
	}
	c.rounds(ctx)
	c.acknowledged.Last(ctx)
	if !records.Settled(&c.beside) {
		c.log.Error("the database on this machine does not answer: acknowledged dead letters that fell last may not be kept")
	}
	running.Wait()
	return nil
}

// Snapshot returns the newest snapshot; before the first round one without pipelines' figures and Round 0. Never nil.
func (c *Collector) Snapshot() *dedup.Snapshot { return c.snapshot.Load() }

// Tried reports whether a first attempt at every source has ended.
func (c *Collector) Tried() bool {
	now := time.Now()
	for _, s := range c.sources {
		if !s.Status(now).Tried {
			return false
		}
	}
	return true
}

// Refresh asks for a round at once and waits until a snapshot meets the condition, ctx ends, or two seconds have passed.
func (c *Collector) Refresh(ctx context.Context, until func(*dedup.Snapshot) bool) {
	const patience, often = 2 * time.Second, 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for c.wakeUp(); !until(c.Snapshot()); c.wakeUp() {
		if !source.WaitUntil(ctx, time.Now().Add(often)) {
			return
		}
	}
}

// wakeUp asks for a round before its time: a source turned, and nobody should have to wait to see it.
func (c *Collector) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
