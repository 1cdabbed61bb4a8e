package account

import (
	"context"
	"errors"
	"net/http"
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
func (s pages) loginForm(r *web.Request) (web.Response, error) {
	next := r.URL.Query().Get("next")
	if r.Who.Method == "session" {
		return web.Redirect{To: web.SafeNext(s.site.Base, next)}, nil
	}
	return s.loginPage(r, http.StatusOK, "", next, ""), nil
}

func (s pages) loginPage(r *web.Request, status int, name, next, problem string) web.Response {
	return web.Page{Status: status, Component: templates.Login(templates.LoginView{
		Frame: s.site.Frame(r, "Sign in"), Name: show.Clean(name, 100), Next: show.Clean(next, 500), Error: problem, Told: s.deps.Sessions.TakeTold(r),
	})}
}

// login signs in.
func (s pages) login(r *web.Request) (web.Response, error) {
	name, next := r.PostForm.Get("username"), r.PostForm.Get("next")
	ctx, cancel := context.WithTimeout(r.Context(), hashTimeout)
	defer cancel()
	who, err := s.deps.Auth.Login(ctx, name, r.PostForm.Get("password"), r.From, s.deps.Sessions.DeviceMark(r))
	var soon *auth.TooSoon
	var wrong *auth.WrongError
	switch {
	case errors.As(err, &wrong):
		s.deps.Gate.SignInFailed(r.Context(), r.From.String(), wrong.Account, wrongWhat(wrong.Account))
		// The name is not logged: people type passwords into the wrong field.
		s.deps.Log.Info("failed sign-in", "from", r.From.String(), "request", r.ID)
		return s.loginPage(r, http.StatusUnprocessableEntity, name, next, "Name or password is wrong."), nil
	case errors.As(err, &soon):
		s.deps.Gate.SignInFailed(r.Context(), r.From.String(), "", "too soon after others that failed")
		return web.Later{Response: s.loginPage(r, http.StatusTooManyRequests, name, next, show.Capital(soon.Error())+"."), After: soon.RetryAfter}, nil
	case err != nil:
		return nil, accountError(err)
	}
	if err := s.signIn(r, who.Name); err != nil {
		return nil, err
	}
	s.deps.Gate.SignedIn(r.Context(), r.Caller(who))
	s.deps.Log.Info("signed in", "user", who.Name, "role", who.Role.String(), "from", r.From.String())
	return web.Redirect{To: web.SafeNext(s.site.Base, next)}, nil
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
func (s pages) signIn(r *web.Request, name string) error {
	u, ok, err := s.deps.Auth.Lookup(r.Context(), name)
	if err != nil {
		return accountError(err)
	}
	if !ok {
		return web.Conflict("The account is gone")
	}
	if err := s.deps.Sessions.Begin(r, u); err != nil {
		return err
	}
	s.deps.Sessions.MarkDevice(r, s.deps.Auth.Device(u.Name))
	return nil
}

// signInAfter begins a session after something that cannot be taken back, stores it and sends the browser on. Where that fails what was done
// stands all the same: it is told on the sign-in page, and is no error.
func (s pages) signInAfter(r *web.Request, name, to, done string) web.Response {
	err := s.signIn(r, name)
	if err == nil {
		err = s.deps.Sessions.Save(r, true)
	}
	if err == nil {
		return web.Redirect{To: s.site.Base + to}
	}
	s.deps.Log.Error("no session could be begun", "user", name, "after", done, "err", err)
	s.deps.Sessions.Drop(r)
	s.deps.Sessions.Tell(r, done)
	return web.Redirect{To: s.site.Base + "/login"}
}

// logout ends this session.
func (s pages) logout(r *web.Request) (web.Response, error) {
	if err := s.deps.Sessions.End(r); err != nil {
		return nil, err
	}
	s.site.Recheck()
	return web.Redirect{To: s.site.Base + "/login"}, nil
}

// logoutAll ends every session of the user, on all devices.
func (s pages) logoutAll(r *web.Request) (web.Response, error) {
	if r.Who.Method != "session" {
		return nil, web.Invalid("A token has no sessions to end")
	}
	if err := s.deps.Sessions.EndAll(r.Who.Name); err != nil {
		return nil, err
	}
	s.deps.Gate.SignedOutEverywhere(r.Context(), r.Asker())
	return s.logout(r)
}
