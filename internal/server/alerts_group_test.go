package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// groupsOf are the groups of a list: each heading with the keys below it.
func groupsOf(doc *goquery.Document) []string {
	return doc.Find(".alert-rows tbody").Map(func(_ int, body *goquery.Selection) string {
		keys := body.Find(".c-id > a").Map(func(_ int, a *goquery.Selection) string {
			_, key, _ := strings.Cut(a.AttrOr("href", ""), "key=")
			name, _, _ := strings.Cut(key, "%2F")
			return name
		})
		return apart(body.Find(".group")) + ": " + strings.Join(keys, " ")
	})
}

// manyAlerts fires several rules on several pipelines, the worst first as the engine gives them.
func manyAlerts(t *testing.T) *site {
	s := night(t)
	acked := alertIn(t, "dead_letters", rule.OfPipeline, "points", alerts.PhaseFiring, dedup.Emergency, 3*time.Hour)
	acked.Ack = &alerts.Ack{By: "bob", At: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour), Tier: dedup.Emergency}
	waiting := alertIn(t, "stuck_markers", rule.OfPipeline, "inventory", alerts.PhasePending, dedup.Normal, time.Minute)
	waiting.State.Reached = [3]time.Time{time.Now(), {}, {}}
	s.tower.show(
		alertIn(t, "duplicate_rate", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Emergency, 14*time.Minute),
		alertIn(t, "ack_latency", rule.OfPipeline, "payments", alerts.PhaseFiring, dedup.Severe, time.Hour),
		alertIn(t, "failure_rate", rule.OfPipeline, "points", alerts.PhaseFiring, dedup.Severe, 2*time.Hour),
		alertIn(t, "node_down", rule.OfBroker, "main", alerts.PhaseFiring, dedup.Severe, 5*time.Minute),
		alertIn(t, "dead_letters", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Warning, 4*time.Hour),
		waiting, acked,
	)
	return s
}

func TestAlertsStandUnderTheirPipelineTheOneWithTheWorstFirst(t *testing.T) {
	s := manyAlerts(t)
	doc := s.page("viewer", "/alerts?state=firing,pending")
	want := []string{
		"emergency pipeline orders 2 alerts: duplicate_rate dead_letters",
		"severe pipeline payments 1 alert: ack_latency",
		"emergency pipeline points 2 alerts: failure_rate dead_letters",
		"severe broker main 1 alert: node_down",
		"pending warning pipeline inventory 1 alert: stuck_markers",
	}
	if got := groupsOf(doc); !slices.Equal(got, want) {
		t.Errorf("the groups are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if href := doc.Find(".alert-rows .group a").First().AttrOr("href", ""); href != "/pipelines/orders" {
		t.Errorf("the heading leads to %q", href)
	}
	if n := doc.Find(".alert-rows .group th[scope=rowgroup]").Length(); n != len(want) {
		t.Errorf("%d headings head their group", n)
	}
	if doc := s.page("viewer", "/alerts?pipeline=orders"); doc.Find(".group").Length() != 0 || len(listedAlerts(doc)) != 2 {
		t.Errorf("the list of one pipeline has a heading: %q", groupsOf(doc))
	}
}

func TestAListOfAlertsThatIsSortedByAColumnHasNoGroups(t *testing.T) {
	s := manyAlerts(t)
	for query, want := range map[string]string{
		"-tier":  "duplicate_rate dead_letters ack_latency failure_rate node_down dead_letters stuck_markers",
		"tier":   "stuck_markers dead_letters ack_latency failure_rate node_down duplicate_rate dead_letters",
		"alert":  "ack_latency dead_letters dead_letters duplicate_rate failure_rate node_down stuck_markers",
		"since":  "dead_letters dead_letters failure_rate ack_latency duplicate_rate node_down stuck_markers",
		"-since": "stuck_markers node_down duplicate_rate ack_latency failure_rate dead_letters dead_letters",
	} {
		doc := s.page("viewer", "/alerts?state=firing,pending&sort="+query)
		if got := groupsOf(doc); len(got) != 1 || got[0] != ": "+want {
			t.Errorf("by %s: %q", query, got)
		}
		if back := doc.Find(".choose a[href='/alerts?state=firing&state=pending']"); back.Length() == 0 {
			t.Errorf("by %s: no way back to the groups", query)
		}
		if n := doc.Find(".alert-rows th[aria-sort]").Length(); n != 1 {
			t.Errorf("by %s: %d columns say that they sort", query, n)
		}
	}
	if res := s.as("viewer", "GET", "/alerts?sort=size", ""); res.StatusCode != http.StatusBadRequest || !strings.Contains(s.body(res), "must be tier, alert or since") {
		t.Errorf("by a column that there is not: %s", res.Status)
	}
}

func TestTheAPIListsAlertsTheWorstFirstWhateverThePageDoes(t *testing.T) {
	s := manyAlerts(t)
	var body struct{ Alerts []struct{ Rule string } }
	s.api("/api/v1/alerts?sort=since", &body)
	var rules []string
	for _, a := range body.Alerts {
		rules = append(rules, a.Rule)
	}
	if got := strings.Join(rules, " "); got != "duplicate_rate ack_latency failure_rate node_down dead_letters stuck_markers dead_letters" {
		t.Errorf("it lists %s", got)
	}
}

func TestAGroupThatGoesOnHasItsHeadingOnTheNextPageToo(t *testing.T) {
	s := night(t)
	var all []*alerts.AlertView
	for range 60 {
		all = append(all, alertIn(t, "duplicate_rate", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Severe, time.Hour))
	}
	s.tower.show(all...)
	for _, path := range []string{"/alerts", "/alerts?page=2"} {
		if got := apart(s.page("viewer", path).Find(".group")); got != "severe pipeline orders 60 alerts" {
			t.Errorf("%s is headed %q", path, got)
		}
	}
}
