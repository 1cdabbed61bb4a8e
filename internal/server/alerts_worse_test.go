package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// worsens lets an alert of the tower get to a tier.
func (s *site) worsens(t *testing.T, key string, tier dedup.Tier) {
	t.Helper()
	if err := s.tower.change(key, func(a *alerts.AlertView) error { a.State.Tier = tier; return nil }); err != nil {
		t.Fatal(err)
	}
}

// ackOf returns the acknowledgement of an alert of the tower; nil without one.
func (s *site) ackOf(t *testing.T, key string) *alerts.Ack {
	t.Helper()
	k, _ := rule.ParseKey(key)
	a, ok := s.tower.View().Alert(k)
	if !ok {
		t.Fatalf("there is no alert %s", key)
	}
	return a.Ack
}

// confirmation is the form of a page that was refused with a conflict, with all that it says, and where it goes.
func (s *site) confirmation(t *testing.T, res *http.Response, says ...string) (string, url.Values) {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(s.body(res)))
	if err != nil {
		t.Fatal(err)
	}
	main := doc.Find("main")
	for _, want := range says {
		if res.StatusCode != http.StatusConflict || !strings.Contains(apart(main), want) {
			t.Errorf("%s lacks %q: %s", res.Status, want, apart(main))
		}
	}
	form := main.Find("form.acknowledge")
	values := hiddenFields(form)
	values.Set("note", form.Find("input[name=note]").AttrOr("value", ""))
	values.Set("for", form.Find("option[selected]").AttrOr("value", ""))
	return form.AttrOr("action", ""), values
}

func TestAnAlertThatGotWorseSinceItWasShownIsAcknowledgedOnlyWhenThatIsConfirmed(t *testing.T) {
	s := night(t)
	at := "/alerts/one?key=" + url.QueryEscape(latencyKey)
	values := hiddenFields(s.page("operator", at).Find("form[action$='/alerts/acknowledge']"))
	values.Set("for", "1h")
	values.Set("note", "I restart the consumer")
	s.worsens(t, latencyKey, dedup.Emergency)
	res := s.as("operator", "POST", "/alerts/acknowledge", values.Encode())
	action, again := s.confirmation(t, res, "It got worse", "payments: It is emergency now, you acknowledged severe",
		"Acknowledge emergency", "Look at it")
	if ack := s.ackOf(t, latencyKey); ack != nil {
		t.Fatalf("acknowledged all the same: %+v", ack)
	}
	if again.Get("note") != "I restart the consumer" || again.Get("for") != "1h" {
		t.Errorf("the form forgets what was given: %v", again)
	}
	if res := s.as("viewer", "POST", "/alerts/acknowledge", values.Encode()); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer: %s", res.Status)
	}
	if res := s.as("operator", "POST", action, again.Encode()); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("confirmed: %s, %.300s", res.Status, s.body(res))
	}
	if ack := s.ackOf(t, latencyKey); ack == nil || ack.Tier != dedup.Emergency || ack.Note != "I restart the consumer" {
		t.Errorf("confirmed: %+v", ack)
	}
}

func TestOfSeveralThoseThatGotWorseSinceTheyWereShownAreAcknowledgedOnlyWhenThatIsConfirmed(t *testing.T) {
	s := night(t)
	boxes := s.page("operator", "/alerts?choose=all&state=firing")
	values := url.Values{"for": {"24h"}, "note": {"the broker restarts"}}
	boxes.Find("input[form=ack-many]").Each(func(_ int, in *goquery.Selection) {
		values.Add(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	if want := []string{"emergency " + rateKey, "severe " + latencyKey, "severe " + nodeKey}; !slices.Equal(values["tier"], want) {
		t.Fatalf("the list shows %q, want %q", values["tier"], want)
	}
	s.worsens(t, latencyKey, dedup.Emergency)
	s.worsens(t, nodeKey, dedup.Emergency)
	res := s.as("operator", "POST", "/alerts/acknowledge-selected", values.Encode())
	action, again := s.confirmation(t, res, "Not all were acknowledged", "payments: It is emergency now, you acknowledged severe",
		"broker main: It is emergency now", "Acknowledge them as they are now", "Duplicate rate, pipeline orders")
	if s.ackOf(t, rateKey) == nil || s.ackOf(t, latencyKey) != nil || s.ackOf(t, nodeKey) != nil {
		t.Error("not the one that is as it was shown, and that alone, is acknowledged")
	}
	if res := s.as("operator", "POST", action, again.Encode()); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("confirmed: %s, %.300s", res.Status, s.body(res))
	}
	for _, key := range []string{latencyKey, nodeKey} {
		if ack := s.ackOf(t, key); ack == nil || ack.Tier != dedup.Emergency || ack.Note != "the broker restarts" {
			t.Errorf("%s: %+v", key, ack)
		}
	}
}

func TestATierThatThereIsNotIsRefused(t *testing.T) {
	s := night(t)
	for path, tier := range map[string]string{"/alerts/acknowledge": "unknown", "/alerts/acknowledge-selected": "bad " + rateKey} {
		res := s.as("operator", "POST", path, url.Values{"key": {rateKey}, "for": {"1h"}, "tier": {tier}}.Encode())
		if res.StatusCode != http.StatusBadRequest || s.ackOf(t, rateKey) != nil {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}
