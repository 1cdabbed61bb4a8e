package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// A User is somebody who may sign in.
type User struct {
	Name string
	Role Role
	// PasswordHash is an argon2id hash in PHC form, or a bcrypt hash.
	PasswordHash string
}

// users is where accounts live besides the configuration: the journal. Names are given in canonical form.
// Implementations are safe for concurrent use; an error means that the accounts cannot be read at the moment.
type users interface {
	User(ctx context.Context, name string) (User, bool, error)
	Users(ctx context.Context) ([]User, error)
}

// ErrWrong means that the name or the password is wrong; which of them is never told.
var ErrWrong = errors.New("name or password is wrong")

// A WrongError is ErrWrong with what only the audit may know.
type WrongError struct {
	// Account is the account that was tried; empty if there is none of that name.
	Account string
}

// Error implements error. It does not name the account.
func (e *WrongError) Error() string { return ErrWrong.Error() }

// Is makes it ErrWrong.
func (e *WrongError) Is(target error) bool { return target == ErrWrong }

// TooSoon means that an attempt to sign in came before its delay was over. Nobody is ever locked out for good.
type TooSoon struct{ RetryAfter time.Duration }

// Error implements error.
func (e *TooSoon) Error() string {
	return fmt.Sprintf("too many failed sign-ins; try again in %s", max(time.Second, e.RetryAfter.Round(time.Second)))
}

// Service answers who is asking. It is safe for concurrent use.
type Service struct {
	configured map[string]User
	tokens     map[[sha256.Size]byte]token
	stored     users
	hasher     *hasher
	limiter    *limiter
	devices    devices
}

type token struct {
	principal Principal
	expires   time.Time
}

// New returns a service over the users and tokens of the configuration and the users of the store.
func New(cfg Config, stored users) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	s := &Service{
		configured: make(map[string]User), tokens: make(map[[sha256.Size]byte]token),
		stored: stored, limiter: newLimiter(), devices: devices{key: make([]byte, sha256.Size)},
	}
	_, _ = rand.Read(s.devices.key) // never fails (crypto/rand since Go 1.24)
	var hashes []string
	for _, u := range cfg.Users {
		role, _ := ParseRole(u.Role)
		s.configured[CanonicalName(u.Name)] = User{Name: u.Name, Role: role, PasswordHash: u.PasswordHash.Reveal()}
		hashes = append(hashes, u.PasswordHash.Reveal())
	}
	s.hasher = newHasher(hashes)
	for _, t := range cfg.Tokens {
		role, _ := ParseRole(t.Role)
		sum := t.sum()
		if _, double := s.tokens[sum]; double {
			return nil, fmt.Errorf("auth: tokens: %q is the same token as another one", t.Name)
		}
		s.tokens[sum] = token{Principal{Name: t.Name, Role: role, Method: "token"}, t.Expires}
	}
	return s, nil
}

// RememberDevices makes browsers that signed in stay known over restarts: the key must be the same then. Without it they are known until
// the program ends. Call it before anybody signs in.
func (s *Service) RememberDevices(key []byte) { s.devices = devices{key: key} }

// Device returns a mark for the browser of somebody who signed in, to be given to Login at their next sign-in. It lets nobody in.
func (s *Service) Device(name string) string { return s.devices.mark(CanonicalName(name), time.Now()) }

// sum returns the SHA-256 of a token that is valid.
func (t TokenConfig) sum() [sha256.Size]byte {
	if t.SHA256 == "" {
		return sha256.Sum256([]byte(t.Token.Reveal()))
	}
	b, _ := hex.DecodeString(t.SHA256)
	return [sha256.Size]byte(b)
}

// CheckConflicts returns an error that names every user who is both in the configuration and in the store: which of the
// two passwords and roles counts must not be a guess.
func (s *Service) CheckConflicts(ctx context.Context) error {
	stored, err := s.stored.Users(ctx)
	if err != nil {
		return fmt.Errorf("read users: %w", err)
	}
	var errs []error
	for _, u := range stored {
		if _, double := s.configured[CanonicalName(u.Name)]; double {
			errs = append(errs, fmt.Errorf("%q is also an account in the journal; remove one of them (docs/accounts.md says how)", u.Name))
		}
	}
	return errors.Join(errs...)
}

// HasAdmin reports whether anybody may sign in as an admin.
func (s *Service) HasAdmin(ctx context.Context) (bool, error) {
	for _, u := range s.configured {
		if u.Role == Admin {
			return true, nil
		}
	}
	stored, err := s.stored.Users(ctx)
	if err != nil {
		return false, fmt.Errorf("read users: %w", err)
	}
	return slices.ContainsFunc(stored, func(u User) bool { return u.Role == Admin }), nil
}

// Lookup returns the user of this name as they are now, so that a changed role or a removed account counts at once.
func (s *Service) Lookup(ctx context.Context, name string) (User, bool, error) {
	if !ValidName(name) {
		return User{}, false, nil
	}
	if u, ok := s.configured[CanonicalName(name)]; ok {
		return u, true, nil
	}
	return s.stored.User(ctx, CanonicalName(name))
}

// Configured reports whether the account of this name is kept in the configuration, where alone it can be changed.
func (s *Service) Configured(name string) bool {
	_, ok := s.configured[CanonicalName(name)]
	return ok
}

// Login checks a name and a password. It returns a *WrongError, a *TooSoon, ErrBusy, or an error of the store. A name that does
// not exist takes the same path and the same time as one that does. The device is the mark of the browser, empty if it has none.
func (s *Service) Login(ctx context.Context, name, password string, from netip.Addr, device string) (Principal, error) {
	account := CanonicalName(name)
	attempt, err := s.limiter.begin(account, from, s.devices.known(device, account, time.Now()))
	if err != nil {
		return Principal{}, err
	}
	user, known, err := s.lookupAlike(ctx, name)
	if err != nil {
		attempt.cancel()
		return Principal{}, err
	}
	hash := user.PasswordHash
	if !known {
		hash = s.hasher.dummyFor(s.devices.key, account)
	}
	matches := false
	if err := s.hasher.do(ctx, func() { matches = s.hasher.verify(hash, password) }); err != nil {
		attempt.cancel()
		return Principal{}, err
	}
	if !known || !matches {
		attempt.failed()
		return Principal{}, &WrongError{Account: user.Name}
	}
	attempt.succeeded()
	return Principal{Name: user.Name, Role: user.Role, Method: "session"}, nil
}

// lookupAlike is Lookup that asks the journal in any case, so that a name of the configuration takes no less time than one of nobody.
func (s *Service) lookupAlike(ctx context.Context, name string) (User, bool, error) {
	user, known, err := s.Lookup(ctx, name)
	if _, configured := s.configured[CanonicalName(name)]; configured || !ValidName(name) {
		_, _, _ = s.stored.User(ctx, CanonicalName(name[:min(len(name), maxName)]))
	}
	return user, known, err
}

// Hash returns the hash of a new password, waiting for its turn: at most two hashes are computed at once.
func (s *Service) Hash(ctx context.Context, password string) (string, error) {
	var hash string
	err := s.hasher.do(ctx, func() { hash = hashPassword(password) })
	return hash, err
}

// Token returns whom a bearer token belongs to, and false for an unknown or expired one. Tokens are found by their
// SHA-256, so that the time taken says nothing about the token.
func (s *Service) Token(raw string) (Principal, bool) {
	t, ok := s.tokens[sha256.Sum256([]byte(raw))]
	if !ok || !t.expires.IsZero() && !time.Now().Before(t.expires) {
		return Principal{}, false
	}
	return t.principal, true
}
