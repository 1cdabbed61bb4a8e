// Package account serves the pages of whoever comes in: the first admin, signing in and out, and the account.
package account

import (
	"log/slog"

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
		// Who one is and how pages look is no change of what is watched: it stays where nothing may be changed.
		form := func(path string, needs auth.Role, h web.Handler) web.Route {
			rt := web.Post(path, needs, h)
			rt.Acts = false
			return rt
		}
		return []web.Route{
			web.Get("/login", auth.Nobody, s.loginForm), form("/login", auth.Nobody, s.login), form("/logout", auth.Viewer, s.logout), form("/logout-all", auth.Viewer, s.logoutAll),
			web.Get("/account", auth.Viewer, s.account), form("/account/password", auth.Viewer, s.changePassword), form("/settings", auth.Nobody, s.settings),
			web.Get("/welcome", auth.Nobody, s.welcome), web.Get("/setup", auth.Nobody, s.setupForm), form("/setup", auth.Nobody, s.setup),
		}
	}
}
