package server

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/show"
)

func TestAnAlertBelowItsLimitSaysWhyItFires(t *testing.T) {
	now := time.Now()
	early, late := now.Add(-time.Minute), now.Add(-30*time.Second)
	falls := show.Moment(now.Add(4*time.Minute), now).Text // it keeps firing for 5 m
	for name, c := range map[string]struct {
		phase  alerts.Phase
		enters dedup.Tier
		health rule.Health
		below  [2]time.Time // warning and severe
		want   string
	}{
		"at its tier":          {alerts.PhaseFiring, dedup.Severe, rule.HealthOK, [2]time.Time{}, ""},
		"held":                 {alerts.PhaseFiring, dedup.Warning, rule.HealthOK, [2]time.Time{}, "It still fires: a tier is left only well below its limit"},
		"not known to be over": {alerts.PhaseFiring, dedup.Normal, rule.HealthOK, [2]time.Time{}, "It still fires: nobody can tell yet that it is over."},
		"below both tiers":     {alerts.PhaseRecovering, dedup.Normal, rule.HealthOK, [2]time.Time{early, early}, "It recovers: it falls to normal at " + falls + " if"},
		"at the lower one":     {alerts.PhaseRecovering, dedup.Warning, rule.HealthOK, [2]time.Time{{}, early}, "It recovers: it falls to warning at " + falls + " if"},
		"held it of late":      {alerts.PhaseRecovering, dedup.Normal, rule.HealthOK, [2]time.Time{late, early}, "It recovers: it falls to warning at " + falls + " if"},
		"kept by an older":     {alerts.PhaseRecovering, dedup.Normal, rule.HealthOK, [2]time.Time{}, ""},
		"cannot be told":       {alerts.PhaseFiring, dedup.TierUnknown, rule.HealthError, [2]time.Time{}, ""},
		"does not fire":        {alerts.PhaseNormal, dedup.Normal, rule.HealthOK, [2]time.Time{}, ""},
		"is only reached ":     {alerts.PhasePending, dedup.Severe, rule.HealthOK, [2]time.Time{}, ""},
	} {
		a := alertIn(t, "ack_latency", rule.OfPipeline, "orders", c.phase, dedup.Severe, time.Hour)
		a.State.Below, a.State.Health, a.Last.Enters = [3]time.Time{c.below[0], c.below[1]}, c.health, c.enters
		if name == "not known to be over" {
			a.Last.Holds = dedup.Emergency
		}
		if got := alert.HeldText(a, now); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestEvaluationsThatCameToTheSameAreOneLine(t *testing.T) {
	s := night(t)
	rate, _ := s.tower.View().Alert(rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"})
	for i := range rate.History {
		if i >= 5 {
			rate.History[i].Value = 0.2
		}
	}
	rows := s.page("viewer", "/alerts/one?key="+url.QueryEscape(rateKey)).Find("section[aria-labelledby=why-title] tbody tr")
	now := time.Now().UTC()
	first, last := show.Moment(rate.History[5].At, now).Text, show.Moment(rate.History[19].At, now).Text // with their date right after midnight
	if got := apart(rows.First()); rows.Length() != 6 || !strings.Contains(got, "15 times the same") || !strings.Contains(got, first+" to "+last) {
		t.Errorf("%d lines, the newest is %s; want %s to %s", rows.Length(), got, first, last)
	}
	if got := apart(rows.Eq(1)); strings.Contains(got, "times") {
		t.Errorf("one evaluation alone: %s", got)
	}
}

func TestAResolvedAlertNamesNoCause(t *testing.T) {
	s := night(t)
	over := s.tower.edges[0]
	over.Kind, over.To = alerts.EdgeResolved, dedup.Normal
	s.tower.edges = []alerts.Transition{over, s.tower.edges[1]}
	entries := s.page("viewer", "/alerts/one?key="+url.QueryEscape(rateKey)).Find(".timeline li")
	if strings.Contains(apart(entries.First()), "Likely cause") || !strings.Contains(apart(entries.Last()), "Likely cause") {
		t.Errorf("the timeline says %s", apart(entries))
	}
}

func TestAnEmptyListSaysOfHowManyNothingCanBeTold(t *testing.T) {
	s := night(t)
	s.tower.show(stale(alertIn(t, "lost_messages", rule.OfPipeline, "points", alerts.PhaseNormal, dedup.Normal, time.Hour), "no counters are reported"))
	if got := apart(s.page("viewer", "/alerts").Find(".blank")); !strings.Contains(got, "Nothing fires") || !strings.Contains(got, "Of 1 alert nothing can be told") {
		t.Errorf("the list says %q", got)
	}
}
