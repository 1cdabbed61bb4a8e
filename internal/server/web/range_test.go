package web

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestTheRangeOfAChartHoldsBothHoursOfTheNightOfTheClocks(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, zone)
	q, err := ParseRange(url.Values{"from": {"2026-11-01T01:30"}, "to": {"2026-11-01T01:45"}}, now)
	if err != nil || q.to.Sub(q.from) != 75*time.Minute {
		t.Errorf("from %s to %s, %v", q.from, q.to, err)
	}
	if r := RangeView(q, "/", now); !strings.Contains(r.Text, "01:30 EDT to 1 Nov 01:45 EST") {
		t.Errorf("the range is written %q", r.Text)
	}
}
