package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/alerting"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

func TestWhatDoesNotFireCannotBeAcknowledged(t *testing.T) {
	s := night(t)
	for _, key := range []string{stuckKey, calmKey, blindKey} {
		section := s.page("operator", "/alerts/one?key="+url.QueryEscape(key)).Find("section[aria-labelledby=attend-title]")
		if !strings.Contains(apart(section), "It does not fire: there is nothing to acknowledge.") || section.Find("form").Length() != 0 {
			t.Errorf("%s offers %q", key, apart(section))
		}
	}
}

func TestAnAlertIsAcknowledgedByFormAndThatIsTakenBack(t *testing.T) {
	s := night(t)
	at := "/alerts/one?key=" + url.QueryEscape(rateKey)
	form := s.page("operator", at).Find("form[action$='/alerts/acknowledge']")
	values := hiddenFields(form)
	values.Set("for", form.Find("option[selected]").AttrOr("value", ""))
	values.Set("note", "I restart the consumer")
	res := s.as("operator", "POST", "/alerts/acknowledge", values.Encode())
	if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || to != at+"#attend-title" {
		t.Fatalf("%s, to %q: %.300s", res.Status, to, s.body(res))
	}
	doc := s.page("operator", at)
	if got := apart(doc.Find("section[aria-labelledby=attend-title]")); !strings.Contains(got, "Acknowledged by o") || !strings.Contains(got, "I restart the consumer") {
		t.Errorf("the page says %q", got)
	}
	a, _ := s.tower.View().Alert(rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"})
	if left := time.Until(a.Ack.Until); left < 3*time.Hour || left > 4*time.Hour {
		t.Errorf("it ends in %s", left)
	}
	res = s.as("operator", "POST", "/alerts/unacknowledge", hiddenFields(doc.Find("form[action$='/alerts/unacknowledge']")).Encode())
	if res.StatusCode != http.StatusSeeOther {
		t.Errorf("taking back: %s", res.Status)
	}
	if got := apart(s.page("operator", at).Find("section[aria-labelledby=attend-title]")); !strings.Contains(got, "Nobody has acknowledged it") {
		t.Errorf("after taking back: %q", got)
	}
	entries, err := s.journal.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 10})
	if err != nil || len(entries) != 4 || entries[3].Action != "acknowledge_alert" || entries[3].Reason != "I restart the consumer" || entries[0].Action != "unacknowledge_alert" {
		t.Errorf("audit %+v, %v", entries, err)
	}
	for name, form := range map[string]url.Values{
		"a bad span":        {"key": {rateKey}, "for": {"soon"}},
		"a negative span":   {"key": {rateKey}, "for": {"-1h"}},
		"too long a span":   {"key": {rateKey}, "for": {"200h"}},
		"a note of lines":   {"key": {rateKey}, "for": {"1h"}, "note": {"one\ntwo"}},
		"a hidden override": {"key": {rateKey}, "for": {"1h"}, "note": {"\u202egnp"}},
	} {
		if res := s.as("operator", "POST", "/alerts/acknowledge", form.Encode()); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	if res := s.as("operator", "POST", "/alerts/acknowledge", url.Values{"key": {calmKey}, "for": {"1h"}}.Encode()); res.StatusCode != http.StatusConflict {
		t.Errorf("acknowledging what does not fire: %s", res.Status)
	}
}

func TestWhoMayNotAttendIsToldWhy(t *testing.T) {
	s := night(t)
	for _, path := range []string{"/alerts/one?key=" + url.QueryEscape(rateKey), "/silences", "/silences/new"} {
		doc := s.page("viewer", path)
		if doc.Find("main form[method=post], main button[formmethod=post]").Length() != 0 || !strings.Contains(apart(doc.Find("main")), "needs the role operator; you are signed in as viewer") {
			t.Errorf("%s offers to a viewer: %s", path, apart(doc.Find("main")))
		}
	}
	s.alerting.Attend = alerting.New(alerting.Deps{ReadOnly: true})
	if got := apart(s.page("admin", "/alerts/one?key="+url.QueryEscape(rateKey)).Find("main")); !strings.Contains(got, "read-only") {
		t.Errorf("read-only says %q", got)
	}
	s.alerting.Attend = nil
	if got := apart(s.page("admin", "/silences").Find("main")); !strings.Contains(got, "without a journal of it") {
		t.Errorf("without a journal: %q", got)
	}
}

func TestChannelsAreShownToOperatorsWhoMaySendForTrial(t *testing.T) {
	s := night(t)
	if s.page("viewer", "/alerts").Find("#channels-title").Length() != 0 {
		t.Error("a viewer sees where notifications go")
	}
	doc := s.page("operator", "/alerts")
	rows := doc.Find("section[aria-labelledby=channels-title] tbody tr").Map(func(_ int, tr *goquery.Selection) string { return apart(tr) })
	for i, want := range []string{"night webhook delivers 0", "refusing slack refuses 3 oldest", "new email never used 0", "pair alertmanager delivers in part 0"} {
		if !strings.HasPrefix(rows[i], want) {
			t.Errorf("row %d says %q, want %q", i, rows[i], want)
		}
	}
	if last := rows[len(rows)-1]; !strings.Contains(last, "am-2:9093 takes nothing since") || !strings.Contains(last, "<refuses> connections") {
		t.Errorf("of a member that takes nothing: %q", last)
	}
	form := doc.Find("form[action='/alerts/test']").First()
	res := s.as("operator", "POST", "/alerts/test", hiddenFields(form).Encode())
	if res.StatusCode != http.StatusSeeOther || !slices.Equal(s.tower.tested, []string{"night by o"}) {
		t.Fatalf("%s, sent %v", res.Status, s.tower.tested)
	}
	at, _, _ := strings.Cut(res.Header.Get("Location"), "#")
	if got := apart(s.page("operator", at).Find("section[aria-labelledby=channels-title] > .hint")); got != "The channel night took the message for trial." {
		t.Errorf("after it: %q", got)
	}
	res = s.as("operator", "POST", "/alerts/test", url.Values{"channel": {"refusing"}}.Encode())
	if body := s.body(res); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "403 Forbidden; look at its token") {
		t.Errorf("a channel that refuses: %s", res.Status)
	}
	if res := s.as("operator", "POST", "/alerts/test", "x="); res.StatusCode != http.StatusBadRequest {
		t.Errorf("no channel: %s", res.Status)
	}
	s.tower.channels = nil
	if got := apart(s.page("operator", "/alerts").Selection); !strings.Contains(got, "Nobody is told of alerts") {
		t.Error("without a channel the page says nothing of it")
	}
}

// TestSeveralAlertsAreAcknowledgedByOneForm ticks two in the list, and two that cannot be acknowledged any more.
func TestSeveralAlertsAreAcknowledgedByOneForm(t *testing.T) {
	s := night(t)
	list := s.page("operator", "/alerts")
	if list.Find("input[name=key]").Length() != 0 {
		t.Error("the list that follows has boxes")
	}
	at := list.Find(".choose a").AttrOr("href", "")
	boxes := s.page("operator", at)
	var keys []string
	boxes.Find("input[name=key][form=ack-many]").Each(func(_ int, in *goquery.Selection) { keys = append(keys, in.AttrOr("value", "")) })
	if want := []string{rateKey, latencyKey}; !slices.Equal(keys, want) || boxes.Find("[hx-get]").Length() != 0 || boxes.Find("input[name=key][checked]").Length() != 0 {
		t.Fatalf("%s has boxes for %v, and %d regions that follow", at, keys, boxes.Find("[hx-get]").Length())
	}
	if got := s.page("operator", "/alerts?choose=all").Find("input[name=key][checked]").Length(); got != 2 {
		t.Errorf("%d boxes are ticked", got)
	}
	if got := s.page("viewer", "/alerts?choose=1").Find("input[name=key], .choose, #ack-many").Length(); got != 0 {
		t.Error("a viewer is offered boxes")
	}
	action := boxes.Find("form#ack-many").AttrOr("action", "")
	form := url.Values{"key": {rateKey, latencyKey}, "for": {"1h"}, "note": {"the broker restarts"}}
	if res := s.as("operator", "POST", action, form.Encode()); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/alerts?state=acked" {
		t.Fatalf("%s to %s: %.300s", res.Status, res.Header.Get("Location"), s.body(res))
	}
	if got := listedAlerts(s.page("viewer", "/alerts?state=acked")); !slices.Equal(got, []string{rateKey, latencyKey, deadKey}) {
		t.Errorf("acknowledged are %v", got)
	}
	entries, err := s.journal.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 10})
	told := 0
	for _, e := range entries {
		if e.Action == "acknowledge_alert" && e.Reason == "the broker restarts" && e.Detail != "" {
			told++
		}
	}
	if err != nil || told < 2 {
		t.Errorf("the audit has %d of 2: %+v, %v", told, entries, err)
	}

	form["key"] = []string{nodeKey, stuckKey, "no_such/pipeline/x"}
	res := s.as("operator", "POST", action, form.Encode())
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(s.body(res)))
	if err != nil {
		t.Fatal(err)
	}
	got := apart(doc.Find("main"))
	for _, want := range []string{"Stuck markers, pipeline orders: ", "No_such/pipeline/x: There is no alert", "Node down, broker main"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %q: %s", res.Status, want, got)
		}
	}
	if res.StatusCode != http.StatusConflict || doc.Find(".problem").Length() != 2 {
		t.Errorf("%s with %d problems", res.Status, doc.Find(".problem").Length())
	}
	for name, wrong := range map[string]url.Values{"nothing ticked": {"for": {"1h"}}, "a bad span": {"key": {nodeKey}, "for": {"soon"}}} {
		if res := s.as("operator", "POST", action, wrong.Encode()); res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
}

func TestATimelineSaysWhoseAcknowledgementEndedWhenAndWhy(t *testing.T) {
	s := night(t)
	now := time.Now()
	key, _ := rule.ParseKey(rateKey)
	ack := alerts.Ack{By: "ann", Note: "on <it>", At: now.Add(-3 * time.Hour), Until: now.Add(-2 * time.Hour), Tier: dedup.Severe}
	ended := func(why alerts.AckEnd, by string) alerts.EndedAck {
		return alerts.EndedAck{Key: key, Ack: ack, Ended: now.Add(-2 * time.Hour), Why: why, EndedBy: by}
	}
	for _, tt := range []struct {
		end  alerts.EndedAck
		says string
	}{
		{ended(alerts.AckOver, ""), "That of ann: its time was over."}, {ended(alerts.AckResolved, ""), "That of ann: the alert fires no more."},
		{ended(alerts.AckWorse, ""), "That of ann: the alert got worse than severe."}, {ended(alerts.AckTakenBack, "bob"), "That of ann: it was taken back by bob."},
		{ended(alerts.AckReplaced, "bob"), "That of ann: it was acknowledged anew by bob."},
	} {
		s.tower.acks = []alerts.EndedAck{tt.end}
		entries := strings.Join(linesOf(s.page("viewer", "/alerts/one?key="+url.QueryEscape(rateKey)).Find(".timeline li")), "\n")
		if !strings.Contains(entries, "acknowledgement ended") || !strings.Contains(entries, tt.says) || !strings.Contains(entries, "“on <it>”") {
			t.Errorf("%s: the timeline says\n%s", tt.end.Why, entries)
		}
		var body struct {
			Ended []struct {
				By, Why string
				EndedBy string `json:"ended_by"`
			} `json:"ended_acknowledgements"`
		}
		if s.api("/api/v1/alerts/one?key="+url.QueryEscape(rateKey), &body); len(body.Ended) != 1 || body.Ended[0].By != "ann" || body.Ended[0].Why != string(tt.end.Why) || body.Ended[0].EndedBy != tt.end.EndedBy {
			t.Errorf("the API says %+v", body)
		}
	}
}
