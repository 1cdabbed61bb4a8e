package server

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
	toldChanged = "password_changed"
	toldMade    = "account_made"
)

// toldFor is how long it is told: the browser comes at once.
const toldFor = time.Minute

// sessions ties a browser to a user by a cookie. A session exists only from sign-in to sign-out: a visitor has none. Only
// the hash of its token is stored.
type sessions struct {
	manager *scs.SessionManager
	store   sessionStore
	cookie  http.Cookie
	// device is the cookie by which a browser is known as one that signed in to an account before. It lets nobody in.
	device http.Cookie
	// told is the cookie by which the sign-in page learns what was done just before. It lets nobody in.
	told http.Cookie
	// touchEvery is how stale the time of last use may get, so that reading pages does not mean writing to disk.
	touchEvery time.Duration
}

func newSessions(cfg Config, store sessionStore) *sessions {
	// Not scs.New: it starts the clean-up of a store in memory that would live on unused. Cookies are written here.
	m := &scs.SessionManager{
		Store: standing{store}, Codec: scs.GobCodec{}, IdleTimeout: cfg.SessionIdle, Lifetime: cfg.SessionLifetime, HashTokenInStore: true,
	}
	s := &sessions{manager: m, store: store, touchEvery: min(time.Minute, cfg.SessionIdle/10)}
	s.cookie = http.Cookie{Name: "dedup_session", Path: cfg.base() + "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if cfg.secure() {
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

// tell has the sign-in page tell what was done, where there is no session that could.
func (s *sessions) tell(r *web.Request, done string) {
	c := s.told
	c.Value = done
	r.SetCookie(&c)
}

// takeTold returns what the sign-in page is to tell, once; empty for nothing.
func (s *sessions) takeTold(r *web.Request) string {
	c, err := r.Cookie(s.told.Name)
	if err != nil {
		return ""
	}
	gone := s.told
	gone.MaxAge = -1
	r.SetCookie(&gone)
	switch c.Value {
	case toldChanged:
		return "The password was changed. Sign in with the new one."
	case toldMade:
		return "The account was made. Sign in with its password."
	}
	return ""
}

// takeChanged reports, once, whether the password was changed just before.
func (s *sessions) takeChanged(r *web.Request) bool {
	if !s.loaded(r) || !s.manager.PopBool(r.Context(), sessionChanged) {
		return false
	}
	s.manager.Put(r.Context(), sessionSeen, int64(1)) // long ago, so that the session is written without it
	return true
}

// drop lets a request end without its session, which could not be stored.
func (s *sessions) drop(r *web.Request) {
	r.Request = r.WithContext(context.WithValue(r.Context(), loadedKey{}, nil))
}

// deviceMark returns the mark of the browser, empty if it has none.
func (s *sessions) deviceMark(r *web.Request) string {
	c, err := r.Cookie(s.device.Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// markDevice gives the browser a mark.
func (s *sessions) markDevice(r *web.Request, mark string) {
	c := s.device
	c.Value = mark
	r.SetCookie(&c)
}

// token returns the value of the request's session cookie, empty if it has none.
func (s *sessions) token(r *web.Request) string {
	c, err := r.Cookie(s.cookie.Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// load puts the session of a token into the request's context.
func (s *sessions) load(r *web.Request, token string) error {
	ctx, err := s.manager.Load(r.Context(), token)
	if err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "Sessions cannot be read at the moment; look at the program's log", Err: fmt.Errorf("load session: %w", err)}
	}
	r.Request = r.WithContext(context.WithValue(ctx, loadedKey{}, true))
	return nil
}

// begin signs a user in, under a new token: one that was planted before is worth nothing.
func (s *sessions) begin(r *web.Request, u auth.User) error {
	if err := s.manager.RenewToken(r.Context()); err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	s.manager.Put(r.Context(), sessionUser, u.Name)
	s.manager.Put(r.Context(), sessionProof, proof(u))
	s.manager.Put(r.Context(), sessionSeen, int64(0))
	return nil
}

// end signs out.
func (s *sessions) end(r *web.Request) error {
	if err := s.manager.Destroy(r.Context()); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// endAll ends every session of a user.
func (s *sessions) endAll(name string) error {
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

// save writes the session if it began, ended, or was in use and not written for a while. What a page does by itself, following the data, is
// no use: a page that was left open must not keep a session alive.
func (s *sessions) save(r *web.Request, inUse bool) error {
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
type standing struct{ sessionStore }

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

func (s *sessions) loaded(r *web.Request) bool { return r.Context().Value(loadedKey{}) != nil }

func proof(u auth.User) string {
	sum := sha256.Sum256([]byte(u.PasswordHash))
	return hex.EncodeToString(sum[:8])
}

// identify finds out who is asking: by bearer token if there is one, else by session.
func (s *Server) identify(r *web.Request) error {
	raw, isBearer := bearer(r)
	token := ""
	if !isBearer {
		token = s.sessions.token(r)
	}
	if err := s.sessions.load(r, token); err != nil {
		return err
	}
	if isBearer {
		p, ok := s.auth.Token(raw)
		if !ok {
			return &web.Error{Status: http.StatusUnauthorized, Kind: unauthorized, Heading: "Sign in", Message: "The token is not known or has expired"}
		}
		r.Who = p
		return nil
	}
	p, err := s.sessionPrincipal(r.Context())
	r.Who = p
	return err
}

// sessionPrincipal returns the user of the session in the context, as they are now.
func (s *Server) sessionPrincipal(ctx context.Context) (auth.Principal, error) {
	name := s.sessions.manager.GetString(ctx, sessionUser)
	if name == "" {
		return auth.Principal{}, nil
	}
	u, ok, err := s.auth.Lookup(ctx, name)
	if err != nil {
		return auth.Principal{}, &dedup.Error{Kind: dedup.Unavailable, Public: "Accounts cannot be read at the moment; look at the program's log", Err: err}
	}
	if !ok || proof(u) != s.sessions.manager.GetString(ctx, sessionProof) {
		return auth.Principal{}, nil
	}
	return auth.Principal{Name: u.Name, Role: u.Role, Method: "session"}, nil
}

// stillAllowed returns a check whether the request's credentials are good for the role by now: for streams, which outlive
// sessions and tokens.
func (s *Server) stillAllowed(r *web.Request, role auth.Role) func() bool {
	if raw, ok := bearer(r); ok {
		return func() bool {
			p, ok := s.auth.Token(raw)
			return ok && p.Can(role)
		}
	}
	token := s.sessions.token(r)
	return func() bool {
		// Not the request's context: it holds the session as it was when the stream began.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		ctx, err := s.sessions.manager.Load(ctx, token)
		if err != nil {
			return false
		}
		p, err := s.sessionPrincipal(ctx)
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
