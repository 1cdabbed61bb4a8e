package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestBeforeTheFirstRoundAPipelineIsNotSaidToBeMissing: nothing was read yet, so that nothing can be told of any name.
func TestBeforeTheFirstRoundAPipelineIsNotSaidToBeMissing(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for _, path := range []string{
		"/pipelines/orders", "/pipelines/orders/markers", "/pipelines/orders/dead-letters", "/pipelines/orders/effects",
		"/api/v1/pipelines/orders", "/api/v1/pipelines/orders/effects",
	} {
		res := s.do(http.MethodGet, path, "", "Authorization", "Bearer "+adminToken)
		body := s.body(res)
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(body, "the first round has not ended") {
			t.Errorf("%s: %s, to be tried again after %q: %s", path, res.Status, res.Header.Get("Retry-After"), body)
		}
	}
	if res := s.do(http.MethodGet, "/pipelines/No%20Name", "", "Authorization", "Bearer "+adminToken); res.StatusCode != http.StatusNotFound {
		t.Errorf("what can be no name of a pipeline: %s", res.Status)
	}
}
