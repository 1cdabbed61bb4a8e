package series

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/compression"
)

// blockDuration is the span of the smallest block: what the head holds in memory before it goes to disk.
const blockDuration = 2 * time.Hour

// outOfOrderWindow is how far the clock may step back before samples are refused.
const outOfOrderWindow = 2 * time.Hour

// Bounds of one query, so that no expression can take the process down.
const (
	maxQuerySamples = 4_000_000
	queryTimeout    = 10 * time.Second
	maxQueryPoints  = 11_000
)

// tsdbOptions are chosen for a few thousand series in little memory. Isolation stays on: without it a query could see
// half a round, a numerator without its denominator.
func (db *DB) tsdbOptions() *tsdb.Options {
	o := tsdb.DefaultOptions()
	o.NoLockfile = true // the lock is ours: Open takes it before it returns
	o.MinBlockDuration = blockDuration.Milliseconds()
	o.MaxBlockDuration = max(db.cfg.Retention/10, blockDuration).Milliseconds()
	o.RetentionDuration = db.cfg.Retention.Milliseconds()
	o.MaxBytes = db.cfg.MaxBytes
	o.OutOfOrderTimeWindow = outOfOrderWindow.Milliseconds()
	o.WALCompression = compression.Snappy
	// Small segments let a checkpoint drop more of the log, which shortens the replay after a crash.
	o.WALSegmentSize = 4 << 20
	// A segment takes its whole size from the disk before its first byte is written: a large one could not be had on a
	// disk that is nearly full.
	o.MaxBlockChunkSegmentSize = 16 << 20
	o.StripeSize = 1 << 10
	o.HeadChunksWriteBufferSize = chunks.MinWriteBufferSize * 4
	// The TSDB panics when it cannot write a chunk. Without a write queue, its own reloads and its own compactions, that
	// happens only on goroutines of ours, which recover; see maintain.
	o.HeadChunksWriteQueueSize = 0
	o.BlockReloadInterval = 365 * 24 * time.Hour
	o.NewCompactorFunc = db.newCompactor
	o.BlockQuerierFunc = newBlockQuerier
	return o
}

// newCompactor makes a compactor that stops when the DB is closed rather than at the end of a long compaction.
func (db *DB) newCompactor(_ context.Context, r prometheus.Registerer, l *slog.Logger, ranges []int64,
	pool chunkenc.Pool, o *tsdb.Options) (tsdb.Compactor, error) {
	return tsdb.NewLeveledCompactorWithOptions(db.ctx, r, l, ranges, pool, tsdb.LeveledCompactorOptions{
		MaxBlockChunkSegmentSize:    o.MaxBlockChunkSegmentSize,
		EnableOverlappingCompaction: true,
		PD:                          o.PostingsDecoderFactory,
		FloatChunkEncoding:          func() chunkenc.Encoding { return chunkenc.EncXOR },
	})
}

func newEngine(cfg Config, log *slog.Logger) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger:               log,
		MaxSamples:           maxQuerySamples,
		Timeout:              queryTimeout,
		LookbackDelta:        cfg.Lookback(),
		EnableAtModifier:     true,
		EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 {
			return cfg.Interval.Milliseconds()
		},
		Parser: newParser(),
	})
}

func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// quiet passes warnings and errors of the TSDB on; its progress messages would drown ours.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(as []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(as)} }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
