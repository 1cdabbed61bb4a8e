package server

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
)

func TestTheAPIListsAlertsAsThePageDoes(t *testing.T) {
	s := night(t)
	for query, want := range map[string][]string{
		"": {rateKey, latencyKey, nodeKey, deadKey, stuckKey}, "?state=pending": {stuckKey}, "?tier=emergency,severe&pipeline=orders": {rateKey, stuckKey}, "?page=2": {},
	} {
		var body alert.ListJSON
		s.api("/api/v1/alerts"+query, &body)
		got := []string{}
		for _, a := range body.Alerts {
			got = append(got, a.Key)
		}
		if !slices.Equal(got, want) || body.At == nil || body.Firing != 4 || body.Worst != "emergency" || body.Interval != 15 || body.Stale != "" {
			t.Errorf("%q: %v of %+v", query, got, body)
		}
	}
	for _, bad := range []string{"?state=dead", "?rule=none-such"} {
		if res := s.as("viewer", "GET", "/api/v1/alerts"+bad, ""); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, res.Status)
		}
	}
}

func TestTheAPIGivesAnAlertWithItsEvaluationsEdgesAndRule(t *testing.T) {
	s := night(t)
	var rate alert.DetailJSON
	s.api("/api/v1/alerts/one?key="+url.QueryEscape(rateKey), &rate)
	if rate.Tier != "emergency" || rate.Phase != "firing" || *rate.Value != 0.172 || *rate.Limit != 0.1 || *rate.N != 12_345 || rate.Unit != "ratio" || rate.Window != 900 ||
		rate.Cause == "" || rate.Step == "" || rate.FiredAt == nil || rate.Pending != nil || rate.Acknowledged != nil || rate.Labels["pipeline"] != "orders" {
		t.Errorf("%+v", rate.JSON)
	}
	if len(rate.Evaluations) != 20 || rate.Evaluations[3].Value != nil || rate.Evaluations[3].Health != "error" || *rate.Evaluations[0].Value != 0.1 {
		t.Errorf("evaluations %+v", rate.Evaluations)
	}
	if len(rate.Edges) != 2 || rate.Edges[0].Kind != "escalated" || rate.Edges[0].To != "emergency" || rate.Definition == nil || rate.Definition.Name != "duplicate_rate" {
		t.Errorf("edges %+v, rule %+v", rate.Edges, rate.Definition)
	}
	var latency, stuck, dead alert.DetailJSON
	s.api("/api/v1/alerts/one?key="+url.QueryEscape(latencyKey), &latency)
	s.api("/api/v1/alerts/one?key="+url.QueryEscape(stuckKey), &stuck)
	s.api("/api/v1/alerts/one?key="+url.QueryEscape(deadKey), &dead)
	if latency.Health != "error" || latency.Value != nil || latency.Tier != "severe" || latency.HealthSince == nil {
		t.Errorf("a stale alert: %+v", latency.JSON)
	}
	if stuck.Tier != "normal" || stuck.Pending == nil || *stuck.Pending != "severe" || dead.Acknowledged == nil || dead.Acknowledged.By != "bob" || dead.Phase != "recovering" {
		t.Errorf("%+v, %+v", stuck.JSON, dead.JSON)
	}
}

func TestTheAPINeverWritesWhatJSONCannotSay(t *testing.T) {
	s := night(t)
	odd := alertIn(t, "stuck_markers", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Severe, time.Hour)
	odd.Last.Value, odd.Last.Limit, odd.Last.N = math.NaN(), math.Inf(1), math.Inf(1)
	odd.Last.Why = "not a number"
	odd.History = []alerts.Evaluated{{Value: math.NaN(), N: math.Inf(1)}}
	odd.Rule = nil
	s.tower.show(odd)
	var body alert.DetailJSON
	s.api("/api/v1/alerts/one?key="+url.QueryEscape(stuckKey), &body)
	if body.Value != nil || body.N != nil || body.Definition != nil {
		t.Errorf("%+v", body)
	}
	if got := oneLine(s.page("viewer", "/alerts/one?key="+url.QueryEscape(stuckKey)).Find("main")); strings.Contains(got, "NaN") || !strings.Contains(got, "No rule of this name") {
		t.Errorf("the page: %s", got)
	}
}

func TestTheAPIAcknowledgesAndTakesBack(t *testing.T) {
	s := night(t)
	var a alert.JSON
	s.decode(s.as("operator", "POST", "/api/v1/alerts/acknowledge", `{"key": "`+rateKey+`", "note": "on it", "for": "2h"}`), http.StatusCreated, &a)
	if a.Acknowledged == nil || a.Acknowledged.By != "o" || a.Acknowledged.Note != "on it" || a.Acknowledged.Tier != "emergency" {
		t.Errorf("%+v", a)
	}
	s.decode(s.as("operator", "POST", "/api/v1/alerts/unacknowledge", `{"key": "`+rateKey+`"}`), http.StatusOK, &a)
	if a.Acknowledged != nil {
		t.Errorf("%+v", a.Acknowledged)
	}
	until, _ := json.Marshal(time.Now().Add(time.Hour))
	for body, status := range map[string]int{
		`{"key": "` + rateKey + `", "until": ` + string(until) + `}`:              http.StatusCreated,
		`{"key": "` + rateKey + `"}`:                                              http.StatusCreated,
		`{"key": "` + rateKey + `", "for": "1h", "until": ` + string(until) + `}`: http.StatusBadRequest,
		`{"key": "` + rateKey + `", "until": "2020-01-01T00:00:00Z"}`:             http.StatusBadRequest,
		`{"key": "` + rateKey + `", "for": "1y"}`:                                 http.StatusBadRequest,
		`{"key": "` + rateKey + `", "why": "x"}`:                                  http.StatusBadRequest,
		`{"key": "x"}`:                                                            http.StatusNotFound,
		`{}`:                                                                      http.StatusBadRequest,
		`{"key": "` + calmKey + `"}`:                                              http.StatusConflict,
		`{"key": "` + rateKey + `", "tier": "emergency"}`:                         http.StatusCreated,
		`{"key": "` + rateKey + `", "tier": "severe"}`:                            http.StatusConflict,
		`{"key": "` + rateKey + `", "tier": "normal"}`:                            http.StatusBadRequest,
		`{"key": "` + rateKey + `", "tier": "bad"}`:                               http.StatusBadRequest,
	} {
		if res := s.as("operator", "POST", "/api/v1/alerts/acknowledge", body); res.StatusCode != status {
			t.Errorf("%s: %s, want %d", body, res.Status, status)
		}
	}
}

func TestTheAPIAcknowledgesNothingWorseThanWasSeen(t *testing.T) {
	s := night(t)
	res := s.as("operator", "POST", "/api/v1/alerts/acknowledge", `{"key": "`+rateKey+`", "tier": "warning"}`)
	if body := s.body(res); res.StatusCode != http.StatusConflict || !strings.Contains(body, "It is emergency now, you acknowledged warning") {
		t.Errorf("%s: %s", res.Status, body)
	}
	var a alert.JSON
	s.api("/api/v1/alerts/one?key="+url.QueryEscape(rateKey), &a)
	if a.Acknowledged != nil {
		t.Errorf("acknowledged all the same: %+v", a.Acknowledged)
	}
}

func TestTheAPIMakesAndEndsSilences(t *testing.T) {
	s := night(t)
	const matchers = `"matchers": [{"label": "pipeline", "op": "=", "value": "orders"}]`
	var added alert.AddedSilenceJSON
	s.decode(s.as("operator", "POST", "/api/v1/silences", `{`+matchers+`, "for": "1h", "preview": true}`), http.StatusOK, &added)
	if added.ID != "" || !slices.Equal(added.Alerts, []string{rateKey, stuckKey}) || !slices.Equal(added.Subjects, []string{"pipeline orders"}) || added.Warning != "" {
		t.Errorf("preview %+v", added)
	}
	s.decode(s.as("operator", "POST", "/api/v1/silences", `{`+matchers+`, "for": "1h", "reason": "the shop is closed"}`), http.StatusCreated, &added)
	if added.ID != "s3" || len(s.tower.View().Silences) != 3 || s.tower.View().Silences[2].Author != "o" {
		t.Errorf("made %+v of %+v", added, s.tower.View().Silences)
	}
	var list alert.SilencesJSON
	s.api("/api/v1/silences", &list)
	if len(list.Silences) != 3 || list.Silences[0].State != "active" || list.Silences[2].State != "pending" || list.Silences[1].Matchers[0] != (alert.MatcherJSON{Label: "pipeline", Op: "=", Value: "orders"}) {
		t.Errorf("%+v", list)
	}
	var ended map[string]bool
	s.decode(s.as("operator", "POST", "/api/v1/silences/s3/expire", ""), http.StatusOK, &ended)
	list = alert.SilencesJSON{}
	s.api("/api/v1/silences", &list)
	if !ended["expired"] || len(list.Silences) != 2 || len(list.Ended) != 1 || list.Ended[0].State != "expired" || list.Ended[0].EndedBy != "o" {
		t.Errorf("%v, %+v", ended, list)
	}
	s.decode(s.as("operator", "POST", "/api/v1/silences", `{"matchers": [{"label": "pipeline", "op": "=", "value": "ordres"}], "for": "1h", "reason": "a mistyped name"}`), http.StatusCreated, &added)
	if !strings.Contains(added.Warning, "It covers nothing") {
		t.Errorf("warning %q", added.Warning)
	}
	for body, status := range map[string]int{
		`{"for": "1h", "reason": "everything"}`:                                             http.StatusBadRequest,
		`{` + matchers + `, "reason": "no end"}`:                                            http.StatusBadRequest,
		`{` + matchers + `, "for": "1h"}`:                                                   http.StatusBadRequest,
		`{` + matchers + `, "for": "1h", "ends": "2030-01-01T00:00:00Z", "reason": "both"}`: http.StatusBadRequest,
		`{` + matchers + `, "ends": "2020-01-01T00:00:00Z", "reason": "long ago"}`:          http.StatusBadRequest,
		`{` + matchers + `, "for": "1h", "reason": "a typing mistake", "matcher": []}`:      http.StatusBadRequest,
	} {
		if res := s.as("operator", "POST", "/api/v1/silences", body); res.StatusCode != status {
			t.Errorf("%s: %s, want %d", body, res.Status, status)
		}
	}
	if res := s.as("operator", "POST", "/api/v1/silences/none/expire", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("ending what is not there: %s", res.Status)
	}
	s.tower.err = errDisk
	if res := s.as("viewer", "GET", "/api/v1/silences", ""); res.StatusCode != http.StatusServiceUnavailable || strings.Contains(s.body(res), "secret") {
		t.Errorf("without a journal: %s", res.Status)
	}
}

func TestTheAPIListsTheRulesInTheirOrder(t *testing.T) {
	s := night(t)
	var body alert.RulesJSON
	s.api("/api/v1/rules", &body)
	all := rule.Defaults()
	if len(body.Rules) != len(all) {
		t.Fatalf("%d rules, want %d", len(body.Rules), len(all))
	}
	for i, r := range body.Rules {
		if r.Name != all[i].Name || r.Title == "" || r.Meaning == "" || r.Step == "" || r.NoData == "" || r.Limits.Leave <= 0 {
			t.Errorf("rule %d: %+v", i, r)
		}
	}
	at := slices.IndexFunc(body.Rules, func(r alert.RuleJSON) bool { return r.Name == "dead_letter_inflow" })
	if l := body.Rules[at].Limits; l.Warning != nil || l.Leave != 0.8 || *l.Severe != 10 || *l.Emergency != 100 || body.Rules[at].For.Emergency != 60 || body.Rules[at].KeepFiring != 300 {
		t.Errorf("%+v", body.Rules[at])
	}
}
