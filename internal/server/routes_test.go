package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/web"
)

// wanted is what each route needs, written down a second time: a route that is added, or whose role changes, must be
// changed here too, by somebody who thinks about it.
var wanted = map[string]auth.Role{
	"GET /":                                               auth.Viewer,
	"GET /pipelines/{name}":                               auth.Viewer,
	"GET /pipelines/{name}/chart.csv":                     auth.Viewer,
	"GET /docs":                                           auth.Viewer,
	"GET /docs/{name}":                                    auth.Viewer,
	"GET /events":                                         auth.Viewer,
	"GET /login":                                          auth.Nobody,
	"POST /login":                                         auth.Nobody,
	"POST /logout":                                        auth.Viewer,
	"POST /logout-all":                                    auth.Viewer,
	"GET /account":                                        auth.Viewer,
	"POST /account/password":                              auth.Viewer,
	"POST /settings":                                      auth.Nobody,
	"GET /welcome":                                        auth.Nobody,
	"GET /setup":                                          auth.Nobody,
	"POST /setup":                                         auth.Nobody,
	"GET /pipelines/{name}/markers":                       auth.Viewer,
	"GET /pipelines/{name}/markers.csv":                   auth.Viewer,
	"GET /pipelines/{name}/effects":                       auth.Viewer,
	"GET /pipelines/{name}/effects.csv":                   auth.Viewer,
	"GET /api/v1/pipelines/{name}/effects":                auth.Viewer,
	"GET /pipelines/{name}/measurements":                  auth.Viewer,
	"POST /pipelines/{name}/measurements":                 auth.Operator,
	"GET /measurements/{id}":                              auth.Viewer,
	"GET /measurements/{id}/repeated.csv":                 auth.Viewer,
	"POST /measurements/{id}/stop":                        auth.Operator,
	"GET /api/v1/pipelines/{name}/measurements":           auth.Viewer,
	"POST /api/v1/pipelines/{name}/measurements":          auth.Operator,
	"GET /api/v1/measurements/{id}":                       auth.Viewer,
	"POST /api/v1/measurements/{id}/stop":                 auth.Operator,
	"GET /markers/one":                                    auth.Viewer,
	"GET /lookup":                                         auth.Viewer,
	"POST /markers/plan":                                  auth.Admin,
	"GET /plans/{id}":                                     auth.Admin,
	"POST /plans/{id}/execute":                            auth.Admin,
	"GET /operations":                                     auth.Operator,
	"GET /operations/{id}":                                auth.Operator,
	"GET /audit":                                          auth.Operator,
	"GET /api/v1/pipelines/{name}/markers":                auth.Viewer,
	"GET /api/v1/lookup":                                  auth.Viewer,
	"POST /api/v1/markers/plan":                           auth.Admin,
	"POST /api/v1/plans/{id}/execute":                     auth.Admin,
	"GET /api/v1/operations/{id}":                         auth.Operator,
	"GET /api/v1/audit":                                   auth.Operator,
	"GET /api/v1/marks":                                   auth.Viewer,
	"POST /api/v1/marks":                                  auth.Operator,
	"GET /api/v1/overview":                                auth.Viewer,
	"GET /api/v1/dead-letters":                            auth.Viewer,
	"GET /api/v1/operations":                              auth.Operator,
	"GET /api/v1/pipelines":                               auth.Viewer,
	"GET /api/v1/pipelines/{name}":                        auth.Viewer,
	"GET /metrics":                                        auth.Viewer,
	"GET /alerts":                                         auth.Viewer,
	"GET /alerts/one":                                     auth.Viewer,
	"GET /alerts/rules":                                   auth.Viewer,
	"POST /alerts/acknowledge":                            auth.Operator,
	"POST /alerts/acknowledge-selected":                   auth.Operator,
	"POST /alerts/unacknowledge":                          auth.Operator,
	"POST /alerts/test":                                   auth.Operator,
	"GET /silences":                                       auth.Viewer,
	"GET /silences/new":                                   auth.Viewer,
	"POST /silences":                                      auth.Operator,
	"POST /silences/{id}/expire":                          auth.Operator,
	"GET /api/v1/alerts":                                  auth.Viewer,
	"GET /api/v1/alerts/one":                              auth.Viewer,
	"POST /api/v1/alerts/acknowledge":                     auth.Operator,
	"POST /api/v1/alerts/unacknowledge":                   auth.Operator,
	"GET /api/v1/silences":                                auth.Viewer,
	"POST /api/v1/silences":                               auth.Operator,
	"POST /api/v1/silences/{id}/expire":                   auth.Operator,
	"GET /api/v1/rules":                                   auth.Viewer,
	"GET /healthz":                                        auth.Nobody,
	"GET /readyz":                                         auth.Nobody,
	"GET /static/{file...}":                               auth.Nobody,
	"GET /dead-letters":                                   auth.Viewer,
	"GET /pipelines/{name}/dead-letters":                  auth.Viewer,
	"POST /pipelines/{name}/dead-letters/scan":            auth.Operator,
	"GET /pipelines/{name}/dead-letters.csv":              auth.Operator,
	"GET /pipelines/{name}/dead-letters.ndjson":           auth.Operator,
	"GET /dead-letters/message":                           auth.Operator,
	"POST /dead-letters/reveal":                           auth.Admin,
	"GET /dead-letters/download":                          auth.Admin,
	"GET /dead-letters/edit":                              auth.Admin,
	"POST /dead-letters/edit":                             auth.Admin,
	"POST /dead-letters/plan":                             auth.Operator,
	"GET /moves/{id}":                                     auth.Operator,
	"GET /moves/{id}/keys.csv":                            auth.Operator,
	"POST /moves/{id}/change":                             auth.Operator,
	"POST /moves/{id}/start":                              auth.Operator,
	"GET /moves/{id}/start":                               auth.Operator,
	"GET /jobs":                                           auth.Operator,
	"GET /jobs/{id}":                                      auth.Operator,
	"GET /jobs/{id}/items":                                auth.Operator,
	"GET /jobs/{id}/items.csv":                            auth.Operator,
	"POST /jobs/{id}/pause":                               auth.Operator,
	"POST /jobs/{id}/resume":                              auth.Operator,
	"POST /jobs/{id}/cancel":                              auth.Operator,
	"POST /jobs/{id}/retry":                               auth.Operator,
	"POST /jobs/{id}/again":                               auth.Operator,
	"GET /api/v1/pipelines/{name}/dead-letters":           auth.Viewer,
	"POST /api/v1/pipelines/{name}/dead-letters/scan":     auth.Operator,
	"GET /api/v1/dead-letters/message":                    auth.Operator,
	"GET /api/v1/dead-letters/export":                     auth.Operator,
	"POST /api/v1/moves/plan":                             auth.Operator,
	"POST /api/v1/moves/{id}/start":                       auth.Operator,
	"GET /api/v1/jobs":                                    auth.Operator,
	"GET /api/v1/jobs/{id}":                               auth.Operator,
	"GET /api/v1/jobs/{id}/items":                         auth.Operator,
	"POST /api/v1/jobs/{id}/pause":                        auth.Operator,
	"POST /api/v1/jobs/{id}/resume":                       auth.Operator,
	"POST /api/v1/jobs/{id}/cancel":                       auth.Operator,
	"POST /pipelines/{name}/dead-letters/baseline":        auth.Operator,
	"POST /pipelines/{name}/dead-letters/baseline/remove": auth.Operator,
	"POST /api/v1/pipelines/{name}/dead-letters/baseline": auth.Operator,
	"POST /api/v1/pipelines/{name}/dead-letters/baseline/remove": auth.Operator,
}

func TestEveryRouteIsExpected(t *testing.T) {
	s := newSite(t, nil, testUsers())
	seen := map[string]bool{}
	for _, rt := range s.routes() {
		key := rt.Method + " " + rt.Path
		needs, ok := wanted[key]
		if !ok {
			t.Errorf("%s is not in the list of expected routes", key)
		}
		if needs != rt.Needs {
			t.Errorf("%s needs %s, expected %s", key, rt.Needs, needs)
		}
		seen[key] = true
	}
	for key := range wanted {
		if !seen[key] {
			t.Errorf("%s is expected and does not exist", key)
		}
	}
}

// TestEveryRouteForEveryRoleAndMethod walks the whole table. Denied means 401, 403 or a redirect to the sign-in page;
// a method that is not in the table must be 405 for everybody.
func TestEveryRouteForEveryRoleAndMethod(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(sampleSnapshot())
	methods := []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"}
	paths := map[string]bool{}
	for key := range wanted {
		_, path, _ := strings.Cut(key, " ")
		paths[path] = true
	}
	for _, who := range s.everybody() {
		for path := range paths {
			for _, method := range methods {
				s.checkAccess(t, who, method, path)
				if path == "/logout-all" && method == "POST" && who.account != "" {
					who.headers = s.browser(who.account)
				}
			}
		}
	}
}

// visitor is somebody who asks.
type visitor struct {
	name    string
	role    auth.Role
	headers []string
	// account is whose session it is; empty for none.
	account string
}

// browser returns what the browser of somebody sends who signed in and follows links on our pages.
func (s *site) browser(account string) []string {
	return []string{"Cookie", s.signInAs(account), "Sec-Fetch-Site", "same-origin"}
}

func (s *site) everybody() []visitor {
	return []visitor{
		{"nobody", auth.Nobody, nil, ""},
		{"a made-up session", auth.Nobody, []string{"Cookie", "dedup_session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}, ""},
		{"a viewer", auth.Viewer, s.browser("viewer"), "viewer"},
		{"an operator", auth.Operator, s.browser("operator"), "operator"},
		{"an admin", auth.Admin, s.browser("admin"), "admin"},
		{"a viewer's token", auth.Viewer, []string{"Authorization", "Bearer " + viewerToken}, ""},
		{"an operator's token", auth.Operator, []string{"Authorization", "bearer " + operatorToken}, ""},
		{"an admin's token", auth.Admin, []string{"Authorization", "Bearer " + adminToken}, ""},
	}
}

func (s *site) checkAccess(t *testing.T, who visitor, method, path string) {
	t.Helper()
	needs, exists := wanted[method+" "+path]
	if method == "HEAD" {
		needs, exists = wanted["GET "+path]
	}
	target := strings.NewReplacer("{name}", "orders", "{id}", "none", "{file...}", "app.css").Replace(path)
	if path == "/events" {
		target += "?topics=overview"
	}
	headers := who.headers
	ends := method == "POST" && strings.HasPrefix(path, "/logout")
	if ends && who.account != "" {
		headers = s.browser(who.account)
	}
	res := s.do(method, target, "", headers...)
	what := who.name + ": " + method + " " + path
	if !exists {
		if res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s, expected 405", what, res.Status)
		}
		return
	}
	if want := who.role < needs; s.denied(path, res) != want {
		t.Errorf("%s: %s (Location %q), expected denied to be %t", what, res.Status, res.Header.Get("Location"), want)
	}
	if res.StatusCode >= 500 && path != "/readyz" {
		t.Errorf("%s: %s", what, res.Status)
	}
}

// denied reports whether the answer refuses for lack of a role. Sign-out ends on the sign-in page too: there the cookie that
// is taken back tells the two apart.
func (s *site) denied(path string, res *http.Response) bool {
	toLogin := res.StatusCode == http.StatusSeeOther && strings.HasPrefix(res.Header.Get("Location"), "/login")
	switch path {
	case "/setup", "/welcome", "/login":
		return false // public: their own refusals are about the link
	case "/logout", "/logout-all":
		ended := slices.ContainsFunc(res.Cookies(), func(c *http.Cookie) bool { return c.MaxAge < 0 })
		return toLogin && !ended
	default:
		return toLogin || res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	}
}

func TestReadOnlyRemovesWhatActs(t *testing.T) {
	all := []web.Route{{Method: "GET", Path: "/"}, {Method: "POST", Path: "/clear", Acts: true}}
	if got := served(all, true); len(got) != 1 || got[0].Path != "/" {
		t.Errorf("read-only serves %v", got)
	}
	if got := served(all, false); len(got) != 2 {
		t.Errorf("without read-only %v", got)
	}
}

func TestAFormOnlyRouteThatActsIsNeverGet(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for _, rt := range s.routes() {
		if rt.Acts && rt.Method == "GET" {
			t.Errorf("%s acts and answers GET", rt.Path)
		}
	}
}
