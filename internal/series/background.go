package series

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/tsdb"
)

// How often the background work runs, and how long it waits after a failure.
const (
	maintainEvery = time.Minute
	retryFirst    = time.Second
	retryLast     = time.Minute
)

// run opens the history, looks after it, and opens it again after a failed write, until Close.
func (db *DB) run() {
	defer close(db.done)
	if !db.openAtLast() {
		return
	}
	close(db.ready)

	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		select {
		case <-db.ctx.Done():
			return
		case <-tick.C:
			db.maintain()
		case <-db.broken:
			if !db.reopen() {
				return
			}
		}
	}
}

// openAtLast opens the history, moving aside what cannot be read, and tries again while the disk does not let it. It
// reports false when Close was called first.
func (db *DB) openAtLast() bool {
	wait, left := retryFirst, remedies()
	for {
		start := time.Now()
		t, err := db.openOnce()
		if err == nil {
			db.opened(t, time.Since(start))
			return true
		}
		if db.ctx.Err() != nil {
			return false
		}
		if !environmental(err) {
			var moved bool
			if left, moved = db.quarantine(left, err); moved {
				continue
			}
		}
		err = fmt.Errorf("open the history in %s: %w", db.cfg.Dir, err)
		if db.setFault(faultOpening, err) {
			db.log.Error("history cannot be opened; trying again", "err", err)
		}
		if !db.rest(wait) {
			return false
		}
		wait = min(2*wait, retryLast)
	}
}

func (db *DB) openOnce() (t *tsdb.DB, err error) {
	defer recoverTo(&err, "read the history")
	// The TSDB leaves goroutines and files behind when it fails half-way, so what can be known before is asked before.
	if bad := db.unreadableBlocks(); len(bad) > 0 {
		return nil, fmt.Errorf("blocks cannot be read: %s", strings.Join(bad, " "))
	}
	if err := db.readCheckpoint(); err != nil {
		return nil, err
	}
	t, err = tsdb.Open(db.cfg.Dir, db.quiet, nil, db.tsdbOptions(), nil)
	if err != nil {
		return nil, err
	}
	t.DisableCompactions() // maintain does them, where a panic can be caught
	return t, nil
}

func (db *DB) opened(t *tsdb.DB, took time.Duration) {
	db.mu.Lock()
	db.tsdb = t
	db.mu.Unlock()
	db.wounded.Store(false)
	db.state.Lock()
	db.state.opening = took
	db.state.Unlock()
	db.setFault(faultOpening, nil)
	db.log.Info("history is open", "dir", db.cfg.Dir, "took", took.Round(time.Millisecond), "series", t.Head().NumSeries())
}

// maintain writes full chunks out of memory and compacts, which also drops what is older than the retention.
func (db *DB) maintain() {
	if db.wounded.Load() || db.checkSpace() != nil {
		return // Append reports it
	}
	t, release, err := db.use()
	if err != nil {
		return
	}
	defer release()
	if err := db.writeChunks(t); err != nil {
		db.wound(err)
		return
	}
	if err := db.compact(t); db.setFault(faultCompacting, err) && err != nil {
		db.log.Error("history cannot be compacted; trying again", "err", err)
	}
}

func (db *DB) writeChunks(t *tsdb.DB) (err error) {
	defer recoverTo(&err, "write chunks of the history")
	t.ForceHeadMMap()
	return nil
}

func (db *DB) compact(t *tsdb.DB) (err error) {
	defer recoverTo(&err, "compact the history")
	if err := t.Compact(db.ctx); err != nil && db.ctx.Err() == nil {
		return fmt.Errorf("compact the history in %s: %w", db.cfg.Dir, err)
	}
	return nil
}

// wound stops all writing until the history was opened again. After a failed write the log may end in half a record;
// whatever is appended behind it would be lost by the repair at the next start.
func (db *DB) wound(err error) {
	db.setFault(faultWriting, err)
	db.wounded.Store(true)
	select {
	case db.broken <- struct{}{}:
	default:
	}
}

// reopen opens the history again after a failed write, once the disk has room. It stays readable until then.
func (db *DB) reopen() bool {
	for {
		if !db.rest(retryFirst) {
			return false
		}
		if db.checkSpace() == nil {
			break
		}
	}
	if err := db.shut(); err != nil {
		db.log.Warn("history did not close cleanly after a failed write", "err", err)
	}
	return db.openAtLast()
}

// sleep waits and reports false when Close was called first.
func (db *DB) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-db.ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
