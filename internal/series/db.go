package series

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/fileutil"
)

// DB is the history. It is safe for concurrent use.
type DB struct {
	cfg    Config
	log    *slog.Logger
	quiet  *slog.Logger
	engine *promql.Engine
	lock   fileutil.Releaser

	ctx    context.Context // ends when Close is called
	cancel context.CancelFunc
	ready  chan struct{} // closed when open for the first time
	done   chan struct{} // closed when the background goroutine has ended
	broken chan struct{} // holds a token when a write failed and the history must be opened again

	appends sync.Mutex    // one round at a time
	writes  atomic.Uint64 // counts the begin and the end of each, so that it is odd while one is written

	mu   sync.RWMutex // held for reading while tsdb is in use
	tsdb *tsdb.DB     // nil while it is being opened, and after Close

	wounded atomic.Bool // a write failed: nothing is written until the history was opened again
	// rest waits before the next attempt at what failed, and reports false when Close was called first.
	rest func(time.Duration) bool

	state struct {
		sync.Mutex
		opening     time.Duration
		quarantined []string
		faults      [faults]error
	}
	closing sync.Once
	closed  error
}

// fault is a part of the work that can fail on its own; its last error stands until it succeeds.
type fault int

const (
	faultOpening fault = iota
	faultWriting
	faultCompacting
	faults
)

// Open starts opening the history in the background and returns at once, so that a long replay after a crash never
// delays the pages. Methods return ErrStarting until Ready is closed. An unusable directory is an error at once.
//
// What turns out to be unreadable in the background is repaired, and what cannot be repaired is moved aside to
// Dir.corrupt-TIME: the smallest part that will do. Status tells.
func Open(cfg Config, log *slog.Logger) (*DB, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	lock, err := claim(cfg.Dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	quietLog := slog.New(quiet{log.Handler()}).With("component", "history")
	db := &DB{
		cfg: cfg, log: log, quiet: quietLog, engine: newEngine(cfg, quietLog), lock: lock,
		ctx: ctx, cancel: cancel,
		ready: make(chan struct{}), done: make(chan struct{}), broken: make(chan struct{}, 1),
	}
	db.rest = db.sleep
	go db.run()
	return db, nil
}

// claim makes the directory, proves that it can be written, and locks it. The lock belongs to the process, so one that
// a killed process left behind does not block.
func claim(dir string) (fileutil.Releaser, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the history directory %s: %w; create it and give it to the user that runs the dashboard, or choose another data_dir", dir, err)
	}
	probe, err := os.CreateTemp(dir, ".writable-")
	switch {
	case err == nil:
		_ = probe.Close()
		_ = os.Remove(probe.Name())
	case isFull(err): // a full disk is a bad day, not a wrong setting: the pages must come up
	default:
		return nil, fmt.Errorf("write in the history directory %s: %w; give it to the user that runs the dashboard, or choose another data_dir", dir, err)
	}
	path := filepath.Join(dir, "lock")
	lock, _, err := fileutil.Flock(path)
	if err != nil {
		return nil, fmt.Errorf("the history directory %s is in use by another process (lock %s: %w); stop that process, or give this one a data_dir of its own", dir, path, err)
	}
	return lock, nil
}

// Ready is closed when the history is open.
func (db *DB) Ready() <-chan struct{} { return db.ready }

// Err says why the history cannot be read or is not being written; it is nil when all is well.
func (db *DB) Err() error {
	db.state.Lock()
	defer db.state.Unlock()
	return errors.Join(db.state.faults[:]...)
}

// Status says how the history is.
func (db *DB) Status() Status {
	s := Status{Err: db.Err()}
	db.state.Lock()
	s.Opening, s.Quarantined = db.state.opening, slices.Clone(db.state.quarantined)
	db.state.Unlock()

	t, release, err := db.use()
	if err != nil {
		return s
	}
	defer release()
	s.Open, s.Series = true, t.Head().NumSeries()
	s.Bytes = t.Head().Size()
	for _, b := range t.Blocks() {
		s.Bytes += b.Size()
	}
	return s
}

// Close flushes and closes the history. It waits for an opening that is under way; queries are cancelled.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.cancel()
		<-db.done
		db.closed = errors.Join(db.shut(), db.lock.Release())
	})
	return db.closed
}

// shut takes the TSDB out of use and closes it.
func (db *DB) shut() (err error) {
	db.mu.Lock()
	t := db.tsdb
	db.tsdb = nil
	db.mu.Unlock()
	if t == nil {
		return nil
	}
	defer recoverTo(&err, "close the history")
	if err := t.Close(); err != nil {
		return fmt.Errorf("close the history: %w", err)
	}
	return nil
}

// use returns the TSDB and a function that must be called when it is no longer used.
func (db *DB) use() (*tsdb.DB, func(), error) {
	if db.ctx.Err() != nil {
		return nil, nil, ErrClosed
	}
	db.mu.RLock()
	if db.tsdb != nil {
		return db.tsdb, db.mu.RUnlock, nil
	}
	db.mu.RUnlock()
	if err := db.faultOf(faultOpening); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrStarting, err)
	}
	return nil, nil, ErrStarting
}

// read is use for a reading, with a context that also ends when the DB is closed.
func (db *DB) read(ctx context.Context) (context.Context, *tsdb.DB, func(), error) {
	t, release, err := db.use()
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(db.ctx, func() { cancel(ErrClosed) })
	return ctx, t, func() { stop(); cancel(nil); release() }, nil
}

func (db *DB) faultOf(f fault) error {
	db.state.Lock()
	defer db.state.Unlock()
	return db.state.faults[f]
}

// setFault records how a part of the work went and reports whether that is news.
func (db *DB) setFault(f fault, err error) (news bool) {
	db.state.Lock()
	defer db.state.Unlock()
	old := db.state.faults[f]
	db.state.faults[f] = err
	return (old == nil) != (err == nil) || err != nil && old.Error() != err.Error()
}

// recoverTo turns a panic into an error. The TSDB panics on some disk errors, which must not end the process.
func recoverTo(err *error, doing string) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = errors.Join(*err, fmt.Errorf("%s: %w", doing, p))
	default:
		*err = errors.Join(*err, fmt.Errorf("%s: %v", doing, p))
	}
}
