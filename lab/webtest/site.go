// Package webtest serves the pages of one package to its tests, without the server around them.
package webtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// Hostile is a name that tries markup, the reading direction, a control character and a formula.
const Hostile = "<script>alert(1)</script>\u202e\x00=cmd|'/c calc'!A1"

// A Site has the routes of some pages. Routes that need a role answer others with 403, as the server does.
type Site struct {
	t      testing.TB
	routes *http.ServeMux
}

// An Answer is what a route answered: the error of its handler, or what it wrote.
type Answer struct {
	*httptest.ResponseRecorder
	Err error
}

// Refused is the kind of the error of a handler; empty where it had none.
func (a *Answer) Refused() dedup.Kind {
	if a.Err == nil {
		return ""
	}
	return dedup.KindOf(a.Err)
}

// New serves pages below no base path.
func New(t testing.TB, pages web.Pages) *Site {
	s := &Site{t: t, routes: http.NewServeMux()}
	site := web.Site{
		Masker: web.NewMasker(nil), Recheck: func() {},
		Frame: func(r *web.Request, title string) templates.Frame {
			return templates.Frame{Title: title, User: r.Who.Name, Role: r.Who.Role.String(), Zone: "UTC"}
		},
	}
	for _, route := range pages(site) {
		s.routes.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route) })
	}
	return s
}

type whoKey struct{}

func (s *Site) serve(w http.ResponseWriter, r *http.Request, route web.Route) {
	answer := w.(*Answer)
	who := r.Context().Value(whoKey{}).(auth.Principal)
	if !who.Can(route.Needs) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	request := &web.Request{Request: r, Who: who, Kind: route.Kind, ID: "test", From: netip.MustParseAddr("192.0.2.1")}
	response, err := route.Handler(request)
	for _, c := range request.Cookies {
		http.SetCookie(w, c)
	}
	if err == nil {
		err = response.Write(w, request)
	}
	answer.Err = err
}

func (s *Site) send(who auth.Principal, r *http.Request) *Answer {
	answer := &Answer{ResponseRecorder: httptest.NewRecorder()}
	s.routes.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), whoKey{}, who)))
	return answer
}

// Get asks for an address as somebody.
func (s *Site) Get(who auth.Principal, target string) *Answer {
	return s.send(who, httptest.NewRequest(http.MethodGet, target, nil))
}

// Post sends a form as somebody.
func (s *Site) Post(who auth.Principal, target string, form url.Values) *Answer {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.send(who, r)
}

// Page asks for a page that must be there.
func (s *Site) Page(who auth.Principal, target string) *goquery.Document {
	s.t.Helper()
	answer := s.Get(who, target)
	if answer.Err != nil || answer.Code != http.StatusOK {
		s.t.Fatalf("%s as %s: %d, %v", target, who.Role, answer.Code, answer.Err)
	}
	return answer.Page(s.t)
}

// Page reads the page of an answer. Nothing in it may run that a hostile name brought.
func (a *Answer) Page(t testing.TB) *goquery.Document {
	t.Helper()
	page, err := goquery.NewDocumentFromReader(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	if scripts := page.Find("main script, main img, main iframe, [onerror]"); scripts.Length() > 0 {
		t.Errorf("%d elements of the page are not its own", scripts.Length())
	}
	if strings.ContainsAny(page.Text(), "\u202e\x00") {
		t.Error("the page holds control characters of a name")
	}
	return page
}

// As is somebody with a role, signed in by a session.
func As(role auth.Role) auth.Principal {
	return auth.Principal{Name: role.String(), Role: role, Method: "session"}
}

// Text is the text of a part of a page, with its white space collapsed.
func Text(part *goquery.Selection) string { return strings.Join(strings.Fields(part.Text()), " ") }
