package shop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A folder holds everything that one playground writes. Only one playground at a time uses it.
type folder struct {
	path string
	lock *os.File
}

// openFolder makes the folder and locks it. The kernel frees the lock when its holder ends, however it ends, so what
// a killed playground left behind is simply cleared; the dashboard's data stays.
func openFolder(path string) (*folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the playground's folder: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the playground's folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the playground's folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(lock.Name())
		lock.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
		}
		return nil, fmt.Errorf("a playground already runs in %s (%s); end it with Ctrl-C where it runs, or give -dir another folder",
			path, strings.TrimSpace(string(holder)))
	}
	f := &folder{path: path, lock: lock}
	f.describe("")
	return f, f.clear()
}

// describe writes into the lock file what a second playground tells about this one.
func (f *folder) describe(url string) {
	text := fmt.Sprintf("process %d", os.Getpid())
	if url != "" {
		text += ", " + url
	}
	// The text only helps a message; the lock itself does not depend on it.
	_ = f.lock.Truncate(0)
	_, _ = f.lock.WriteAt([]byte(text+"\n"), 0)
}

// clear removes what belonged to the servers of an earlier playground.
func (f *folder) clear() error {
	for _, name := range []string{"rabbitmq", "redis", "dashboard.yaml", "dashboard.log", "shop.log", "ledger.json"} {
		if err := os.RemoveAll(f.file(name)); err != nil {
			return errors.Join(fmt.Errorf("clear the playground's folder: %w", err), f.close())
		}
	}
	return nil
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// close frees the folder for the next playground.
func (f *folder) close() error {
	return f.lock.Close()
}
