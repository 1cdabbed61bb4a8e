package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/lab/demo"
)

// TestABadParameterIsOfTheAddress: a page that was asked for does nothing, so that nothing "cannot be done".
func TestABadParameterIsOfTheAddress(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(demo.Scene("mixed", time.Now()))
	res := s.do(http.MethodGet, "/pipelines/orders?range=9y", "", "Authorization", "Bearer "+viewerToken)
	if body := s.body(res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "Bad address") || strings.Contains(body, "That cannot be done") {
		t.Errorf("%s: %s", res.Status, body)
	}
}
