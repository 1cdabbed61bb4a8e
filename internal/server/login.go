package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// hashTimeout is how long a sign-in waits for its turn to check a password.
const hashTimeout = 5 * time.Second

// loginForm shows the sign-in page, and sends those who are signed in on.
func (s *Server) loginForm(r *web.Request) (web.Response, error) {
	next := r.URL.Query().Get("next")
	if r.Who.Method == "session" {
		return web.Redirect{To: s.safeNext(next)}, nil
	}
	return s.loginPage(r, http.StatusOK, "", next, ""), nil
}

func (s *Server) loginPage(r *web.Request, status int, name, next, problem string) web.Response {
	return web.Page{Status: status, Component: templates.Login(templates.LoginView{
		Frame: s.frame(r, "Sign in"), Name: show.Clean(name, 100), Next: show.Clean(next, 500), Error: problem, Told: s.sessions.takeTold(r),
	})}
}

// login signs in.
func (s *Server) login(r *web.Request) (web.Response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, web.FormError(err)
	}
	name, next := r.PostForm.Get("username"), r.PostForm.Get("next")
	ctx, cancel := context.WithTimeout(r.Context(), hashTimeout)
	defer cancel()
	who, err := s.auth.Login(ctx, name, r.PostForm.Get("password"), r.From, s.sessions.deviceMark(r))
	var soon *auth.TooSoon
	var wrong *auth.WrongError
	switch {
	case errors.As(err, &wrong):
		s.gate.SignInFailed(r.Context(), r.From.String(), wrong.Account, wrongWhat(wrong.Account))
		// The name is not logged: people type passwords into the wrong field.
		s.log.Info("failed sign-in", "from", r.From.String(), "request", r.ID)
		return s.loginPage(r, http.StatusUnprocessableEntity, name, next, "Name or password is wrong."), nil
	case errors.As(err, &soon):
		s.gate.SignInFailed(r.Context(), r.From.String(), "", "too soon after others that failed")
		return web.Later{Response: s.loginPage(r, http.StatusTooManyRequests, name, next, show.Sentence(soon.Error())+"."), After: soon.RetryAfter}, nil
	case err != nil:
		return nil, accountError(err)
	}
	if err := s.signIn(r, who.Name); err != nil {
		return nil, err
	}
	s.gate.SignedIn(r.Context(), r.Caller(who))
	s.log.Info("signed in", "user", who.Name, "role", who.Role.String(), "from", r.From.String())
	return web.Redirect{To: s.safeNext(next)}, nil
}

// wrongWhat says for the audit alone what was wrong.
func wrongWhat(account string) string {
	if account == "" {
		return "there is no account of that name"
	}
	return "the password is wrong"
}

// accountError keeps the errors that say what they mean, and gives the others a message.
func accountError(err error) error {
	if errors.Is(err, auth.ErrBusy) {
		return err
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: "Accounts cannot be read at the moment; look at the program's log", Err: err}
}

// signIn begins a session of the user.
func (s *Server) signIn(r *web.Request, name string) error {
	u, ok, err := s.auth.Lookup(r.Context(), name)
	if err != nil {
		return accountError(err)
	}
	if !ok {
		return &dedup.Error{Kind: dedup.Conflict, Public: "The account is gone"}
	}
	if err := s.sessions.begin(r, u); err != nil {
		return err
	}
	s.sessions.markDevice(r, s.auth.Device(u.Name))
	return nil
}

// signInAfter begins a session after something that cannot be taken back, stores it and sends the browser on. Where that fails what was done
// stands all the same: it is told on the sign-in page, and is no error.
func (s *Server) signInAfter(r *web.Request, name, to, done string) web.Response {
	err := s.signIn(r, name)
	if err == nil {
		err = s.sessions.save(r, true)
	}
	if err == nil {
		return web.Redirect{To: s.cfg.base() + to}
	}
	s.log.Error("no session could be begun", "user", name, "after", done, "err", err)
	s.sessions.drop(r)
	s.sessions.tell(r, done)
	return web.Redirect{To: s.cfg.base() + "/login"}
}

// logout ends this session.
func (s *Server) logout(r *web.Request) (web.Response, error) {
	if err := s.sessions.end(r); err != nil {
		return nil, err
	}
	s.hub.recheck()
	return web.Redirect{To: s.cfg.base() + "/login"}, nil
}

// logoutAll ends every session of the user, on all devices.
func (s *Server) logoutAll(r *web.Request) (web.Response, error) {
	if r.Who.Method != "session" {
		return nil, web.Invalid("A token has no sessions to end")
	}
	if err := s.sessions.endAll(r.Who.Name); err != nil {
		return nil, err
	}
	s.gate.SignedOutEverywhere(r.Context(), r.Asker())
	return s.logout(r)
}

// loginPath returns the sign-in page that leads back to the page asked for.
func (s *Server) loginPath(r *web.Request) string {
	path := s.cfg.base() + "/login"
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return path
	}
	next := strings.TrimPrefix(r.URL.RequestURI(), s.cfg.base())
	if next == "" || next == "/" || len(next) > 500 {
		return path
	}
	return path + "?next=" + url.QueryEscape(next)
}

// safeNext returns a path of ours to go to. Whatever could lead to another site becomes the overview: browsers read `//`,
// `/\` and paths with tabs in them as other hosts.
func (s *Server) safeNext(next string) string {
	home := s.cfg.base() + "/"
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, unsafeInPath) {
		return home
	}
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return home
	}
	switch u.Path {
	case "/login", "/logout", "/logout-all", "/setup", "/welcome":
		return home
	}
	return s.cfg.base() + next
}

func unsafeInPath(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f || c > 0x7f }
