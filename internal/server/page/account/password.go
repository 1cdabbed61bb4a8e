package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// account is the page of whoever is signed in: who they are here, and how to change their password.
func (s pages) account(r *web.Request) (web.Response, error) {
	return s.accountPage(r, http.StatusOK, "", s.deps.Sessions.TakeChanged(r)), nil
}

func (s pages) accountPage(r *web.Request, status int, problem string, changed bool) web.Response {
	return web.Page{Status: status, Component: templates.Account(templates.AccountView{
		Frame: s.site.Frame(r, "Your account"), Name: r.Who.Name, Role: r.Who.Role.String(), Token: r.Who.Method != "session",
		Configured: s.deps.Auth.Configured(r.Who.Name), MinPassword: auth.MinPassword, Error: problem, Changed: changed,
	})}
}

// changePassword changes the password of an account that is kept in the journal, and ends its other sessions.
func (s pages) changePassword(r *web.Request) (web.Response, error) {
	if r.Who.Method != "session" {
		return nil, web.Invalid("A token has no password")
	}
	if s.deps.Auth.Configured(r.Who.Name) {
		s.deps.Gate.PasswordRefused(r.Context(), r.Asker(), "the account is kept in the configuration")
		return s.accountPage(r, http.StatusConflict, "", false), nil
	}
	old, fresh := r.PostForm.Get("password"), r.PostForm.Get("new")
	if problem := newPasswordProblem(r.Who.Name, old, fresh, r.PostForm.Get("again")); problem != "" {
		return s.accountPage(r, http.StatusUnprocessableEntity, problem, false), nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), hashTimeout)
	defer cancel()
	was, _, err := s.deps.Auth.Lookup(ctx, r.Who.Name) // before the proof: what was set after it is not the password that was proved
	if err != nil {
		return nil, accountError(err)
	}
	if refused, err := s.proveAgain(ctx, r, old); refused != nil || err != nil {
		return refused, err
	}
	hash, err := s.deps.Auth.Hash(ctx, fresh)
	if err != nil {
		return nil, err
	}
	if err := s.deps.Gate.ChangePassword(r.Context(), r.Asker(), admin.PasswordChange{Was: was.PasswordHash, Now: hash}); err != nil {
		return nil, err
	}
	// The old sessions are worth nothing from here on, by the hash that they were made with: that one cannot be taken off is no failure.
	if err := s.deps.Sessions.EndAll(r.Who.Name); err != nil {
		s.deps.Log.Error("sessions of an old password could not be removed; they let nobody in", "user", r.Who.Name, "err", err)
	}
	s.site.Recheck()
	s.deps.Log.Info("password changed", "user", r.Who.Name, "from", r.From.String())
	s.deps.Sessions.NoteChanged(r)
	return s.signInAfter(r, r.Who.Name, "/account", session.ToldChanged), nil
}

// newPasswordProblem says what is wrong with a new password, for the form; empty if nothing is.
func newPasswordProblem(name, old, fresh, again string) string {
	if err := auth.CheckPassword(fresh, name); err != nil {
		return show.Capital(err.Error()) + "."
	}
	switch {
	case fresh != again:
		return "The new password was not typed the same way twice."
	case fresh == old:
		return "The new password is the old one."
	}
	return ""
}

// proveAgain checks the old password as a sign-in does, with the same delays: a browser that was left open must not help to guess it. It returns
// the page to answer with where it does not fit.
func (s pages) proveAgain(ctx context.Context, r *web.Request, old string) (web.Response, error) {
	_, err := s.deps.Auth.Login(ctx, r.Who.Name, old, r.From, s.deps.Sessions.DeviceMark(r))
	var soon *auth.TooSoon
	switch {
	case errors.Is(err, auth.ErrWrong):
		s.deps.Gate.PasswordRefused(r.Context(), r.Asker(), "the old password is wrong")
		s.deps.Log.Info("password not changed: the old one is wrong", "user", r.Who.Name, "from", r.From.String(), "request", r.ID)
		return s.accountPage(r, http.StatusUnprocessableEntity, "The old password is wrong.", false), nil
	case errors.As(err, &soon):
		s.deps.Gate.PasswordRefused(r.Context(), r.Asker(), "too soon after others that failed")
		return web.Later{Response: s.accountPage(r, http.StatusTooManyRequests, show.Capital(fmt.Sprint(soon))+".", false), After: soon.RetryAfter}, nil
	case err != nil:
		return nil, accountError(err)
	}
	return nil, nil
}
