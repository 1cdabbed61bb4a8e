package series

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func children() map[string]func(dir string) error {
	return map[string]func(dir string) error{
		"append until killed": appendUntilKilled,
		"fill a tmpfs":        fillTmpfs,
		"hit a file limit":    hitFileLimit,
	}
}

func child(t *testing.T, mode, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childMode+"="+mode, "SERIES_TEST_DIR="+dir)
	return cmd
}

// manySamples are so many, and half of them so uneven, that one round is longer than a page of the log.
func manySamples(n int) []Sample {
	uneven := rand.New(rand.NewPCG(1, uint64(n)))
	var samples []Sample
	for i := range 3000 {
		pipeline := "pipeline=p" + strconv.Itoa(i)
		samples = append(samples, sample(BrokerAcks, float64(n), pipeline), sample(AckLatency, uneven.Float64(), pipeline))
	}
	return samples
}

func appendUntilKilled(dir string) error {
	db, err := openReady(testConfig(dir))
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := db.Append(context.Background(), round(n), manySamples(n)); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func TestEveryCommittedRoundSurvivesAKill(t *testing.T) {
	dir := tempDir(t)
	cmd := child(t, "append until killed", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	last := -1
	for last < 30 && lines.Scan() {
		last, _ = strconv.Atoi(lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what it committed before the signal reached it
		last, _ = strconv.Atoi(lines.Text())
	}
	if err := cmd.Wait(); err == nil || last < 30 {
		t.Fatalf("the child ended by itself after round %d: %v", last, err)
	}

	db := openDB(t, dir) // the lock of the killed process must not block
	for _, n := range []int{0, last / 2, last} {
		wantValue(t, db, "count("+BrokerAcks+"=="+strconv.Itoa(n)+")", round(n), 3000)
	}
	if q := db.Status().Quarantined; len(q) != 0 {
		t.Errorf("moved aside: %v", q)
	}
	mustAppend(t, db, round(last+2), manySamples(last+2)...)
}

func TestAFullDiskIsReportedAndHeals(t *testing.T) {
	cmd := child(t, "fill a tmpfs", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) || strings.Contains(string(out), errNoMount.Error()) {
		t.Log("no mounting here: a limit on the size of files stands for the full disk")
		out, err = child(t, "hit a file limit", t.TempDir()).CombinedOutput()
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestAFailedWriteHealsWithoutLosingWhatCameBeforeOrAfter(t *testing.T) {
	if out, err := child(t, "hit a file limit", tempDir(t)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

var errNoMount = errors.New("mounting is not allowed")

// fillTmpfs runs in a mount namespace of its own, so the file system goes with the process.
func fillTmpfs(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("%w: %w", errNoMount, err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		return fmt.Errorf("%w: %w", errNoMount, err)
	}
	filler := filepath.Join(dir, "filler")
	for name, test := range map[string]struct {
		minFree, room int64 // room is what is left free
		torn          bool
	}{
		"a reserve is kept":               {minFree: 4 << 20},
		"nothing is left":                 {minFree: 1},
		"less is left than a round takes": {minFree: 1, room: 8 << 10, torn: true},
	} {
		cfg := testConfig(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")))
		cfg.MinFree = test.minFree
		err := failAndHeal(cfg, test.torn, func() error { return fill(filler, test.room) }, func() error { return os.Remove(filler) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.RemoveAll(cfg.Dir); err != nil {
			return err
		}
	}
	return nil
}

// fill leaves no more free than room.
func fill(path string, room int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, size := range []int{1 << 16, 1 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return f.Truncate(info.Size() - room)
}

// hitFileLimit makes every file end after so many bytes that a round tears, which needs no privilege.
func hitFileLimit(dir string) error {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	limited := syscall.Rlimit{Cur: 150_000, Max: old.Max}
	return failAndHeal(testConfig(dir), true,
		func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited) },
		func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) })
}

// failAndHeal writes rounds, breaks the disk, writes until that shows, heals the disk, and writes rounds again. What was
// written in the good times must be there at the end, and after a restart too. Torn says whether the failure is to come
// in the middle of a round, rather than before it.
func failAndHeal(cfg Config, torn bool, breakDisk, healDisk func() error) error {
	db, err := openReady(cfg)
	if err != nil {
		return err
	}
	healed := make(chan struct{})
	db.rest = func(wait time.Duration) bool { // however long it takes to look at what is broken
		select {
		case <-healed:
		case <-db.ctx.Done():
		}
		return db.sleep(wait)
	}
	n := 0
	appendNext := func() error {
		err := db.Append(context.Background(), round(n), manySamples(n))
		n++
		return err
	}
	for range 3 {
		if err := appendNext(); err != nil {
			return err
		}
	}
	before := n - 1
	if err := breakDisk(); err != nil {
		return err
	}
	for err = nil; err == nil && n < 10_000; {
		before = n - 1
		err = appendNext()
	}
	if err == nil || db.Err() == nil {
		return fmt.Errorf("the broken disk went unseen: %v, %v", err, db.Err())
	}
	if db.wounded.Load() != torn {
		return fmt.Errorf("a round was torn: %t, want %t; %w", !torn, torn, err)
	}
	db.maintain() // must neither panic nor write
	if err := holds(db, before); err != nil {
		return fmt.Errorf("while the disk is broken: %w", err)
	}
	if err := healDisk(); err != nil {
		return err
	}
	close(healed)
	if err := untilNil(2*time.Minute, appendNext); err != nil {
		return fmt.Errorf("does not heal: %w", err)
	}
	written := n - 1
	if err := errors.Join(appendNext(), appendNext(), db.Err()); err != nil {
		return fmt.Errorf("after healing: %w", err)
	}
	if err := holds(db, 0, before, written, n-1); err != nil {
		return fmt.Errorf("after healing: %w", err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	return reopenHolds(cfg, 0, before, written, n-1)
}

// untilNil tries again until an attempt succeeds, and returns the last error when none does within the limit.
func untilNil(limit time.Duration, attempt func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return err
		}
	}
}

func reopenHolds(cfg Config, rounds ...int) error {
	db, err := openReady(cfg)
	if err != nil {
		return err
	}
	if q := db.Status().Quarantined; len(q) != 0 {
		return fmt.Errorf("moved aside: %v", q)
	}
	if err := holds(db, rounds...); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	return db.Close()
}

func holds(db *DB, rounds ...int) error {
	for _, n := range rounds {
		vs, err := db.Query(context.Background(), "count("+BrokerAcks+"=="+strconv.Itoa(n)+")", round(n))
		if err != nil || len(vs) != 1 || vs[0].Value != 3000 {
			return fmt.Errorf("round %d: %v, %w", n, vs, err)
		}
	}
	return nil
}

func TestTheLogIsQuietAboutProgressAndLoudAboutDamage(t *testing.T) {
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(io.Writer(&text), nil))
	dir := tempDir(t)
	db, err := Open(testConfig(dir), log)
	if err != nil {
		t.Fatal(err)
	}
	<-db.Ready()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "\n"); n != 1 {
		t.Errorf("a plain start logs %d lines, want 1:\n%s", n, text.String())
	}
	plant("wal/checkpoint.99999999/00000000", "rubbish")(t, dir)
	text.Reset()
	if db, err = Open(testConfig(dir), log); err != nil {
		t.Fatal(err)
	}
	<-db.Ready()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "moved aside") || !strings.Contains(text.String(), ".corrupt-") {
		t.Errorf("damage is not explained:\n%s", text.String())
	}
}
