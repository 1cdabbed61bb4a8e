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
	anybody   = auth.Nobody
	viewer    = auth.Viewer
	operator  = auth.Operator
	adminRole = auth.Admin
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
	path   string // below the base path; {name} is a pipeline or a page, {id} a plan, an operation, a job or a silence
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
		{"GET", "/pipelines/{name}/markers", viewer, pageKind, false, s.markersOf},
		{"GET", "/pipelines/{name}/markers.csv", viewer, pageKind, false, s.markersCSV},
		{"GET", "/pipelines/{name}/effects", viewer, pageKind, false, s.effects},
		{"GET", "/pipelines/{name}/effects.csv", viewer, pageKind, false, s.effectsCSV},
		{"GET", "/pipelines/{name}/measurements", viewer, pageKind, false, s.measurements},
		{"POST", "/pipelines/{name}/measurements", operator, pageKind, true, s.startMeasurement},
		{"GET", "/measurements/{id}", viewer, pageKind, false, s.measurement},
		{"GET", "/measurements/{id}/repeated.csv", viewer, pageKind, false, s.repeatedCSV},
		{"POST", "/measurements/{id}/stop", operator, pageKind, true, s.stopMeasurement},
		{"GET", "/markers/one", viewer, pageKind, false, s.oneMarker},
		{"GET", "/lookup", viewer, pageKind, false, s.lookup},
		{"POST", "/markers/plan", adminRole, pageKind, true, s.makePlan},
		{"GET", "/plans/{id}", adminRole, pageKind, false, s.plan},
		{"POST", "/plans/{id}/execute", adminRole, pageKind, true, s.execute},
		{"GET", "/dead-letters", viewer, pageKind, false, s.deadOverview},
		{"GET", "/pipelines/{name}/dead-letters", viewer, pageKind, false, s.deadQueue},
		{"POST", "/pipelines/{name}/dead-letters/scan", operator, pageKind, true, s.scan},
		{"GET", "/pipelines/{name}/dead-letters.csv", operator, pageKind, false, s.lettersCSV},
		{"GET", "/pipelines/{name}/dead-letters.ndjson", operator, pageKind, false, s.fromOwnPages(s.lettersNDJSON)},
		{"GET", "/dead-letters/message", operator, pageKind, false, s.letter},
		{"POST", "/dead-letters/reveal", adminRole, pageKind, true, s.reveal},
		{"GET", "/dead-letters/download", adminRole, pageKind, false, s.fromOwnPages(s.download)},
		{"GET", "/dead-letters/edit", adminRole, pageKind, false, s.fromOwnPages(s.editForm)},
		{"POST", "/dead-letters/edit", adminRole, pageKind, true, s.edit},
		{"POST", "/dead-letters/plan", operator, pageKind, true, s.planMove},
		{"GET", "/moves/{id}", operator, pageKind, false, s.move},
		{"GET", "/moves/{id}/keys.csv", operator, pageKind, false, s.moveKeysCSV},
		{"POST", "/moves/{id}/change", operator, pageKind, true, s.changeMove},
		{"POST", "/moves/{id}/start", operator, pageKind, true, s.startMove},
		{"GET", "/moves/{id}/start", operator, pageKind, false, s.unstarted},
		{"GET", "/jobs", operator, pageKind, false, s.jobs},
		{"GET", "/jobs/{id}", operator, pageKind, false, s.job},
		{"GET", "/jobs/{id}/items", operator, pageKind, false, s.jobItems},
		{"GET", "/jobs/{id}/items.csv", operator, pageKind, false, s.jobItemsCSV},
		{"POST", "/jobs/{id}/pause", operator, pageKind, true, s.pauseJob},
		{"POST", "/jobs/{id}/resume", operator, pageKind, true, s.resumeJob},
		{"POST", "/jobs/{id}/cancel", operator, pageKind, true, s.cancelJob},
		{"POST", "/jobs/{id}/retry", operator, pageKind, true, s.retryJob},
		{"POST", "/jobs/{id}/again", operator, pageKind, true, s.againJob},
		{"GET", "/operations", operator, pageKind, false, s.operations},
		{"GET", "/operations/{id}", operator, pageKind, false, s.operation},
		{"GET", "/audit", operator, pageKind, false, s.auditPage},
		{"POST", "/pipelines/{name}/dead-letters/baseline", operator, pageKind, true, s.acknowledge},
		{"POST", "/pipelines/{name}/dead-letters/baseline/remove", operator, pageKind, true, s.forget},
		{"GET", "/alerts", viewer, pageKind, false, s.alertsPage},
		{"GET", "/alerts/rules", viewer, pageKind, false, s.rulesPage},
		{"GET", "/alerts/one", viewer, pageKind, false, s.alertPage},
		{"POST", "/alerts/acknowledge", operator, pageKind, true, s.acknowledgeAlert},
		{"POST", "/alerts/acknowledge-selected", operator, pageKind, true, s.acknowledgeSelected},
		{"POST", "/alerts/unacknowledge", operator, pageKind, true, s.unacknowledgeAlert},
		{"POST", "/alerts/test", operator, pageKind, true, s.testChannel},
		{"GET", "/silences", viewer, pageKind, false, s.silencesPage},
		{"GET", "/silences/new", viewer, pageKind, false, s.newSilence},
		{"POST", "/silences", operator, pageKind, true, s.makeSilence},
		{"POST", "/silences/{id}/expire", operator, pageKind, true, s.expireSilence},
		{"GET", "/docs", viewer, pageKind, false, s.guideIndex},
		{"GET", "/docs/{name}", viewer, pageKind, false, s.guide},
		{"GET", "/events", viewer, streamKind, false, s.events},

		{"GET", "/login", anybody, pageKind, false, s.loginForm},
		{"POST", "/login", anybody, pageKind, false, s.login},
		{"POST", "/logout", viewer, pageKind, false, s.logout},
		{"POST", "/logout-all", viewer, pageKind, false, s.logoutAll},
		{"GET", "/account", viewer, pageKind, false, s.account},
		{"POST", "/account/password", viewer, pageKind, false, s.changePassword},
		{"POST", "/settings", anybody, pageKind, false, s.settings},
		{"GET", "/welcome", anybody, pageKind, false, s.welcome},
		{"GET", "/setup", anybody, pageKind, false, s.setupForm},
		{"POST", "/setup", anybody, pageKind, false, s.setup},

		{"GET", "/api/v1/pipelines", viewer, apiKind, false, s.apiPipelines},
		{"GET", "/api/v1/pipelines/{name}", viewer, apiKind, false, s.apiPipeline},

		{"GET", "/api/v1/pipelines/{name}/markers", viewer, apiKind, false, s.apiMarkers},
		{"GET", "/api/v1/pipelines/{name}/effects", viewer, apiKind, false, s.apiEffects},
		{"GET", "/api/v1/pipelines/{name}/measurements", viewer, apiKind, false, s.apiMeasurements},
		{"POST", "/api/v1/pipelines/{name}/measurements", operator, apiKind, true, s.apiMeasure},
		{"GET", "/api/v1/measurements/{id}", viewer, apiKind, false, s.apiMeasurement},
		{"POST", "/api/v1/measurements/{id}/stop", operator, apiKind, true, s.apiStopMeasurement},
		{"GET", "/api/v1/lookup", viewer, apiKind, false, s.apiLookup},
		{"POST", "/api/v1/markers/plan", adminRole, apiKind, true, s.apiPlan},
		{"POST", "/api/v1/plans/{id}/execute", adminRole, apiKind, true, s.apiExecute},
		{"GET", "/api/v1/operations/{id}", operator, apiKind, false, s.apiOperation},
		{"GET", "/api/v1/marks", viewer, apiKind, false, s.apiMarks},
		{"POST", "/api/v1/marks", operator, apiKind, true, s.apiAddMark},
		{"GET", "/api/v1/audit", operator, apiKind, false, s.apiAudit},
		{"GET", "/api/v1/pipelines/{name}/dead-letters", viewer, apiKind, false, s.apiDeadLetters},
		{"POST", "/api/v1/pipelines/{name}/dead-letters/scan", operator, apiKind, true, s.apiScan},
		{"GET", "/api/v1/dead-letters/message", operator, apiKind, false, s.apiLetter},
		{"GET", "/api/v1/dead-letters/export", operator, apiKind, false, s.fromOwnPages(s.lettersNDJSON)},
		{"POST", "/api/v1/moves/plan", operator, apiKind, true, s.apiPlanMove},
		{"POST", "/api/v1/moves/{id}/start", operator, apiKind, true, s.apiStartMove},
		{"GET", "/api/v1/jobs", operator, apiKind, false, s.apiJobs},
		{"GET", "/api/v1/jobs/{id}", operator, apiKind, false, s.apiJob},
		{"GET", "/api/v1/jobs/{id}/items", operator, apiKind, false, s.apiJobItems},
		{"POST", "/api/v1/jobs/{id}/pause", operator, apiKind, true, s.apiPauseJob},
		{"POST", "/api/v1/jobs/{id}/resume", operator, apiKind, true, s.apiResumeJob},
		{"POST", "/api/v1/jobs/{id}/cancel", operator, apiKind, true, s.apiCancelJob},
		{"POST", "/api/v1/pipelines/{name}/dead-letters/baseline", operator, apiKind, true, s.apiAcknowledge},
		{"POST", "/api/v1/pipelines/{name}/dead-letters/baseline/remove", operator, apiKind, true, s.apiForget},

		{"GET", "/api/v1/alerts", viewer, apiKind, false, s.apiAlerts},
		{"GET", "/api/v1/alerts/one", viewer, apiKind, false, s.apiAlert},
		{"POST", "/api/v1/alerts/acknowledge", operator, apiKind, true, s.apiAcknowledgeAlert},
		{"POST", "/api/v1/alerts/unacknowledge", operator, apiKind, true, s.apiUnacknowledgeAlert},
		{"GET", "/api/v1/silences", viewer, apiKind, false, s.apiSilences},
		{"POST", "/api/v1/silences", operator, apiKind, true, s.apiAddSilence},
		{"POST", "/api/v1/silences/{id}/expire", operator, apiKind, true, s.apiExpireSilence},
		{"GET", "/api/v1/rules", viewer, apiKind, false, s.apiRules},

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
var echoPath = strings.NewReplacer("{name}", ":name", "{id}", ":id", "{file...}", "*")

// kindOf returns how an address that is not in the table answers.
func (s *Server) kindOf(path string) kind {
	below := strings.TrimPrefix(path, s.cfg.base())
	if strings.HasPrefix(below, "/api/") || below == "/metrics" || below == "/healthz" || below == "/readyz" || below == "/events" {
		return apiKind
	}
	return pageKind
}

// exposeMetrics answers in the Prometheus format.
func (s *Server) exposeMetrics(r *request) (response, error) {
	return standard{s.metrics.Handler()}, nil
}

// static serves the assets.
func (s *Server) static(r *request) (response, error) {
	return standard{http.StripPrefix(s.cfg.base(), static.Handler())}, nil
}
