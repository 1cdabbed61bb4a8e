package server

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/web/static"
)

// The roles, short enough for a table.
const (
	anybody = auth.Nobody
	viewer  = auth.Viewer
)

// kind says how a route answers: with pages for people, or with what programs read.
type kind string

const (
	pageKind   kind = "page"
	apiKind    kind = "api"
	probeKind  kind = "probe"
	streamKind kind = "stream"
	staticKind kind = "static"
)

// A route is one address of the dashboard.
type route struct {
	method string // GET answers HEAD too
	path   string // below the base path; {name} is a pipeline
	needs  auth.Role
	kind   kind
	// acts marks what changes something beyond sessions and settings: it goes away with read_only.
	acts    bool
	handler handler
}

// routes is the whole URL map. What is not in it does not exist.
func (s *Server) routes() []route {
	return []route{
		{"GET", "/", viewer, pageKind, false, s.overview},
		{"GET", "/pipelines/{name}", viewer, pageKind, false, s.pipeline},
		{"GET", "/pipelines/{name}/chart.csv", viewer, pageKind, false, s.chartCSV},
		{"GET", "/events", viewer, streamKind, false, s.events},

		{"GET", "/login", anybody, pageKind, false, s.loginForm},
		{"POST", "/login", anybody, pageKind, false, s.login},
		{"POST", "/logout", viewer, pageKind, false, s.logout},
		{"POST", "/logout-all", viewer, pageKind, false, s.logoutAll},
		{"POST", "/settings", anybody, pageKind, false, s.settings},
		{"GET", "/welcome", anybody, pageKind, false, s.welcome},
		{"GET", "/setup", anybody, pageKind, false, s.setupForm},
		{"POST", "/setup", anybody, pageKind, false, s.setup},

		{"GET", "/api/v1/pipelines", viewer, apiKind, false, s.apiPipelines},
		{"GET", "/api/v1/pipelines/{name}", viewer, apiKind, false, s.apiPipeline},

		{"GET", "/metrics", viewer, probeKind, false, s.exposeMetrics},
		{"GET", "/healthz", anybody, probeKind, false, s.healthz},
		{"GET", "/readyz", anybody, probeKind, false, s.readyz},
		{"GET", "/static/{file...}", anybody, staticKind, false, s.static},
	}
}

// served returns the routes that exist under this configuration.
func served(all []route, readOnly bool) []route {
	var some []route
	for _, r := range all {
		if !readOnly || !r.acts {
			some = append(some, r)
		}
	}
	return some
}

// register adds the routes to echo.
func (s *Server) register(e *echo.Echo, routes []route) {
	for _, rt := range routes {
		h := s.adapt(rt)
		path := s.cfg.base() + echoPath.Replace(rt.path)
		e.Add(rt.method, path, h)
		if rt.method == http.MethodGet {
			e.Add(http.MethodHead, path, h) // echo would answer HEAD with 405
		}
	}
}

// echoPath translates the patterns of the table.
var echoPath = strings.NewReplacer("{name}", ":name", "{file...}", "*")

// kindOf returns how an address that is not in the table answers.
func (s *Server) kindOf(path string) kind {
	below := strings.TrimPrefix(path, s.cfg.base())
	if strings.HasPrefix(below, "/api/") || below == "/metrics" || below == "/healthz" || below == "/readyz" || below == "/events" {
		return apiKind
	}
	return pageKind
}

// static serves the assets.
func (s *Server) static(r *request) (response, error) {
	return standard{http.StripPrefix(s.cfg.base(), static.Handler())}, nil
}
