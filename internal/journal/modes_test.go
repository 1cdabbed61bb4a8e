package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dedup-dashboard/internal/secret"
)

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestFilesThatOthersCouldReadAreClosedToThemAtTheStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data [1]*")
	db, _ := open(t, dir)
	record(t, db, 3)
	held, err := os.ReadFile(filepath.Join(dir, auditFile+"-wal")) // as a kill leaves it
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	loose := []string{
		mainFile, mainFile + "-wal", mainFile + "-shm", auditFile, auditFile + "-wal", auditFile + "-shm", mainFile + ".corrupt-20260101T000000.000",
		secret.InstallationFile, "first-admin-link",
	}
	for _, name := range loose {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			text := []byte(nil)
			if name == auditFile+"-wal" {
				text = held
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	series, foreign := filepath.Join(dir, "series"), filepath.Join(dir, "config.yaml")
	if err := errors.Join(os.Mkdir(series, 0o700), os.Chmod(series, 0o755), os.WriteFile(foreign, nil, 0o600), os.Chmod(foreign, 0o644)); err != nil {
		t.Fatal(err)
	}
	db, text := open(t, dir)
	for _, name := range loose {
		if mode := modeOf(t, filepath.Join(dir, name)); mode != 0o600 {
			t.Errorf("%s has the mode %v", name, mode)
		}
	}
	if mode := modeOf(t, series); mode != 0o700 {
		t.Errorf("the history has the mode %v", mode)
	}
	if mode := modeOf(t, foreign); mode != 0o644 {
		t.Errorf("a file that is not ours has the mode %v now", mode)
	}
	record(t, db, 1)
	for _, name := range []string{auditFile + "-wal", auditFile + "-shm"} {
		if mode := modeOf(t, filepath.Join(dir, name)); mode != 0o600 {
			t.Errorf("after a write %s has the mode %v", name, mode)
		}
	}
	if state, err := db.Audit().Verify(t.Context()); err != nil || state.Entries != 4 {
		t.Errorf("%+v, %v", state, err)
	}
	if !strings.Contains(text.String(), "others could read") {
		t.Errorf("the log does not say so: %s", text)
	}
}

func TestADataDirectoryInWhichOthersMayWriteIsToldOf(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, text := open(t, dir); !strings.Contains(text.String(), "others may write in the data directory") {
		t.Errorf("log: %s", text)
	}
}
