package server

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
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
		Ready:   dedup.Exact(dedup.Measured, dedup.Count, 0, now, "broker main"),
		Unacked: dedup.Unknown(dedup.Count, "the broker does not answer"),
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
		Pipeline: dedup.Pipeline{Name: "odd", Limits: dedup.DefaultLimits()}, Ready: nan,
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
	res := s.do("GET", path, "", "Authorization", "Bearer "+viewerToken)
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
	var d pipelineDetailJSON
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
	var d pipelineDetailJSON
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
	var d pipelineDetailJSON
	s.api("/api/v1/pipelines/orders", &d)
	if d.Tier != "unknown" || !strings.Contains(d.Why, "Stale since") {
		t.Errorf("a minute after the last round of 15 s the tier is %s: %s", d.Tier, d.Why)
	}
	var list pipelinesJSON
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
	var d pipelineDetailJSON
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
		var got pipelinesJSON
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

func TestAPIRoundsTheEndsOfACountOutwards(t *testing.T) {
	f := dedup.Figure{Quality: dedup.Derived, Unit: dedup.Count, Value: 49.18682341695523, Low: 49.18682341695523, High: 54.14541795133456}
	if j := figureOf(f, time.Now()); *j.Value != 49 || *j.Low != 49 || *j.High != 55 {
		t.Errorf("a count from 49.2 to 54.1 is %v, %v to %v", *j.Value, *j.Low, *j.High)
	}
	mean := dedup.Exact(dedup.Measured, dedup.Count, 1.5, time.Now(), "retry counters")
	if j := figureOf(mean, time.Now()); *j.Value != 1.5 {
		t.Errorf("a mean of 1.5 is %v", *j.Value)
	}
	f.Unit = dedup.Seconds
	if j := figureOf(f, time.Now()); *j.Low != f.Low {
		t.Errorf("seconds are rounded to %v", *j.Low)
	}
}

func TestAPIGivesTheEndsOfAnIntervalThatIsTooWideToJudgeBy(t *testing.T) {
	wide := dedup.Figure{Unit: dedup.Ratio, Value: 0.0012, Low: 0.0012, High: 0.0305, N: 6500, Why: "the interval is too wide"}
	j := figureOf(wide, time.Now())
	if j.Value != nil || j.Hits != nil || j.Quality != "unknown" || j.Low == nil || *j.Low != 0.0012 || j.High == nil || *j.High != 0.0305 {
		t.Errorf("a rate within bounds: %+v", j)
	}
	counted := dedup.Figure{Unit: dedup.Count, Low: 7.8, High: 198.25, N: 6500, Why: "the interval is too wide"}
	if j := figureOf(counted, time.Now()); j.Value != nil || j.Low == nil || *j.Low != 7 || *j.High != 199 {
		t.Errorf("a count within bounds: %+v", j)
	}
	for what, f := range map[string]dedup.Figure{"nothing": dedup.Unknown(dedup.Ratio, "no data"), "no sample": {Unit: dedup.Ratio, High: 1},
		"no number": {Unit: dedup.Ratio, High: math.Inf(1), N: 5}} {
		if j := figureOf(f, time.Now()); j.Value != nil || j.Low != nil || j.High != nil {
			t.Errorf("%s is known: %+v", what, j)
		}
	}
	late := reading{time.Now(), "Stale since 12:00:00"}
	if j := late.figure(wide); j.Low != nil || j.High != nil {
		t.Errorf("an old interval passes for one of now: %+v", j)
	}
}

// Who reads a number by program never has to ask whether it has ends, nor to look for whole messages.
func TestAPIGivesTheEndsOfEveryNumber(t *testing.T) {
	for name, tt := range map[string]struct {
		figure    dedup.Figure
		low, high any
	}{
		"an exact value":                    {dedup.Exact(dedup.Measured, dedup.Ratio, 0.015, noon, "test"), 0.015, 0.015},
		"a number in a band":                {dedup.Figure{Quality: dedup.Derived, Unit: dedup.Ratio, Low: 0.01, Value: 0.015, High: 0.03}, 0.01, 0.03},
		"an upper bound":                    {dedup.Figure{Quality: dedup.Derived, Unit: dedup.Seconds, High: 0.05}, 0.0, 0.05},
		"a lower bound of a rate":           {dedup.Figure{Quality: dedup.Derived, Unit: dedup.Ratio, Low: 0.2, Value: 0.2, High: 0.2, AtLeast: true}, 0.2, 1.0},
		"a lower bound of what has no end":  {dedup.Figure{Quality: dedup.Derived, Unit: dedup.Seconds, Low: 10, Value: 10, High: 10, AtLeast: true}, 10.0, nil},
		"an interval too wide to be judged": {dedup.Figure{Unit: dedup.Ratio, Low: 0.01, High: 0.2, N: 300, Why: "too wide"}, 0.01, 0.2},
		"what nobody knows":                 {dedup.Unknown(dedup.Ratio, "no traffic"), nil, nil},
	} {
		j := figureOf(tt.figure, noon)
		for end, pair := range map[string][2]any{"low": {j.Low, tt.low}, "high": {j.High, tt.high}} {
			got := pair[0].(*float64)
			if want, known := pair[1].(float64); known != (got != nil) || known && *got != want {
				t.Errorf("%s: the %s end is %v, want %v", name, end, got, pair[1])
			}
		}
	}
	f := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Ratio, Low: 0.01, Value: 0.015, High: 0.03, N: 1000, Hits: 14.6}
	if j := figureOf(f, noon); *j.Hits != 15 {
		t.Errorf("%v hits: there is no part of a message", *j.Hits)
	}
}
