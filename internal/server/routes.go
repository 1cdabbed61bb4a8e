package server

import (
	"net/http"
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

// A route is one address of the dashboard.
type route struct {
	method string // GET answers HEAD too
	path   string // below the base path; {name} is a pipeline or a page, {id} a plan, an operation, a job or a silence
	needs  auth.Role
	kind   web.Kind
	// acts marks what changes something beyond sessions and settings: it goes away with read_only.
	acts    bool
	handler web.Handler
}

// routes is the whole URL map. What is not in it does not exist.
func (s *Server) routes() []route {
	return []route{
		{"GET", "/", viewer, web.PageKind, false, s.overview},
		{"GET", "/pipelines/{name}", viewer, web.PageKind, false, s.pipeline},
		{"GET", "/pipelines/{name}/chart.csv", viewer, web.PageKind, false, s.chartCSV},
		{"GET", "/pipelines/{name}/markers", viewer, web.PageKind, false, s.markersOf},
		{"GET", "/pipelines/{name}/markers.csv", viewer, web.PageKind, false, s.markersCSV},
		{"GET", "/pipelines/{name}/effects", viewer, web.PageKind, false, s.effects},
		{"GET", "/pipelines/{name}/effects.csv", viewer, web.PageKind, false, s.effectsCSV},
		{"GET", "/pipelines/{name}/measurements", viewer, web.PageKind, false, s.measurements},
		{"POST", "/pipelines/{name}/measurements", operator, web.PageKind, true, s.startMeasurement},
		{"GET", "/measurements/{id}", viewer, web.PageKind, false, s.measurement},
		{"GET", "/measurements/{id}/repeated.csv", viewer, web.PageKind, false, s.repeatedCSV},
		{"POST", "/measurements/{id}/stop", operator, web.PageKind, true, s.stopMeasurement},
		{"GET", "/markers/one", viewer, web.PageKind, false, s.oneMarker},
		{"GET", "/lookup", viewer, web.PageKind, false, s.lookup},
		{"POST", "/markers/plan", adminRole, web.PageKind, true, s.makePlan},
		{"GET", "/plans/{id}", adminRole, web.PageKind, false, s.plan},
		{"POST", "/plans/{id}/execute", adminRole, web.PageKind, true, s.execute},
		{"GET", "/dead-letters", viewer, web.PageKind, false, s.deadOverview},
		{"GET", "/pipelines/{name}/dead-letters", viewer, web.PageKind, false, s.deadQueue},
		{"POST", "/pipelines/{name}/dead-letters/scan", operator, web.PageKind, true, s.scan},
		{"GET", "/pipelines/{name}/dead-letters.csv", operator, web.PageKind, false, s.lettersCSV},
		{"GET", "/pipelines/{name}/dead-letters.ndjson", operator, web.PageKind, false, s.fromOwnPages(s.lettersNDJSON)},
		{"GET", "/dead-letters/message", operator, web.PageKind, false, s.letter},
		{"POST", "/dead-letters/reveal", adminRole, web.PageKind, true, s.reveal},
		{"GET", "/dead-letters/download", adminRole, web.PageKind, false, s.fromOwnPages(s.download)},
		{"GET", "/dead-letters/edit", adminRole, web.PageKind, false, s.fromOwnPages(s.editForm)},
		{"POST", "/dead-letters/edit", adminRole, web.PageKind, true, s.edit},
		{"POST", "/dead-letters/plan", operator, web.PageKind, true, s.planMove},
		{"GET", "/moves/{id}", operator, web.PageKind, false, s.move},
		{"GET", "/moves/{id}/keys.csv", operator, web.PageKind, false, s.moveKeysCSV},
		{"POST", "/moves/{id}/change", operator, web.PageKind, true, s.changeMove},
		{"POST", "/moves/{id}/start", operator, web.PageKind, true, s.startMove},
		{"GET", "/moves/{id}/start", operator, web.PageKind, false, s.unstarted},
		{"GET", "/jobs", operator, web.PageKind, false, s.jobs},
		{"GET", "/jobs/{id}", operator, web.PageKind, false, s.job},
		{"GET", "/jobs/{id}/items", operator, web.PageKind, false, s.jobItems},
		{"GET", "/jobs/{id}/items.csv", operator, web.PageKind, false, s.jobItemsCSV},
		{"POST", "/jobs/{id}/pause", operator, web.PageKind, true, s.pauseJob},
		{"POST", "/jobs/{id}/resume", operator, web.PageKind, true, s.resumeJob},
		{"POST", "/jobs/{id}/cancel", operator, web.PageKind, true, s.cancelJob},
		{"POST", "/jobs/{id}/retry", operator, web.PageKind, true, s.retryJob},
		{"POST", "/jobs/{id}/again", operator, web.PageKind, true, s.againJob},
		{"GET", "/operations", operator, web.PageKind, false, s.operations},
		{"GET", "/operations/{id}", operator, web.PageKind, false, s.operation},
		{"GET", "/audit", operator, web.PageKind, false, s.auditPage},
		{"POST", "/pipelines/{name}/dead-letters/baseline", operator, web.PageKind, true, s.acknowledge},
		{"POST", "/pipelines/{name}/dead-letters/baseline/remove", operator, web.PageKind, true, s.forget},
		{"GET", "/alerts", viewer, web.PageKind, false, s.alertsPage},
		{"GET", "/alerts/rules", viewer, web.PageKind, false, s.rulesPage},
		{"GET", "/alerts/one", viewer, web.PageKind, false, s.alertPage},
		{"POST", "/alerts/acknowledge", operator, web.PageKind, true, s.acknowledgeAlert},
		{"POST", "/alerts/acknowledge-selected", operator, web.PageKind, true, s.acknowledgeSelected},
		{"POST", "/alerts/unacknowledge", operator, web.PageKind, true, s.unacknowledgeAlert},
		{"POST", "/alerts/test", operator, web.PageKind, true, s.testChannel},
		{"GET", "/silences", viewer, web.PageKind, false, s.silencesPage},
		{"GET", "/silences/new", viewer, web.PageKind, false, s.newSilence},
		{"POST", "/silences", operator, web.PageKind, true, s.makeSilence},
		{"POST", "/silences/{id}/expire", operator, web.PageKind, true, s.expireSilence},
		{"GET", "/docs", viewer, web.PageKind, false, s.guideIndex},
		{"GET", "/docs/{name}", viewer, web.PageKind, false, s.guide},
		{"GET", "/events", viewer, web.StreamKind, false, s.events},

		{"GET", "/login", anybody, web.PageKind, false, s.loginForm},
		{"POST", "/login", anybody, web.PageKind, false, s.login},
		{"POST", "/logout", viewer, web.PageKind, false, s.logout},
		{"POST", "/logout-all", viewer, web.PageKind, false, s.logoutAll},
		{"GET", "/account", viewer, web.PageKind, false, s.account},
		{"POST", "/account/password", viewer, web.PageKind, false, s.changePassword},
		{"POST", "/settings", anybody, web.PageKind, false, s.settings},
		{"GET", "/welcome", anybody, web.PageKind, false, s.welcome},
		{"GET", "/setup", anybody, web.PageKind, false, s.setupForm},
		{"POST", "/setup", anybody, web.PageKind, false, s.setup},

		{"GET", "/api/v1/pipelines", viewer, web.APIKind, false, s.apiPipelines},
		{"GET", "/api/v1/pipelines/{name}", viewer, web.APIKind, false, s.apiPipeline},

		{"GET", "/api/v1/pipelines/{name}/markers", viewer, web.APIKind, false, s.apiMarkers},
		{"GET", "/api/v1/pipelines/{name}/effects", viewer, web.APIKind, false, s.apiEffects},
		{"GET", "/api/v1/pipelines/{name}/measurements", viewer, web.APIKind, false, s.apiMeasurements},
		{"POST", "/api/v1/pipelines/{name}/measurements", operator, web.APIKind, true, s.apiMeasure},
		{"GET", "/api/v1/measurements/{id}", viewer, web.APIKind, false, s.apiMeasurement},
		{"POST", "/api/v1/measurements/{id}/stop", operator, web.APIKind, true, s.apiStopMeasurement},
		{"GET", "/api/v1/lookup", viewer, web.APIKind, false, s.apiLookup},
		{"POST", "/api/v1/markers/plan", adminRole, web.APIKind, true, s.apiPlan},
		{"POST", "/api/v1/plans/{id}/execute", adminRole, web.APIKind, true, s.apiExecute},
		{"GET", "/api/v1/operations/{id}", operator, web.APIKind, false, s.apiOperation},
		{"GET", "/api/v1/marks", viewer, web.APIKind, false, s.apiMarks},
		{"POST", "/api/v1/marks", operator, web.APIKind, true, s.apiAddMark},
		{"GET", "/api/v1/audit", operator, web.APIKind, false, s.apiAudit},
		{"GET", "/api/v1/pipelines/{name}/dead-letters", viewer, web.APIKind, false, s.apiDeadLetters},
		{"POST", "/api/v1/pipelines/{name}/dead-letters/scan", operator, web.APIKind, true, s.apiScan},
		{"GET", "/api/v1/dead-letters/message", operator, web.APIKind, false, s.apiLetter},
		{"GET", "/api/v1/dead-letters/export", operator, web.APIKind, false, s.fromOwnPages(s.lettersNDJSON)},
		{"POST", "/api/v1/moves/plan", operator, web.APIKind, true, s.apiPlanMove},
		{"POST", "/api/v1/moves/{id}/start", operator, web.APIKind, true, s.apiStartMove},
		{"GET", "/api/v1/jobs", operator, web.APIKind, false, s.apiJobs},
		{"GET", "/api/v1/jobs/{id}", operator, web.APIKind, false, s.apiJob},
		{"GET", "/api/v1/jobs/{id}/items", operator, web.APIKind, false, s.apiJobItems},
		{"POST", "/api/v1/jobs/{id}/pause", operator, web.APIKind, true, s.apiPauseJob},
		{"POST", "/api/v1/jobs/{id}/resume", operator, web.APIKind, true, s.apiResumeJob},
		{"POST", "/api/v1/jobs/{id}/cancel", operator, web.APIKind, true, s.apiCancelJob},
		{"POST", "/api/v1/pipelines/{name}/dead-letters/baseline", operator, web.APIKind, true, s.apiAcknowledge},
		{"POST", "/api/v1/pipelines/{name}/dead-letters/baseline/remove", operator, web.APIKind, true, s.apiForget},

		{"GET", "/api/v1/alerts", viewer, web.APIKind, false, s.apiAlerts},
		{"GET", "/api/v1/alerts/one", viewer, web.APIKind, false, s.apiAlert},
		{"POST", "/api/v1/alerts/acknowledge", operator, web.APIKind, true, s.apiAcknowledgeAlert},
		{"POST", "/api/v1/alerts/unacknowledge", operator, web.APIKind, true, s.apiUnacknowledgeAlert},
		{"GET", "/api/v1/silences", viewer, web.APIKind, false, s.apiSilences},
		{"POST", "/api/v1/silences", operator, web.APIKind, true, s.apiAddSilence},
		{"POST", "/api/v1/silences/{id}/expire", operator, web.APIKind, true, s.apiExpireSilence},
		{"GET", "/api/v1/rules", viewer, web.APIKind, false, s.apiRules},

		{"GET", "/metrics", viewer, web.ProbeKind, false, s.exposeMetrics},
		{"GET", "/healthz", anybody, web.ProbeKind, false, s.healthz},
		{"GET", "/readyz", anybody, web.ProbeKind, false, s.readyz},
		{"GET", "/static/{file...}", anybody, web.StaticKind, false, s.static},
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
