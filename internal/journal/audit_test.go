package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
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
	if state, err := VerifyAudit(t.Context(), dir); state.Entries != 3 || len(state.Head) != 64 || err != nil {
		t.Errorf("%+v, %v", state, err)
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
	if state, err := VerifyAudit(t.Context(), dir); state.Entries != 1 || err != nil {
		t.Errorf("%+v, %v", state, err)
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
	if state, err := a.Verify(t.Context()); state.Entries != 1 || err != nil {
		t.Errorf("%+v, %v", state, err)
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
	if _, err := a.Verify(ended); err == nil || errors.Is(err, admin.ErrBroken) {
		t.Errorf("a context that has ended: %v", err)
	}
	late, cancel := context.WithCancel(t.Context())
	verdicts := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			_, err = a.Verify(late)
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
	if _, err := a.Verify(t.Context()); !errors.Is(err, syscall.EIO) || errors.Is(err, admin.ErrBroken) {
		t.Errorf("a disk that fails: %v", err)
	}
}

func TestADirectoryWithoutAnAuditDoesNotVerify(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "elsewhere")
	if _, err := VerifyAudit(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want that there is no audit", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("verifying made the directory: %v", err)
	}
}

func TestVerifyFindsEveryTampering(t *testing.T) {
	for name, tamper := range map[string]string{
		"a changed entry":            "UPDATE audit SET entry = replace(entry, 'root', 'eve') WHERE number = 5",
		"a changed entry with hash":  "UPDATE audit SET entry = '{}', hash = zeroblob(32) WHERE number = 5",
		"a removed entry":            "DELETE FROM audit WHERE number = 5",
		"a removed first entry":      "DELETE FROM audit WHERE number = 1",
		"a removed entry, closed up": "DELETE FROM audit WHERE number = 5; UPDATE audit SET number = number - 1 WHERE number > 5",
		"two swapped entries": `UPDATE audit SET number = -5 WHERE number = 5; UPDATE audit SET number = 5 WHERE number = 6;
			UPDATE audit SET number = 6 WHERE number = -5`,
		"a table without the chain": "DROP TABLE audit",
		"a table of another kind":   "DROP TABLE audit; CREATE TABLE audit (number, entry, hash); INSERT INTO audit VALUES ('root', NULL, 1)",
		"an inserted entry":         "INSERT INTO audit VALUES (11, '{}', zeroblob(32))",
	} {
		t.Run(name, func(t *testing.T) {
			db, _ := open(t, t.TempDir())
			for i := range 10 {
				if err := db.Audit().Record(t.Context(), entry(i)); err != nil {
					t.Fatal(err)
				}
			}
			if state, err := db.Audit().Verify(t.Context()); state.Entries != 10 || len(state.Head) != 64 || err != nil {
				t.Fatalf("before: %+v %v", state, err)
			}
			drop := "DROP TRIGGER audit_is_never_changed; DROP TRIGGER audit_is_never_deleted;"
			if _, err := db.audit.db.ExecContext(t.Context(), drop+tamper); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Audit().Verify(t.Context()); !errors.Is(err, admin.ErrBroken) || strings.Contains(err.Error(), "root") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestManyWritersMakeOneChain(t *testing.T) {
	db, _ := open(t, t.TempDir())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				if err := db.Audit().Record(t.Context(), entry(i*10+j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if state, err := db.Audit().Verify(t.Context()); state.Entries != 40 || err != nil {
		t.Errorf("%+v %v", state, err)
	}
}

func TestAFullDiskRefusesTheAuditAndHeals(t *testing.T) {
	db, _ := open(t, t.TempDir())
	heal := fill(t, db.audit.db)
	big := entry(1)
	big.Detail = strings.Repeat("x", 20_000)
	if err := db.Audit().Record(t.Context(), big); !strings.Contains(dedup.PublicText(err), "disk of the data directory is full") {
		t.Errorf("on a full disk: %v", err)
	}
	heal()
	if err := db.Audit().Record(t.Context(), big); err != nil {
		t.Error(err)
	}
	if state, err := db.Audit().Verify(t.Context()); state.Entries != 1 || err != nil {
		t.Errorf("%+v %v", state, err)
	}
}

func TestAnAuditThatTakesNoEntrySaysWhyInPlainWords(t *testing.T) {
	readOnly := func(t *testing.T, db *DB) { // each connection takes it anew
		t.Helper()
		db.audit.db.SetMaxOpenConns(1)
		if _, err := db.audit.db.ExecContext(t.Context(), "PRAGMA query_only = 1"); err != nil {
			t.Fatal(err)
		}
	}
	opened := func(err error) func(*testing.T, *DB) {
		return func(_ *testing.T, db *DB) { db.audit.err = fmt.Errorf("open /var/lib/secret: %w", err) }
	}
	for name, c := range map[string]struct {
		spoil func(*testing.T, *DB)
		want  string
	}{
		"a file that may not be written":   {readOnly, "may not be written; give"},
		"a directory of somebody else":     {opened(fs.ErrPermission), "may not be written; give"},
		"a damaged file":                   {opened(&damagedError{errors.New("row 5")}), "is damaged; stop the dashboard"},
		"a disk that fails":                {opened(syscall.EIO), "the log says why"},
		"a file that was not free in time": {opened(context.DeadlineExceeded), "not free in time"},
	} {
		t.Run(name, func(t *testing.T) {
			db, _ := open(t, t.TempDir())
			c.spoil(t, db)
			err := db.Audit().Record(t.Context(), entry(1))
			said := dedup.PublicText(err)
			if dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(said, c.want) {
				t.Errorf("it says %q (%v)", said, err)
			}
			if strings.Contains(said, "secret") {
				t.Errorf("it tells where the file lies: %q", said)
			}
		})
	}
}

func TestTheAuditCannotBeChangedThroughTheProgram(t *testing.T) {
	db, _ := open(t, t.TempDir())
	if err := db.Audit().Record(t.Context(), entry(1)); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"UPDATE audit SET entry = '{}'", "DELETE FROM audit"} {
		if _, err := db.audit.db.ExecContext(t.Context(), query); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", query, err)
		}
	}
}
