package series

import (
	"fmt"
	"syscall"

	"dedup-dashboard/internal/dedup"
)

// checkSpace returns an error when the disk has less free space than MinFree. A file system that does not say how much
// is free is trusted.
func (db *DB) checkSpace() error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(db.cfg.Dir, &st); err != nil || st.Bsize <= 0 {
		return nil
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	if free >= uint64(db.cfg.MinFree) {
		return nil
	}
	return &dedup.Error{
		Kind: dedup.Unavailable,
		Public: fmt.Sprintf("History is not being written: the disk has %s free and %s must stay free. Free some space, it goes on by itself",
			mebibytes(free), mebibytes(uint64(db.cfg.MinFree))),
		Err: fmt.Errorf("write history in %s: %w", db.cfg.Dir, syscall.ENOSPC),
	}
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
