package server

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/api"
)

// sampleSnapshot holds a pipeline with 150 duplicates in 10,000 messages, one of which nothing is known, and one whose
// figures are no numbers.
func sampleSnapshot() *dedup.Snapshot {
	now := time.Now()
	rate := dedup.Exact(dedup.Measured, dedup.Ratio, 0.015, now.Add(-3*time.Second), "reported counters")
	rate.N, rate.Hits, rate.Window, rate.Covered = 10_000, 150, 15*time.Minute, 15*time.Minute
	rate.Formula = "duplicate_done / messages"
	orders := dedup.PipelineStatus{
		Pipeline: dedup.Pipeline{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}, Store: "orders",
			Labels: map[string]string{"team": "shop"}, Limits: dedup.DefaultLimits()},
		Windows: []dedup.WindowFigures{{Window: 15 * time.Minute, DuplicateRate: rate, AckMean: dedup.Unknown(dedup.Seconds, "no histogram")}},
		Gauges: map[dedup.GaugeName]dedup.Figure{
			dedup.Ready:   dedup.Exact(dedup.Measured, dedup.Count, 0, now, "broker main"),
			dedup.Unacked: dedup.Unknown(dedup.Count, "the broker does not answer"),
		},
		Markers: map[dedup.State]dedup.Figure{dedup.Processing: dedup.Exact(dedup.Measured, dedup.Count, 7, now, "store orders")},
		DeadLetterQueues: []dedup.DeadLetterQueue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: "orders.dlq<script>\xff"}, Type: "classic", Found: "listed",
			Depth: dedup.Exact(dedup.Measured, dedup.Count, 12, now, "broker main")}},
		Findings: []dedup.Finding{{Kind: "marker_without_expiry", Tier: dedup.Warning, Text: "7 markers never expire"}},
		Events:   []dedup.Event{{At: now, Kind: "broker_restart", Text: "node restarted"}},
		Sources:  []string{"broker main"},
	}
	nan := dedup.Exact(dedup.Measured, dedup.Ratio, math.NaN(), now, "reported counters")
	nan.N = math.Inf(1)
	odd := dedup.PipelineStatus{
		Pipeline: dedup.Pipeline{Name: "odd", Limits: dedup.DefaultLimits()}, Gauges: map[dedup.GaugeName]dedup.Figure{dedup.Ready: nan},
		Windows: []dedup.WindowFigures{{Window: 15 * time.Minute, CrossCheck: nan, Redeliveries: nan}},
	}
	return &dedup.Snapshot{
		Round: 3, At: now, Interval: 15 * time.Second,
		Pipelines: []dedup.PipelineStatus{{Pipeline: dedup.Pipeline{Name: "blank", Limits: dedup.DefaultLimits()}}, orders, odd},
		Sources:   []dedup.SourceHealth{{Name: "broker main", Kind: "broker", Tried: true, OK: true, LastTry: now, LastSuccess: now}},
	}
}

func (s *site) api(path string, into any) *http.Response {
	s.t.Helper()
	return s.apiAs("viewer", path, into)
}

func (s *site) apiAs(role, path string, into any) *http.Response {
	s.t.Helper()
	res := s.as(role, "GET", path, "")
	body := s.body(res)
	if strings.Contains(body, "NaN") || strings.Contains(body, "Inf") {
		s.t.Errorf("%s speaks of NaN or Inf", path)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		s.t.Fatalf("%s: %v in %q", path, err, body)
	}
	return res
}

func TestAPIGivesTheWholeProvenanceOfAFigure(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(sampleSnapshot())
	var d api.PipelineDetailJSON
	s.api("/api/v1/pipelines/orders", &d)
	if d.Tier != "warning" || d.Risk != "medium" {
		t.Errorf("150 of 10,000 is %s with %s risk (%s), expected warning and medium", d.Tier, d.Risk, d.Why)
	}
	f := d.Windows[0].DuplicateRate
	if f.Value == nil || *f.Value != 0.015 || *f.N != 10_000 || *f.Hits != 150 || f.Quality != "measured" || f.Source != "reported counters" ||
		f.Window != 900 || f.Covered != 900 || f.Formula != "duplicate_done / messages" || f.Age == nil || *f.Age < 3 {
		t.Errorf("figure %+v", f)
	}
	if len(d.Sources) != 1 || !d.Sources[0].OK || len(d.Findings) != 1 || len(d.Events) != 1 || *d.Markers["processing"].Value != 7 {
		t.Errorf("detail %+v", d)
	}
}

func TestAPINeverShowsUnknownAsZero(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(sampleSnapshot())
	for _, name := range []string{"orders", "blank", "odd"} {
		var raw map[string]any
		s.api("/api/v1/pipelines/"+name, &raw)
		walkFigures(raw, func(f map[string]any) {
			if f["quality"] == "unknown" && (f["value"] != nil || f["low"] != nil || f["high"] != nil || f["why"] == "") {
				t.Errorf("%s: an unknown figure shows %v", name, f)
			}
			if f["unit"] != "ratio" && f["hits"] != nil || f["n"] == 0.0 {
				t.Errorf("%s: a figure shows a numerator or a sample that it does not have: %v", name, f)
			}
			if f["quality"] != "unknown" && f["value"] == nil {
				t.Errorf("%s: a known figure has no value: %v", name, f)
			}
		})
	}
	var d api.PipelineDetailJSON
	s.api("/api/v1/pipelines/orders", &d)
	if d.Unacked.Value != nil || d.Unacked.Why != "the broker does not answer" {
		t.Errorf("unacked %+v", d.Unacked)
	}
	if d.Ready.Value == nil || *d.Ready.Value != 0 {
		t.Error("a measured 0 is not shown as 0")
	}
}

func TestAPIForgetsTheTierWhenRoundsStop(t *testing.T) {
	s := newSite(t, nil, testUsers())
	snap := sampleSnapshot()
	snap.Interval, snap.At = 15*time.Second, time.Now().Add(-time.Minute)
	s.snapshots.snap.Store(snap)
	var d api.PipelineDetailJSON
	s.api("/api/v1/pipelines/orders", &d)
	if d.Tier != "unknown" || !strings.Contains(d.Why, "Stale since") {
		t.Errorf("a minute after the last round of 15 s the tier is %s: %s", d.Tier, d.Why)
	}
	var list api.PipelinesJSON
	s.api("/api/v1/pipelines?tier=unknown", &list)
	if len(list.Pipelines) != len(snap.Pipelines) {
		t.Errorf("%d of %d pipelines are unknown", len(list.Pipelines), len(snap.Pipelines))
	}
}

func TestAPIAndMetricsGiveNoOldNumberWhenRoundsStop(t *testing.T) {
	s := newSite(t, nil, testUsers())
	snap := sampleSnapshot()
	snap.Interval, snap.At = 15*time.Second, time.Now().Add(-2*time.Hour)
	s.snapshots.snap.Store(snap)
	for _, path := range []string{"/api/v1/pipelines", "/api/v1/pipelines/orders"} {
		var body any
		s.api(path, &body)
		figures := 0
		walkFigures(body, func(f map[string]any) {
			figures++
			if f["value"] != nil || f["quality"] != "unknown" || !strings.Contains(f["why"].(string), "Stale since") {
				t.Errorf("%s, two hours after the last round: %v", path, f)
			}
		})
		if figures < 5 {
			t.Errorf("%s: only %d figures", path, figures)
		}
	}
	var d api.PipelineDetailJSON
	s.api("/api/v1/pipelines/orders", &d)
	if len(d.Down) != 1 || d.Down[0].OK || len(d.Sources) != 1 || d.Sources[0].OK || !strings.Contains(d.Sources[0].Error, "Stale since") || d.Sources[0].LastSuccess == nil {
		t.Errorf("down %+v of %+v", d.Down, d.Sources)
	}
	if len(d.Findings) != 0 {
		t.Errorf("old findings: %+v", d.Findings)
	}
	if ready := s.body(s.do("GET", "/readyz", "", "Authorization", "Bearer "+viewerToken)); strings.Contains(ready, `"ok": true`) {
		t.Errorf("readyz: %s", ready)
	}
	metrics := s.body(s.do("GET", "/metrics", "", "Authorization", "Bearer "+viewerToken))
	for _, line := range strings.Split(metrics, "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "), " ")
		name, _, _ = strings.Cut(name, "{")
		switch {
		case !strings.HasPrefix(name, "dedup_"), strings.HasPrefix(name, "dedup_dashboard_"), strings.HasPrefix(name, "dedup_alert"): // rules are judged on a ticker of their own
		case name == "dedup_rounds_total", name == "dedup_last_round_timestamp_seconds", name == "dedup_source_last_success_timestamp_seconds":
		default:
			t.Errorf("two hours after the last round /metrics says %s", line)
		}
	}
	if !strings.Contains(metrics, "dedup_source_last_success_timestamp_seconds{") {
		t.Error("/metrics does not say when the source last answered")
	}
}

// walkFigures calls f for everything that looks like a figure.
func walkFigures(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["quality"]; ok {
			f(v)
		}
		for _, x := range v {
			walkFigures(x, f)
		}
	case []any:
		for _, x := range v {
			walkFigures(x, f)
		}
	}
}

func TestAPIListFiltersAndSortsTheWorstFirst(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(sampleSnapshot())
	for _, c := range []struct{ query, want string }{
		{"", "orders blank odd"},
		{"?sort=name", "blank odd orders"},
		{"?tier=warning", "orders"},
		{"?tier=warning,unknown&q=O", "orders odd"},
		{"?risk=medium", "orders"},
		{"?label=team=shop", "orders"},
		{"?label=team=other", ""},
	} {
		var got api.PipelinesJSON
		s.api("/api/v1/pipelines"+c.query, &got)
		var names []string
		for _, p := range got.Pipelines {
			names = append(names, p.Name)
		}
		if strings.Join(names, " ") != c.want {
			t.Errorf("%s gives %v, expected %s", c.query, names, c.want)
		}
	}
	for _, query := range []string{"?tier=red", "?risk=red", "?label=team", "?sort=age"} {
		var e errorBody
		if res := s.api("/api/v1/pipelines"+query, &e); res.StatusCode != http.StatusBadRequest || e.Error.Kind != "invalid" {
			t.Errorf("%s: %s %+v", query, res.Status, e)
		}
	}
}

func TestAPIErrorsAreJSONWithTheRequestID(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for _, c := range []struct {
		method, path, token string
		status              int
		kind                dedup.Kind
	}{
		{"GET", "/api/v1/pipelines", "", 401, "unauthorized"},
		{"GET", "/api/v1/pipelines", expiredToken, 401, "unauthorized"},
		{"GET", "/api/v1/pipelines", "guess", 401, "unauthorized"},
		{"GET", "/api/v1/pipelines/orders", viewerToken, 503, "unavailable"},
		{"GET", "/api/v1/pipelines/UPPER", viewerToken, 404, "not_found"},
		{"GET", "/api/v1/nothing", viewerToken, 404, "not_found"},
		{"DELETE", "/api/v1/pipelines", viewerToken, 405, "method_not_allowed"},
		{"GET", "/api/v1/pipelines?access_token=" + viewerToken, "", 401, "unauthorized"},
	} {
		var headers []string
		if c.token != "" {
			headers = []string{"Authorization", "Bearer " + c.token}
		}
		res := s.do(c.method, c.path, "", headers...)
		var e errorBody
		if err := json.Unmarshal([]byte(s.body(res)), &e); err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
			continue
		}
		if res.StatusCode != c.status || e.Error.Kind != c.kind || e.Error.Message == "" || e.Error.RequestID != res.Header.Get("X-Request-Id") {
			t.Errorf("%s %s: %s %+v", c.method, c.path, res.Status, e)
		}
		if c.status == 401 && !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s %s: 401 does not say how to sign in", c.method, c.path)
		}
	}
}

func TestMetricsShowWhatIsKnownAndNothingElse(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(sampleSnapshot())
	res := s.do("GET", "/metrics", "", "Authorization", "Bearer "+viewerToken)
	body := s.body(res)
	for _, want := range []string{
		`dedup_duplicate_rate_ratio{pipeline="orders",window="15m"} 0.015`,
		`dedup_duplicate_rate_info{pipeline="orders",quality="measured",source="reported counters",window="15m"} 1`,
		`dedup_pipeline_tier{pipeline="orders",tier="warning"} 1`,
		`dedup_pipeline_tier{pipeline="orders",tier="normal"} 0`,
		`dedup_pipeline_tier{pipeline="blank",tier="unknown"} 1`,
		`dedup_pipeline_risk{pipeline="orders",risk="medium"} 1`,
		`dedup_queue_ready_messages{pipeline="orders"} 0`,
		`dedup_markers{pipeline="orders",state="processing"} 7`,
		`dedup_dead_letters{pipeline="orders",queue="orders.dlq<script>\\xff",vhost="/"} 12`,
		`dedup_findings{kind="marker_without_expiry",pipeline="orders",tier="warning"} 1`,
		`dedup_source_up{source="broker main"} 1`,
		`dedup_rounds_total 3`,
		"go_goroutines", "process_open_fds",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, absent := range []string{`dedup_queue_unacked_messages{pipeline="orders"}`, `pipeline="odd",window`, `dedup_queue_ready_messages{pipeline="odd"}`, "NaN"} {
		if strings.Contains(body, absent) {
			t.Errorf("%s is shown although it is not known", absent)
		}
	}
	if again := s.body(s.do("GET", "/metrics", "", "Authorization", "Bearer "+viewerToken)); !strings.Contains(again, `dedup_dashboard_http_request_duration_seconds_count{code="200",method="GET",route="/metrics"} 1`) {
		t.Error("requests are not counted by route")
	}
}

func TestMetricsOfARoundLongAgoAreAbsent(t *testing.T) {
	s := newSite(t, nil, testUsers())
	old := *sampleSnapshot()
	old.Interval, old.At = 15*time.Second, time.Now().Add(-time.Minute)
	s.snapshots.snap.Store(&old)
	body := s.body(s.do("GET", "/metrics", "", "Authorization", "Bearer "+viewerToken))
	if strings.Contains(body, `pipeline="orders"`) || !strings.Contains(body, "dedup_last_round_timestamp_seconds") {
		t.Errorf("figures of a minute ago pass for figures of now:\n%s", body)
	}
}

func TestMetricsCannotBeFloodedByStrangeMethodsAndPaths(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for i := range 50 {
		s.do("M"+strings.Repeat("X", i), "/nowhere"+strings.Repeat("y", i), "")
	}
	body := s.body(s.do("GET", "/metrics", "", "Authorization", "Bearer "+viewerToken))
	if n := strings.Count(body, "http_request_duration_seconds_count{"); n > 2 {
		t.Errorf("%d series after strange requests", n)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	s := newSite(t, nil, testUsers())
	if res := s.do("GET", "/healthz", ""); res.StatusCode != 200 || s.body(res) != "ok\n" {
		t.Errorf("healthz: %s", res.Status)
	}
	s.snapshots.snap.Store(sampleSnapshot())
	ready := func(headers ...string) (int, string) {
		res := s.do("GET", "/readyz", "", headers...)
		return res.StatusCode, s.body(res)
	}
	if code, body := ready(); code != 503 || !strings.Contains(body, "history") {
		t.Errorf("before the history is open: %d %s", code, body)
	}
	close(s.history.ready)
	if code, body := ready(); code != 503 || !strings.Contains(body, "source") {
		t.Errorf("before each source was tried: %d %s", code, body)
	}
	s.snapshots.tried.Store(true)
	if code, body := ready(); code != 200 || strings.Contains(body, "broker main") {
		t.Errorf("to nobody: %d %s", code, body)
	}
	if code, body := ready("Authorization", "Bearer guess"); code != 200 || strings.Contains(body, "broker main") {
		t.Errorf("to a wrong token: %d %s", code, body)
	}
	if code, body := ready("Authorization", "Bearer "+viewerToken); code != 200 || !strings.Contains(body, "broker main") {
		t.Errorf("to a viewer: %d %s", code, body)
	}
	if err := s.journal.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _ := ready("Cookie", "dedup_session=x"); code != 200 {
		t.Errorf("without accounts a probe answers %d", code)
	}
}
