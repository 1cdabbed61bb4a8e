package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// Audit is the record of every action, in a file of its own. Each entry carries the SHA-256 of the hash before it and its
// own text, so that a changed, removed or swapped entry shows. Cutting off the end shows only against a head that was
// noted elsewhere, which is why each head is logged. It is safe for concurrent use.
type Audit struct {
	path string
	log  *slog.Logger
	mu   sync.Mutex // one writer, so that the chain is one line
	// Under mu: the open file, or why the audit cannot be used.
	db  *sql.DB
	err error
}

// VerifyAudit checks the chain of the audit in a directory without changing anything there: it opens the file for reading
// alone, so it is safe beside a running dashboard and sees one consistent state of it. It returns the number of entries and
// the head in hex. A directory without an audit is an error that wraps fs.ErrNotExist, never an empty chain.
func VerifyAudit(ctx context.Context, dir string) (int64, string, error) {
	path := filepath.Join(dir, auditFile)
	if _, err := os.Stat(path); err != nil {
		return 0, "", fmt.Errorf("read audit: %w", err)
	}
	db, err := sql.Open("sqlite", readOnlyDSN(path))
	if err != nil {
		return 0, "", fmt.Errorf("read audit %s: %w", path, err)
	}
	defer func() { _ = db.Close() }()
	return verifyChain(ctx, db, path)
}

// openAudit never fails: an audit that cannot be used refuses to record, and so nothing is done; but pages go on.
func openAudit(ctx context.Context, path string, log *slog.Logger) *Audit {
	a := &Audit{path: path, log: log}
	a.db, a.err = openFile(ctx, path, "FULL", "audit_migrations")
	switch {
	case errors.Is(a.err, syscall.ENOSPC):
		log.Error("the audit cannot be opened: no action will be taken until there is space", "file", path, "err", a.err)
	case a.err != nil:
		log.Error("the audit cannot be used: no action will be taken until it is moved away by hand and kept", "file", path, "err", a.err)
	}
	return a
}

// file returns the open audit, or why it cannot be used. What only lacked space is opened again. The caller holds mu.
func (a *Audit) file(ctx context.Context) (*sql.DB, error) {
	if errors.Is(a.err, syscall.ENOSPC) {
		a.db, a.err = openFile(ctx, a.path, "FULL", "audit_migrations")
	}
	return a.db, a.err
}

func (a *Audit) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.db == nil {
		return nil
	}
	return a.db.Close()
}

// entryJSON is an entry as it is stored. Its fields never change their order: the hash is taken over the text.
type entryJSON struct {
	At        string `json:"at"`
	Operation string `json:"operation"`
	Phase     string `json:"phase"`
	Who       string `json:"who"`
	Role      string `json:"role"`
	Method    string `json:"method"`
	From      string `json:"from"`
	Action    string `json:"action"`
	Target    string `json:"target"`
	Detail    string `json:"detail"`
	Reason    string `json:"reason,omitempty"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
	Hash      string `json:"hash,omitempty"`
}

// Record appends an entry. It returns after the entry is on disk. An error says in words that may be shown why it is not.
func (a *Audit) Record(ctx context.Context, e admin.Entry) error {
	text, err := json.Marshal(entryJSON{
		At: e.At.UTC().Format(time.RFC3339Nano), Operation: e.Operation, Phase: e.Phase, Who: e.Who, Role: e.Role,
		Method: e.Method, From: e.From, Action: e.Action, Target: e.Target, Detail: e.Detail,
		Reason: e.Reason, Before: e.Before, After: e.After, Hash: e.Hash,
	})
	if err != nil {
		return fmt.Errorf("write audit: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	number, head, err := a.append(ctx, text)
	if err != nil {
		return refusal(err)
	}
	a.log.Info("audit", "number", number, "head", hex.EncodeToString(head), "action", e.Action, "phase", e.Phase, "who", e.Who)
	return nil
}

// append appends an entry to the file. The caller holds mu.
func (a *Audit) append(ctx context.Context, text []byte) (int64, []byte, error) {
	db, err := a.file(ctx)
	if err != nil {
		return 0, nil, err
	}
	return appendEntry(ctx, db, text)
}

// refusal says why an entry was not taken.
func refusal(err error) error {
	why := "The file of the audit cannot be written; the log says why"
	var damaged *damagedError
	switch code := primaryCode(err); {
	case isFull(err), errors.Is(err, syscall.ENOSPC):
		why = "The disk of the data directory is full; free some space"
	case isReadOnly(err), errors.Is(err, fs.ErrPermission), code == sqlite3.SQLITE_CANTOPEN, code == sqlite3.SQLITE_PERM:
		why = "The file of the audit may not be written; give the user of the dashboard the right to write in the data directory"
	case isDamage(err), errors.As(err, &damaged):
		why = "The file of the audit is damaged; stop the dashboard, move the file away and keep it, then start again"
	case code == sqlite3.SQLITE_BUSY, code == sqlite3.SQLITE_LOCKED, errors.Is(err, context.DeadlineExceeded):
		why = "The file of the audit was not free in time; see that no other program uses it, and that its disk is not overloaded"
	case code == sqlite3.SQLITE_IOERR:
		why = "The disk of the data directory fails; read the log of the system"
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: why, Err: fmt.Errorf("write audit: %w", err)}
}

func appendEntry(ctx context.Context, db *sql.DB, text []byte) (int64, []byte, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	var number int64
	var head []byte
	err = tx.QueryRowContext(ctx, "SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1").Scan(&number, &head)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, nil, err
	}
	number, head = number+1, link(head, text)
	if _, err := tx.ExecContext(ctx, "INSERT INTO audit (number, entry, hash) VALUES (?, ?, ?)", number, string(text), head); err != nil {
		return 0, nil, err
	}
	return number, head, tx.Commit()
}

// link returns the hash of an entry that follows the given head; the head of an empty audit is 32 zero bytes.
func link(head, text []byte) []byte {
	if len(head) == 0 {
		head = make([]byte, sha256.Size)
	}
	h := sha256.New()
	h.Write(head)
	h.Write(text)
	return h.Sum(nil)
}

// Verify walks the whole chain. It returns the number of entries and the head in hex, or an error that wraps
// admin.ErrBroken and names the first entry that does not fit. Other errors mean that the audit could not be read.
func (a *Audit) Verify(ctx context.Context) (int64, string, error) {
	a.mu.Lock()
	db, err := a.file(ctx)
	a.mu.Unlock()
	if err != nil {
		return 0, "", unreadable(a.path, err)
	}
	return verifyChain(ctx, db, a.path)
}

func verifyChain(ctx context.Context, db *sql.DB, path string) (int64, string, error) {
	rows, err := db.QueryContext(ctx, "SELECT number, entry, hash FROM audit ORDER BY number")
	if err != nil {
		return 0, "", unreadable(path, err)
	}
	defer func() { _ = rows.Close() }()
	head := make([]byte, sha256.Size)
	var count int64
	for rows.Next() {
		var number int64
		var text string
		var hash []byte
		count++
		switch err := rows.Scan(&number, &text, &hash); {
		case err != nil && ctx.Err() != nil:
			return count, "", unreadable(path, err)
		case err != nil: // its text may quote the entry
			return count, "", fmt.Errorf("%w: %s: entry %d cannot be decoded", admin.ErrBroken, path, count)
		}
		if number != count {
			return count, "", fmt.Errorf("%w: %s: entry %d is missing", admin.ErrBroken, path, count)
		}
		head = link(head, []byte(text))
		if !bytes.Equal(head, hash) {
			return count, "", fmt.Errorf("%w: %s: entry %d or the one before it was changed", admin.ErrBroken, path, number)
		}
	}
	if err := rows.Err(); err != nil {
		return count, "", unreadable(path, err)
	}
	return count, hex.EncodeToString(head), nil
}

// unreadable says whether the file is damaged, which is a broken chain, or could not be read this time.
func unreadable(path string, err error) error {
	var damaged *damagedError
	// The query never changes: what SQLite cannot make of it is that the table is gone or another.
	if isDamage(err) || primaryCode(err) == sqlite3.SQLITE_ERROR || errors.As(err, &damaged) {
		return fmt.Errorf("%w: %s: %w", admin.ErrBroken, path, err)
	}
	return fmt.Errorf("read audit %s: %w", path, err)
}
