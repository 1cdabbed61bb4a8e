package journal

import (
	"context"
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
	"dedup-dashboard/internal/secret"
)

// Audit is the record of every action, in a file of its own. Each entry carries the HMAC, under a key of the installation, of
// the hash before it and its own text: who changes, removes or swaps an entry without the key shows. Who has the key, which
// lies in the same directory, can write the whole file anew. Cutting off the end while the dashboard is stopped shows only
// against a head that was noted elsewhere, which is why each head is logged. It is safe for concurrent use.
type Audit struct {
	path string
	log  *slog.Logger
	key  []byte
	// fresh says that the key was made by this start.
	fresh bool
	mu    sync.Mutex // one writer, so that the chain is one line
	// Under mu: the open file, or why the audit cannot be used.
	db  *sql.DB
	err error
	// Under mu: the newest entry that this process found at the start or wrote, and what it found cut off since.
	last row
	cut  string
	// checking holds what was found by the last check; who has it checks.
	checking chan checked
}

// VerifyAudit checks the chain of the audit in a directory without changing anything there: it opens the file for reading
// alone, so it is safe beside a running dashboard and sees one consistent state of it. It takes the key of the installation
// from the same directory, if there is one. A directory without an audit is an error that wraps fs.ErrNotExist, never an empty chain.
func VerifyAudit(ctx context.Context, dir string) (admin.AuditState, error) {
	path := filepath.Join(dir, auditFile)
	if _, err := os.Stat(path); err != nil {
		return admin.AuditState{}, fmt.Errorf("read audit: %w", err)
	}
	key, err := secret.ReadInstallation(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without the file the chain may be one from before there were keys
		return admin.AuditState{}, err
	}
	db, err := sql.Open("sqlite", readOnlyDSN(path))
	if err != nil {
		return admin.AuditState{}, fmt.Errorf("read audit %s: %w", path, err)
	}
	defer func() { _ = db.Close() }()
	return verifyChain(ctx, db, key.Key(chainLabel), path)
}

// openAudit never fails: an audit that cannot be used refuses to record, and so nothing is done; but pages go on.
func openAudit(ctx context.Context, path string, key secret.Installation, log *slog.Logger) *Audit {
	a := &Audit{path: path, log: log, key: key.Key(chainLabel), fresh: key.Fresh, checking: make(chan checked, 1)}
	a.checking <- checked{}
	a.open(ctx)
	switch {
	case errors.Is(a.err, syscall.ENOSPC):
		log.Error("the audit cannot be opened: no action will be taken until there is space", "file", path, "err", a.err)
	case a.err != nil:
		log.Error("the audit cannot be used: no action will be taken until it is moved away by hand and kept", "file", path, "err", a.err)
	}
	return a
}

// open opens the file and sees to it that its newest entry carries the key.
func (a *Audit) open(ctx context.Context) {
	if a.db, a.err = openFile(ctx, a.path, "FULL", "audit_migrations"); a.err != nil {
		return
	}
	var err error
	if a.last, err = beginKey(ctx, a.db, a.key, a.fresh); err == nil {
		return
	}
	if isFull(err) {
		err = fmt.Errorf("%w (%w)", syscall.ENOSPC, err)
	}
	a.err = errors.Join(fmt.Errorf("begin the key of the chain in %s: %w", a.path, err), a.db.Close())
	a.db = nil
}

// file returns the open audit, or why it cannot be used. What only lacked space is opened again. The caller holds mu.
func (a *Audit) file(ctx context.Context) (*sql.DB, error) {
	if errors.Is(a.err, syscall.ENOSPC) {
		a.open(ctx)
	}
	return a.db, a.err
}

// opened returns the open audit with what this process knows of its end: the newest entry, and what was cut off; or why it cannot be used.
func (a *Audit) opened(ctx context.Context) (db *sql.DB, mine row, cut string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	db, err = a.file(ctx)
	return db, a.last, a.cut, err
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
	if err := a.append(ctx, text); err != nil {
		return refusal(err)
	}
	a.log.Info("audit", "number", a.last.number, "head", hex.EncodeToString(a.last.hash), "action", e.Action, "phase", e.Phase, "who", e.Who)
	return nil
}

// append appends an entry to the file. The caller holds mu.
func (a *Audit) append(ctx context.Context, text []byte) error {
	db, err := a.file(ctx)
	if err != nil {
		return err
	}
	next, whole, err := appendEntry(ctx, db, a.key, a.last, text)
	if err != nil {
		return err
	}
	if !whole && a.cut == "" {
		a.cut = cutOff(a.last)
		a.log.Error("the audit was changed by somebody else", "file", a.path, "number", a.last.number, "head", hex.EncodeToString(a.last.hash))
	}
	a.last = next
	return nil
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

// Verify walks the whole chain. Its error wraps admin.ErrBroken and names the first entry that does not fit; other errors
// mean that the audit could not be read.
func (a *Audit) Verify(ctx context.Context) (admin.AuditState, error) {
	db, mine, cut, err := a.opened(ctx)
	if err != nil {
		return admin.AuditState{}, unreadable(a.path, err)
	}
	state, err := verifyChain(ctx, db, a.key, a.path)
	return state, a.notCut(state, err, mine, cut)
}

// notCut adds to the outcome of a check whether the end is there that this process wrote.
func (a *Audit) notCut(state admin.AuditState, err error, mine row, cut string) error {
	if err == nil && state.Entries < mine.number {
		cut = cutOff(mine)
	}
	if err == nil && cut != "" {
		err = fmt.Errorf("%w: %s: %s", admin.ErrBroken, a.path, cut)
	}
	return err
}

// cutOff says that an entry which this process wrote is not there any more.
func cutOff(mine row) string {
	return fmt.Sprintf("entry %d, which was on disk, was cut off or changed while the dashboard ran", mine.number)
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
