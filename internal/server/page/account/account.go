// Package account is the pages of whoever comes in: the first admin, signing in and out, and the account.
package account

import (
	"log/slog"
	"net/http"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/web"
)

// Deps are what stands behind accounts.
type Deps struct {
	Auth       *auth.Service
	FirstAdmin *auth.FirstAdmin
	Gate       *admin.Gate
	Sessions   *session.Sessions
	Log        *slog.Logger
}

// pages let people in and out. They are safe for concurrent use.
type pages struct {
	deps Deps
	site web.Site
}

// New returns the routes of accounts.
func New(deps Deps) web.Pages {
	return func(site web.Site) []web.Route {
		s := pages{deps, site}
		route := func(method, path string, needs auth.Role, h web.Handler) web.Route {
			return web.Route{Method: method, Path: path, Needs: needs, Kind: web.PageKind, Handler: h}
		}
		return []web.Route{
			route(http.MethodGet, "/login", auth.Nobody, s.loginForm), route(http.MethodPost, "/login", auth.Nobody, s.login),
			route(http.MethodPost, "/logout", auth.Viewer, s.logout), route(http.MethodPost, "/logout-all", auth.Viewer, s.logoutAll),
			route(http.MethodGet, "/account", auth.Viewer, s.account), route(http.MethodPost, "/account/password", auth.Viewer, s.changePassword),
			route(http.MethodPost, "/settings", auth.Nobody, s.settings), route(http.MethodGet, "/welcome", auth.Nobody, s.welcome),
			route(http.MethodGet, "/setup", auth.Nobody, s.setupForm), route(http.MethodPost, "/setup", auth.Nobody, s.setup),
		}
	}
}
