package series

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/wlog"
)

// blockNameLen is the length of a block's name, a ULID.
const blockNameLen = 26

// A remedy names the entries of the history directory that are to be moved aside, the smallest part first.
type remedy func(db *DB) []string

func remedies() []remedy {
	return []remedy{(*DB).unreadableBlocks, (*DB).logs, (*DB).everything}
}

// quarantine applies the first remedy that has something to move and returns those that are left.
func (db *DB) quarantine(left []remedy, cause error) ([]remedy, bool) {
	for len(left) > 0 {
		names := left[0](db)
		left = left[1:]
		if len(names) == 0 {
			continue
		}
		to, err := db.moveAside(names)
		if err != nil {
			db.log.Error("unreadable history could not be moved aside", "err", err)
			continue
		}
		db.log.Error("history was damaged and could not be repaired; the damaged part was moved aside",
			"moved_to", to, "parts", names, "cause", cause)
		db.state.Lock()
		db.state.quarantined = append(db.state.quarantined, to)
		db.state.Unlock()
		return left, true
	}
	return nil, false
}

func (db *DB) moveAside(names []string) (string, error) {
	base := filepath.Clean(db.cfg.Dir) + ".corrupt-" + time.Now().UTC().Format("20060102T150405")
	to := base
	for n := 2; ; n++ {
		err := os.Mkdir(to, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("make a place for damaged history: %w", err)
		}
		to = fmt.Sprintf("%s-%d", base, n)
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(db.cfg.Dir, name), filepath.Join(to, name)); err != nil {
			return "", fmt.Errorf("move damaged history aside: %w", err)
		}
	}
	return to, nil
}

func (db *DB) unreadableBlocks() []string {
	return db.entries(func(name string) bool {
		return len(name) == blockNameLen && !db.readable(filepath.Join(db.cfg.Dir, name))
	})
}

func (db *DB) readable(block string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	b, err := tsdb.OpenBlock(db.quiet, block, nil, nil)
	if err != nil {
		return environmental(err)
	}
	return b.Close() == nil
}

// readCheckpoint reports a damaged checkpoint of the log. The TSDB would not: it takes the damage for one of the log,
// deletes the whole log instead, and does so again at every start.
func (db *DB) readCheckpoint() error {
	dir, _, err := wlog.LastCheckpoint(filepath.Join(db.cfg.Dir, "wal"))
	if err != nil { // there is none, or no log yet; the TSDB reports what it cannot list
		return nil
	}
	segments, err := wlog.NewSegmentsReader(dir)
	if err != nil {
		return fmt.Errorf("open checkpoint: %w", err)
	}
	defer segments.Close()
	r := wlog.NewReader(segments)
	for r.Next() && db.ctx.Err() == nil {
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	return nil
}

// logs are what was not yet in a block: at most the last few hours.
func (db *DB) logs() []string {
	return db.entries(func(name string) bool {
		return slices.Contains([]string{"wal", "wbl", "chunks_head"}, name)
	})
}

func (db *DB) everything() []string {
	return db.entries(func(name string) bool { return name != "lock" })
}

func (db *DB) entries(keep func(name string) bool) []string {
	all, err := os.ReadDir(db.cfg.Dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range all {
		if keep(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// environmental reports whether an error comes from the machine rather than from damaged files. Such history is kept
// where it is and tried again.
func environmental(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.EROFS,
		syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM, syscall.EFBIG,
	}, func(target error) bool { return errors.Is(err, target) })
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
