package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/server/web"
)

// newestDeath is the newest death in the orders' dead-letter queue, of which the test filters.
func (s *site) newestDeath(doc string) time.Time {
	s.t.Helper()
	var newest time.Time
	times := s.page("operator", doc).Find(".letters .c-died > time")
	for i := range times.Length() {
		text, _ := times.Eq(i).Attr("datetime")
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			s.t.Fatalf("%q: %v", text, err)
		}
		if at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() {
		s.t.Fatal("no time of a death is on the page")
	}
	return newest
}

// TestAFilterOnAPageIsReadInTheZoneOfThePage: what a page shows can be typed back, and the review says how it was read.
func TestAFilterOnAPageIsReadInTheZoneOfThePage(t *testing.T) {
	s := stocked(t, nil)
	s.looked("inventory", inventoryDLQ, "100")
	list := inventory + "?queue=" + inventoryDLQ
	newest := s.newestDeath(list)
	for _, name := range []string{"America/New_York", "Asia/Shanghai", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		cookie := web.ZoneCookie + "=" + name
		typed := "after:" + newest.In(zone).Format("2006-01-02 15:04:05")
		res := s.as("operator", "GET", list+"&filter="+url.QueryEscape(typed), "", "Cookie", cookie)
		to, err := res.Location()
		if res.StatusCode != http.StatusSeeOther || err != nil {
			t.Fatalf("%s: a filter with a time of the zone is not written out: %s", name, res.Status)
		}
		frozen := to.Query().Get("filter")
		if at, err := time.Parse(time.RFC3339, strings.TrimPrefix(frozen, "after:")); err != nil || !at.Equal(newest) {
			t.Errorf("%s: %q becomes %q", name, typed, frozen)
		}
		page := s.parsed(s.as("operator", "GET", to.RequestURI(), "", "Cookie", cookie))
		if read := page.Find(".filter-read").Text(); !strings.Contains(read, newest.UTC().Format("2 Jan 2006 15:04:05 UTC")) || !strings.Contains(read, name) {
			t.Errorf("%s: the page says that the filter was read as %q", name, read)
		}
		form := hiddenFields(page.Find("form.act"))
		if form.Get("filter") != frozen {
			t.Errorf("%s: the form of the page sends %q", name, form.Get("filter"))
		}
		form.Set("do", "requeue-all")
		// The review of a colleague elsewhere shows the same time, in the zone of that colleague.
		at := s.as("operator", "POST", "/dead-letters/plan", form.Encode(), "Cookie", cookie).Header.Get("Location")
		review := apart(s.parsed(s.as("operator", "GET", at, "", "Cookie", web.ZoneCookie+"=Asia/Kathmandu")).Find("main"))
		if !strings.Contains(review, "Asia/Kathmandu") || !strings.Contains(review, newest.UTC().Format("2 Jan 2006 15:04:05 UTC")) || !strings.Contains(review, frozen) {
			t.Errorf("%s: the review says %.600s", name, review)
		}
	}
}

func TestTheAPIReadsTimesInUTCUnlessAZoneIsGiven(t *testing.T) {
	s := stocked(t, nil)
	s.looked("inventory", inventoryDLQ, "100")
	path := "/api/v1" + inventory + "?queue=" + inventoryDLQ + "&filter=" + url.QueryEscape("after:2026-11-23 12:07")
	shanghai := web.ZoneCookie + "=Asia/Shanghai" // of a browser in which the address is opened
	for query, want := range map[string]string{"": "after:2026-11-23T12:07:00Z", "&tz=America/New_York": "after:2026-11-23T12:07:00-05:00"} {
		var body struct{ Scan *struct{ Filter string } }
		s.decode(s.as("operator", "GET", path+query, "", "Cookie", shanghai), http.StatusOK, &body)
		if body.Scan == nil || body.Scan.Filter != want {
			t.Errorf("with %q the filter is read as %+v", query, body.Scan)
		}
	}
	for _, bad := range []string{"&tz=Mars/Olympus", "&tz=../etc/passwd"} {
		if res := s.as("operator", "GET", path+bad, ""); res.StatusCode != http.StatusBadRequest || !strings.Contains(s.body(res), "parameter tz must be a time zone") {
			t.Errorf("%s: %s", bad, res.Status)
		}
	}
	if res := s.as("operator", "GET", "/?tz=Mars/Olympus", ""); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a page in a zone that there is not: %s", res.Status)
	}
}
