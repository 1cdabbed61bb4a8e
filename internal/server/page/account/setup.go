package account

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// welcome says how to find the one-time link, never what it is.
func (s pages) welcome(r *web.Request) (web.Response, error) {
	if !s.deps.FirstAdmin.Wanted() {
		return web.Redirect{To: s.site.Base + "/"}, nil
	}
	return web.Page{Status: http.StatusForbidden, Component: templates.Error(templates.ErrorView{
		Frame: s.site.Frame(r, "Welcome"), Status: http.StatusForbidden, Heading: "There is no admin yet",
		Message: "Open the one-time link that the program printed in its terminal. It is also in the file first-admin-link " +
			"in the program's data directory. It works for 15 minutes; then a fresh one takes its place there.",
	})}, nil
}

// setupForm is the page behind the one-time link.
func (s pages) setupForm(r *web.Request) (web.Response, error) {
	if !s.deps.FirstAdmin.Wanted() {
		return web.Redirect{To: s.site.Base + "/login"}, nil
	}
	token := r.URL.Query().Get("token")
	if !s.deps.FirstAdmin.Valid(token) {
		return nil, linkError()
	}
	return s.setupPage(r, http.StatusOK, token, "", ""), nil
}

func (s pages) setupPage(r *web.Request, status int, token, name, problem string) web.Response {
	return web.Page{Status: status, Component: templates.Setup(templates.SetupView{Frame: s.site.Frame(r, "First admin"), Token: token, Name: show.Clean(name, 100), Error: problem})}
}

func linkError() error {
	return &web.Error{Status: http.StatusForbidden, Kind: dedup.Forbidden, Heading: "This link does not work any more", Message: "It was used, or it is older than 15 minutes. While there is no admin, a fresh one is in the file first-admin-link in the program's data directory."}
}

// setup makes the first admin and signs them in.
func (s pages) setup(r *web.Request) (web.Response, error) {
	token, name, password := r.PostForm.Get("token"), strings.TrimSpace(r.PostForm.Get("username")), r.PostForm.Get("password")
	if !s.deps.FirstAdmin.Valid(token) {
		s.deps.Gate.SignInFailed(r.Context(), r.From.String(), "", "the one-time link is not valid")
		return nil, linkError()
	}
	if problem := s.setupProblem(r, name, password); problem != "" {
		return s.setupPage(r, http.StatusUnprocessableEntity, token, name, problem), nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), hashTimeout)
	defer cancel()
	hash, err := s.deps.Auth.Hash(ctx, password)
	if err != nil {
		return nil, err
	}
	err = s.deps.FirstAdmin.Redeem(token, func(p auth.Principal) error {
		return s.deps.Gate.CreateFirstAdmin(r.Context(), r.Caller(p), auth.User{Name: name, Role: auth.Admin, PasswordHash: hash})
	})
	if errors.Is(err, auth.ErrLink) {
		return nil, linkError()
	}
	if err != nil {
		return nil, err
	}
	return s.signInAfter(r, name, "/", session.ToldMade), nil
}

// setupProblem returns what is wrong with a new account, for the form; empty if nothing is.
func (s pages) setupProblem(r *web.Request, name, password string) string {
	if !auth.ValidName(name) {
		return "A name has 1 to 64 letters, digits or . _ - @, and begins with a letter or digit."
	}
	if err := auth.CheckPassword(password, name); err != nil {
		return show.Capital(err.Error()) + "."
	}
	if _, taken, err := s.deps.Auth.Lookup(r.Context(), name); err == nil && taken {
		return "There is a user of that name already."
	}
	return ""
}
