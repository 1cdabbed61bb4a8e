package series

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childMode tells the test binary to play the part of another process; see the functions of children.
const childMode = "SERIES_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := children()[mode](os.Getenv("SERIES_TEST_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// start is when the history of every test begins. The TSDB knows no other clock than that of the samples.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const interval = 15 * time.Second

func round(n int) time.Time { return start.Add(time.Duration(n) * interval) }

func testConfig(dir string) Config {
	return Config{Dir: dir, Retention: 30 * 24 * time.Hour, Interval: interval, MinFree: 1}
}

func openDB(t *testing.T, dir string) *DB {
	t.Helper()
	db, err := openReady(testConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func openReady(cfg Config) (*DB, error) {
	db, err := Open(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	select {
	case <-db.Ready():
		return db, nil
	case <-time.After(90 * time.Second):
		return nil, fmt.Errorf("history is not open after 90 s: %v", db.Err())
	}
}

func tempDir(t *testing.T) string { return filepath.Join(t.TempDir(), "history") }

func mustAppend(t *testing.T, db *DB, at time.Time, samples ...Sample) {
	t.Helper()
	if err := db.Append(t.Context(), at, samples); err != nil {
		t.Fatalf("append at %s: %v", at, err)
	}
}

func sample(name string, v float64, labels ...string) Sample {
	s := Sample{Name: name, Value: v, Labels: map[string]string{}}
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		s.Labels[k] = v
	}
	return s
}

// valueOf returns the only value of an expression, and false when it has none.
func valueOf(t *testing.T, db *DB, expr string, at time.Time) (float64, bool) {
	t.Helper()
	vs, err := db.Query(context.Background(), expr, at)
	if err != nil {
		t.Fatalf("query %s: %v", expr, err)
	}
	if len(vs) > 1 {
		t.Fatalf("query %s: want at most one value, got %v", expr, vs)
	}
	if len(vs) == 0 {
		return 0, false
	}
	return vs[0].Value, true
}

func wantValue(t *testing.T, db *DB, expr string, at time.Time, want float64) {
	t.Helper()
	if got, ok := valueOf(t, db, expr, at); !ok || got != want {
		t.Errorf("%s at %s: got %v (%t), want %v", expr, at, got, ok, want)
	}
}

func wantNone(t *testing.T, db *DB, expr string, at time.Time) {
	t.Helper()
	if got, ok := valueOf(t, db, expr, at); ok {
		t.Errorf("%s at %s: got %v, want no value", expr, at, got)
	}
}
