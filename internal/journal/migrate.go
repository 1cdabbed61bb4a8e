package journal

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The migrations of the main file and of the audit, applied in the order of their names. A released one never changes.
//
//go:embed migrations/*.sql audit_migrations/*.sql
var migrationFiles embed.FS

// migrate applies the migrations that the file has not seen; its user_version counts those it has.
func migrate(ctx context.Context, db *sql.DB, dir string) error {
	files, err := fs.Glob(migrationFiles, dir+"/*.sql")
	if err != nil {
		return err
	}
	var seen int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&seen); err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if seen > len(files) {
		return fmt.Errorf("it was written by a newer version of this program (schema %d, this one knows %d); run that version, or use another data directory", seen, len(files))
	}
	for i := seen; i < len(files); i++ {
		if err := apply(ctx, db, files[i], i+1); err != nil {
			return fmt.Errorf("migration %s: %w", files[i], err)
		}
	}
	return nil
}

func apply(ctx context.Context, db *sql.DB, file string, version int) error {
	script, err := migrationFiles.ReadFile(file)
	if err != nil {
		return err
	}
	return inTx(ctx, db, func(tx *sql.Tx) error {
		return run(ctx, tx, do(string(script)), do(fmt.Sprintf("PRAGMA user_version = %d", version)))
	})
}

// primaryCode returns SQLite's primary result code, or -1 for any other error.
func primaryCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return -1
}

func isDamage(err error) bool {
	code := primaryCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

func isConstraint(err error) bool { return primaryCode(err) == sqlite3.SQLITE_CONSTRAINT }

// isFull also takes the error by which SQLite says that its shared memory found no room.
func isFull(err error) bool {
	var e *sqlite.Error
	return primaryCode(err) == sqlite3.SQLITE_FULL || errors.As(err, &e) && e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}

func isReadOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || primaryCode(err) == sqlite3.SQLITE_READONLY
}
