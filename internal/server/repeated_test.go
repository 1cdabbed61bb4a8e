package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/page/alert"
)

// TestAParameterThatIsGivenTwiceMeansEitherValue: the API kept the first tier alone, and emergencies were missing from the answer.
func TestAParameterThatIsGivenTwiceMeansEitherValue(t *testing.T) {
	s := stocked(t, nil)
	names := func(query string) []string {
		var body api.PipelinesJSON
		s.decode(s.as("viewer", "GET", "/api/v1/pipelines?"+query, ""), http.StatusOK, &body)
		var all []string
		for _, p := range body.Pipelines {
			all = append(all, p.Name)
		}
		slices.Sort(all)
		return all
	}
	both := func(a, b string) []string {
		all := append(names(a), names(b)...)
		slices.Sort(all)
		return slices.Compact(all)
	}
	for _, pair := range [][2]string{{"tier=severe", "tier=emergency"}, {"risk=high", "risk=low"}, {"label=team%3Dshop", "label=team%3Dnone"}} {
		got, want := names(pair[0]+"&"+pair[1]), both(pair[0], pair[1])
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s and %s select %v, each alone %v", pair[0], pair[1], got, want)
		}
	}
	if got := names("tier=severe,emergency"); !slices.Equal(got, both("tier=severe", "tier=emergency")) {
		t.Errorf("with a comma: %v", got)
	}
}

// TestAParameterOfOneValueIsRefusedWhenItIsGivenTwice: one of the values would be left out unsaid.
func TestAParameterOfOneValueIsRefusedWhenItIsGivenTwice(t *testing.T) {
	s := stocked(t, nil)
	for _, path := range []string{
		"/?q=a&q=b", "/?label=a%3Db&label=a%3Dc", "/alerts?rule=a&rule=b", "/alerts?pipeline=a&pipeline=b", "/audit?who=a&who=b", "/pipelines/orders?range=1h&range=6h",
		"/pipelines/orders/chart.csv?chart=rate&chart=latency", "/pipelines/orders/markers?state=failed&state=processing", "/pipelines/orders/markers.csv?state=failed&state=done",
		"/lookup?id=a&id=b", "/api/v1/pipelines?sort=name&sort=tier", "/api/v1/alerts?page=1&page=2", "/api/v1/audit?outcome=failed&outcome=succeeded", "/api/v1/marks?pipeline=a&pipeline=b",
		"/api/v1/lookup?id=a&id=b", inventory + "?queue=a&queue=b", inventory + ".csv?scan=a&scan=b", "/alerts?tz=UTC&tz=Asia/Shanghai", "/login?next=/&next=//x",
	} {
		res := s.as("operator", "GET", path, "")
		at, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		if body := s.body(res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "2 times: it takes one value") {
			t.Errorf("%s: %s", path, res.Status)
		} else if name := at.RawQuery[:strings.Index(at.RawQuery, "=")]; !strings.Contains(body, "parameter "+name+" was given") {
			t.Errorf("%s: the parameter is not named", path)
		}
	}
	for _, path := range []string{"/?tier=severe&tier=emergency", "/alerts?tier=severe&tier=emergency&state=firing&state=pending", "/silences/new?label=a&label=b&op=%3D&op=%3D&value=1&value=2"} {
		if res := s.as("operator", "GET", path, ""); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// TestAnErrorPageKeepsTheNavigation: an address that there is not looked like that of somebody who had been signed out.
func TestAnErrorPageKeepsTheNavigation(t *testing.T) {
	s := stocked(t, nil)
	cookie := s.signInAs("viewer")
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/nothing/here", http.StatusNotFound}, {"GET", "/pipelines/UPPER", http.StatusNotFound}, {"GET", "/pipelines/none", http.StatusNotFound},
		{"DELETE", "/alerts", http.StatusMethodNotAllowed}, {"GET", "/?tier=nonsense", http.StatusBadRequest},
	} {
		res := s.do(c.method, c.path, "", "Cookie", cookie)
		nav := s.parsed(res).Find("nav[aria-label=Pages] a")
		if res.StatusCode != c.status || nav.Length() < 3 {
			t.Errorf("%s %s: %s, %d ways", c.method, c.path, res.Status, nav.Length())
		}
		anonymous := s.do(c.method, c.path, "")
		if n := s.parsed(anonymous).Find("nav[aria-label=Pages]").Length(); n != 0 {
			t.Errorf("%s %s: nobody sees the navigation", c.method, c.path)
		}
	}
}

// TestWhatIsAcknowledgedIsSaidOnTheTilesAndNeedsNobody: banner, tiles and tab counted three different things.
func TestWhatIsAcknowledgedIsSaidOnTheTilesAndNeedsNobody(t *testing.T) {
	s := night(t)
	tab := func() string { return apart(s.page("viewer", "/alerts").Find(".tabs a").First()) }
	if got := tab(); got != "need eyes 3" {
		t.Errorf("before: %q", got)
	}
	values := hiddenFields(s.page("operator", "/alerts/one?key="+url.QueryEscape(rateKey)).Find("form[action$='/alerts/acknowledge']"))
	values.Set("for", "1h")
	if res := s.as("operator", "POST", "/alerts/acknowledge", values.Encode()); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %.300s", res.Status, s.body(res))
	}
	if got := tab(); got != "need eyes 2" {
		t.Errorf("after: %q", got)
	}
	if row := alertRowOf(s.page("viewer", "/alerts?state=firing"), rateKey); !strings.Contains(row, "Acknowledged by") {
		t.Errorf("among those that fire: %q", row)
	}
	tile := apart(s.page("viewer", "/").Find(".tile.t-emergency"))
	if !strings.Contains(tile, "1 acknowledged") {
		t.Errorf("the tile says %q", tile)
	}
	var body alert.ListJSON
	s.api("/api/v1/alerts", &body)
	if body.Total != 5 {
		t.Errorf("the API, which says by itself what is acknowledged, lists %d", body.Total)
	}
}

func TestAQueryThatCannotBeReadWholeIsRefused(t *testing.T) {
	s := stocked(t, nil)
	for _, path := range []string{inventory + ".csv?scan=1&filter=type:a;b", inventory + "?queue=a&filter=reason:%zz", "/alerts?tier=%zz", "/api/v1/alerts?tier=severe;tier=emergency", "/?q=a;b"} {
		res := s.as("operator", "GET", path, "")
		if body := s.body(res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "cannot be read behind its question mark") {
			t.Errorf("%s: %s %.200s", path, res.Status, body)
		}
	}
}
