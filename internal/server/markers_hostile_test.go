package server

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// TestHostileMarkersStayHarmlessOnEveryPage writes what attackers and accidents write into every part of a marker, and
// looks at each page that shows it.
func TestHostileMarkersStayHarmlessOnEveryPage(t *testing.T) {
	s := stocked(t, nil)
	huge := strings.Repeat("A", 1<<20)
	for i, evil := range append(hostile, "javascript:alert(1)//\u2066", huge) {
		key := "msg:evil" + string(rune('a'+i)) + evil
		s.shelf.Put(dedup.Sighting{
			Marker: dedup.Marker{Store: "orders", ID: evil, Key: key, State: dedup.Processing, Status: evil, BusinessKey: "evil", Owner: evil, Since: time.Now().Add(-time.Hour), Detail: evil},
			Type:   "string", Value: []byte(evil), ExpiresMillis: dedup.NoExpiry, Retry: &dedup.RetryCounter{Key: evil, Value: evil},
		})
	}
	s.restock()
	paths := []string{"/pipelines/orders/markers", "/pipelines/orders/markers?state=no-expiry", "/lookup?id=evil", "/audit", "/operations", "/", "/pipelines/orders"}
	for _, evil := range hostile {
		paths = append(paths, "/pipelines/orders/markers?q="+url.QueryEscape(evil[:min(len(evil), 200)]), "/lookup?id="+url.QueryEscape(evil[:min(len(evil), 2000)]),
			"/audit?operation="+url.QueryEscape(evil[:min(len(evil), 100)]), web.MarkerAddress("", "orders", "msg:evila"+evil[:min(len(evil), 1000)]))
	}
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-all"}, "list": {"processing"}})
	s.harmless(t, at)
	res := s.as("admin", "POST", at+"/execute", url.Values{"reason": {`<script>alert(1)</script> & "quotes"`}}.Encode())
	operation := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %.300s", res.Status, s.body(res))
	}
	s.ended(operation)
	for _, path := range append(paths, operation) {
		s.harmless(t, path)
	}
}

// harmless looks at a page for what must never be in it outside the values of form fields.
func (s *site) harmless(t *testing.T, path string) {
	t.Helper()
	res := s.as("admin", "GET", path, "")
	body := regexp.MustCompile(`\svalue="[^"]*"`).ReplaceAllString(s.body(res), "")
	if res.StatusCode >= 500 {
		t.Errorf("%.80q: %s", path, res.Status)
	}
	for _, bad := range []string{"<script>", "<img src=x", "\u202e", "\u2066", "\x00", "\x1b", "\u200b", "\ufeff", "\ufffd", ` href="javascript:`, " style="} {
		if at := strings.Index(body, bad); at >= 0 {
			t.Errorf("%.80q shows %q: %q", path, bad, body[max(0, at-80):min(len(body), at+40)])
		}
	}
	most := 200_000
	if strings.Contains(path, "/dead-letters/message?") { // which shows its headers whole
		most += letter.ShownHeaders
	}
	if len(body) > most {
		t.Errorf("%.80q: %d bytes", path, len(body))
	}
}
