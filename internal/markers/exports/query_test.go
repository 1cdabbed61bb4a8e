package exports_test

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"dedup-dashboard/internal/markers/exports"
	"dedup-dashboard/internal/secret"
)

// A promServer answers queries for raw samples as Prometheus does: by its own parser of PromQL.
type promServer struct {
	*httptest.Server
	mu      sync.Mutex
	samples []promSample
	queries []string
	fault   http.HandlerFunc
}

type promSample struct {
	labels labels.Labels
	at     time.Time
	value  float64
}

func newPromServer(t *testing.T) *promServer {
	s := &promServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// scrape adds what an instance showed at a time: pairs of a series in PromQL and its value.
func (s *promServer) scrape(t *testing.T, instance string, at time.Time, series map[string]float64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for text, value := range series {
		metric, err := parser.NewParser(parser.Options{}).ParseMetric(text)
		if err != nil {
			t.Fatal(err)
		}
		s.samples = append(s.samples, promSample{labels.NewBuilder(metric).Set("instance", instance).Set("job", "orders").Labels(), at, value})
	}
}

func (s *promServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.FormValue("query")
	s.queries = append(s.queries, query)
	if s.fault != nil {
		s.fault(w, r)
		return
	}
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil || r.URL.Path != "/prom/api/v1/query" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"status":"error","errorType":"bad_data","error":"%v"}`, err)
		return
	}
	matrix, ok := expr.(*parser.MatrixSelector)
	if !ok { // which queues there are
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"queue":"mails"},"value":[0,"1"]}]}}`)
		return
	}
	type stream struct {
		Metric map[string]string `json:"metric"`
		Values [][2]any          `json:"values"`
	}
	byLabels := map[string]*stream{}
	result := []*stream{}
	for _, sample := range s.samples {
		fits := time.Since(sample.at) < matrix.Range
		for _, m := range matrix.VectorSelector.(*parser.VectorSelector).LabelMatchers {
			fits = fits && m.Matches(sample.labels.Get(m.Name))
		}
		if !fits {
			continue
		}
		key := sample.labels.String()
		if byLabels[key] == nil {
			byLabels[key] = &stream{Metric: sample.labels.Map()}
			result = append(result, byLabels[key])
		}
		byLabels[key].Values = append(byLabels[key].Values, [2]any{float64(sample.at.UnixMilli()) / 1e3, fmt.Sprint(sample.value)})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": result}})
}

func openQuery(t *testing.T, s *promServer, cfg exports.Config) *exports.Reader {
	t.Helper()
	cfg.QueryURL = s.URL + "/prom"
	if cfg.Recipe == "" {
		cfg.Recipe = "spring-rabbit"
	}
	if cfg.Queues == nil {
		cfg.Queues = []string{"orders"}
	}
	cfg.Timeout = time.Minute
	r, err := exports.Open("Prometheus of orders", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

const (
	springOrders = `spring_rabbitmq_listener_seconds_count{queue="orders",result="success"}`
	springMails  = `spring_rabbitmq_listener_seconds_count{queue="mails",result="success"}`
)

// TestRawSamplesOfAServerAreCountedPerInstance: each instance is scraped at a time of its own, begins anew, comes and goes.
func TestRawSamplesOfAServerAreCountedPerInstance(t *testing.T) {
	s := newPromServer(t)
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d).Truncate(time.Millisecond) }
	s.scrape(t, "a:80", ago(60*time.Second), map[string]float64{springOrders: 1000, springMails: 7})
	s.scrape(t, "a:80", ago(45*time.Second), map[string]float64{springOrders: 1010, springMails: 9})
	s.scrape(t, "b:80", ago(50*time.Second), map[string]float64{springOrders: 500})
	r := openQuery(t, s, exports.Config{})
	first := mustReport(t, r).Exports
	// Of a the older sample is the baseline.
	if first.Handled != 10 || first.Instances != 2 || first.Unsure != 0 {
		t.Fatalf("%+v", first)
	}
	s.scrape(t, "a:80", ago(30*time.Second), map[string]float64{springOrders: 1030})
	s.scrape(t, "a:80", ago(15*time.Second), map[string]float64{springOrders: 4}) // it began anew
	s.scrape(t, "b:80", ago(35*time.Second), map[string]float64{springOrders: 520})
	s.scrape(t, "c:80", ago(10*time.Second), map[string]float64{springOrders: 3}) // it is new, or an old one under a new name
	second := mustReport(t, r).Exports
	if second.Handled != 10+20+4+20 || second.Instances != 3 || second.Unsure < 23 || second.Unsure > 63 {
		t.Errorf("%+v", second)
	}
	// The labels of a process change: what it ever counted is no work of now.
	s.scrape(t, "renamed:80", ago(5*time.Second), map[string]float64{springOrders: 5_000_000})
	s.scrape(t, "renamed:80", ago(2*time.Second), map[string]float64{springOrders: 5_000_006})
	renamed := mustReport(t, r).Exports
	if renamed.Handled != second.Handled+6 || renamed.Unsure < 5_000_000 {
		t.Errorf("%+v", renamed)
	}
	second = renamed
	if third := mustReport(t, r).Exports; third.Handled != second.Handled || third.Unsure != second.Unsure { // nothing new was scraped
		t.Errorf("%+v", third)
	}
	newest := time.Time{}
	for _, m := range second.Marks {
		if m.At.After(newest) {
			newest = m.At
		}
	}
	if !newest.Equal(ago(2 * time.Second)) {
		t.Errorf("the newest sample is of %s", newest)
	}
	for _, q := range s.queries {
		if strings.Contains(q, "rate(") || strings.Contains(q, "increase(") {
			t.Errorf("it asks for %s", q)
		}
	}
}

func TestAServerThatCannotBeReadFailsTheReadingInWords(t *testing.T) {
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); fmt.Fprint(w, text) }
	}
	for _, tt := range []struct {
		name  string
		fault http.HandlerFunc
		want  string
	}{
		{"it refuses the query", answer(http.StatusUnprocessableEntity, `{"status":"error","errorType":"execution","error":"too many samples \u001b[31m"}`), "it refuses the query: \"too many samples \\x1b"},
		{"it asks for an account", answer(http.StatusUnauthorized, "no"), "it does not answer as Prometheus does"},
		{"it is something else", answer(http.StatusOK, "<html>"), "it does not answer as Prometheus does"},
		{"a part of the cluster is missing", answer(http.StatusOK, `{"status":"success","warnings":["store 2 is away"],"data":{"resultType":"matrix","result":[]}}`), `it answers with a warning: "store 2 is away"`},
		{"it answers with another kind", answer(http.StatusOK, `{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`), "does not answer with raw samples"},
		{"it redirects", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "redirects, which is not followed"},
		{"it answers without end", func(w http.ResponseWriter, _ *http.Request) {
			for range 20 << 10 {
				if _, err := w.Write([]byte(strings.Repeat(" ", 1024))); err != nil {
					return
				}
			}
		}, "more than 16 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newPromServer(t)
			s.scrape(t, "a:80", time.Now().Add(-time.Minute), map[string]float64{springOrders: 1000})
			r := openQuery(t, s, exports.Config{})
			mustReport(t, r)
			s.mu.Lock()
			s.fault = tt.fault
			s.mu.Unlock()
			_, err := r.Reported(t.Context(), "orders")
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\x1b") {
				t.Fatalf("%v; want %q", err, tt.want)
			}
			s.mu.Lock()
			s.fault = nil
			s.mu.Unlock()
			s.scrape(t, "a:80", time.Now().Add(-time.Second), map[string]float64{springOrders: 1005})
			if e := mustReport(t, r).Exports; e.Handled != 5 {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestAServerWithoutSeriesOfThePipelineTellsWhichQueuesThereAre(t *testing.T) {
	s := newPromServer(t)
	s.scrape(t, "a:80", time.Now(), map[string]float64{springMails: 7})
	e := mustReport(t, openQuery(t, s, exports.Config{})).Exports
	if e.Instances != 0 || !strings.Contains(e.Why, `those that are there name "mails"`) {
		t.Errorf("%+v", e)
	}
}

func TestOutcomesCanBeReadFromAServerToo(t *testing.T) {
	s := newPromServer(t)
	r, err := exports.Open("p", exports.Config{QueryURL: s.URL + "/prom", Labels: map[string]string{"pipeline": "orders"}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for i, ago := range []time.Duration{40 * time.Second, 20 * time.Second} {
		s.scrape(t, "a:80", time.Now().Add(-ago), map[string]float64{`dedup_outcomes_total{pipeline="orders",outcome="processed"}`: float64(100 * i),
			`dedup_outcomes_total{pipeline="orders",outcome="duplicate_done"}`: float64(3 * i), `dedup_outcomes_total{pipeline="mails",outcome="processed"}`: float64(900 * i)})
	}
	wantOutcomes(t, mustReport(t, r), 100, 3)
}

// TestAccountsAreSentAndCertificatesChecked reads an endpoint behind TLS with each way to say who asks.
func TestAccountsAreSentAndCertificatesChecked(t *testing.T) {
	var got http.Header
	endpoint := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		fmt.Fprintln(w, springOrders+" 1")
	}))
	t.Cleanup(endpoint.Close)
	endpoint.TLS.MinVersion = tls.VersionTLS12
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: endpoint.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(cfg exports.Config) error {
		cfg.URLs, cfg.Recipe = []string{endpoint.URL}, "spring-rabbit"
		r, err := exports.Open("p", cfg)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = exports.Patient(r).Reported(t.Context(), "orders")
		return err
	}
	if err := read(exports.Config{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody trusts: %v", err)
	}
	for name, tt := range map[string]struct {
		cfg          exports.Config
		header, want string
	}{
		"a username": {exports.Config{Username: "u", Password: secret.New("p")}, "Authorization", "Basic dTpw"},
		"a token":    {exports.Config{Token: secret.New("t")}, "Authorization", "Bearer t"},
		"a tenant":   {exports.Config{Headers: map[string]secret.Secret{"X-Scope-OrgID": secret.New("shop")}}, "X-Scope-Orgid", "shop"},
	} {
		tt.cfg.CAFile = file
		if err := read(tt.cfg); err != nil || got.Get(tt.header) != tt.want {
			t.Errorf("%s: %v, %q", name, err, got.Get(tt.header))
		}
	}
	for name, cfg := range map[string]exports.Config{
		"a password alone": {Password: secret.New("p")}, "both": {Username: "u", Token: secret.New("t")},
		"a header of two lines": {Headers: map[string]secret.Secret{"A": secret.New("b\r\nC: d")}}, "no file": {CAFile: filepath.Join(t.TempDir(), "none")},
	} {
		if err := read(cfg); err == nil || strings.Contains(err.Error(), "C: d") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestANameLeadsToEveryProcess: by its addresses or by its SRV records; pods come and go.
func TestANameLeadsToEveryProcess(t *testing.T) {
	one, two := newConsumerMetrics(t, springOrders+" 100\n"), newConsumerMetrics(t, springOrders+" 50\n")
	records := func(of ...*consumerMetrics) (out []*net.SRV) {
		for _, c := range of {
			out = append(out, &net.SRV{Target: "127.0.0.1.", Port: uint16(c.Listener.Addr().(*net.TCPAddr).Port)})
		}
		return out
	}
	r, err := exports.Open("p", exports.Config{DNS: "http://_metrics._tcp.orders.shop.svc/metrics", Recipe: "spring-rabbit", Queues: []string{"orders"}})
	if err != nil {
		t.Fatal(err)
	}
	lead := &exports.Names{SRV: records(one, two)}
	exports.Resolve(exports.Patient(r), lead)
	mustReport(t, r)
	one.text.Store(springOrders + " 110\n")
	two.text.Store(springOrders + " 55\n")
	if e := mustReport(t, r).Exports; e.Handled != 15 || e.Instances != 2 || e.Unsure != 0 {
		t.Errorf("%+v", e)
	}
	lead.SRV = records(one) // the pod of the other one ended
	one.text.Store(springOrders + " 120\n")
	if e := mustReport(t, r).Exports; e.Handled != 25 || e.Instances != 1 || e.Unsure < 5 || e.Unsure > 20 {
		t.Errorf("%+v", e)
	}
	lead.SRV = records(one, two) // it was only not ready
	if e := mustReport(t, r).Exports; e.Handled != 25 || e.Instances != 2 || e.Unsure != 0 {
		t.Errorf("%+v", e)
	}
	for name, tt := range map[string]struct {
		lead exports.Names
		want string
	}{
		"a name that is none": {exports.Names{Err: &net.DNSError{IsNotFound: true}}, "the name leads to no address"},
		"no answer":           {exports.Names{Err: errors.New("refused")}, "the name cannot be looked up"},
		"too many":            {exports.Names{SRV: records(repeated(one, 70)...)}, "the name leads to 70 addresses, more than 64"},
	} {
		*lead = tt.lead
		for i, s := range lead.SRV {
			s.Port += uint16(i)
		}
		if _, err := r.Reported(t.Context(), "orders"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func repeated(c *consumerMetrics, n int) (out []*consumerMetrics) {
	for range n {
		out = append(out, c)
	}
	return out
}
