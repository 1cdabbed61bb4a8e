package server

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/server/page/alert"
)

// filledIn is what the form of a silence sends as it stands.
func filledIn(doc *goquery.Document) url.Values {
	form := doc.Find("form.silence-form")
	values := hiddenFields(form)
	form.Find("input[type!=hidden][type!=checkbox], input:not([type])").Each(func(_ int, in *goquery.Selection) {
		if in.AttrOr("type", "") != "hidden" && in.AttrOr("type", "") != "checkbox" {
			values.Add(in.AttrOr("name", ""), in.AttrOr("value", ""))
		}
	})
	form.Find("select").Each(func(_ int, in *goquery.Selection) {
		values.Add(in.AttrOr("name", ""), in.Find("option[selected]").AttrOr("value", in.Find("option").First().AttrOr("value", "")))
	})
	form.Find("input[type=checkbox][checked]").Each(func(_ int, in *goquery.Selection) { values.Add(in.AttrOr("name", ""), in.AttrOr("value", "")) })
	return values
}

func TestSilencesAreListedByWhenTheyHold(t *testing.T) {
	s := night(t)
	now := time.Now()
	s.tower.ended = []alerts.Silence{
		{ID: "old", Matchers: []alerts.Matcher{{Name: "team", Op: alerts.MatchNotRegexp, Value: "a|b"}}, Author: "eve", Reason: "a test", EndedBy: "mallory", Starts: now.Add(-3 * time.Hour), Ends: now.Add(-2 * time.Hour)},
		{ID: "newer", Matchers: []alerts.Matcher{{Name: "rule", Op: alerts.MatchEqual, Value: "x"}}, Author: "eve", Reason: "another", Starts: now.Add(-3 * time.Hour), Ends: now.Add(-time.Hour)},
	}
	doc := s.page("operator", "/silences")
	tables := doc.Find("table.rows tbody")
	for i, want := range [][]string{
		{`broker="main" rule=~"node_.*" keeps 1 alert quiet now`, "the node is replaced", "ann", "ends in", "End now"},
		{`pipeline="points"`, "the season ends", "bob", "End now"},
		{`rule="x"`, "another", `team!~"a|b"`, "a test", "eve", "ended by mallory"},
	} {
		for _, w := range want {
			if got := apart(tables.Eq(i)); !strings.Contains(got, w) {
				t.Errorf("table %d lacks %q: %s", i, w, got)
			}
		}
	}
	if strings.Contains(apart(tables.Eq(2)), "End now") {
		t.Error("what has ended can be ended")
	}
	s.tower.show()
	s.tower.view.Silences, s.tower.ended = nil, nil
	if got := apart(s.page("operator", "/silences").Find("main")); !strings.Contains(got, "No silence holds now") || !strings.Contains(got, "No silence has ended in the last 30 days") {
		t.Errorf("without silences: %s", got)
	}
	s.alerting.Records = nil
	if got := apart(s.page("operator", "/silences").Find("main")); !strings.Contains(got, "are not kept") {
		t.Errorf("without records: %s", got)
	}
}

// TestASilenceIsPreviewedMadeAndEndedByFormsAlone is the way of a reader without JavaScript, from the alert on.
func TestASilenceIsPreviewedMadeAndEndedByFormsAlone(t *testing.T) {
	s := night(t)
	doc := s.page("operator", "/alerts/one?key="+url.QueryEscape(rateKey))
	at := doc.Find("a[href^='/silences/new']").AttrOr("href", "")
	form := filledIn(s.page("operator", at))
	if form.Get("emergency") != "1" || form["label"][0] != "rule" || form["value"][1] != "orders" || form.Get("for") != "1h" {
		t.Fatalf("the form of %s holds %v", at, form)
	}
	if got := s.page("operator", at).Find("select[name=for] option[value='2h']"); got.Text() != "2 hours" {
		t.Errorf("two hours are offered as %q", got.Text())
	}
	if got := apart(s.page("operator", at).Find("main button")); got != "Preview" {
		t.Errorf("before the preview there are the buttons %q", got)
	}
	form.Set("reason", "the shop is closed")
	form.Set("for", "4h")
	doc = s.page("operator", "/silences/new?"+form.Encode())
	preview := apart(doc.Find(".silence-form .covers, #preview"))
	if !strings.Contains(preview, "It keeps 1 alert quiet now, and can cover alerts of 1 pipeline") || !strings.Contains(preview, "pipeline orders") || listedAlerts(doc)[0] != rateKey {
		t.Errorf("the preview says %q", preview)
	}
	if regexp.MustCompile(`until [^.]*:\d\d\.\d`).MatchString(preview) {
		t.Errorf("the preview tells fractions of a second: %q", preview)
	}
	button := doc.Find("#preview button[formmethod=post][form=silence-form]")
	if button.AttrOr("formaction", "") != "/silences#answer" || apart(button) != "Silence" {
		t.Errorf("the button: %q to %s", apart(button), button.AttrOr("formaction", ""))
	}
	if doc.Find("form.silence-form").AttrOr("action", "") != "/silences/new#answer" || doc.Find("h2#answer[tabindex='-1']").Length() != 1 {
		t.Error("the form does not lead to its answer")
	}
	res := s.as("operator", "POST", "/silences", filledIn(doc).Encode())
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/silences" {
		t.Fatalf("%s: %.400s", res.Status, s.body(res))
	}
	made := s.tower.View().Silences[2]
	if made.Author != "o" || made.Reason != "the shop is closed" || made.Ends.Sub(made.Starts).Round(time.Minute) != 4*time.Hour || len(made.Matchers) != 2 {
		t.Errorf("made %+v", made)
	}
	if row := alertRowOf(s.page("viewer", "/alerts?state=silenced"), rateKey); !strings.Contains(row, "emergency") || !strings.Contains(row, "Silenced until") {
		t.Errorf("the alert says %q", row)
	}
	if got := apart(s.page("viewer", "/alerts/one?key="+url.QueryEscape(rateKey)).Find("main")); !strings.Contains(got, "Silenced by") || !strings.Contains(got, "the shop is closed") {
		t.Errorf("the page of the alert: %s", got)
	}
	end := s.page("operator", "/silences").Find("form[action='/silences/" + made.ID + "/expire']")
	if res := s.as("operator", "POST", end.AttrOr("action", ""), ""); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("ending it: %s", res.Status)
	}
	if got := apart(s.page("viewer", "/silences").Find("table.rows").Last()); !strings.Contains(got, "the shop is closed") || !strings.Contains(got, "ended by o") {
		t.Errorf("the list says %q", got)
	}
	if res := s.as("operator", "POST", end.AttrOr("action", ""), ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("ending it again: %s", res.Status)
	}
}

// TestTheFormOfASilenceOffersEachLabelOfAlerts, says which there are, and takes each from its address.
func TestTheFormOfASilenceOffersEachLabelOfAlerts(t *testing.T) {
	s := night(t)
	q := url.Values{}
	for _, label := range rule.Labels() {
		q.Set(label, "x-"+label)
	}
	doc := s.page("operator", "/silences/new?"+q.Encode())
	if got := doc.Find(".matchers .hint").Text(); !strings.Contains(got, "Labels are "+strings.Join(rule.Labels(), ", ")+", and those of your pipelines.") {
		t.Errorf("the form says %q", got)
	}
	offered := doc.Find("#alert-labels option").Map(func(_ int, o *goquery.Selection) string { return o.AttrOr("value", "") })
	filled := map[string]string{}
	doc.Find(".matcher-row").Each(func(_ int, row *goquery.Selection) {
		filled[row.Find("[name=label]").AttrOr("value", "")] = row.Find("[name=value]").AttrOr("value", "")
	})
	for _, label := range rule.Labels() {
		if !slices.Contains(offered, label) || filled[label] != "x-"+label {
			t.Errorf("%s: offered %v, filled in from the address as %q", label, offered, filled[label])
		}
	}
}

func TestASilenceThatCoversNothingIsWarnedOfFirst(t *testing.T) {
	s := night(t)
	form := url.Values{"label": {"pipeline"}, "op": {"="}, "value": {"ordres"}, "for": {"1h"}, "reason": {"a mistyped name"}}
	res := s.as("operator", "POST", "/silences", form.Encode())
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(s.body(res)))
	if err != nil {
		t.Fatal(err)
	}
	if got := apart(doc.Find("#preview")); res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got, "It covers nothing") || len(s.tower.View().Silences) != 2 {
		t.Fatalf("%s: %q", res.Status, got)
	}
	if got := apart(doc.Find("button[formmethod=post]")); got != "Silence it nevertheless" {
		t.Errorf("the button says %q", got)
	}
	if res := s.as("operator", "POST", "/silences", filledIn(doc).Encode()); res.StatusCode != http.StatusSeeOther || len(s.tower.View().Silences) != 3 {
		t.Errorf("nevertheless: %s", res.Status)
	}
}

func TestASilenceIsNotMadeWithOtherFieldsThanThoseOfItsPreview(t *testing.T) {
	s := night(t)
	seen := filledIn(s.page("operator", "/silences/new?preview=1&pipeline=points&for=1h"))
	for name, change := range map[string]url.Values{
		"another matcher": {"value": {"orders"}}, "another span": {"for": {"72h"}}, "another end": {"until": {"2199-01-01T00:00"}}, "emergencies too": {"emergency": {"1"}}, "no preview": {"seen": {""}},
	} {
		form := url.Values{"reason": {"the shop is closed"}}
		for _, from := range []url.Values{seen, change} {
			for k, v := range from {
				if k != "reason" {
					form[k] = v
				}
			}
		}
		want := http.StatusUnprocessableEntity
		res := s.as("operator", "POST", "/silences", form.Encode())
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(s.body(res)))
		if err != nil {
			t.Fatal(err)
		}
		if got := apart(doc.Find("#preview, #wrong")); res.StatusCode != want || len(s.tower.View().Silences) != 2 || name != "another end" && !strings.Contains(got, "It is not made yet") {
			t.Errorf("%s: %s, %q", name, res.Status, got)
		}
	}
	seen.Set("reason", "the shop is closed") // which is none of what decides
	if res := s.as("operator", "POST", "/silences", seen.Encode()); res.StatusCode != http.StatusSeeOther {
		t.Errorf("as previewed: %s", res.Status)
	}
}

func TestAPreviewLeavesEmergenciesOut(t *testing.T) {
	s := night(t)
	doc := s.page("operator", "/silences/new?preview=1&pipeline=orders")
	if got := apart(doc.Find("#preview")); strings.Contains(got, "Duplicate rate") || !strings.Contains(got, "Stuck markers") {
		t.Errorf("a silence without emergencies covers %q", got)
	}
}

func TestWhatIsWrongWithASilenceIsSaidInTheFormThatKeepsWhatWasTyped(t *testing.T) {
	s := night(t)
	with := func(change url.Values) url.Values {
		form := url.Values{"label": {"pipeline"}, "op": {"="}, "value": {"orders"}, "for": {"1h"}, "reason": {"the shop is closed"}}
		for k, v := range change {
			form[k] = v
		}
		return form
	}
	for name, c := range map[string]struct {
		form url.Values
		want string
	}{
		"no matcher":             {with(url.Values{"label": {""}}), "it has no matchers"},
		"a broken expression":    {with(url.Values{"op": {"=~"}, "value": {"a("}}), "regular expression of label"},
		"an unknown comparison":  {with(url.Values{"op": {"<"}}), "compares by"},
		"everything":             {with(url.Values{"op": {"=~"}, "value": {".*"}}), "cover nearly everything"},
		"no reason":              {with(url.Values{"reason": {" "}}), "it has no reason"},
		"a reason of lines":      {with(url.Values{"reason": {"one\ntwo"}}), "in one line"},
		"a bad span":             {with(url.Values{"for": {"soon"}}), "parameter for"},
		"a span of a year":       {with(url.Values{"for": {"9000h"}}), "at most 90 days"},
		"a bad end":              {with(url.Values{"until": {"next week"}}), "parameter until"},
		"an end that has passed": {with(url.Values{"until": {"2020-01-01T00:00"}}), "a time to come"},
		"a hostile label":        {with(url.Values{"op": {"=~"}, "label": {hostile[1]}, "value": {"a("}}), "img src"},
	} {
		c.form.Set("seen", alert.Marks(c.form))
		res := s.as("operator", "POST", "/silences", c.form.Encode())
		body := s.body(res)
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := apart(doc.Find("#wrong")); res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, %q", name, res.Status, got)
		}
		if kept := filledIn(doc); c.form.Get("reason") != "one\ntwo" && strings.TrimSpace(kept.Get("reason")) != strings.TrimSpace(c.form.Get("reason")) || c.form.Get("label") != "" && kept.Get("value") != c.form.Get("value") {
			t.Errorf("%s: the form forgets: %v", name, kept)
		}
		if strings.Contains(body, "<img src=x") {
			t.Errorf("%s: markup", name)
		}
		if name != "no reason" && name != "a reason of lines" {
			if got := apart(s.page("operator", "/silences/new?preview=1&"+c.form.Encode()).Find("#wrong")); !strings.Contains(got, c.want) {
				t.Errorf("%s, previewed: %q", name, got)
			}
		}
	}
	if len(s.tower.View().Silences) != 2 {
		t.Errorf("%d silences were made", len(s.tower.View().Silences)-2)
	}
}
