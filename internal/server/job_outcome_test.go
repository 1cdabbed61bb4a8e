package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestMessagesThatAreDeadAgainAreListedAndPlannedAgain(t *testing.T) {
	s := stocked(t, nil)
	s.morgue.DeadAgain = 3
	doc := s.looked("inventory", inventoryDLQ, "100")
	var refs []string
	for i := range 5 {
		ref, _ := doc.Find("input[name=sel]").Eq(i).Attr("value")
		refs = append(refs, ref)
	}
	at := s.planMoveOf("admin", doc, "requeue-selected", refs...)
	job := s.started(at, url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}})
	page := s.moved(job)
	failed := oneLine(page.Find("section[aria-labelledby=failed-title]"))
	if !strings.Contains(failed, "3 messages reached their queues, and are dead again.") || strings.Contains(failed, "Nothing") {
		t.Errorf("what did not go through: %q", failed)
	}
	if chip := page.Find(".title .chips").First(); !strings.Contains(oneLine(chip), "done, 3 dead again") || chip.Find(".t-severe").Length() == 0 {
		html, _ := chip.Html()
		t.Errorf("the state is %s", html)
	}
	list := s.page("operator", job+"/items?became=back")
	if n := list.Find("table.job-items tbody tr").Length(); n != 3 || !strings.Contains(oneLine(list.Find("h1")), "dead again") {
		t.Errorf("%d rows under %q", n, oneLine(list.Find("h1")))
	}
	if got := s.call("operator", "GET", "/api/v1"+job+"/items?became=back", nil); len(got["items"].([]any)) != 3 {
		t.Errorf("the API lists %v", got)
	}
	if res := s.as("operator", "GET", job+"/items?became=odd", ""); res.StatusCode != http.StatusUnprocessableEntity && res.StatusCode != http.StatusBadRequest {
		t.Errorf("an odd outcome: %s", res.Status)
	}
	again, _ := page.Find("form[action$='/again']").Attr("action")
	res := s.as("admin", "POST", again, "")
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/moves/") {
		t.Fatalf("again: %s, to %q: %.300s", res.Status, to, s.body(res))
	}
	if review := oneLine(s.page("admin", to).Find("h1")); !strings.Contains(review, "3 messages") {
		t.Errorf("the review is about %q", review)
	}
}
