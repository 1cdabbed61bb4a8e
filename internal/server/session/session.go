// Package session ties browsers to users by a cookie, and tells who asks.
package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// What a session holds.
const (
	sessionUser = "user"
	// sessionProof is the beginning of a hash over the user's password hash: a new password ends the old sessions.
	sessionProof = "proof"
	// sessionSeen is when the session was last written, in Unix seconds.
	sessionSeen = "seen"
	// sessionChanged is there after the password was changed, until that was told.
	sessionChanged = "changed"
)

// What the sign-in page tells once of what was done just before, by the words that a cookie has for it.
const (
	ToldChanged = "password_changed"
	ToldMade    = "account_made"
)

// toldFor is how long it is told: the browser comes at once.
const toldFor = time.Minute

// Sessions tie a browser to a user by a cookie. They are safe for concurrent use. A session exists only from sign-in to sign-out: a visitor has none. Only
// the hash of its token is stored.
type Sessions struct {
	manager *scs.SessionManager
	store   Store
	cookie  http.Cookie
	// device is the cookie by which a browser is known as one that signed in to an account before. It lets nobody in.
	device http.Cookie
	// told is the cookie by which the sign-in page learns what was done just before. It lets nobody in.
	told http.Cookie
	// touchEvery is how stale the time of last use may get, so that reading pages does not mean writing to disk.
	touchEvery time.Duration
}

// Config is how sessions are kept.
type Config struct {
	// Base is the base path without a trailing slash, and Secure says that browsers come by HTTPS.
	Base   string
	Secure bool
	// Idle ends a session that is not used, Lifetime any session.
	Idle, Lifetime time.Duration
}

// A Store keeps signed-in sessions, by the hash of their token. A Commit at the same moment as a Delete of the same session must not bring it
// back.
type Store interface {
	scs.Store
	scs.IterableStore
}

// New returns the sessions of a store.
func New(cfg Config, store Store) *Sessions {
	// Not scs.New: it starts the clean-up of a store in memory that would live on unused. Cookies are written here.
	m := &scs.SessionManager{
		Store: standing{store}, Codec: scs.GobCodec{}, IdleTimeout: cfg.Idle, Lifetime: cfg.Lifetime, HashTokenInStore: true,
	}
	s := &Sessions{manager: m, store: store, touchEvery: min(time.Minute, cfg.Idle/10)}
	s.cookie = http.Cookie{Name: "dedup_session", Path: cfg.Base + "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if cfg.Secure {
		// The prefix makes browsers refuse a cookie of this name from any other place.
		s.cookie.Name, s.cookie.Path, s.cookie.Secure = "__Host-"+s.cookie.Name, "/", true
	}
	s.device = s.cookie
	s.device.Name = strings.Replace(s.cookie.Name, "dedup_session", "dedup_device", 1)
	s.device.SameSite, s.device.MaxAge = http.SameSiteStrictMode, int(auth.DeviceLife/time.Second)
	s.told = s.cookie
	s.told.Name = strings.Replace(s.cookie.Name, "dedup_session", "dedup_told", 1)
	s.told.SameSite, s.told.MaxAge = http.SameSiteStrictMode, int(toldFor/time.Second)
	return s
}

// Tell has the sign-in page tell what was done, where there is no session that could.
func (s *Sessions) Tell(r *web.Request, done string) {
	c := s.told
	c.Value = done
	r.SetCookie(&c)
}

// TakeTold returns what the sign-in page is to tell, once; empty for nothing.
func (s *Sessions) TakeTold(r *web.Request) string {
	c, err := r.Cookie(s.told.Name)
	if err != nil {
		return ""
	}
	gone := s.told
	gone.MaxAge = -1
	r.SetCookie(&gone)
	switch c.Value {
	case ToldChanged:
		return "The password was changed. Sign in with the new one."
	case ToldMade:
		return "The account was made. Sign in with its password."
	}
	return ""
}

// TakeChanged reports, once, whether the password was changed just before.
func (s *Sessions) TakeChanged(r *web.Request) bool {
	if !s.loaded(r) || !s.manager.PopBool(r.Context(), sessionChanged) {
		return false
	}
	s.manager.Put(r.Context(), sessionSeen, int64(1)) // long ago, so that the session is written without it
	return true
}

// Drop lets a request end without its session, which could not be stored.
func (s *Sessions) Drop(r *web.Request) {
	r.Request = r.WithContext(context.WithValue(r.Context(), loadedKey{}, nil))
}

// DeviceMark returns the mark of the browser, empty if it has none.
func (s *Sessions) DeviceMark(r *web.Request) string {
	c, err := r.Cookie(s.device.Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// MarkDevice gives the browser a mark.
func (s *Sessions) MarkDevice(r *web.Request, mark string) {
	c := s.device
	c.Value = mark
	r.SetCookie(&c)
}

// token returns the value of the request's session cookie, empty if it has none.
func (s *Sessions) token(r *web.Request) string {
	c, err := r.Cookie(s.cookie.Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// load puts the session of a token into the request's context.
func (s *Sessions) load(r *web.Request, token string) error {
	ctx, err := s.manager.Load(r.Context(), token)
	if err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "Sessions cannot be read at the moment; look at the program's log", Err: fmt.Errorf("load session: %w", err)}
	}
	r.Request = r.WithContext(context.WithValue(ctx, loadedKey{}, true))
	return nil
}

// Begin signs a user in, under a new token: one that was planted before is worth nothing.
func (s *Sessions) Begin(r *web.Request, u auth.User) error {
	if err := s.manager.RenewToken(r.Context()); err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	s.manager.Put(r.Context(), sessionUser, u.Name)
	s.manager.Put(r.Context(), sessionProof, proof(u))
	s.manager.Put(r.Context(), sessionSeen, int64(0))
	return nil
}

// End signs out.
func (s *Sessions) End(r *web.Request) error {
	if err := s.manager.Destroy(r.Context()); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// EndAll ends every session of a user.
func (s *Sessions) EndAll(name string) error {
	all, err := s.store.All()
	if err != nil {
		return fmt.Errorf("end all sessions: %w", err)
	}
	for token, data := range all {
		_, values, err := s.manager.Codec.Decode(data)
		if err != nil {
			continue // it cannot be used to sign in either
		}
		if owner, _ := values[sessionUser].(string); auth.CanonicalName(owner) != auth.CanonicalName(name) {
			continue
		}
		if err := s.store.Delete(token); err != nil {
			return fmt.Errorf("end all sessions: %w", err)
		}
	}
	return nil
}

// Save writes the session if it began, ended, or was in use and not written for a while. What a page does by itself, following the data, is
// no use: a page that was left open must not keep a session alive.
func (s *Sessions) Save(r *web.Request, inUse bool) error {
	if !s.loaded(r) {
		return nil
	}
	ctx := r.Context()
	if s.manager.Status(ctx) == scs.Destroyed {
		gone := s.cookie
		gone.MaxAge = -1
		r.SetCookie(&gone)
		return nil
	}
	now := time.Now()
	seen := s.manager.GetInt64(ctx, sessionSeen)
	if seen == 0 {
		ctx = context.WithValue(ctx, beginsKey{}, true)
	}
	if seen != 0 && !inUse {
		return nil
	}
	if s.manager.GetString(ctx, sessionUser) == "" || now.Sub(time.Unix(seen, 0)) < s.touchEvery {
		return nil
	}
	s.manager.Put(ctx, sessionSeen, now.Unix())
	token, _, err := s.manager.Commit(ctx)
	if err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The session cannot be stored at the moment; look at the program's log", Err: fmt.Errorf("save session: %w", err)}
	}
	if seen == 0 {
		fresh := s.cookie
		fresh.Value = token
		r.SetCookie(&fresh)
	}
	return nil
}

// beginsKey marks contexts of sessions that begin with the request.
type beginsKey struct{}

// standing writes a session that did not begin with the request only if it is still there: a request that was under way when
// its user signed out everywhere must not bring the session back.
type standing struct{ Store }

// CommitCtx is what scs calls instead of Commit where a store has it.
func (s standing) CommitCtx(ctx context.Context, token string, data []byte, expires time.Time) error {
	if ctx.Value(beginsKey{}) == nil {
		if _, found, err := s.Find(token); err != nil || !found {
			return err
		}
	}
	return s.Commit(token, data, expires)
}

// loadedKey marks contexts that hold a session: scs panics without one.
type loadedKey struct{}

func (s *Sessions) loaded(r *web.Request) bool { return r.Context().Value(loadedKey{}) != nil }

func proof(u auth.User) string {
	sum := sha256.Sum256([]byte(u.PasswordHash))
	return hex.EncodeToString(sum[:8])
}

// NoteChanged has the page of the account tell once that the password was changed.
func (s *Sessions) NoteChanged(r *web.Request) { s.manager.Put(r.Context(), sessionChanged, true) }

// accounts know who may sign in, *auth.Service.
type accounts interface {
	Lookup(ctx context.Context, name string) (auth.User, bool, error)
	Token(token string) (auth.Principal, bool)
}

// Identify finds out who is asking: by bearer token if there is one, else by session.
func (s *Sessions) Identify(r *web.Request, known accounts) error {
	raw, isBearer := bearer(r)
	token := ""
	if !isBearer {
		token = s.token(r)
	}
	if err := s.load(r, token); err != nil {
		return err
	}
	if isBearer {
		p, ok := known.Token(raw)
		if !ok {
			return &web.Error{Status: http.StatusUnauthorized, Kind: web.Unauthorized, Heading: "Sign in", Message: "The token is not known or has expired"}
		}
		r.Who = p
		return nil
	}
	p, err := s.principal(r.Context(), known)
	r.Who = p
	return err
}

// principal returns the user of the session in the context, as they are now.
func (s *Sessions) principal(ctx context.Context, known accounts) (auth.Principal, error) {
	name := s.manager.GetString(ctx, sessionUser)
	if name == "" {
		return auth.Principal{}, nil
	}
	u, ok, err := known.Lookup(ctx, name)
	if err != nil {
		return auth.Principal{}, &dedup.Error{Kind: dedup.Unavailable, Public: "Accounts cannot be read at the moment; look at the program's log", Err: err}
	}
	if !ok || proof(u) != s.manager.GetString(ctx, sessionProof) {
		return auth.Principal{}, nil
	}
	return auth.Principal{Name: u.Name, Role: u.Role, Method: "session"}, nil
}

// StillAllowed returns a check whether the request's credentials are good for the role by now: for streams, which outlive
// sessions and tokens.
func (s *Sessions) StillAllowed(r *web.Request, known accounts, role auth.Role) func() bool {
	if raw, ok := bearer(r); ok {
		return func() bool {
			p, ok := known.Token(raw)
			return ok && p.Can(role)
		}
	}
	token := s.token(r)
	return func() bool {
		// Not the request's context: it holds the session as it was when the stream began.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		ctx, err := s.manager.Load(ctx, token)
		if err != nil {
			return false
		}
		p, err := s.principal(ctx, known)
		return err == nil && p.Can(role)
	}
}

// bearer returns the token of the Authorization header. Tokens in the query are never read: they end up in logs.
func bearer(r *web.Request) (string, bool) {
	const prefix = "bearer "
	h := r.Header.Get("Authorization")
	if len(h) < len(prefix) || !strings.EqualFold(h[:len(prefix)], prefix) {
		return "", false
	}
	return h[len(prefix):], true
}
