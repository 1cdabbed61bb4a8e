package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// TestAnUnknownValueOfAFilterIsRefusedWithWhatThereIs: an empty list would say that nothing of the kind is there.
func TestAnUnknownValueOfAFilterIsRefusedWithWhatThereIs(t *testing.T) {
	s := night(t)
	for _, tt := range []struct{ page, api, query, says string }{
		{"/audit", "/audit", "?action=nonsense", "The parameter action must be scan_dead_letters, "},
		{"/audit", "/audit", "?outcome=odd&who=bob", "The parameter outcome must be succeeded, failed, changed, unknown, intent, denied or planned."},
		{"/audit", "/audit", "?view=all", "The parameter view must be operations or entries."},
		{"/alerts", "/alerts", "?rule=nonsense", "The parameter rule must be ack_latency, ack_timeouts, "},
		{"/alerts", "/alerts", "?state=dead", "The parameter state must be firing, pending, acked, silenced, unknown or normal."},
		{"/alerts", "/alerts", "?tier=red&pipeline=orders", "The parameter tier must be normal, warning, severe, emergency or unknown."},
		{"/pipelines/orders/markers", "/pipelines/orders/markers", "?state=odd", "The parameter state must be processing, failed, no-expiry, gave-up, done, present or unknown."},
		{"/pipelines/orders/markers", "/pipelines/orders/markers", "?verdict=alive&q=order", "The parameter verdict must be probably dead, orphan, looping, cannot tell or still working."},
		{"/pipelines/orders/markers", "/pipelines/orders/markers", "?sort=size", "The parameter sort must be age, expiry or id, with a - before it to reverse."},
		{"/", "", "?tier=red", "The parameter tier must be normal, warning, severe, emergency or unknown."},
		{"/", "", "?sort=size&q=o", "The parameter sort must be tier, risk, name, duplicates, latency, dead-letters, processing, backlog, consumers or activity, with a - before it to reverse."},
		{"/pipelines/orders/dead-letters", "/pipelines/orders/dead-letters", "?by=colour", "The parameter by must be reason, source, route, exception, type or hour."},
	} {
		res := s.as("admin", "GET", tt.page+tt.query, "")
		doc, err := goquery.NewDocumentFromReader(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if said := oneLine(doc.Find("main")); res.StatusCode != http.StatusBadRequest || !strings.Contains(said, tt.says) {
			t.Errorf("%s%s: %s: %.300s", tt.page, tt.query, res.Status, said)
		}
		if n := doc.Find("main form").Length(); n == 0 {
			t.Errorf("%s%s has no form to ask again with", tt.page, tt.query)
		}
		if n := doc.Find(".alert-rows tr, .entries tr, .c-name > a, #list td").Length(); n > 0 {
			t.Errorf("%s%s lists %d rows, as if they were what was asked for", tt.page, tt.query, n)
		}
		if tt.api == "" {
			continue
		}
		var body errorBody
		if res := s.apiAs("admin", "/api/v1"+tt.api+tt.query, &body); res.StatusCode != http.StatusBadRequest || body.Error.Kind != "invalid" || !strings.HasPrefix(body.Error.Message, tt.says) {
			t.Errorf("/api/v1%s%s: %s: %+v", tt.api, tt.query, res.Status, body)
		}
	}
}

func TestAFilterThatCannotBeUsedKeepsTheRestOfItsForm(t *testing.T) {
	s := night(t)
	for path, field := range map[string]string{
		"/audit?action=nonsense&who=bob":                  "input[name=who][value=bob]",
		"/alerts?rule=nonsense&tier=severe":               "input[name=tier][value=severe][checked]",
		"/pipelines/orders/markers?verdict=alive&q=order": "input[name=q][value=order]",
		"/?sort=size&q=pay":                               "input[name=q][value=pay]",
	} {
		doc, err := goquery.NewDocumentFromReader(s.as("admin", "GET", path, "").Body)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Find("main form").Find(field).Length() != 1 {
			t.Errorf("%s lost %s", path, field)
		}
	}
}

// TestAPipelineThatIsNotConfiguredIsNotFoundOrHasNothingRecorded: lists that keep history may have some of one that is gone.
func TestAPipelineThatIsNotConfiguredIsNotFoundOrHasNothingRecorded(t *testing.T) {
	s := night(t)
	for _, path := range []string{"/pipelines/nope", "/pipelines/nope/markers", "/pipelines/nope/dead-letters"} {
		for _, at := range []string{path, "/api/v1" + path} {
			if res := s.as("admin", "GET", at, ""); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", at, res.Status)
			}
		}
	}
	const says = "No pipeline of that name is configured; nothing recorded."
	for _, path := range []string{"/audit?pipeline=nope", "/audit?pipeline=Nope%20it", "/audit?view=entries&pipeline=nope", "/alerts?pipeline=nope"} {
		if said := oneLine(s.page("admin", path).Find(".blank")); !strings.Contains(said, says) {
			t.Errorf("%s says %q", path, said)
		}
	}
	if said := oneLine(s.page("admin", "/audit?store=nope").Find(".blank")); !strings.Contains(said, "No store of that name is configured; nothing recorded.") {
		t.Errorf("of a store it says %q", said)
	}
	for _, path := range []string{"/audit?pipeline=nope", "/audit?view=operations&pipeline=nope", "/alerts?pipeline=nope", "/marks?pipeline=nope"} {
		var body struct{ Note string }
		if res := s.apiAs("admin", "/api/v1"+path, &body); res.StatusCode != http.StatusOK || body.Note != says {
			t.Errorf("/api/v1%s: %s: %+v", path, res.Status, body)
		}
	}
	for _, path := range []string{"/audit?pipeline=orders", "/alerts?pipeline=orders", "/marks?pipeline=orders", "/audit?store=orders"} {
		var body struct{ Note string }
		if s.apiAs("admin", "/api/v1"+path, &body); body.Note != "" {
			t.Errorf("/api/v1%s notes %q", path, body.Note)
		}
	}
}

func TestADeadLetterQueueThatThePipelineDoesNotHaveIsNotFoundForViewersToo(t *testing.T) {
	s := night(t)
	for _, role := range []string{"viewer", "operator"} {
		for _, at := range []string{inventory, "/api/v1" + inventory} {
			if res := s.as(role, "GET", at+"?queue=nope", ""); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s as %s: %s", at, role, res.Status)
			}
		}
	}
}
