// Package journal keeps in SQL what must outlive the process: accounts, plans, operations, jobs, measurements, alerts and what was told of them in one file, and the audit in a file of its own.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver

	"dedup-dashboard/internal/secret"
)

const (
	mainFile  = "journal.db"
	auditFile = "audit.db"
)

// DB is the journal. It is safe for concurrent use.
type DB struct {
	main     *sql.DB
	acts     *sql.DB // the same file, for what must be on disk before anything is done
	waste    *waste
	audit    *Audit
	sessions *Sessions
	unread   *unread
	key      secret.Installation
}

// Open opens or creates the journal in a directory, which it creates too. A journal that is damaged is moved aside with a
// warning and begun anew: its accounts, sessions and images of cleared markers are lost, no figure is. A damaged audit is never moved nor written to;
// the journal opens without it, and Record refuses. An unusable directory is an error that says what to do; a full disk,
// which may heal, is one that wraps syscall.ENOSPC.
func Open(ctx context.Context, dir string, log *slog.Logger) (*DB, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	tighten(dir, log)
	main, err := openMain(ctx, filepath.Join(dir, mainFile), log)
	if err != nil {
		return nil, err
	}
	// Made after the file that may refuse to open: a key that is older than the audit's first use of it is suspicious.
	key, err := secret.OpenInstallation(dir)
	if err != nil {
		return nil, errors.Join(err, main.Close())
	}
	acts, err := sql.Open("sqlite", dsn(filepath.Join(dir, mainFile), "FULL", patience, "secure_delete(1)"))
	if err != nil {
		return nil, errors.Join(err, main.Close())
	}
	acts.SetMaxOpenConns(1)
	emptying, err := sql.Open("sqlite", dsn(filepath.Join(dir, mainFile), "FULL", emptyWait))
	if err != nil {
		return nil, errors.Join(err, acts.Close(), main.Close())
	}
	emptying.SetMaxOpenConns(1)
	return &DB{
		main: main, acts: acts, waste: &waste{db: emptying}, audit: openAudit(ctx, filepath.Join(dir, auditFile), key, log),
		sessions: newSessions(main, log), unread: newUnread(log), key: key,
	}, nil
}

// Installation returns the key of the installation, which lies beside the journal.
func (db *DB) Installation() secret.Installation { return db.key }

// Audit returns the audit.
func (db *DB) Audit() *Audit { return db.audit }

// Sessions returns the store of signed-in sessions.
func (db *DB) Sessions() *Sessions { return db.sessions }

// Operations returns the keeper of plans, operations and images.
func (db *DB) Operations() *Operations {
	return &Operations{keeper: db.keeper(), waste: db.waste}
}

// Close closes both files.
func (db *DB) Close() error {
	return errors.Join(db.waste.db.Close(), db.acts.Close(), db.main.Close(), db.audit.close())
}

// checkDir makes sure that the directory can be written to, before SQLite says so in its own words.
func checkDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory %s cannot be made: %w; create it for this user or set server.data_dir", dir, err)
	}
	probe, err := os.CreateTemp(dir, ".write-test-*")
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		return fmt.Errorf("data directory %s is not writable: %w; give this user the right to write there or set server.data_dir", dir, err)
	}
	if err != nil {
		return fmt.Errorf("data directory %s cannot be used: %w", dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func openMain(ctx context.Context, path string, log *slog.Logger) (*sql.DB, error) {
	db, err := openFile(ctx, path, "NORMAL", "migrations")
	var damaged *damagedError
	if !errors.As(err, &damaged) {
		return db, err
	}
	aside := path + ".corrupt-" + time.Now().UTC().Format("20060102T150405.000")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("move the damaged journal aside: %w", err)
		}
	}
	log.Warn("the journal was damaged and begins anew; accounts, sessions and images of cleared markers in it are gone", "moved_to", aside, "err", damaged)
	return openFile(ctx, path, "NORMAL", "migrations")
}

// damagedError means that a file is not a sound database.
type damagedError struct{ err error }

func (e *damagedError) Error() string { return "damaged: " + e.err.Error() }
func (e *damagedError) Unwrap() error { return e.err }

// openFile opens a database, checks it and brings its schema up to date.
func openFile(ctx context.Context, path, synchronous, migrations string) (*sql.DB, error) {
	// SQLite would create it with the umask's mode; the write-ahead log takes the mode of the file.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db, err := sql.Open("sqlite", dsn(path, synchronous, patience))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(8)
	if err := prepare(ctx, db, migrations); err != nil {
		_ = db.Close()
		if isFull(err) {
			return nil, fmt.Errorf("open %s: %w (%w); free some space", path, syscall.ENOSPC, err)
		}
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

func prepare(ctx context.Context, db *sql.DB, migrations string) error {
	var verdict string
	switch err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); {
	case isDamage(err):
		return &damagedError{err}
	case err != nil:
		return err
	case verdict != "ok":
		return &damagedError{errors.New(verdict)}
	}
	if err := migrate(ctx, db, migrations); isDamage(err) {
		return &damagedError{err}
	} else if err != nil {
		return err
	}
	return nil
}

// patience is how long a statement waits for others that use the file.
const patience = 5 * time.Second

func dsn(path, synchronous string, wait time.Duration, pragmas ...string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "journal_mode(WAL)", "synchronous(" + synchronous + ")", "foreign_keys(1)", "trusted_schema(0)",
	}, pragmas...)}
	return fileURL(path, q)
}

// readOnlyDSN opens a file that another process may be writing, and leaves it as it is.
func readOnlyDSN(path string) string {
	return fileURL(path, url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), "query_only(1)", "trusted_schema(0)"}})
}

func fileURL(path string, q url.Values) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}
