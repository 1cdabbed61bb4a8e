package server

import (
	"context"
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/measurement"
	"dedup-dashboard/lab/demo"
)

// A bench is a measurer that ends when it is told to, or is stopped.
type bench struct {
	service *measuring.Measurements

	mu     sync.Mutex
	never  string
	ready  dedup.TraceReadiness
	result *dedup.SessionResult
	live   *dedup.Calibration
	began  bool
	end    chan string
	// slow keeps what was stopped from ending until it is closed; nil where it ends at once.
	slow chan struct{}
}

func newBench(t testing.TB, deps measuring.Deps) *bench {
	b := &bench{ready: dedup.TraceReadiness{Switch: dedup.TraceByUs}, end: make(chan string), began: true}
	deps.Measurer = b
	for _, p := range demo.Scene("mixed", time.Now()).Pipelines {
		deps.Pipelines = append(deps.Pipelines, p.Pipeline)
	}
	b.service = measuring.New(deps)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.service.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; _ = b.service.Close(context.Background()) })
	return b
}

func (b *bench) WhyNot(dedup.Pipeline) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.never
}

func (b *bench) Ready(context.Context, dedup.Pipeline) dedup.TraceReadiness { return b.ready }

func (b *bench) Measure(ctx context.Context, _ dedup.Pipeline, m *dedup.Measurement, progress func(time.Time, int64)) error {
	if b.began {
		progress(time.Now().Add(-20*time.Second), 1234)
	}
	select {
	case <-ctx.Done():
		if b.slow != nil {
			<-b.slow
		}
	case m.Why = <-b.end:
	}
	m.Result, m.Live = b.result, b.live
	return nil
}

// hostileResult is a measurement with everything in it, and hostile strings wherever one comes from outside.
func hostileResult() *dedup.SessionResult {
	const hostile = "<script>alert(1)</script>\u202e\x00=cmd|'/c calc'!A1"
	now := time.Now()
	return &dedup.SessionResult{Began: now.Add(-time.Minute), Ended: now, Traced: 12500, Counted: 12501, Messages: 12376, Duplicates: 364, Band: 6.2, Sent: 240, Redelivered: 124,
		InFlight: 12, Swallowed: 3, Failures: 248, Retries: 260, Doubled: 1, Unsettled: 4, NoID: 2, WhyNoID: "the header " + hostile + " is empty", RepeatedIDs: 600,
		Latency: dedup.SessionLatency{N: 12000, Mean: 0.0251, P50: 0.024, P95: 0.041, P99: 0.083, Resolution: 0.001,
			Bounds: []float64{0.01, 0.02, 0.05, 0.1}, Counts: []int64{100, 4000, 7500, 400, 0}},
		Origins: []dedup.Origin{{Exchange: "shop", RoutingKey: "orders", AppID: hostile, UserID: "web", Copies: 700, Duplicates: 350}, {RoutingKey: "orders", Copies: 14, Duplicates: 14}},
		Repeated: []dedup.RepeatedID{
			{ID: hostile, Deliveries: 4, Duplicates: 3, Redelivered: 1, First: now, Gap: 12 * time.Second, Done: 80 * time.Millisecond,
				Origins: []dedup.Origin{{Exchange: "shop", RoutingKey: "orders", AppID: "cron", Headers: map[string]string{"x-attempt": hostile}, Copies: 2, Duplicates: 2}}},
			{ID: "order:1", Deliveries: 1, Duplicates: 1, Before: true, First: now, Origins: []dedup.Origin{{Exchange: "shop", RoutingKey: "orders", Copies: 1, Duplicates: 1}}}}}
}

func measuringSite(t *testing.T) (*site, string) {
	s := newSite(t, nil, testUsers())
	snap := demo.Scene("healthy", time.Now())
	s.snapshots.snap.Store(snap)
	return s, snap.Pipelines[0].Pipeline.Name
}

// measuredBy runs a measurement over the API to its end.
func (s *site) measuredBy(pipeline string, headers ...string) measurement.JSON {
	s.t.Helper()
	var m measurement.JSON
	s.decode(s.as("operator", "POST", "/api/v1/pipelines/"+url.PathEscape(pipeline)+"/measurements", `{"seconds": 60}`, headers...), http.StatusAccepted, &m)
	s.bench.end <- ""
	for !m.Final {
		s.decode(s.as("viewer", "GET", "/api/v1/measurements/"+m.ID, ""), 200, &m)
	}
	return m
}

func TestThePageOfAPipelineStartsAMeasurementAndFollowsIt(t *testing.T) {
	s, name := measuringSite(t)
	at := "/pipelines/" + url.PathEscape(name)
	form := s.page("operator", at).Find("#measure form")
	if form.Find("button").First().Text() != "Measure exactly (60 s)" || form.AttrOr("action", "") != at+"/measurements" {
		t.Fatalf("the form: %s", oneLine(form))
	}
	res := s.as("operator", "POST", at+"/measurements", url.Values{"seconds": {"60"}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	running := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(running, "/measurements/") {
		t.Fatal(res.Status, running)
	}
	doc := s.page("operator", running)
	for !strings.Contains(doc.Find("#progress").Text(), "deliveries seen") { // the measurer has just begun
		doc = s.page("operator", running)
	}
	text := oneLine(doc.Find("#progress"))
	for _, want := range []string{"measuring", "of 60 s", "1,234 deliveries seen", "Stop, and tell what was seen"} {
		if !strings.Contains(text, want) {
			t.Errorf("while it runs %q is not said: %s", want, text)
		}
	}
	if doc.Find(".progress progress").AttrOr("max", "") != "60" || doc.Find(`meta[http-equiv="refresh"]`).Length()+doc.Find("noscript").Length() == 0 {
		t.Error("the page does not follow it without the script")
	}
	if other := s.as("operator", "POST", at+"/measurements", "seconds=60", "Content-Type", "application/x-www-form-urlencoded"); other.StatusCode != http.StatusConflict {
		t.Errorf("a second one: %s", other.Status)
	}
	s.bench.result, s.bench.live = hostileResult(), &dedup.Calibration{Method: dedup.MethodLive, Window: time.Minute, Low: 0.028, Value: 0.0301, High: 0.032, Off: 0.0007, Held: true}
	if res := s.as("operator", "POST", running+"/stop", "", "Content-Type", "application/x-www-form-urlencoded"); res.StatusCode != http.StatusSeeOther {
		t.Fatal(res.Status)
	}
	for doc = s.page("operator", running); doc.Find("#rate-title").Length() == 0; doc = s.page("operator", running) {
	}
	text = oneLine(doc.Find("main"))
	for _, want := range []string{"2.94 % ± 0.06 of 12,376 messages", "Live counts showed 3.01 % for the same time: 0.07 points too high, within its band", "p9541 ms",
		"600 messages were duplicated; the 2 most often are kept", "sent again, ack lost", "Stopped by o."} {
		if !strings.Contains(text, want) {
			t.Errorf("the result does not say %q: %s", want, text)
		}
	}
	if strings.Contains(text, "\u202e") || doc.Find("main script").Length() > 0 {
		t.Error("a hostile string is shown as it is")
	}
	last := oneLine(s.page("viewer", at).Find("#measured-last"))
	if !strings.Contains(last, "2.94 % ± 0.06 of 12,376 messages") || !strings.Contains(last, "0.07 points too high") || !strings.Contains(last, "p50 24 ms, p95 41 ms, p99 83 ms") {
		t.Errorf("the page of the pipeline says %q of it", last)
	}
	if among := oneLine(s.page("viewer", at).Find("#how")); !strings.Contains(among, "0.07 points too high") {
		t.Errorf("the sources of the rate do not say how far they were off: %q", among)
	}
}

func TestViewersSeeNothingOfWhatCopiesCarried(t *testing.T) {
	s, name := measuringSite(t)
	s.bench.result = hostileResult()
	m := s.measuredBy(name)
	if text := s.body(s.as("viewer", "GET", "/measurements/"+m.ID, "")); strings.Contains(text, "cron") || strings.Contains(text, "x-attempt") || !strings.Contains(text, "order:1") {
		t.Error("a viewer sees who sent, or not which messages")
	}
	for role, sees := range map[string]bool{"viewer": false, "operator": true} {
		if text := s.body(s.as(role, "GET", "/measurements/"+m.ID+"/repeated.csv", "")); strings.Contains(text, "cron") != sees || strings.Contains(text, "x-attempt") != sees {
			t.Errorf("%s: %s", role, text)
		}
		if text := s.body(s.as(role, "GET", "/api/v1/measurements/"+m.ID, "")); strings.Contains(text, "cron") != sees {
			t.Errorf("%s: %s", role, text)
		}
	}
}

func TestTheTableOfDuplicatesRunsNoFormula(t *testing.T) {
	s, name := measuringSite(t)
	s.bench.result = hostileResult()
	s.bench.result.Repeated[0].ID = "=cmd|'/c calc'!A1"
	m := s.measuredBy(name)
	rows, err := csv.NewReader(strings.NewReader(s.body(s.as("operator", "GET", "/measurements/"+m.ID+"/repeated.csv", "")))).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if rows[1][0] != "'=cmd|'/c calc'!A1" || rows[1][2] != "3" || rows[1][7] != "0.080" || !strings.HasPrefix(rows[3][0], "# 598 duplicated messages are left out") {
		t.Errorf("rows %q", rows[1:])
	}
}

func TestTheAPIMeasures(t *testing.T) {
	s, name := measuringSite(t)
	s.bench.result, s.bench.live = hostileResult(), &dedup.Calibration{Method: dedup.MethodLive, Off: -0.001}
	m := s.measuredBy(name, "Idempotency-Key", "one")
	if m.State != "done" || m.Result.Duplicates != 364 || m.Result.Value < 0.0294 || m.Result.Value > 0.0295 || m.Result.Low >= m.Result.Value || m.Calibration.Off != -0.001 {
		t.Errorf("%+v", m)
	}
	if l := m.Result.Latency; l == nil || l.P95 != 0.041 || len(l.Counts) != len(l.Bounds)+1 {
		t.Errorf("latency %+v", l)
	}
	if again := s.measuresAgain(name, "one"); again.ID != m.ID {
		t.Error("a repeated request measured again")
	}
	var list struct{ Measurements []measurement.JSON }
	s.decode(s.as("viewer", "GET", "/api/v1/pipelines/"+url.PathEscape(name)+"/measurements", ""), 200, &list)
	if len(list.Measurements) != 1 || list.Measurements[0].ID != m.ID || len(list.Measurements[0].Result.Repeated) != 0 {
		t.Errorf("%+v", list)
	}
	if text := s.body(s.as("operator", "GET", "/api/v1/audit", "")); !strings.Contains(text, `"measure_pipeline"`) || !strings.Contains(text, "364 of 12376 messages were duplicates") {
		t.Errorf("the audit: %s", text)
	}
	for name, c := range map[string]struct {
		role, path, body string
		status           int
	}{
		"a viewer":         {"viewer", name, `{"seconds": 60}`, http.StatusForbidden},
		"too short":        {"operator", name, `{"seconds": 1}`, http.StatusBadRequest},
		"not a number":     {"operator", name, `{"seconds": "x"}`, http.StatusBadRequest},
		"far too long":     {"operator", name, `{"seconds": 1e300}`, http.StatusBadRequest},
		"an unknown field": {"operator", name, `{"minutes": 1}`, http.StatusBadRequest},
		"no such pipeline": {"operator", "none", `{"seconds": 60}`, http.StatusNotFound},
		"a list of none":   {"operator", "none", "", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			method := "POST"
			if c.body == "" {
				method = "GET"
			}
			if res := s.as(c.role, method, "/api/v1/pipelines/"+url.PathEscape(c.path)+"/measurements", c.body); res.StatusCode != c.status {
				t.Errorf("%s, want %d: %s", res.Status, c.status, s.body(res))
			}
		})
	}
	if res := s.as("viewer", "GET", "/api/v1/measurements/none", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("none: %s", res.Status)
	}
}

func (s *site) measuresAgain(pipeline, token string) (m measurement.JSON) {
	s.t.Helper()
	s.decode(s.as("operator", "POST", "/api/v1/pipelines/"+url.PathEscape(pipeline)+"/measurements", `{"seconds": 60}`, "Idempotency-Key", token), http.StatusAccepted, &m)
	return m
}

func TestWhatCannotBeMeasuredSaysWhy(t *testing.T) {
	s, name := measuringSite(t)
	at := "/pipelines/" + url.PathEscape(name)
	if text := oneLine(s.page("viewer", at).Find("#measure")); !strings.Contains(text, "needs the role operator") {
		t.Errorf("a viewer reads %q", text)
	}
	s.bench.ready = dedup.TraceReadiness{Problems: []dedup.TraceProblem{{Reason: dedup.TraceTooFast, Text: "3,100 messages a second", Remedy: "wait for a calm hour"}}}
	res := s.as("operator", "POST", at+"/measurements", "seconds=60", "Content-Type", "application/x-www-form-urlencoded")
	if text := s.body(res); res.StatusCode != http.StatusConflict || !strings.Contains(text, "3,100 messages a second: wait for a calm hour") {
		t.Errorf("too fast: %s %s", res.Status, text)
	}
	s.bench.never = "the pipeline has no store"
	if form := s.page("operator", at).Find("#measure"); form.Find("form").Length() > 0 || !strings.Contains(oneLine(form), "The pipeline has no store.") {
		t.Errorf("never: %q", oneLine(form))
	}
	s.bench.never = measuring.Off
	if s.page("operator", at).Find("#measure").Length() > 0 {
		t.Error("measurements that are off are offered")
	}
	if res := s.as("operator", "POST", at+"/measurements", "seconds=60", "Content-Type", "application/x-www-form-urlencoded"); res.StatusCode != http.StatusForbidden {
		t.Errorf("off: %s", res.Status)
	}
	if empty := oneLine(s.page("viewer", at+"/measurements").Find("main")); !strings.Contains(empty, "No measurement yet") {
		t.Errorf("an empty list says %q", empty)
	}
}

func TestTheLinesForAnOperatorStandOnThePageUntilTracingIsOn(t *testing.T) {
	s, name := measuringSite(t)
	s.bench.ready = dedup.TraceReadiness{Switch: dedup.TraceByOperator, On: []string{"rabbitmqctl trace_on -p '/'"}, Off: []string{"rabbitmqctl trace_off -p '/'"}}
	s.bench.began = false
	m := s.measuresAgain(name, "")
	if lines := s.page("operator", "/measurements/"+m.ID).Find("pre.lines").Text(); lines != "rabbitmqctl trace_on -p '/'\nsleep 60\nrabbitmqctl trace_off -p '/'" {
		t.Errorf("lines %q", lines)
	}
}

func TestAMeasurementThatFailedSaysWhyOnItsPage(t *testing.T) {
	s, name := measuringSite(t)
	m := s.measuresAgain(name, "")
	s.bench.end <- "30 of 657 deliveries were traced"
	for !m.Final {
		s.decode(s.as("viewer", "GET", "/api/v1/measurements/"+m.ID, ""), 200, &m)
	}
	text := oneLine(s.page("viewer", "/measurements/"+m.ID).Find("main"))
	if m.State != "incomplete" || !strings.Contains(text, "30 of 657 deliveries were traced.") || strings.Contains(text, "Duplicate rate") {
		t.Errorf("%s: %s", m.State, text)
	}
	if res := s.as("viewer", "GET", "/measurements/"+m.ID+"/repeated.csv", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("a table of nothing: %s", res.Status)
	}
}

// A figure that may be of more than one tier leads to where its pipeline is measured, for those who may, and where it can be.
func TestAFigureThatMayBeOfSeveralTiersOffersAMeasurement(t *testing.T) {
	const name = "invoices"
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(demo.Scene("mixed", time.Now()))
	offered := func(role string) map[string]string {
		links := map[string]string{}
		for place, path := range map[string]string{"overview": "/", "page": "/pipelines/" + name} {
			at := s.page(role, path)
			if place == "overview" {
				at.Selection = at.Find("#row-" + name)
			}
			links[place] = at.Find("svg.band ~ small > a.measure").First().AttrOr("href", "none")
		}
		return links
	}
	if got := offered("operator"); got["overview"] != "/pipelines/invoices#measure" || got["page"] != "#measure" {
		t.Errorf("an operator is led to %v", got)
	}
	if n := s.page("operator", "/").Find("#pipelines td:not(:has(svg.band)) a.measure").Length(); n > 0 {
		t.Errorf("%d figures of one tier offer a measurement", n)
	}
	if got := offered("viewer"); got["overview"] != "none" || got["page"] != "none" {
		t.Errorf("a viewer, who cannot measure, is led to %v", got)
	}
	s.bench.never = measuring.Off
	if got := offered("operator"); got["overview"] != "none" || got["page"] != "none" {
		t.Errorf("where measurements are off, an operator is led to %v", got)
	}
}
