package server

import (
	"database/sql"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
)

// newestEntry returns the newest entry of the audit; its zero value if there is none.
func (s *site) newestEntry() admin.Entry {
	s.t.Helper()
	page, err := s.journal.Audit().Entries(s.t.Context(), admin.TrailQuery{Limit: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(page) == 0 {
		return admin.Entry{}
	}
	return page[0]
}

func signInForm(name, password string) string {
	return url.Values{"username": {name}, "password": {password}}.Encode()
}

func TestWhoComesInAndWhoIsTurnedAwayIsInTheAudit(t *testing.T) {
	for _, c := range []struct {
		name                 string
		ask                  func(s *site)
		action, phase        string
		who, target, because string
	}{
		{"a sign-in", func(s *site) { s.signInAs("viewer") }, "sign_in", admin.Succeeded, "viewer", "viewer", ""},
		{"a wrong password", func(s *site) { s.do("POST", "/login", signInForm("Viewer", "hunter2hunter2")) }, "sign_in", admin.Denied, "", "viewer", "the password is wrong"},
		{"a password typed as name", func(s *site) { s.do("POST", "/login", signInForm("hunter2hunter2", "viewer")) }, "sign_in", admin.Denied, "", "", "there is no account of that name"},
		{"a sign-out everywhere", func(s *site) {
			s.do("POST", "/logout-all", "", "Cookie", s.signInAs("viewer"))
		}, "sign_out_everywhere", admin.Succeeded, "viewer", "viewer", ""},
		{"a form of another site, sent by an admin's browser", func(s *site) {
			s.do("POST", "/jobs/j1/cancel", "a=b", "Cookie", s.signInAs("admin"), "Sec-Fetch-Site", "cross-site")
		}, "refused_request", admin.Denied, "admin", "POST /jobs/j1/cancel", "it came from another site"},
		{"a form without the role", func(s *site) {
			s.do("POST", "/markers/plan", "a=b", "Cookie", s.signInAs("viewer"))
		}, "refused_request", admin.Denied, "viewer", "POST /markers/plan", "it needs the role admin"},
		{"a call of the API without the role", func(s *site) { s.as("viewer", "POST", "/api/v1/markers/plan", "{}") }, "refused_request", admin.Denied, "v", "POST /api/v1/markers/plan", "it needs the role admin"},
		{"a call without credentials", func(s *site) { s.do("POST", "/api/v1/markers/plan", "{}") }, "refused_request", admin.Denied, "", "POST /api/v1/markers/plan", "it needs the role admin"},
		{"a token that is not known", func(s *site) {
			s.do("GET", "/api/v1/pipelines", "", "Authorization", "Bearer "+strings.Repeat("x", 64))
		}, "refused_request", admin.Denied, "", "GET /api/v1/pipelines", "the token is not known or has expired"},
		{"a token that has expired", func(s *site) { s.do("GET", "/metrics", "", "Authorization", "Bearer "+expiredToken) }, "refused_request", admin.Denied, "", "GET /metrics", "the token is not known or has expired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, nil, testUsers())
			c.ask(s)
			e := s.newestEntry()
			if e.Action != c.action || e.Phase != c.phase || e.Who != c.who || e.Target != c.target || e.Detail != c.because || e.From != "127.0.0.1" || e.Operation == "" {
				t.Errorf("the newest entry is %+v", e)
			}
		})
	}
}

func TestNothingThatWasTypedAsANameIsRecorded(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.do("POST", "/login", signInForm("my-secret-password", "x"))
	s.do("POST", "/login", signInForm("viewer", "my-secret-password"))
	entries, err := s.journal.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 100})
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if strings.Contains(strings.Join([]string{e.Who, e.Target, e.Detail}, " "), "secret") {
			t.Errorf("%+v", e)
		}
	}
}

func TestReadingAndSigningInWorkWhileTheAuditTakesNoEntry(t *testing.T) {
	s := newSite(t, nil, testUsers())
	file, err := sql.Open("sqlite", filepath.Join(s.dir, "audit.db")) // the driver of the journal
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.ExecContext(t.Context(), "DROP TABLE audit"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	cookie := s.signInAs("operator")
	if res := s.do("GET", "/", "", "Cookie", cookie); res.StatusCode != http.StatusOK {
		t.Errorf("the overview: %s", res.Status)
	}
	if s.gate.Refused() == "" {
		t.Error("the alert audit_refused does not learn of it")
	}
}
