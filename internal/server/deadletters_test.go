package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/server/letter"
)

// The service of the dashboard is what the pages ask.
var _ deadLetterService = struct {
	*deadletter.Scans
	*move.Planner
	*jobs.Moves
}{}

const (
	// lettersPerPage is how many letters a page of a queue lists.
	lettersPerPage = 50

	inventory    = "/pipelines/inventory/dead-letters"
	inventoryDLQ = "inventory.reserve.dlq"
)

// looked looks at the head of a queue and returns the page of what was found.
func (s *site) looked(pipeline, queue, limit string) *goquery.Document {
	s.t.Helper()
	res := s.as("operator", "POST", "/pipelines/"+pipeline+"/dead-letters/scan", url.Values{"queue": {queue}, "limit": {limit}}.Encode())
	at, _, _ := strings.Cut(res.Header.Get("Location"), "#")
	if res.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("the look: %s: %.300s", res.Status, s.body(res))
	}
	return s.page("operator", at)
}

// hiddenFields are what a form sends besides what is typed.
func hiddenFields(form *goquery.Selection) url.Values {
	values := url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, in *goquery.Selection) {
		name, _ := in.Attr("name")
		value, _ := in.Attr("value")
		values.Add(name, value)
	})
	return values
}

// planMoveOf presses a button of a page's form and returns the address of the review.
func (s *site) planMoveOf(role string, doc *goquery.Document, do string, refs ...string) string {
	s.t.Helper()
	form := hiddenFields(doc.Find("form.act"))
	form.Set("do", do)
	form["sel"] = refs
	res := s.as(role, "POST", "/dead-letters/plan", form.Encode())
	at := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, "/moves/") {
		s.t.Fatalf("the plan: %s, to %q: %.300s", res.Status, at, s.body(res))
	}
	return at
}

// started starts a plan and returns the address of its job.
func (s *site) started(at string, form url.Values) string {
	s.t.Helper()
	res := s.as("admin", "POST", at+"/start", form.Encode())
	job := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(job, "/jobs/") {
		s.t.Fatalf("the start: %s, to %q: %.300s", res.Status, job, s.body(res))
	}
	return job
}

// moved lets a job move until it ends and returns its page.
func (s *site) moved(job string) *goquery.Document {
	s.t.Helper()
	bound := time.After(2 * time.Minute)
	for {
		s.morgue.Tick()
		doc := s.page("operator", job)
		if doc.Find("form[action$='/cancel']").Length() == 0 {
			return doc
		}
		select {
		case <-bound:
			s.t.Fatalf("the job does not end within a minute: %s", oneLine(doc.Find("main")))
		case <-time.After(5 * time.Millisecond): // between two looks, as a browser without the script does
		}
	}
}

func firstRef(doc *goquery.Document) string {
	ref, _ := doc.Find("input[name=sel]").First().Attr("value")
	return ref
}

func TestDeadLettersAreLookedAtFilteredPlannedMovedAndFoundInTheAudit(t *testing.T) {
	s := stocked(t, nil)
	html := s.body(s.as("operator", "GET", inventory, ""))
	if effect, button := strings.Index(html, "marked as redelivered"), strings.Index(html, "Look at the queue"); effect < 0 || button < effect {
		t.Error("the page does not say what a look does before it offers one")
	}
	doc := s.looked("inventory", inventoryDLQ, "100")
	if got := oneLine(doc.Find(".look-box .count")); !strings.HasPrefix(got, "100 of 2,318 looked at, at ") || !strings.HasSuffix(got, "by o") {
		t.Errorf("the look is %q", got)
	}
	if n := doc.Find(".classes li").Length(); n != len(preflight.Classes()) {
		t.Errorf("%d classes, want %d", n, len(preflight.Classes()))
	}
	if n := doc.Find("table.letters tbody tr").Length(); n != lettersPerPage {
		t.Errorf("%d rows, want %d", n, lettersPerPage)
	}
	group, _ := doc.Find(".groups tbody a").First().Attr("href")
	group, _, _ = strings.Cut(group, "#")
	filtered := s.page("operator", group)
	if got := oneLine(filtered.Find("#messages .count")); got != "80 of 100 that were looked at match" {
		t.Errorf("the group has %q", got)
	}
	at := s.planMoveOf("operator", filtered, "requeue-all")
	review := s.page("admin", at)
	if got := oneLine(review.Find(".verdict").First()); !strings.Contains(got, "from "+inventoryDLQ+" to inventory.reserve") || !strings.Contains(got, "left out") {
		t.Errorf("the plan is %q", got)
	}
	changed := s.changedChoices(t, at)
	for want, mistake := range map[string]url.Values{"Give a reason": {"confirm": {inventoryDLQ}}, "nothing was moved": {"reason": {"it is back"}, "confirm": {"orders"}}} {
		res := s.as("admin", "POST", changed+"/start", mistake.Encode())
		if body := s.body(res); res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%v: %s without %q", mistake, res.Status, want)
		}
	}
	job := s.started(changed, url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}, "key": {"k"}})
	done := s.moved(job)
	if got := oneLine(done.Find(".title .chip").First()); got != "done" {
		t.Errorf("the job is %q", got)
	}
	if got := oneLine(done.Find("#after-title")); got != "Did it work?" {
		t.Error("the job does not say whether it worked")
	}
	if again := s.as("admin", "GET", changed, ""); again.Header.Get("Location") != job {
		t.Errorf("the plan that was started leads to %q", again.Header.Get("Location"))
	}
	if text := oneLine(s.page("operator", "/audit").Find(".entries")); !strings.Contains(text, "the gateway is back") {
		t.Errorf("the audit has %.300s", text)
	}
}

// changedChoices changes the choices of a review and returns the address of the new one.
func (s *site) changedChoices(t *testing.T, at string) string {
	t.Helper()
	s.morgue.Watch = time.Millisecond
	res := s.as("admin", "POST", at+"/change", url.Values{"choice-swallowed": {"clear_first"}, "canary": {"5"}, "rate": {"2000"}}.Encode())
	changed := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || changed == at {
		t.Fatalf("the change: %s, to %q", res.Status, changed)
	}
	review := s.page("admin", changed)
	if got := oneLine(review.Find("select[name=choice-swallowed] option[selected]")); got != "clear the marker first" {
		t.Errorf("the choice is %q", got)
	}
	if got := oneLine(review.Find("select[name=canary] option[selected]")); !strings.HasPrefix(got, "5 messages") {
		t.Errorf("the canary is %q", got)
	}
	return changed
}

func TestAQueueThatMustNotBeLookedAtSaysWhyAndOffersTheWhole(t *testing.T) {
	s := stocked(t, nil)
	doc := s.page("operator", "/pipelines/payments/dead-letters")
	if got := oneLine(doc.Find(".look-box .problem")); !strings.Contains(got, "delivery limit of 3") {
		t.Errorf("the reason is %q", got)
	}
	if doc.Find(".look-form").Length() != 0 || doc.Find("button[value=requeue-whole]").Length() != 1 {
		t.Error("the page offers a look, or not the whole queue")
	}
}

func TestWhoMayNotMoveMessagesReadsWhyInPlaceOfTheControls(t *testing.T) {
	for name, c := range map[string]struct {
		role   string
		change func(*Config)
		path   string
		says   string
	}{
		"a viewer":            {"viewer", nil, inventory, "seen by those with the role operator"},
		"a viewer's look-up":  {"viewer", nil, "/lookup?id=x", "seen by those with the role operator"},
		"a read-only one":     {"operator", func(c *Config) { c.ReadOnly = true }, inventory, "read-only"},
		"without credentials": {"operator", nil, "/pipelines/search-index/dead-letters", "no act credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stocked(t, c.change)
			doc := s.page(c.role, c.path)
			if text := oneLine(doc.Find("main")); !strings.Contains(text, c.says) {
				t.Errorf("the page does not say %q: %.500s", c.says, text)
			}
			if n := doc.Find("main form[method=post]").Length(); n != 0 {
				t.Errorf("%d forms that act", n)
			}
		})
	}
}

func TestPagesWithoutAServiceOfDeadLettersSayWhy(t *testing.T) {
	s := stocked(t, nil)
	s.deadLetters = nil
	if text := oneLine(s.page("admin", inventory).Find("main")); !strings.Contains(text, letter.NoAccess) {
		t.Errorf("the page says %.300s", text)
	}
	if n := s.page("admin", "/dead-letters").Find(".dead-list tbody tr").Length(); n == 0 {
		t.Error("the list needs the service, though it shows what was counted")
	}
	if res := s.as("admin", "GET", "/jobs", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the jobs: %s", res.Status)
	}
}

func TestAJobIsPausedResumedAndCancelledByItsForms(t *testing.T) {
	s := stocked(t, nil)
	at := s.planMoveOf("admin", s.looked("inventory", inventoryDLQ, "10000"), "requeue-all")
	job := s.started(at, url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}})
	for _, step := range []struct{ who, press, state string }{{"operator", "pause", "paused"}, {"admin", "resume", "sending the canary"}, {"operator", "cancel", "cancelled"}} {
		if res := s.as(step.who, "POST", job+"/"+step.press, ""); res.Header.Get("Location") != job {
			t.Fatalf("%s: %s: %.200s", step.press, res.Status, s.body(res))
		}
		page := s.page("operator", job)
		if got := oneLine(page.Find(".title .chip").First()); got != step.state {
			t.Errorf("after %s it is %q", step.press, got)
		}
		if text := oneLine(page.Find(".controls")); step.press == "pause" && !strings.Contains(text, "Resuming this job needs the role admin") {
			t.Errorf("an operator is not told that the job needs an admin to go on: %s", text)
		}
	}
	if res := s.as("admin", "POST", job+"/resume", ""); res.StatusCode != http.StatusConflict {
		t.Errorf("what was cancelled is resumed: %s", res.Status)
	}
}

func TestABadCanaryStopsTheJobAndItsPageSaysSo(t *testing.T) {
	s := stocked(t, nil)
	s.morgue.BadCanary = true
	at := s.planMoveOf("admin", s.looked("inventory", inventoryDLQ, "1000"), "requeue-all")
	s.morgue.Watch = time.Millisecond
	res := s.as("admin", "POST", at+"/change", url.Values{"canary": {"4"}}.Encode())
	job := s.moved(s.started(res.Header.Get("Location"), url.Values{"reason": {"to try"}, "confirm": {inventoryDLQ}}))
	if got := oneLine(job.Find(".title .chip").First()); got != "stopped" {
		t.Errorf("the job is %q", got)
	}
	if got := oneLine(job.Find("section[aria-labelledby=canary-title]")); !strings.Contains(got, "2 of 4 are in the dead-letter queue again") {
		t.Errorf("the verdict is %q", got)
	}
}

func TestWhatDidNotGoThroughIsPlannedOnceMore(t *testing.T) {
	s := stocked(t, nil)
	doc := s.looked("inventory", inventoryDLQ, "1000")
	form := hiddenFields(doc.Find("form.act"))
	form.Set("do", "requeue-all")
	form.Set("filter", "class:may_run_twice")
	at := s.as("admin", "POST", "/dead-letters/plan", form.Encode()).Header.Get("Location")
	confirm := oneLine(s.page("admin", at).Find(".sign code"))
	path := s.started(at, url.Values{"reason": {"to try"}, "confirm": {confirm}})
	failed := s.moved(path).Find(".job-items tbody tr").Length()
	again := s.as("admin", "POST", path+"/retry", "").Header.Get("Location")
	if got := oneLine(s.page("admin", again).Find("h1")); failed == 0 || !strings.HasPrefix(got, "Review: requeue ") {
		t.Errorf("%d failed, and the retry is %q", failed, got)
	}
}

func TestEveryPageOfDeadLettersNamesABadParameter(t *testing.T) {
	s := stocked(t, nil)
	for path, name := range map[string]string{
		inventory + "?by=colour":                            "by",
		inventory + "?page=0":                               "page",
		"/dead-letters/message?pipeline=inventory":          "queue",
		"/pipelines/inventory/dead-letters.csv":             "scan",
		"/jobs/x/items?after=-1":                            "after",
		"/api/v1/pipelines/inventory/dead-letters?filter=x": "filter",
	} {
		res := s.as("operator", "GET", path, "")
		if body := s.body(res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, name) {
			t.Errorf("%s: %s: %.200s", path, res.Status, body)
		}
	}
	if res := s.as("operator", "GET", inventory+"?filter=nonsense", ""); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a filter that cannot be read: %s", res.Status)
	}
}

func TestAnIdIsToldOnOneTimeline(t *testing.T) {
	s := stocked(t, nil)
	doc := s.looked("inventory", inventoryDLQ, "100")
	id := oneLine(doc.Find(".letters .c-id a").First())
	s.moved(s.started(s.planMoveOf("admin", doc, "requeue-selected", firstRef(doc)), url.Values{"reason": {"to see it"}}))
	text := oneLine(s.page("operator", "/lookup?id="+id).Find(".timeline"))
	for _, want := range []string{"Requeued by a, “to see it”: moved to inventory.reserve", "Seen in the dead-letter queue " + inventoryDLQ, "Died in inventory.reserve: rejected"} {
		if !strings.Contains(text, want) {
			t.Errorf("the story lacks %q: %s", want, text)
		}
	}
	if strings.Index(text, "Requeued by") > strings.Index(text, "Died in") {
		t.Error("the newest does not come first")
	}
	if strings.Contains(text, "if requeued") {
		t.Errorf("what a requeue would do is foretold of a message that was requeued: %s", text)
	}
	s.looked("inventory", inventoryDLQ, "100") // the message is not there any more
	text = oneLine(s.page("operator", "/lookup?id="+id).Find(".timeline"))
	if n := strings.Count(text, "Died in inventory.reserve: rejected"); n != 1 {
		t.Errorf("the death is told %d times: %s", n, text)
	}
}
