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
		{Method: "GET", Path: "/", Needs: viewer, Kind: web.PageKind, Handler: s.overview},
		{Method: "GET", Path: "/pipelines/{name}", Needs: viewer, Kind: web.PageKind, Handler: s.pipeline},
		{Method: "GET", Path: "/dead-letters", Needs: viewer, Kind: web.PageKind, Handler: s.deadOverview},
		{Method: "GET", Path: "/pipelines/{name}/dead-letters", Needs: viewer, Kind: web.PageKind, Handler: s.deadQueue},
		{Method: "POST", Path: "/pipelines/{name}/dead-letters/scan", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.scan},
		{Method: "GET", Path: "/pipelines/{name}/dead-letters.csv", Needs: operator, Kind: web.PageKind, Handler: s.lettersCSV},
		{Method: "GET", Path: "/pipelines/{name}/dead-letters.ndjson", Needs: operator, Kind: web.PageKind, Handler: s.fromOwnPages(s.lettersNDJSON)},
		{Method: "GET", Path: "/dead-letters/message", Needs: operator, Kind: web.PageKind, Handler: s.letter},
		{Method: "POST", Path: "/dead-letters/reveal", Needs: adminRole, Kind: web.PageKind, Acts: true, Handler: s.reveal},
		{Method: "GET", Path: "/dead-letters/download", Needs: adminRole, Kind: web.PageKind, Handler: s.fromOwnPages(s.download)},
		{Method: "GET", Path: "/dead-letters/edit", Needs: adminRole, Kind: web.PageKind, Handler: s.fromOwnPages(s.editForm)},
		{Method: "POST", Path: "/dead-letters/edit", Needs: adminRole, Kind: web.PageKind, Acts: true, Handler: s.edit},
		{Method: "POST", Path: "/dead-letters/plan", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.planMove},
		{Method: "GET", Path: "/moves/{id}", Needs: operator, Kind: web.PageKind, Handler: s.move},
		{Method: "GET", Path: "/moves/{id}/keys.csv", Needs: operator, Kind: web.PageKind, Handler: s.moveKeysCSV},
		{Method: "POST", Path: "/moves/{id}/change", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.changeMove},
		{Method: "POST", Path: "/moves/{id}/start", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.startMove},
		{Method: "GET", Path: "/moves/{id}/start", Needs: operator, Kind: web.PageKind, Handler: s.unstarted},
		{Method: "GET", Path: "/jobs", Needs: operator, Kind: web.PageKind, Handler: s.jobs},
		{Method: "GET", Path: "/jobs/{id}", Needs: operator, Kind: web.PageKind, Handler: s.job},
		{Method: "GET", Path: "/jobs/{id}/items", Needs: operator, Kind: web.PageKind, Handler: s.jobItems},
		{Method: "GET", Path: "/jobs/{id}/items.csv", Needs: operator, Kind: web.PageKind, Handler: s.jobItemsCSV},
		{Method: "POST", Path: "/jobs/{id}/pause", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.pauseJob},
		{Method: "POST", Path: "/jobs/{id}/resume", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.resumeJob},
		{Method: "POST", Path: "/jobs/{id}/cancel", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.cancelJob},
		{Method: "POST", Path: "/jobs/{id}/retry", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.retryJob},
		{Method: "POST", Path: "/jobs/{id}/again", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.againJob},
		{Method: "POST", Path: "/pipelines/{name}/dead-letters/baseline", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.acknowledge},
		{Method: "POST", Path: "/pipelines/{name}/dead-letters/baseline/remove", Needs: operator, Kind: web.PageKind, Acts: true, Handler: s.forget},
		{Method: "GET", Path: "/events", Needs: viewer, Kind: web.StreamKind, Handler: s.events},

		{Method: "GET", Path: "/login", Needs: anybody, Kind: web.PageKind, Handler: s.loginForm},
		{Method: "POST", Path: "/login", Needs: anybody, Kind: web.PageKind, Handler: s.login},
		{Method: "POST", Path: "/logout", Needs: viewer, Kind: web.PageKind, Handler: s.logout},
		{Method: "POST", Path: "/logout-all", Needs: viewer, Kind: web.PageKind, Handler: s.logoutAll},
		{Method: "GET", Path: "/account", Needs: viewer, Kind: web.PageKind, Handler: s.account},
		{Method: "POST", Path: "/account/password", Needs: viewer, Kind: web.PageKind, Handler: s.changePassword},
		{Method: "POST", Path: "/settings", Needs: anybody, Kind: web.PageKind, Handler: s.settings},
		{Method: "GET", Path: "/welcome", Needs: anybody, Kind: web.PageKind, Handler: s.welcome},
		{Method: "GET", Path: "/setup", Needs: anybody, Kind: web.PageKind, Handler: s.setupForm},
		{Method: "POST", Path: "/setup", Needs: anybody, Kind: web.PageKind, Handler: s.setup},

		{Method: "GET", Path: "/api/v1/pipelines/{name}/dead-letters", Needs: viewer, Kind: web.APIKind, Handler: s.apiDeadLetters},
		{Method: "POST", Path: "/api/v1/pipelines/{name}/dead-letters/scan", Needs: operator, Kind: web.APIKind, Acts: true, Handler: s.apiScan},
		{Method: "GET", Path: "/api/v1/dead-letters/message", Needs: operator, Kind: web.APIKind, Handler: s.apiLetter},
		{Method: "GET", Path: "/api/v1/dead-letters/export", Needs: operator, Kind: web.APIKind, Handler: s.fromOwnPages(s.lettersNDJSON)},
		{Method: "POST", Path: "/api/v1/moves/plan", Needs: operator, Kind: web.APIKind, Acts: true, Handler: s.apiPlanMove},
		{Method: "POST", Path: "/api/v1/moves/{id}/start", Needs: operator, Kind: web.APIKind, Acts: true, Handler: s.apiStartMove},
		{Method: "GET", Path: "/api/v1/jobs", Needs: operator, Kind: web.APIKind, Handler: s.apiJobs},
		{Method: "GET", Path: "/api/v1/jobs/{id}", Needs: operator, Kind: web.APIKind, Handler: s.apiJob},
		{Method: "GET", Path: "/api/v1/jobs/{id}/items", Needs: operator, Kind: web.APIKind, Handler: s.apiJobItems},
		{Method: "POST", Path: "/api/v1/jobs/{id}/pause", Needs: operator, Kind: web.APIKind, Acts: true, Handler: s.apiPauseJob},
		{Method: "POST", Path: "/api/v1/jobs/{id}/resume", Needs: operator, Kind: web.APIKind, Acts: true, Handler: s.apiResumeJob},
		{Method: "POST", Path: "/api/v1/jobs/{id}/cancel", Needs: operator, Kind: web.APIKind, Acts: true, Handler: s.apiCancelJob},
		{Method: "POST", Path: "/api/v1/pipelines/{name}/dead-letters/baseline", Needs: operator, Kind: web.APIKind, Acts: true, Handler: s.apiAcknowledge},
		{Method: "POST", Path: "/api/v1/pipelines/{name}/dead-letters/baseline/remove", Needs: operator, Kind: web.APIKind, Acts: true, Handler: s.apiForget},

		{Method: "GET", Path: "/metrics", Needs: viewer, Kind: web.ProbeKind, Handler: s.exposeMetrics},
		{Method: "GET", Path: "/healthz", Needs: anybody, Kind: web.ProbeKind, Handler: s.healthz},
		{Method: "GET", Path: "/readyz", Needs: anybody, Kind: web.ProbeKind, Handler: s.readyz},
		{Method: "GET", Path: "/static/{file...}", Needs: anybody, Kind: web.StaticKind, Handler: s.static},
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

// exposeMetrics answers in the Prometheus format.
func (s *Server) exposeMetrics(r *web.Request) (web.Response, error) {
	return web.Standard{Handler: s.metrics.Handler()}, nil
}

// static serves the assets.
func (s *Server) static(r *web.Request) (web.Response, error) {
	return web.Standard{Handler: http.StripPrefix(s.cfg.base(), static.Handler())}, nil
}
