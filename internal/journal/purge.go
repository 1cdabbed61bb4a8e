package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// keepOperations is how long operations can be looked at; the audit keeps what was done for good.
	keepOperations = 90 * 24 * time.Hour
	// keepPlans is how long a plan that nobody carried out is kept.
	keepPlans = 24 * time.Hour
	// purgeBatch is how many images are deleted at once: whoever is about to act waits for no more than these.
	purgeBatch = 16
	// emptyWait is how long emptying the write-ahead log may wait for readers. It holds up writers so long.
	emptyWait = 50 * time.Millisecond
)

// errStillRead means that the write-ahead log could not be emptied.
var errStillRead = errors.New("the write-ahead log may still hold values that were deleted, because the journal is being read; it is emptied with the next purge")

// A waste is the write-ahead log of the journal, which holds copies of what was deleted until it is emptied.
type waste struct {
	// db empties the log with a connection of its own, so that those who are about to act do not queue behind it.
	db *sql.DB
	mu sync.Mutex
	// emptied is true when nothing was deleted since the log was emptied. An earlier run may have left one that is full.
	emptied bool
}

// soil notes that something was deleted.
func (w *waste) soil() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emptied = false
}

// empty copies the write-ahead log into the file, where what was deleted is overwritten, and cuts it to nothing.
func (w *waste) empty(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.emptied {
		return nil
	}
	var busy, frames, copied int
	if err := w.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied); err != nil {
		return fmt.Errorf("empty the write-ahead log: %w", err)
	}
	if busy != 0 {
		return errStillRead
	}
	w.emptied = true
	return nil
}

// Purge deletes images that were kept until now, and plans and operations too old to be asked for. What images held is
// overwritten in the file, and the write-ahead log is emptied. While a reader keeps it from being emptied the error says so,
// and the next purge tries again.
func (o *Operations) Purge(ctx context.Context, now time.Time) error {
	if err := o.purgeImages(ctx, now); err != nil {
		return fmt.Errorf("purge images: %w", err)
	}
	err := exec(ctx, o.write, "purge plans and operations",
		do("DELETE FROM operations WHERE ended_at IS NOT NULL AND started_at < ?", now.Add(-keepOperations).UnixMilli()),
		do("DELETE FROM plans WHERE made_at < ? AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.plan = plans.id)", now.Add(-keepPlans).UnixMilli()))
	if err != nil {
		return err
	}
	return o.waste.empty(ctx)
}

func (o *Operations) purgeImages(ctx context.Context, now time.Time) error {
	for {
		n, err := rowsChanged(ctx, o.write, `
			DELETE FROM images WHERE rowid IN (SELECT rowid FROM images WHERE kept_until <= ? ORDER BY kept_until LIMIT ?)`, now.UnixMilli(), purgeBatch)
		if err != nil || n > 0 {
			o.waste.soil() // it may have happened in spite of an error
		}
		if err != nil || n < purgeBatch {
			return err
		}
	}
}
