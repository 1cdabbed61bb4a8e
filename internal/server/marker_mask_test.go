package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// canary is part of a value, of what stands in the place of a status, and of the token of a lock.
const canary = "c4n4ry-4111"

// withCanary puts markers that hold the canary in every place where a value may show on the shelf and into the last pass.
func (s *site) withCanary() {
	now := time.Now()
	locked := dedup.Marker{Store: "orders", ID: "locked", Key: "msg:locked", BusinessKey: "order:locked", State: dedup.Processing, Owner: canary + "-token", Since: now.Add(-time.Hour)}
	odd := dedup.Marker{
		Store: "orders", ID: "odd", Key: "msg:odd", BusinessKey: "order:odd", State: dedup.StateUnknown, Status: canary, Owner: canary,
		Detail: "no state has the value", Sample: `"card=` + canary + `"`,
	}
	failed := locked
	failed.ID, failed.Key, failed.State = "failed", "msg:failed", dedup.Failed
	for _, m := range []dedup.Marker{locked, odd, failed} {
		s.shelf.Put(dedup.Sighting{Marker: m, Type: "string", Value: []byte("card=" + canary), ExpiresMillis: dedup.NoExpiry})
	}
	s.restock()
	st, _ := s.snapshots.Snapshot().Store("orders")
	pass := st.Stats.Pass
	pass.Undecodable = []dedup.Marker{odd}
	pass.FailedMarkers = []dedup.Marker{failed}
	pass.Permanent = append(pass.Permanent, odd)
	pass.GaveUpMarkers = append(pass.GaveUpMarkers, failed)
}

// addresses are every address behind a GET route that may show a marker of the canary.
func addresses(path string) []string {
	filled := strings.NewReplacer("{name}", "orders", "{id}", "none", "{file...}", "app.css").Replace(path)
	switch path {
	case "/pipelines/{name}/markers", "/pipelines/{name}/markers.csv", "/api/v1/pipelines/{name}/markers":
		var all []string
		for _, list := range []string{"processing", "failed", "no-expiry", "gave-up", "done", "present", "unknown"} {
			all = append(all, filled+"?state="+list, filled+"?state="+list+"&q=order")
		}
		return all
	case "/markers/one":
		return []string{web.MarkerAddress("", "orders", "msg:locked"), web.MarkerAddress("", "orders", "msg:odd"), web.MarkerAddress("", "orders", "msg:failed")}
	case "/lookup", "/api/v1/lookup":
		return []string{filled + "?id=locked", filled + "?id=order:locked", filled + "?id=odd"}
	case "/events":
		return []string{filled + "?topics=overview"}
	default:
		return []string{filled}
	}
}

// TestNoPartOfAValueReachesViewersOrOperatorsByAnyRoute walks every route that answers GET, in every form that shows markers.
func TestNoPartOfAValueReachesViewersOrOperatorsByAnyRoute(t *testing.T) {
	s := stocked(t, nil)
	s.withCanary()
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {web.EncodeKey("msg:failed")}})
	operation := s.as("admin", "POST", at+"/execute", url.Values{"reason": {"to have it in the audit"}}.Encode()).Header.Get("Location")
	if got := oneLine(s.ended(operation).Find("h1")); got != "Cleared 1 of 1 marker" {
		t.Fatalf("the result is %q", got)
	}
	s.withCanary()
	seenByAdmin := map[string]bool{}
	for _, route := range slices.Sorted(maps.Keys(wanted)) {
		method, path, _ := strings.Cut(route, " ")
		if method != http.MethodGet {
			continue
		}
		for _, at := range append(addresses(path), strings.Replace(path, "/operations/{id}", operation, 1)) {
			for _, role := range []string{"viewer", "operator"} {
				if body := s.body(s.as(role, "GET", at, "")); strings.Contains(body, canary) {
					i := strings.Index(body, canary)
					t.Errorf("%s sees on %s: …%s…", role, at, body[max(0, i-120):min(len(body), i+40)])
				}
			}
			seenByAdmin[path] = seenByAdmin[path] || strings.Contains(s.body(s.as("admin", "GET", at, "")), canary)
		}
	}
	for _, path := range []string{"/pipelines/{name}", "/pipelines/{name}/markers", "/pipelines/{name}/markers.csv", "/markers/one", "/lookup", "/api/v1/pipelines/{name}/markers", "/api/v1/lookup"} {
		if !seenByAdmin[path] {
			t.Errorf("no admin sees the canary on %s: the test proves nothing there", path)
		}
	}
}

func TestTheAPIGivesNoPartOfAValueToAnybody(t *testing.T) {
	s := stocked(t, nil)
	s.withCanary()
	for _, at := range []string{"/api/v1/pipelines/orders/markers?state=unknown", "/api/v1/lookup?id=odd"} {
		body := s.body(s.as("admin", "GET", at, ""))
		if strings.Contains(body, "card=") || !strings.Contains(body, "no state has the value") {
			t.Errorf("%s: %.600s", at, body)
		}
	}
}

func TestAMarkerIsMaskedByRole(t *testing.T) {
	who := func(role auth.Role) auth.Principal { return auth.Principal{Name: "x", Role: role} }
	odd := dedup.Marker{State: dedup.StateUnknown, Status: "4111", Detail: "no state has the value", Sample: `"card=4111 x"`}
	for role, want := range map[auth.Role]string{
		auth.Viewer: "no state has the value", auth.Operator: `no state has the value: "xxxx=0000 x"`, auth.Admin: `no state has the value: "card=4111 x"`,
	} {
		m := web.NewMasker(nil).Masked(odd, who(role))
		if got := web.DetailText(m); got != want || (m.Status == "4111") != (role == auth.Admin) {
			t.Errorf("%s sees %q, status %q", role, got, m.Status)
		}
	}
	const holder = "5f0c19ab-7d3e-4b7e-9c1f-2b0a6f3d91aa:67"
	for owner, want := range map[string]string{
		"": "", holder: holder, holder + ", " + holder: holder + ", " + holder,
		"token": "keyed:40e4e06d83a4, 5 bytes", holder + "\ntoken": "keyed:", "a": "keyed:",
	} {
		for _, role := range []auth.Role{auth.Viewer, auth.Operator} {
			if got := web.NewMasker([]byte("k")).Masked(dedup.Marker{State: dedup.Processing, Owner: owner}, who(role)).Owner; !strings.HasPrefix(got, want) || owner == "" && got != "" {
				t.Errorf("%s sees the owner %q as %q", role, owner, got)
			}
		}
		if got := web.NewMasker([]byte("k")).Masked(dedup.Marker{Owner: owner}, who(auth.Admin)).Owner; got != owner {
			t.Errorf("an admin sees the owner %q as %q", owner, got)
		}
	}
}

func TestThePipelinesPageReadsMarkersByTheStoresClock(t *testing.T) {
	const ahead = 8 * time.Hour
	s := stocked(t, nil)
	st, _ := s.snapshots.Snapshot().Store("orders")
	now := time.Now()
	st.Stats.Pass.ClockOffset = ahead
	st.Stats.Pass.OldestProcessing = []dedup.Marker{{Key: "msg:a", State: dedup.Processing, Since: now.Add(ahead - 2*time.Minute), Expires: now.Add(ahead + 3*time.Minute + 30*time.Second)}}
	st.Stats.Pass.Undecodable = []dedup.Marker{{Key: "msg:b", State: dedup.StateUnknown, Since: now.Add(ahead - 40*time.Minute)}}
	doc := s.page("viewer", "/pipelines/orders")
	if got := oneLine(doc.Find("[aria-label='Table of the longest processing markers'] .life")); !strings.HasPrefix(got, "2 m") || !strings.Contains(got, "3 m") || !strings.Contains(got, "left") {
		t.Errorf("a marker that is 2 minutes old in a store that is 8 hours ahead lives %q", got)
	}
	if got := oneLine(doc.Find("[aria-label='Table of markers that could not be decoded'] .life")); !strings.HasPrefix(got, "40 m") {
		t.Errorf("one that is 40 minutes old lives %q", got)
	}
	if href, _ := doc.Find("[aria-label='Table of the longest processing markers'] a").Attr("href"); href != "/markers/one?"+(url.Values{"store": {"orders"}, "key": {"msg:a"}}).Encode() {
		t.Errorf("its link leads to %q", href)
	}
}
