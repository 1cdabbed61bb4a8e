package server

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/move"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/admin"
)

// editedOnce plans the requeue of one message with another country in its body, and returns the address of the review.
func (s *site) editedOnce() string {
	s.t.Helper()
	href, _ := s.looked("inventory", inventoryDLQ, "10").Find(".letters .c-id a").First().Attr("href")
	form := s.page("admin", strings.Replace(href, "/message?", "/edit?", 1)).Find("form.edit-form")
	values := hiddenFields(form)
	values.Set("body", strings.Replace(strings.TrimPrefix(form.Find("textarea").Text(), "\n"), `"country":"DE"`, `"country":"AT"`, 1))
	form.Find("input[name=content_type], input[name=message_id], input[name^=value-]").Each(func(_ int, in *goquery.Selection) {
		values.Set(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	res := s.as("admin", "POST", "/dead-letters/edit", values.Encode())
	if res.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("the edit: %s: %.300s", res.Status, s.body(res))
	}
	return res.Header.Get("Location")
}

func TestAChangeOfAPlanKeepsItsEdit(t *testing.T) {
	s := stocked(t, nil)
	res := s.as("admin", "POST", s.editedOnce()+"/change", "rate=10")
	review := s.page("admin", res.Header.Get("Location"))
	if got := oneLine(review.Find(".diff .added")); !strings.Contains(got, `"country": "AT"`) {
		t.Errorf("%s: added is %q", res.Status, got)
	}
}

// editsLost is a service that keeps no edit, as after a restart.
type editsLost struct{ deadLetterService }

func (e editsLost) PlannedMove(ctx context.Context, who admin.Caller, id string) (move.Plan, string, error) {
	p, job, err := e.deadLetterService.PlannedMove(ctx, who, id)
	p.Edited = nil
	return p, job, err
}

func TestAPlanWhoseEditIsLostIsNeitherChangedNorRetriedWithoutIt(t *testing.T) {
	s := stocked(t, nil)
	at := s.editedOnce()
	s.deadLetters = editsLost{s.deadLetters}
	if res := s.as("admin", "POST", at+"/change", "rate=10"); res.StatusCode != http.StatusConflict {
		t.Errorf("the change is %s, to %q", res.Status, res.Header.Get("Location"))
	}
	job := s.started(at, url.Values{"reason": {"a wrong country"}})
	s.moved(job)
	if res := s.as("admin", "POST", job+"/retry", ""); res.StatusCode != http.StatusConflict || !strings.Contains(s.body(res), "make the edit again") {
		t.Errorf("the retry is %s, to %q", res.Status, res.Header.Get("Location"))
	}
}

// TestAReviewKeepsAFractionOfARateAndTheZoneOfItsAddress: a plan of a program may move one message in two seconds, and whoever changes
// something else of it must not send 500 a second. Every way on from a page that shows times in a zone shows them in it too.
func TestAReviewKeepsAFractionOfARateAndTheZoneOfItsAddress(t *testing.T) {
	s := stocked(t, nil)
	const tz = "tz=Asia%2FKathmandu"
	inZone := func(what, address string) string {
		t.Helper()
		if to, err := url.Parse(address); err != nil || to.Query().Get("tz") != "Asia/Kathmandu" {
			t.Fatalf("%s leads to %q, without the zone", what, address)
		}
		return address
	}
	post := func(address string, form url.Values) string {
		t.Helper()
		res := s.as("admin", "POST", address, form.Encode())
		if res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s: %s: %.300s", address, res.Status, s.body(res))
		}
		return res.Header.Get("Location")
	}
	rate := func(address string) string {
		review := s.page("admin", address)
		review.Find("form.change").Each(func(_ int, form *goquery.Selection) { inZone("the form of the review", form.AttrOr("action", "")) })
		review.Find("main button[formaction]").Each(func(_ int, b *goquery.Selection) { inZone("a button of the review", b.AttrOr("formaction", "")) })
		review.Find(".sign a, nav.crumbs a[href]").Each(func(_ int, a *goquery.Selection) { inZone("the link "+a.Text(), a.AttrOr("href", "")) })
		return oneLine(review.Find("select[name=rate] option[selected]"))
	}
	look := post("/pipelines/inventory/dead-letters/scan", url.Values{"queue": {inventoryDLQ}, "limit": {"10"}})
	look, _, _ = strings.Cut(look, "#")
	form := s.page("admin", look+"&"+tz).Find("form.act").First()
	values := hiddenFields(form)
	values.Set("do", "requeue-all")
	at := inZone("the plan", post(inZone("the form of the list", form.AttrOr("action", "")), values))
	if got := rate(at); got != "500 per second" {
		t.Errorf("without a rate the review shows %q", got)
	}
	change := func() string { return s.page("admin", at).Find("form.change").AttrOr("action", "") }
	at = inZone("the change", post(change(), url.Values{"rate": {"0.5"}}))
	if got := rate(at); got != "0.5 per second" {
		t.Errorf("half a message per second is shown as %q", got)
	}
	at = inZone("the change", post(change(), url.Values{"canary": {"5"}}))
	if got := rate(at); got != "0.5 per second" {
		t.Errorf("after a change of the canary alone the rate is %q", got)
	}
	for _, bad := range []string{"NaN", "-0.5", "1e9", "+Inf", "fast"} {
		if res := s.as("admin", "POST", change(), url.Values{"rate": {bad}}.Encode()); res.StatusCode != http.StatusBadRequest {
			t.Errorf("a rate of %s: %s", bad, res.Status)
		}
	}
	start := s.page("admin", at).Find(".sign button[formaction]").AttrOr("formaction", "")
	job := inZone("the start", post(start, url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}}))
	if facts := oneLine(s.page("admin", job).Find("main")); !strings.Contains(facts, "0.5 per second") {
		t.Errorf("the job does not say 0.5 per second: %.600s", facts)
	}
	if again := s.as("admin", "GET", at, ""); again.StatusCode != http.StatusSeeOther {
		t.Errorf("the review of a started plan: %s", again.Status)
	} else {
		inZone("the review of a started plan", again.Header.Get("Location"))
	}
}

// TestAStartWithChoicesThatWereNotPreviewedMovesNothing: whoever chooses a canary and starts means the canary.
func TestAStartWithChoicesThatWereNotPreviewedMovesNothing(t *testing.T) {
	s := stocked(t, nil)
	at := s.planMoveOf("admin", s.looked("inventory", inventoryDLQ, "1000"), "requeue-all")
	review := s.page("admin", at)
	form := review.Find("form.change")
	if id := form.AttrOr("id", "-"); review.Find(".sign button[formaction][form="+id+"], .sign input[name=reason][form="+id+"]").Length() != 2 {
		t.Fatal("the start is not part of the form of the choices")
	}
	shown := url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}}
	form.Find("select").Each(func(_ int, in *goquery.Selection) {
		shown.Set(in.AttrOr("name", ""), in.Find("option[selected]").AttrOr("value", ""))
	})
	for name, value := range map[string]string{"canary": "1", "rate": "10", "choice-swallowed": "clear_first"} {
		values := maps.Clone(shown)
		values.Set(name, value)
		res := s.as("admin", "POST", at+"/start", values.Encode())
		page := s.parsed(res)
		if res.StatusCode != http.StatusConflict || !strings.Contains(oneLine(page.Find("main")), "Nothing was moved: you had changed a choice") {
			t.Errorf("%s=%s: %s: %.300s", name, value, res.Status, oneLine(page.Find("main")))
		}
		if got := page.Find("select[name="+name+"] option[selected]").AttrOr("value", ""); got != value || page.Find("input[name=reason]").AttrOr("value", "") == "" {
			t.Errorf("the page shows %s=%q", name, got)
		}
		if to := page.Find(".sign button[formaction]").AttrOr("formaction", ""); to == "" || strings.HasPrefix(to, at) {
			t.Errorf("the page starts %q", to)
		}
		if still := s.as("admin", "GET", at, ""); still.StatusCode != http.StatusOK {
			t.Fatalf("%s=%s: the plan is started: %s", name, value, still.Header.Get("Location"))
		}
	}
	s.started(at, shown)
}
