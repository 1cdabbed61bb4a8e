package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a journal and collects its log.
func open(t *testing.T, dir string) (*DB, *logText) {
	t.Helper()
	text := &logText{}
	db, err := Open(t.Context(), dir, slog.New(slog.NewTextHandler(text, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, text
}

type logText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

var root = auth.User{Name: "Root", Role: auth.Admin, PasswordHash: "$argon2id$..."}

func entry(i int) admin.Entry {
	return admin.Entry{At: time.Unix(int64(i), 0), Operation: fmt.Sprint(i), Phase: admin.Intent, Who: "root", Action: "test", Target: "<b>\x00\xff"}
}

func TestUsersSurviveARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by open?#%")
	db, _ := open(t, dir)
	if err := db.CreateFirstAdmin(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, _ = open(t, dir)
	u, ok, err := db.User(t.Context(), "root")
	if err != nil || !ok || u != root {
		t.Errorf("%+v %t %v", u, ok, err)
	}
	if all, err := db.Users(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%v %v", all, err)
	}
	if _, ok, err := db.User(t.Context(), "nobody"); ok || err != nil {
		t.Errorf("%t %v", ok, err)
	}
}

func TestFilesAreReadableByTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db, _ := open(t, dir)
	if err := errors.Join(db.CreateFirstAdmin(t.Context(), root), db.Audit().Record(t.Context(), entry(1))); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", d.Name(), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOfManyFirstAdminsOneIsMade(t *testing.T) {
	db, _ := open(t, t.TempDir())
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			errs[i] = db.CreateFirstAdmin(t.Context(), auth.User{Name: fmt.Sprint("admin", i), Role: auth.Admin, PasswordHash: "h"})
		})
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		switch {
		case err == nil:
			made++
		case dedup.KindOf(err) != dedup.Conflict:
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d were made", made)
	}
}

func TestADirectoryThatCannotBeUsedIsNamedWithItsRemedy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/dedup-dashboard"} {
		if _, err := Open(t.Context(), dir, slog.Default()); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "data_dir") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestADamagedJournalIsMovedAsideAndBegunAnew(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"overwritten": func(b []byte) []byte { return []byte(strings.Repeat("not a database ", 1000)) },
		"cut off":     func(b []byte) []byte { return b[:len(b)/2] },
		"bytes changed": func(b []byte) []byte {
			for i := 4096; i < len(b); i++ {
				b[i] ^= 0xa5
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, _ := open(t, dir)
			if err := errors.Join(db.CreateFirstAdmin(t.Context(), root), db.Audit().Record(t.Context(), entry(1)), db.Close()); err != nil {
				t.Fatal(err)
			}
			spoil(t, filepath.Join(dir, mainFile), damage)
			db, text := open(t, dir)
			if all, err := db.Users(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("%v %v", all, err)
			}
			aside, _ := filepath.Glob(filepath.Join(dir, mainFile+".corrupt-*"))
			if len(aside) == 0 || !strings.Contains(text.String(), "begins anew") {
				t.Errorf("moved to %v, log %s", aside, text)
			}
			if state, err := db.Audit().Verify(t.Context()); state.Entries != 1 || err != nil {
				t.Errorf("the audit must stay: %+v %v", state, err)
			}
		})
	}
}

func spoil(t *testing.T, path string, damage func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, damage(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedAuditIsKeptAndRefusesToRecord(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	if err := errors.Join(db.Audit().Record(t.Context(), entry(1)), db.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, auditFile)
	spoil(t, path, func(b []byte) []byte { return []byte(strings.Repeat("x", len(b))) })
	before, _ := os.ReadFile(path)
	db, text := open(t, dir)
	if err := db.Audit().Record(t.Context(), entry(2)); err == nil {
		t.Error("records in a damaged audit")
	}
	if _, err := db.Audit().Verify(t.Context()); !errors.Is(err, admin.ErrBroken) {
		t.Errorf("verifies a damaged audit: %v", err)
	}
	after, _ := os.ReadFile(path)
	if !bytes.Equal(before, after) || !strings.Contains(text.String(), "no action will be taken") {
		t.Errorf("touched, or not told: %s", text)
	}
	if err := db.CreateFirstAdmin(t.Context(), root); err != nil {
		t.Errorf("the rest must go on: %v", err)
	}
}

// TestNoDamageMakesItPanic flips random bytes of both files.
func TestNoDamageMakesItPanic(t *testing.T) {
	seed := t.TempDir()
	db, _ := open(t, seed)
	if err := errors.Join(db.CreateFirstAdmin(t.Context(), root), db.Audit().Record(t.Context(), entry(1)), db.Sessions().Commit("t", []byte("d"), time.Now().Add(time.Hour)), db.Close()); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o700); err != nil {
			rt.Fatal(err)
		}
		for _, file := range []string{mainFile, auditFile} {
			b, err := os.ReadFile(filepath.Join(seed, file))
			if err != nil {
				rt.Fatal(err)
			}
			for range rapid.IntRange(0, 30).Draw(rt, "flips") {
				b[rapid.IntRange(0, len(b)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "to")
			}
			if err := os.WriteFile(filepath.Join(dir, file), b[:rapid.IntRange(0, len(b)).Draw(rt, "length")], 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		db, err := Open(context.Background(), dir, slog.New(slog.DiscardHandler))
		if err != nil {
			return // an error is an answer
		}
		_, _ = db.Users(context.Background())
		_, _ = db.Sessions().All()
		_, _ = db.Audit().Verify(context.Background())
		_ = db.Audit().Record(context.Background(), entry(2))
		_ = db.Close()
		_ = os.RemoveAll(dir)
	})
}

func TestAJournalOfANewerVersionIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	if _, err := db.main.ExecContext(t.Context(), "PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	if _, err := Open(t.Context(), dir, slog.Default()); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("%v", err)
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, "*.corrupt-*")); len(aside) > 0 {
		t.Errorf("moved %v", aside)
	}
}

func TestSessionsAreFoundUntilTheyExpireOrEnd(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	s := db.Sessions()
	now := time.Now()
	if err := errors.Join(s.Commit("a", []byte("1"), now.Add(time.Hour)), s.Commit("a", []byte("2"), now.Add(time.Hour)),
		s.Commit("old", []byte("3"), now.Add(-time.Second)), s.Commit("b", []byte("4"), now.Add(time.Hour)), s.Delete("b"), s.Delete("never")); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{"a": "2", "old": "", "b": "", "' OR 1=1 --": ""} {
		data, found, err := s.Find(token)
		if err != nil || found != (want != "") || found && string(data) != want {
			t.Errorf("%s: %q %t %v", token, data, found, err)
		}
	}
	_ = db.Close()
	db, _ = open(t, dir)
	if all, err := db.Sessions().All(); err != nil || len(all) != 1 || string(all["a"]) != "2" {
		t.Errorf("after a restart: %v %v", all, err)
	}
}

// fill makes the disk full for this database: no page can be added, and free ones are used up.
func fill(t *testing.T, db *sql.DB) (heal func()) {
	t.Helper()
	db.SetMaxOpenConns(1) // the limit belongs to one connection
	var pages int
	if err := db.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	set := func(n int) {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	set(pages)
	return func() { set(1 << 30) }
}

func TestARequestUnderWayDoesNotBringBackASessionThatEnded(t *testing.T) {
	db, _ := open(t, t.TempDir())
	s := db.Sessions()
	later := time.Now().Add(time.Hour)
	for i := range 50 {
		token := fmt.Sprint("token", i)
		if err := s.Commit(token, []byte("data"), later); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() { // a request that found the session before it ended, and now notes its last use
			if err := s.Commit(token, []byte("data"), later); err != nil {
				t.Error(err)
			}
		})
		if err := s.Delete(token); err != nil {
			t.Error(err)
		}
		both.Wait()
		if _, found, err := s.Find(token); found || err != nil {
			t.Fatalf("session %d came back: %t %v", i, found, err)
		}
	}
}

func TestAFullDiskKeepsSessionsInMemoryAndHeals(t *testing.T) {
	db, text := open(t, t.TempDir())
	s := db.Sessions()
	later := time.Now().Add(time.Hour)
	big := bytes.Repeat([]byte("x"), 20_000) // needs pages of its own
	heal := fill(t, db.main)
	if err := s.Commit("held", big, later); err != nil {
		t.Fatalf("sign-in fails on a full disk: %v", err)
	}
	if data, found, err := s.Find("held"); err != nil || !found || !bytes.Equal(data, big) {
		t.Errorf("held session: %t %v", found, err)
	}
	if all, err := s.All(); err != nil || all["held"] == nil {
		t.Errorf("all: %v", err)
	}
	if err := s.Delete("held"); err != nil {
		t.Error(err)
	}
	if _, found, _ := s.Find("held"); found {
		t.Error("a session that signed out came back")
	}
	if err := s.Commit("second", big, later); err != nil {
		t.Error(err)
	}
	if strings.Count(text.String(), "kept in memory") != 2 {
		t.Errorf("told once per outage is expected: %s", text)
	}
	heal()
	if err := s.Commit("third", big, later); err != nil {
		t.Fatal(err)
	}
	if len(s.held) != 0 || !strings.Contains(text.String(), "written again") {
		t.Errorf("%d are still in memory; %s", len(s.held), text)
	}
	var stored int
	if err := db.main.QueryRowContext(t.Context(), "SELECT count(*) FROM sessions").Scan(&stored); err != nil || stored != 2 {
		t.Errorf("%d stored, %v", stored, err)
	}
}

func TestMemoryForSessionsIsBounded(t *testing.T) {
	db, _ := open(t, t.TempDir())
	s := db.Sessions()
	for i := range maxHeld {
		if err := s.hold(fmt.Sprint(i), heldSession{data: []byte("x"), expires: time.Now().Add(time.Hour)}, errors.New("full")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.hold("more", heldSession{data: []byte("x"), expires: time.Now().Add(time.Hour)}, errors.New("full")); err == nil {
		t.Error("grows for ever")
	}
}

func TestAStartThatFailsMakesNoKey(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "journal.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 999999"); err != nil { // a newer program wrote it
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if opened, err := Open(t.Context(), dir, slog.New(slog.DiscardHandler)); err == nil {
		_ = opened.Close()
		t.Fatal("it opens what a newer program wrote")
	}
	if _, err := os.Stat(filepath.Join(dir, "installation.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a key: %v", err)
	}
}

func TestAPasswordIsSetOnlyWhereItIsStillWhatWasRead(t *testing.T) {
	db, _ := open(t, t.TempDir())
	if err := db.CreateFirstAdmin(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change admin.PasswordChange
		kind   dedup.Kind
	}{
		{"ROOT", admin.PasswordChange{Was: root.PasswordHash, Now: "second"}, ""},
		{"root", admin.PasswordChange{Was: root.PasswordHash, Now: "third"}, dedup.Conflict},
		{"nobody", admin.PasswordChange{Was: "second", Now: "third"}, dedup.Conflict},
	} {
		if err := db.SetPassword(t.Context(), c.name, c.change); (err != nil) != (c.kind != "") || err != nil && dedup.KindOf(err) != c.kind {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if u, _, err := db.User(t.Context(), "root"); err != nil || u.PasswordHash != "second" || u.Name != "Root" || u.Role != auth.Admin {
		t.Errorf("%+v, %v", u, err)
	}
}
