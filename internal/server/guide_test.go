package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestTheDocumentationIsForViewersAndHoldsNothingElse(t *testing.T) {
	s := newSite(t, nil, testUsers())
	if res := s.do("GET", "/docs/figures", ""); res.StatusCode == http.StatusOK {
		t.Error("somebody who is not signed in can read it")
	}
	cookie := s.signInAs("viewer")
	for path, want := range map[string]int{
		"/docs": http.StatusOK, "/docs/figures": http.StatusOK, "/docs/nothing": http.StatusNotFound,
		"/docs/..%2fREADME": http.StatusNotFound, "/docs/docs.go": http.StatusNotFound, "/docs/figures.md": http.StatusNotFound,
	} {
		res := s.do("GET", path, "", "Cookie", cookie)
		if res.StatusCode != want {
			t.Errorf("%s answers %d, want %d", path, res.StatusCode, want)
		}
		if body := s.body(res); path == "/docs" && !strings.Contains(body, `href="/docs/figures"`) {
			t.Error("the index does not lead to the pages")
		}
	}
}
