package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/static"
)

// The roles, short enough for a table.
const (
	anybody   = auth.Nobody
	viewer    = auth.Viewer
	operator  = auth.Operator
	adminRole = auth.Admin
)

// routes is the whole URL map: the routes of the server itself and of what has registered with it. What is not in it does not exist.
func (s *Server) routes() []web.Route {
	return append(s.ownRoutes(), s.registered...)
}

func (s *Server) ownRoutes() []web.Route {
	return []web.Route{
		{Method: "GET", Path: "/events", Needs: viewer, Kind: web.StreamKind, Handler: s.events},
		{Method: "GET", Path: "/metrics", Needs: viewer, Kind: web.ProbeKind, Handler: by(s.metrics.Handler())},
		{Method: "GET", Path: "/healthz", Needs: anybody, Kind: web.ProbeKind, Handler: healthz},
		{Method: "GET", Path: "/readyz", Needs: anybody, Kind: web.ProbeKind, Handler: probes{s.snapshots, s.history}.readyz},
		{Method: "GET", Path: "/static/{file...}", Needs: anybody, Kind: web.StaticKind, Handler: by(http.StripPrefix(s.cfg.base(), static.Handler()))},
	}
}

// serves reports whether a package outside the server has registered a path.
func (s *Server) serves(path string) bool {
	return slices.ContainsFunc(s.registered, func(r web.Route) bool { return r.Path == path })
}

// served returns the routes that exist under this configuration.
func served(all []web.Route, readOnly bool) []web.Route {
	var some []web.Route
	for _, r := range all {
		if !readOnly || !r.Acts {
			some = append(some, r)
		}
	}
	return some
}

// register adds the routes to echo.
func (s *Server) register(e *echo.Echo, routes []web.Route) {
	for _, rt := range routes {
		h := s.adapt(rt)
		path := s.cfg.base() + echoPath.Replace(rt.Path)
		e.Add(rt.Method, path, h)
		if rt.Method == http.MethodGet {
			e.Add(http.MethodHead, path, h) // echo would answer HEAD with 405
		}
	}
}

// echoPath translates the patterns of the table.
var echoPath = strings.NewReplacer("{name}", ":name", "{id}", ":id", "{file...}", "*")

// kindOf returns how an address that is not in the table answers.
func (s *Server) kindOf(path string) web.Kind {
	below := strings.TrimPrefix(path, s.cfg.base())
	if strings.HasPrefix(below, "/api/") || below == "/metrics" || below == "/healthz" || below == "/readyz" || below == "/events" {
		return web.APIKind
	}
	return web.PageKind
}

// by lets a handler of the standard library answer.
func by(h http.Handler) web.Handler {
	return func(*web.Request) (web.Response, error) { return web.Standard{Handler: h}, nil }
}
