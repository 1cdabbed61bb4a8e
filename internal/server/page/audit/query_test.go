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
