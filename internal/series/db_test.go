package series

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestHistorySurvivesARestart(t *testing.T) {
	dir := tempDir(t)
	db := openDB(t, dir)
	for n := range 10 {
		mustAppend(t, db, round(n), sample(BrokerAcks, float64(n), "pipeline=orders"))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openDB(t, dir)
	wantValue(t, db, BrokerAcks, round(9), 9)
	wantValue(t, db, BrokerAcks, round(3), 3)
}

func TestADirectoryThatCannotBeUsedIsAnErrorAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held := tempDir(t)
	openDB(t, held)
	for name, test := range map[string]struct{ dir, want string }{
		"the directory cannot be created":  {filepath.Join(file, "history"), "choose another data_dir"},
		"the path is a file":               {file, "choose another data_dir"},
		"the directory takes no new files": {"/proc/self", "choose another data_dir"},
		"another process uses it":          {held, "in use by another process"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(testConfig(test.dir), slog.New(slog.DiscardHandler))
			if err == nil {
				_ = db.Close()
				t.Fatal("want an error")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.dir) {
				t.Errorf("the message does not name the directory and the way out (%q): %v", test.want, err)
			}
		})
	}
}

func TestEveryMethodSaysThatTheHistoryIsStartingOrClosed(t *testing.T) {
	db := openDB(t, tempDir(t))
	calls := map[string]func() error{
		"Append":     func() error { return db.Append(t.Context(), start, []Sample{sample(Markers, 1)}) },
		"MarkStale":  func() error { return db.MarkStale(t.Context(), start, []Sample{sample(Markers, 1)}) },
		"Query":      func() error { _, err := db.Query(t.Context(), Markers, start); return err },
		"QueryRange": func() error { _, err := db.QueryRange(t.Context(), Markers, start, start, interval); return err },
		"Changes":    func() error { _, err := db.Changes(t.Context(), Markers, start, time.Hour); return err },
		"Last":       func() error { _, err := db.Last(t.Context(), Markers); return err },
	}
	if err := db.shut(); err != nil { // as while it is opened again
		t.Fatal(err)
	}
	if db.Status().Open {
		t.Error("Status says open")
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrStarting) || dedup.KindOf(err) != dedup.Unavailable {
			t.Errorf("%s while starting: %v", name, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

func TestCloseRightAfterOpenLeavesNothingBehind(t *testing.T) {
	dir := tempDir(t)
	for range 5 {
		db, err := Open(testConfig(dir), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadersWritersAndUpkeepDoNotDisturbEachOther(t *testing.T) {
	db := openDB(t, tempDir(t))
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for _, read := range []func() error{
		func() error { _, err := db.Query(ctx, "sum("+BrokerAcks+")", round(100)); return err },
		func() error { _, err := db.Changes(ctx, BrokerAcks, round(100), time.Hour); return err },
		func() error { _, err := db.Last(ctx, BrokerAcks); return err },
		func() error { db.maintain(); _ = db.Status(); return nil },
	} {
		readers.Go(func() {
			for ctx.Err() == nil {
				if err := read(); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for _, pipeline := range []string{"pipeline=a", "pipeline=b", "pipeline=c"} {
		writers.Go(func() {
			for n := range 150 {
				if err := db.Append(ctx, round(n), []Sample{sample(BrokerAcks, float64(n), pipeline)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	cancel()
	readers.Wait()
	wantValue(t, db, "sum("+BrokerAcks+")", round(149), 3*149)
	if s := db.Status(); !s.Open || s.Err != nil || s.Series != 3 || s.Bytes == 0 {
		t.Errorf("status: %+v", s)
	}
}

func TestConfigNamesEverySettingThatCannotWork(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  Config
		want []string
	}{
		"zero stands for the default":        {Config{Dir: "d"}, nil},
		"no directory":                       {Config{}, []string{"directory"}},
		"shorter than a block":               {Config{Dir: "d", Retention: time.Hour}, []string{"retention"}},
		"longer than ten years":              {Config{Dir: "d", Retention: 11 * 366 * 24 * time.Hour}, []string{"retention"}},
		"negative retention":                 {Config{Dir: "d", Retention: -1}, []string{"retention"}},
		"too small":                          {Config{Dir: "d", MaxBytes: 1 << 20}, []string{"size"}},
		"an interval of ten minutes":         {Config{Dir: "d", Interval: 10 * time.Minute}, []string{"interval"}},
		"negative free space":                {Config{Dir: "d", MinFree: -1}, []string{"free space"}},
		"all problems are reported together": {Config{Retention: 1, MaxBytes: 1, Interval: 1, MinFree: -1}, []string{"directory", "retention", "size", "interval", "free space"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.cfg.Validate()
			if len(test.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("want an error")
			}
			if got := len(strings.Split(err.Error(), "\n")); got != len(test.want) {
				t.Errorf("want %d problems, got %d: %v", len(test.want), got, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no word of %q: %v", want, err)
				}
			}
		})
	}
	if _, err := Open(Config{Dir: tempDir(t), Retention: time.Minute}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("Open takes a retention that Validate refuses")
	}
}
