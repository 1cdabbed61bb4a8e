package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
)

// slowLetters are dead letters at which a look takes its time.
type slowLetters struct {
	deadLetterService
	takes time.Duration
}

func (s slowLetters) Scan(ctx context.Context, who admin.Caller, req deadletter.ScanRequest) (deadletter.Scan, error) {
	<-time.After(s.takes)
	return s.deadLetterService.Scan(ctx, who, req)
}

func TestALookMayTakeLongerThanAPage(t *testing.T) {
	const pageMayTake = 100 * time.Millisecond
	s := newSite(t, nil, testUsers())
	s.deadLetters = slowLetters{s.deadLetters, 5 * pageMayTake}
	server := httptest.NewUnstartedServer(s.Handler())
	server.Config.WriteTimeout = pageMayTake
	server.Start()
	defer server.Close()
	form := url.Values{"queue": {inventoryDLQ}, "limit": {"100"}}.Encode()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+inventory+"/scan", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", s.signInAs("operator"))
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer res.Body.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if res.StatusCode != http.StatusSeeOther {
		t.Errorf("answered %s", res.Status)
	}
}
