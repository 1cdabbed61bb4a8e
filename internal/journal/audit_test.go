package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dedup-dashboard/internal/admin"
)

// contents returns every file of a directory by name, and leaves out the shared memory that readers of SQLite write too.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		if filepath.Ext(f.Name()) == ".db-shm" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(b)
	}
	return all
}

func TestVerifyingBesideARunningDashboardSeesItsEntriesAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	for i := range 3 {
		if err := db.Audit().Record(t.Context(), entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, dir)
	if n, head, err := VerifyAudit(t.Context(), dir); n != 3 || len(head) != 64 || err != nil {
		t.Errorf("%d entries, head %q, %v", n, head, err)
	}
	if !maps.Equal(before, contents(t, dir)) {
		t.Error("verifying changed the data directory")
	}
	if err := db.Audit().Record(t.Context(), entry(4)); err != nil {
		t.Errorf("the running dashboard cannot record any more: %v", err)
	}
}

func TestVerifyingLeavesADamagedJournalWhereItIs(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	if err := errors.Join(db.Audit().Record(t.Context(), entry(1)), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, mainFile), []byte("not a database, and longer than its header would be"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	if n, _, err := VerifyAudit(t.Context(), dir); n != 1 || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
	after := contents(t, dir)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("verifying changed %s", name)
		}
	}
}

func TestAnAuditThatFoundNoRoomAtTheStartIsOpenedOnceThereIsSome(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Audit()
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	a.db, a.err = nil, fmt.Errorf("open: %w", syscall.ENOSPC) // as openAudit leaves it; now there is room
	if err := a.Record(t.Context(), entry(1)); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	if n, _, err := a.Verify(t.Context()); n != 1 || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
}

func TestAnAuditThatCouldNotBeReadIsNotSaidToBeChanged(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Audit()
	for i := range 200 {
		if err := a.Record(t.Context(), entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := a.Verify(ended); err == nil || errors.Is(err, admin.ErrBroken) {
		t.Errorf("a context that has ended: %v", err)
	}
	late, cancel := context.WithCancel(t.Context())
	verdicts := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			_, _, err = a.Verify(late)
		}
		verdicts <- err
	}()
	cancel()
	if err := <-verdicts; errors.Is(err, admin.ErrBroken) {
		t.Errorf("a context that ends in between: %v", err)
	}
	a.mu.Lock()
	a.err = fmt.Errorf("open: %w", syscall.EIO)
	a.mu.Unlock()
	if _, _, err := a.Verify(t.Context()); !errors.Is(err, syscall.EIO) || errors.Is(err, admin.ErrBroken) {
		t.Errorf("a disk that fails: %v", err)
	}
}

func TestADirectoryWithoutAnAuditDoesNotVerify(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "elsewhere")
	if _, _, err := VerifyAudit(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want that there is no audit", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("verifying made the directory: %v", err)
	}
}
