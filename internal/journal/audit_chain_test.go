package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/secret"
)

const noTriggers = "DROP TRIGGER audit_is_never_changed; DROP TRIGGER audit_is_never_deleted;"

// rehash writes the hashes anew from an entry on, as somebody does who can write the file and knows everything but the key.
func rehash(t *testing.T, db *sql.DB, from int64, key []byte) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var head []byte
	for number := int64(1); ; number++ {
		var text string
		var hash []byte
		err := tx.QueryRowContext(t.Context(), "SELECT entry, hash FROM audit WHERE number = ?", number).Scan(&text, &hash)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if head = hash; number >= from {
			var before []byte
			if number > 1 {
				if err := tx.QueryRowContext(t.Context(), "SELECT hash FROM audit WHERE number = ?", number-1).Scan(&before); err != nil {
					t.Fatal(err)
				}
			}
			head = link(key, before, []byte(text))
		}
		if _, err := tx.ExecContext(t.Context(), "UPDATE audit SET hash = ? WHERE number = ?", head, number); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func record(t *testing.T, db *DB, n int) {
	t.Helper()
	for i := range n {
		if err := db.Audit().Record(t.Context(), entry(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func tamper(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), noTriggers+query); err != nil {
		t.Fatal(err)
	}
}

func TestEntriesThatWereDroppedAndRehashedWithoutTheKeyShow(t *testing.T) {
	for name, key := range map[string][]byte{"without a key": nil, "with another key": []byte("a key that somebody guessed, 32 B")} {
		for _, first := range []int64{1, 4} {
			t.Run(fmt.Sprintf("%s, from entry %d on", name, first), func(t *testing.T) {
				dir := t.TempDir()
				db, _ := open(t, dir)
				record(t, db, 10)
				tamper(t, db.audit.db, fmt.Sprintf("DELETE FROM audit WHERE number IN (%d, %d); UPDATE audit SET number = number - 2 WHERE number > %d", first, first+1, first))
				rehash(t, db.audit.db, first, key)
				db.audit.last = row{} // as after a restart
				if state, err := db.Audit().Verify(t.Context()); !errors.Is(err, admin.ErrBroken) {
					t.Errorf("two entries dropped and rehashed: %+v, %v", state, err)
				}
				if state, err := VerifyAudit(t.Context(), dir); !errors.Is(err, admin.ErrBroken) {
					t.Errorf("by the command: %+v, %v", state, err)
				}
			})
		}
	}
}

// asBefore makes the audit one of a version without keys, and removes the key.
func asBefore(t *testing.T, dir string, n int) {
	t.Helper()
	db, _ := open(t, dir)
	record(t, db, n)
	tamper(t, db.audit.db, "SELECT 1")
	rehash(t, db.audit.db, 1, nil)
	script, err := migrationFiles.ReadFile("audit_migrations/001_audit.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, triggers, _ := strings.Cut(string(script), "STRICT;")
	if _, err := db.audit.db.ExecContext(t.Context(), triggers+"; PRAGMA user_version = 3"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), os.Remove(filepath.Join(dir, secret.InstallationFile))); err != nil {
		t.Fatal(err)
	}
}

func TestAnAuditFromBeforeTheKeyStaysVerifiableAndSaysWhereTheKeyBegins(t *testing.T) {
	dir := t.TempDir()
	asBefore(t, dir, 3)
	if state, err := VerifyAudit(t.Context(), dir); err != nil || state.Entries != 3 || state.Unkeyed != 3 {
		t.Errorf("before the first start with a key: %+v, %v", state, err)
	}
	db, _ := open(t, dir)
	record(t, db, 2)
	if state, err := db.Audit().Verify(t.Context()); err != nil || state.Entries != 6 || state.Unkeyed != 3 {
		t.Errorf("after it: %+v, %v", state, err)
	}
	acts, err := db.Audit().Acts(t.Context(), admin.TrailQuery{Limit: 10, TrailFilter: admin.TrailFilter{Action: admin.ActionKeyAudit}})
	if err != nil || len(acts) != 1 || acts[0].Entry.Number != 4 || acts[0].Entry.Phase != admin.Succeeded || !strings.Contains(acts[0].Entry.Detail, "the 3 before carry none") {
		t.Errorf("the switch is %+v, %v", acts, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, _ = open(t, dir)
	if state, err := db.Audit().Verify(t.Context()); err != nil || state.Entries != 6 {
		t.Errorf("another start begins another key: %+v, %v", state, err)
	}
	tamper(t, db.audit.db, "UPDATE audit SET entry = replace(entry, 'root', 'eve') WHERE number = 2")
	rehash(t, db.audit.db, 2, nil)
	if _, err := db.Audit().Verify(t.Context()); !errors.Is(err, admin.ErrBroken) {
		t.Errorf("what is older than the key is sealed by the first entry with it: %v", err)
	}
}

func TestAnAuditThatWasWrittenAnewWithoutTheKeyWhileStoppedIsSaidToBeDoubtful(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	record(t, db, 5)
	tamper(t, db.audit.db, "DELETE FROM audit WHERE number > 3")
	rehash(t, db.audit.db, 1, nil)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if state, err := VerifyAudit(t.Context(), dir); !errors.Is(err, admin.ErrBroken) || !strings.Contains(err.Error(), "no entry carries the key") {
		t.Errorf("while it is stopped: %+v, %v", state, err)
	}
	db, _ = open(t, dir)
	page, err := db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 1})
	if err != nil || len(page) != 1 || page[0].Phase != admin.Uncertain || !strings.Contains(page[0].Detail, "may have been written anew") {
		t.Errorf("the next start says %+v, %v", page, err)
	}
}

func TestAnAuditWhoseKeyIsGoneOrAnotherDoesNotVerify(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	record(t, db, 3)
	path := filepath.Join(dir, secret.InstallationFile)
	if err := errors.Join(db.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	if state, err := VerifyAudit(t.Context(), dir); !errors.Is(err, admin.ErrBroken) || !strings.Contains(err.Error(), "installation.key is not beside it") {
		t.Errorf("without the key: %+v, %v", state, err)
	}
	db, _ = open(t, dir)
	if state, err := db.Audit().Verify(t.Context()); !errors.Is(err, admin.ErrBroken) || !strings.Contains(err.Error(), "another key") {
		t.Errorf("with another key: %+v, %v", state, err)
	}
	if err := db.Audit().Record(t.Context(), entry(4)); err != nil {
		t.Errorf("who lost the key can do nothing any more: %v", err)
	}
}

func TestEntriesThatAreCutOffWhileTheDashboardRunsShow(t *testing.T) {
	db, text := open(t, t.TempDir())
	record(t, db, 5)
	tamper(t, db.audit.db, "DELETE FROM audit WHERE number > 3")
	if state, err := db.Audit().Verify(t.Context()); !errors.Is(err, admin.ErrBroken) || !strings.Contains(err.Error(), "entry 5") {
		t.Errorf("at once: %+v, %v", state, err)
	}
	record(t, db, 4) // the numbers are used again
	if state, err := db.Audit().Verify(t.Context()); !errors.Is(err, admin.ErrBroken) || !strings.Contains(err.Error(), "entry 5") {
		t.Errorf("after others took their places: %+v, %v", state, err)
	}
	if !strings.Contains(text.String(), "changed by somebody else") {
		t.Errorf("the log does not tell: %s", text)
	}
}
