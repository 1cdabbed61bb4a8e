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
		syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM,
	}, func(target error) bool { return errors.Is(err, target) })
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
