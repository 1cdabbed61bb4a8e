package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/page/chart"
	"dedup-dashboard/internal/server/show"
)

func TestEveryPlaceHasTheSameTierOfAPipelineThatAnAlertRaised(t *testing.T) {
	s := night(t)
	before := s.page("viewer", "/pipelines/points")
	inflow := alertIn(t, "dead_letter_inflow", rule.OfPipeline, "points", alerts.PhaseFiring, dedup.Emergency, time.Minute)
	inflow.Last.Why = "747 dead letters in 17 m"
	inflow.Ack = &alerts.Ack{By: "ann", Until: time.Now().Add(time.Hour), Tier: dedup.Emergency}
	s.tower.show(inflow)
	const key = "dead_letter_inflow/pipeline/points"
	if before.Find("#status .title .chip").First().HasClass("t-emergency") {
		t.Fatal("the pipeline was in emergency without the alert")
	}
	page := s.page("viewer", "/pipelines/points")
	if got := apart(page.Find("#status .verdict")); !strings.HasPrefix(got, "Dead-letter inflow: 747 dead letters in 17 m") || !strings.HasSuffix(got, "Alert Dead-letter inflow") {
		t.Errorf("the page of the pipeline: %q", got)
	}
	row := s.page("viewer", "/").Find("#pipelines tbody").Find("a.raised")
	if row.AttrOr("href", "") != show.AlertAddress("", inflow.Key) {
		t.Errorf("the overview leads to %q", row.AttrOr("href", ""))
	}
	if got := page.Find("#status .title .chip.t-emergency").Length(); got != 1 {
		t.Errorf("%d chips of emergency on the page", got)
	}
	var one api.PipelineJSON
	s.decode(s.as("viewer", "GET", "/api/v1/pipelines/points", ""), 200, &one)
	if one.Tier != "emergency" || one.Alert != key {
		t.Errorf("the API: %s by %q", one.Tier, one.Alert)
	}
	if body := s.body(s.as("viewer", "GET", "/metrics", "")); !strings.Contains(body, `dedup_pipeline_tier{pipeline="points",tier="emergency"} 1`) {
		t.Error("the metrics have another tier")
	}

	s.tower.view.At = time.Now().Add(-time.Hour) // nothing can be told of alerts any more
	s.decode(s.as("viewer", "GET", "/api/v1/pipelines/points", ""), 200, &one)
	if one.Tier == "emergency" || one.Alert != "" {
		t.Errorf("an hour after the last evaluation: %s by %q", one.Tier, one.Alert)
	}
}

func TestAnOutageIsOneLineAboveWhatCannotBeJudgedBecauseOfIt(t *testing.T) {
	s := night(t)
	const why = "broker main cannot be read: connection refused"
	blind := func(name, pipeline string, phase alerts.Phase, tier dedup.Tier) *alerts.AlertView {
		a := stale(alertIn(t, name, rule.OfPipeline, pipeline, phase, tier, time.Hour), why)
		a.Last.Unread = []string{"broker main"}
		return a
	}
	root := alertIn(t, "source_unreachable", rule.OfBroker, "main", alerts.PhaseFiring, dedup.Warning, time.Minute)
	all := []*alerts.AlertView{root,
		blind("dead_letter_inflow", "orders", alerts.PhaseFiring, dedup.Severe), blind("findings", "orders", alerts.PhaseRecovering, dedup.Severe),
		blind("dead_letters", "orders", alerts.PhaseFiring, dedup.Warning), blind("redelivery_loop", "points", alerts.PhaseFiring, dedup.Warning),
		alertIn(t, "stuck_markers", rule.OfPipeline, "points", alerts.PhaseFiring, dedup.Warning, time.Hour)}
	s.tower.show(all...)
	page := s.page("viewer", "/alerts")
	want := []string{"source_unreachable/broker/main", "dead_letter_inflow/pipeline/orders", "stuck_markers/pipeline/points"}
	if got := listedAlerts(page); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the list holds %v", got)
	}
	line := page.Find(".alert-rows tbody tr:not(.group)").First().Find(".folded a")
	if apart(line) != "3 more alerts cannot be judged because broker main cannot be read" || line.AttrOr("href", "") != "/alerts?state=unknown" {
		t.Errorf("%q leads to %s", apart(line), line.AttrOr("href", ""))
	}
	for _, query := range []string{"?state=firing", "?state=unknown", "?pipeline=orders", "?tier=warning"} {
		if got := s.page("viewer", "/alerts"+query).Find(".folded").Length(); got != 0 {
			t.Errorf("%s folds", query)
		}
	}
	root.State.Phase, root.Last.Value = alerts.PhaseRecovering, 0
	s.tower.show(all...)
	if got := len(listedAlerts(s.page("viewer", "/alerts"))); got != len(all) {
		t.Errorf("once the broker answers %d of %d are listed", got, len(all))
	}
}

func TestEveryBuiltInRuleLeadsToWhereItsFirstStepIsDone(t *testing.T) {
	s := night(t)
	const path = "/pipelines/orders"
	want := map[string]string{
		"duplicate_rate": path + "#chart-duplicates", "ack_latency": path + "#chart-latency", "dead_letters": path + "/dead-letters", "dead_letter_inflow": path + "/dead-letters", "shared_dead_letters": "/dead-letters", "shared_dead_letter_inflow": "/dead-letters",
		"stuck_markers": path + "/markers?state=processing", "markers_without_expiry": path + "/markers?state=no-expiry", "redelivery_loop": path + "/markers?state=processing",
		"unacked_without_ack": path + "#chart-latency", "lost_messages": path + "/markers?state=failed", "double_effects": path + "/effects", "failure_rate": path + "#chart-duplicates",
		"ack_timeouts": path + "#chart-duplicates", "backlog": path + "#chart-backlog", "no_consumers": path + "#findings", "consumer_restarts": path + "#chart-duplicates",
		"auto_ack": path + "#findings", "store_eviction": path + "#findings", "findings": path + "#findings", "broker_alarm": "/#sources", "node_down": "/#sources",
		"partition": "/#sources", "minority": "/#sources", "source_unreachable": "/#sources", "outbox_old": "/alerts#channels-title", "delivery_failed": "/alerts#channels-title",
		"delivery_in_part": "/alerts#channels-title", "audit_refused": "/audit",
	}
	elsewhere := map[string]bool{alerts.RuleWatchdog: true, "evaluation_late": true, "disk_nearly_full": true}
	for _, r := range rule.Defaults() {
		kind, subject := r.Kind, "orders"
		switch kind {
		case "":
			kind = rule.OfBroker
		case rule.OfDashboard:
			subject = ""
		}
		a := alertIn(t, r.Name, kind, subject, alerts.PhaseFiring, dedup.Warning, time.Minute)
		links := alert.StepLinks(a, "")
		if elsewhere[r.Name] {
			if len(links) > 0 {
				t.Errorf("%s leads to %v", r.Name, links)
			}
			continue
		}
		if len(links) == 0 || links[0].Href != want[r.Name] {
			t.Errorf("%s leads to %v, want %s", r.Name, links, want[r.Name])
			continue
		}
		address, fragment, _ := strings.Cut(links[0].Href, "#")
		page := s.page("admin", address)
		if id, ok := strings.CutPrefix(fragment, "chart-"); ok { // drawn where there is a history
			if !slices.Contains(chart.IDs(), id) {
				t.Errorf("%s leads to the chart %s, which there is not", r.Name, id)
			}
			continue
		}
		if fragment != "" && fragment != "channels-title" && page.Find("#"+fragment).Length() != 1 {
			t.Errorf("%s leads to #%s, which is not on the page", r.Name, fragment)
		}
	}
	s.tower.show(alertIn(t, "lost_messages", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Severe, time.Minute))
	for _, at := range []string{"/alerts", "/alerts/one?key=lost_messages/pipeline/orders"} {
		if got := apart(s.page("viewer", at).Find("a.step")); got != "Its failed markers Those given up" {
			t.Errorf("%s leads to %q", at, got)
		}
	}
}

func TestThePageOfAPipelineLeadsToItsDeadLetters(t *testing.T) {
	s := night(t)
	page := s.page("viewer", "/pipelines/inventory")
	if got := page.Find("#status .part a.more-link").AttrOr("href", ""); got != "/pipelines/inventory/dead-letters" {
		t.Errorf("the figure leads to %q", got)
	}
	queue := page.Find("#dead-letters .c-queue a").First()
	if got := queue.AttrOr("href", ""); got != "/pipelines/inventory/dead-letters?queue="+inventoryDLQ {
		t.Errorf("the queue leads to %q", got)
	}
}

func TestAPendingAlertIsNotGreen(t *testing.T) {
	s := night(t)
	row := s.page("viewer", "/alerts?state=pending").Find(".alert-rows tbody tr:not(.group)")
	if got := apart(row.Find(".chips")); got != "pending severe" {
		t.Errorf("the chips say %q", got)
	}
	if got := apart(row.Find(".when")); !strings.Contains(got, "normal, pending since") {
		t.Errorf("since %q", got)
	}
}

func TestAllRulesAreListedWithTheirLimits(t *testing.T) {
	s := night(t)
	variant := *ruleNamed(t, "dead_letters")
	variant.Match, variant.Timing.Warning, variant.Limits.Warning = map[string]string{"team": "shop"}, 0, rule.Limit(5000)
	s.tower.view.Rules = append(s.tower.view.Rules, variant)
	if got := s.page("viewer", "/alerts").Find(".hint a[href='/alerts/rules']"); !strings.Contains(apart(got), "rules watch") {
		t.Errorf("the list leads to the rules by %q", apart(got))
	}
	page := s.page("viewer", "/alerts/rules")
	rows := map[string]string{}
	var order []string
	page.Find(".rule-rows tbody tr").Each(func(_ int, row *goquery.Selection) {
		name := apart(row.Find(".c-id small")) + " " + apart(row.Find(".matcher"))
		order = append(order, strings.TrimSpace(name))
		rows[strings.TrimSpace(name)] = apart(row)
	})
	var want []string
	for _, r := range rule.Defaults() {
		want = append(want, r.Name)
	}
	if want = append(want, "dead_letters team=shop"); !slices.Equal(order, want) {
		t.Errorf("the rules are %v", order)
	}
	for name, parts := range map[string][]string{
		"duplicate_rate":     {"those of each pipeline", "2 m warning, 2 m severe, 1 m emergency", "1 alert fires"},
		"dead_letter_inflow": {"10 severe, 100 emergency", "2 m severe, 1 m emergency"}, "stuck_markers": {"1 warning, 10 severe", "1 pending"}, "backlog": {"none is given", "off"},
		"no_consumers": {"the tier of the finding", "30 s"}, "dead_letters team=shop": {"5,000 warning", "at once"}, "source_unreachable": {"3 intervals warning, 2 m severe"},
		"node_down": {"each broker"}, "outbox_old": {"the dashboard itself"},
	} {
		for _, part := range parts {
			if !strings.Contains(rows[name], part) {
				t.Errorf("%s lacks %q: %s", name, part, rows[name])
			}
		}
	}
	if strings.Contains(rows["dead_letters team=shop"], "fires") || strings.Contains(rows["dead_letter_inflow"], "warning") {
		t.Errorf("a variant counts for another, or a tier without a limit is shown: %s; %s", rows["dead_letters team=shop"], rows["dead_letter_inflow"])
	}
	if got := page.Find(".rule-rows a[href='/docs/alerts#dead_letters']").Length(); got != 2 {
		t.Errorf("%d links to the runbook of dead_letters", got)
	}
	s.alerting.View = nil
	if got := apart(s.page("viewer", "/alerts/rules").Find("main")); !strings.Contains(got, "Alerts are switched off") {
		t.Errorf("without alerts: %q", got)
	}
}
