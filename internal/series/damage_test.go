package series

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDamageCostsAsLittleHistoryAsPossible(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string)
		moved  []string // parts that were moved aside
		early  bool     // whether the oldest block can still be read
		late   bool     // whether what is only in the log can still be read
	}{
		"nothing is damaged":            {damage: func(*testing.T, string) {}, early: true, late: true},
		"the log ends in half a record": {damage: truncateLog, early: true},
		"a block cannot be read":        {damage: scribble("01*/index"), moved: []string{"01"}, late: true},
		"the log's checkpoint is rubbish": {damage: plant("wal/checkpoint.99999999/00000000", "rubbish rubbish"),
			moved: []string{"wal", "chunks_head"}, early: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			db := openDB(t, dir)
			fillHours(t, db, 9)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			test.damage(t, dir)

			db = openDB(t, dir)
			aside := strings.Join(movedAside(t, dir), " ")
			for _, part := range test.moved {
				if !strings.Contains(aside, part) {
					t.Errorf("%s was not moved aside; moved: %s", part, aside)
				}
			}
			if (aside == "") != (len(test.moved) == 0) || (aside == "") != (len(db.Status().Quarantined) == 0) {
				t.Errorf("moved aside: %q, status: %v", aside, db.Status().Quarantined)
			}
			if _, ok := valueOf(t, db, BrokerAcks, start.Add(time.Minute+time.Second)); ok != test.early {
				t.Errorf("the first hours can be read: %t, want %t", ok, test.early)
			}
			if _, ok := valueOf(t, db, BrokerAcks, start.Add(539*time.Minute+time.Second)); ok != test.late {
				t.Errorf("the last minute can be read: %t, want %t", ok, test.late)
			}
			mustAppend(t, db, start.Add(10*time.Hour), sample(BrokerAcks, 1000))
			wantValue(t, db, "max("+BrokerAcks+")", start.Add(10*time.Hour), 1000)
		})
	}
}

func movedAside(t *testing.T, dir string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(dir + ".corrupt-*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

func truncateLog(t *testing.T, dir string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "wal", "0*"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	last := segments[len(segments)-1]
	text, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(text, "\x00")) // a closed log is padded to the end of a page
	if err := os.Truncate(last, int64(used-5)); err != nil {
		t.Fatal(err)
	}
}

// scribble overwrites the first file that matches.
func scribble(pattern string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatal(paths, err)
		}
		if err := os.WriteFile(paths[0], []byte("rubbish"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func plant(path, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
