package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/admin/preflight"
)

// A pressed form is what a browser sends when one of its buttons is pressed.
type pressed struct {
	method, action string
	values         url.Values
}

// presses are all that can be sent with the forms of a page: each button that is enabled, and with it each choice for a class.
func presses(doc *goquery.Document) []pressed {
	var all []pressed
	doc.Find("main form:not([method=get])").Each(func(_ int, form *goquery.Selection) {
		action := form.AttrOr("action", "")
		if action == "" {
			return // a filter of the page itself
		}
		base := hiddenFields(form)
		if ref, ok := form.Find("input[type=checkbox][name=sel]").First().Attr("value"); ok {
			base.Set("sel", ref)
		}
		base.Set("reason", "to see who may")
		if typed := form.Find("input[name=confirm]").Length(); typed > 0 {
			base.Set("confirm", oneLine(form.Find("label code").Last()))
		}
		form.Find("textarea").Each(func(_ int, in *goquery.Selection) { base.Set(in.AttrOr("name", ""), in.Text()) })
		form.Find("select").Each(func(_ int, in *goquery.Selection) {
			base.Set(in.AttrOr("name", ""), in.Find("option[selected]").AttrOr("value", in.Find("option").First().AttrOr("value", "")))
		})
		buttons := form.Find("button:not([disabled])")
		if id := form.AttrOr("id", ""); id != "" { // a button may stand outside its form
			outside := doc.Find("[form=" + id + "]")
			buttons = buttons.AddSelection(outside.Filter("button:not([disabled])"))
			if outside.Filter("input[name=confirm]").Length() > 0 {
				base.Set("confirm", oneLine(doc.Find(".sign code").Last()))
			}
		}
		buttons.Each(func(_ int, button *goquery.Selection) {
			with := func(name, value string) {
				v := url.Values{}
				for k, list := range base {
					v[k] = list
				}
				if button.AttrOr("name", "") != "" {
					v.Set(button.AttrOr("name", ""), button.AttrOr("value", ""))
				}
				if name != "" {
					v.Set(name, value)
				}
				all = append(all, pressed{strings.ToUpper(form.AttrOr("method", "get")), button.AttrOr("formaction", action), v})
			}
			with("", "")
			form.Find("select[name^=choice-]").Each(func(_ int, in *goquery.Selection) { // of the others no role depends
				in.Find("option:not([disabled]):not([selected])").Each(func(_ int, o *goquery.Selection) { with(in.AttrOr("name", ""), o.AttrOr("value", "")) })
			})
		})
	})
	return all
}

// links are the pages and files that a page leads to.
func links(doc *goquery.Document) []string {
	var all []string
	doc.Find("main a[href]").Each(func(_ int, a *goquery.Selection) {
		if href, _, _ := strings.Cut(a.AttrOr("href", ""), "#"); strings.HasPrefix(href, "/") {
			all = append(all, href)
		}
	})
	return all
}

// deadPages are pages of dead letters in every state that offers something else.
func (s *site) deadPages() []string {
	s.t.Helper()
	list := s.looked("inventory", inventoryDLQ, "1000")
	refs := []string{firstRef(list)}
	running := s.started(s.planMoveOf("admin", list, "discard-selected", refs...), url.Values{"reason": {"these are known"}, "confirm": {inventoryDLQ}})
	s.moved(running)
	paused := s.startedAndPaused(list)
	list = s.looked("inventory", inventoryDLQ, "1000")
	plan := func(do string, refs ...string) string { return s.planMoveOf("admin", list, do, refs...) }
	withMarker, _ := s.page("operator", inventory+"?filter=class:swallowed").Find(".letters .c-id a").First().Attr("href")
	letter, _ := list.Find(".letters .c-id a").First().Attr("href")
	s.as("operator", "POST", "/pipelines/inventory/dead-letters/scan", url.Values{"queue": {inventoryDLQ}, "limit": {"100"}, "parking": {"1"}}.Encode())
	return []string{ // the pages of queues last: pressing their buttons takes a new look, after which the messages of the old one are gone
		letter, withMarker, plan("requeue-selected", firstRef(list)), plan("discard-selected", firstRef(list)), plan("requeue-all"),
		running, paused, "/jobs", running + "/items", "/lookup?id=" + oneLine(list.Find(".letters .c-id a").First()),
		"/dead-letters", inventory + "?filter=reason:rejected", inventory + "?filter=class:swallowed", inventory, inventory + "?queue=" + inventoryDLQ + "&parking=1",
		"/pipelines/payments/dead-letters", "/pipelines/mailings/dead-letters",
	}
}

// startedAndPaused is a job of an admin that is held up.
func (s *site) startedAndPaused(list *goquery.Document) string {
	s.t.Helper()
	job := s.started(s.planMoveOf("admin", list, "requeue-all"), url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}})
	if res := s.as("operator", "POST", job+"/pause", "x="); res.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("pause: %s", res.Status)
	}
	return job
}

// TestNothingThatAPageOffersIsForbidden presses every enabled button of every page of dead letters, with every option, and follows
// every link, as each role: what a role may not do is shown disabled with the reason, or not at all.
func TestNothingThatAPageOffersIsForbidden(t *testing.T) {
	for _, role := range []string{"viewer", "operator", "admin"} {
		t.Run(role, func(t *testing.T) {
			s := stocked(t, nil)
			done, followed := map[string]bool{}, 0
			try := func(page string, p pressed) {
				body, at := p.values.Encode(), p.action
				if p.method == "GET" {
					body, at = "", p.action+"?"+p.values.Encode()
				}
				key := p.method + " " + p.action + " " + body
				if done[key] || at == "" {
					return
				}
				done[key] = true
				res := s.as(role, p.method, at, body)
				if res.StatusCode == http.StatusForbidden {
					t.Errorf("%s offers %s %s with do=%s %v, which is forbidden", page, p.method, p.action, p.values.Get("do"), choicesOf(p.values))
				}
				if to := res.Header.Get("Location"); p.method == "POST" && strings.HasPrefix(to, "/moves/") {
					for _, next := range presses(s.page(role, to)) { // the review of what was just planned
						if strings.HasSuffix(next.action, "/change") && s.as(role, "POST", next.action, next.values.Encode()).StatusCode == http.StatusForbidden {
							t.Errorf("the review after do=%s offers %v, which is forbidden", p.values.Get("do"), choicesOf(next.values))
						}
					}
				}
			}
			for _, path := range s.deadPages() {
				res := s.as(role, "GET", path, "")
				if res.StatusCode == http.StatusForbidden {
					continue // no page leads there: that is what the links below show
				}
				doc, err := goquery.NewDocumentFromReader(res.Body)
				if err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("%s: %s, %v", path, res.Status, err)
				}
				for _, href := range links(doc) {
					if !done[href] {
						done[href] = true
						followed++
						if res := s.as(role, "GET", href, ""); res.StatusCode == http.StatusForbidden {
							t.Errorf("%s leads to %s, which is forbidden", path, href)
						}
					}
				}
				for _, p := range presses(doc) {
					try(path, p)
				}
			}
			if want := map[string]int{"viewer": 5, "operator": 30, "admin": 50}[role]; followed < 5 || len(done) < want {
				t.Errorf("only %d links and %d forms were tried", followed, len(done)-followed)
			}
		})
	}
}

func choicesOf(v url.Values) []string {
	var list []string
	for _, c := range preflight.Classes() {
		if choice := v.Get("choice-" + string(c)); choice != "" {
			list = append(list, fmt.Sprintf("%s=%s", c, choice))
		}
	}
	return list
}

func TestAnOperatorIsOfferedTheFirstMessagesInsteadOfAll(t *testing.T) {
	s := stocked(t, nil)
	s.looked("inventory", inventoryDLQ, "1000")
	doc := s.page("operator", inventory)
	if text := oneLine(doc.Find(".act-bar")); !strings.Contains(text, "the first 100Requeueing a whole queue needs the role admin.") || !strings.Contains(text, "Discarding needs the role admin.") {
		t.Errorf("the bar says %q", text)
	}
	for _, do := range []string{"requeue-all", "discard-selected", "discard-all"} {
		if doc.Find("button[value="+do+"][disabled]").Length() != 1 || s.page("admin", inventory).Find("button[value="+do+"][disabled]").Length() != 0 {
			t.Errorf("%s is to be disabled for an operator alone", do)
		}
	}
	review := s.page("operator", s.planMoveOf("operator", doc, "requeue-first"))
	if text := oneLine(review.Find("main")); !strings.Contains(text, "Of those selected100") || review.Find(".sign button[formaction$='/start']").Length() != 1 {
		t.Errorf("the review of the first messages is %.600s", text)
	}
	some := s.page("operator", inventory+"?filter=reason:expired")
	if n := some.Find("table.letters tbody tr").Length(); n == 0 || some.Find("button[value=requeue-first]").Length() == 1 != (some.Find("button[value=requeue-all][disabled]").Length() == 1) {
		t.Errorf("%d messages that match, and not one way to requeue them", n)
	}
}
