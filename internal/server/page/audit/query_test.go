package audit

import (
	"net/url"
	"testing"
	"time"
)

func TestADayOfTheAuditBeginsInTheZoneOfItsReader(t *testing.T) {
	cairo, err := time.LoadLocation("Africa/Cairo")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 4, 25, 9, 0, 0, 0, cairo)
	for _, day := range []string{"2026-04-24", "yesterday"} { // its midnight was left out
		q, _, err := parseQuery(url.Values{"from": {day}, "to": {day}}, now)
		if err != nil || q.From.UTC().Format(time.RFC3339) != "2026-04-23T22:00:00Z" || q.To.Sub(q.From) != 23*time.Hour {
			t.Errorf("%s: %s to %s, %v", day, q.From.UTC(), q.To.UTC(), err)
		}
	}
	if _, _, err := parseQuery(url.Values{"to": {"9999-12-31"}}, now); err == nil {
		t.Error("a day after which there is none is taken")
	}
}

func TestTheAuditTakesTimesAndSpansToo(t *testing.T) {
	now := time.Date(2026, 11, 27, 14, 30, 0, 0, time.FixedZone("", 2*60*60))
	for from, want := range map[string]string{
		"2026-11-27T13:00":          "2026-11-27T11:00:00Z",
		"2026-11-27T13:00:05Z":      "2026-11-27T13:00:05Z",
		"2026-11-27T13:00:00-05:00": "2026-11-27T18:00:00Z",
		"2h":                        "2026-11-27T10:30:00Z",
		"30m":                       "2026-11-27T12:00:00Z",
		"2026-11-27":                "2026-11-26T22:00:00Z",
	} {
		for _, name := range []string{"from", "to"} {
			q, _, err := parseQuery(url.Values{name: {from}}, now)
			got := q.From
			if name == "to" {
				got = q.To
				if from == "2026-11-27" { // a day is there to its end
					got = got.AddDate(0, 0, -1)
				}
			}
			if err != nil || got.UTC().Format(time.RFC3339) != want {
				t.Errorf("%s=%s: %s, %v", name, from, got.UTC(), err)
			}
			address, err := url.Parse(q.address(""))
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := parseQuery(address.Query(), now.Add(time.Minute)) // the next page is of the same time
			if err != nil || !again.From.Equal(q.From) || !again.To.Equal(q.To) {
				t.Errorf("%s=%s goes on as %s: %v", name, from, address, err)
			}
		}
	}
	if day := shownDay(now, -1, now); day != "2026-11-27" {
		t.Errorf("the form shows %s", day)
	}
	for _, bad := range []string{"last week", "2026-11-27T25:00", "-2h", "2"} {
		if _, _, err := parseQuery(url.Values{"from": {bad}}, now); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
