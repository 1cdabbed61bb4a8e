package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// FirstAdminLife is how long a one-time link works. After that a fresh one takes its place.
const FirstAdminLife = 15 * time.Minute

// ErrLink means that a one-time link is not valid: wrong, used, expired, or an admin exists already.
var ErrLink = errors.New("the link is not valid any more")

// FirstAdmin makes the one-time links by which the first admin is created. There is no default user: whoever can read
// the terminal or the data directory of a fresh start may make one. It is safe for concurrent use.
type FirstAdmin struct {
	accounts adminFinder
	file     string
	link     func(token string) string
	announce func(link string)

	mu      sync.Mutex
	sum     [sha256.Size]byte // of the token; the token itself is not kept
	expires time.Time         // zero when there is no valid link
	done    chan struct{}
	closed  bool
}

// adminFinder tells whether there is an admin; Service is one.
type adminFinder interface {
	HasAdmin(ctx context.Context) (bool, error)
}

// NewFirstAdmin returns the maker of one-time links. It writes each link to the file (mode 0600) and gives it to
// announce; link makes the address from the token.
func NewFirstAdmin(accounts adminFinder, file string, link func(token string) string, announce func(link string)) *FirstAdmin {
	return &FirstAdmin{accounts: accounts, file: file, link: link, announce: announce, done: make(chan struct{})}
}

// Start removes the file if there is an admin, and makes the first link if there is none. An error means that the
// accounts cannot be read or that the file cannot be written or removed; in the latter case the link was announced.
func (f *FirstAdmin) Start(ctx context.Context) error {
	exists, err := f.accounts.HasAdmin(ctx)
	if err != nil {
		return fmt.Errorf("look for an admin: %w", err)
	}
	if exists {
		return f.finish()
	}
	return f.issue()
}

// Run renews the link each time it expires, until there is an admin or the context ends. Call it after Start.
func (f *FirstAdmin) Run(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(FirstAdminLife)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.done:
			return
		case <-ticker.C:
			// The old link has expired; the next tick tries again.
			if err := f.Start(ctx); err != nil {
				log.Error("the one-time link could not be renewed", "err", err)
			}
		}
	}
}

// Wanted reports whether there is no admin yet, so that one may be made by link.
func (f *FirstAdmin) Wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.closed
}

// Valid reports whether the token is that of the current link.
func (f *FirstAdmin) Valid(token string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.valid(token)
}

func (f *FirstAdmin) valid(token string) bool {
	sum := sha256.Sum256([]byte(token))
	same := subtle.ConstantTimeCompare(sum[:], f.sum[:]) == 1
	return same && !f.closed && time.Now().Before(f.expires)
}

// Redeem runs create on behalf of whoever holds the token, one at a time, and uses the link up if it succeeds. It returns
// ErrLink for any token but the current one, and otherwise the error of create, after which the link still works.
func (f *FirstAdmin) Redeem(token string, create func(Principal) error) error {
	f.mu.Lock()
	if !f.valid(token) {
		f.mu.Unlock()
		return ErrLink
	}
	err := create(Principal{Name: "one-time link", Role: Admin, Method: "link"})
	f.mu.Unlock()
	if err != nil {
		return err
	}
	// The admin exists; a file that cannot be removed holds a token that is worth nothing.
	_ = f.finish()
	return nil
}

// issue makes a fresh token of 128 bits, writes its link and announces it.
func (f *FirstAdmin) issue() error {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails (crypto/rand since Go 1.24)
	token := hex.EncodeToString(raw)
	f.mu.Lock()
	f.sum = sha256.Sum256([]byte(token))
	f.expires = time.Now().Add(FirstAdminLife)
	f.mu.Unlock()
	link := f.link(token)
	err := f.write(link)
	f.announce(link)
	return err
}

// write replaces the file in one step, so that it is never seen half written nor with the mode of an older one.
func (f *FirstAdmin) write(link string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the one-time link: %w", err)
		}
	}()
	fresh := f.file + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.WriteString(link + "\n")
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(fresh, f.file)
}

// finish ends the time of links: an admin exists.
func (f *FirstAdmin) finish() error {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		f.expires = time.Time{}
		close(f.done)
	}
	f.mu.Unlock()
	if err := os.Remove(f.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the used one-time link: %w", err)
	}
	return nil
}
