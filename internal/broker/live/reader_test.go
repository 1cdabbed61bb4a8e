package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/broker"
)

// A plugin is the Prometheus plugin of one node.
type plugin struct {
	*httptest.Server
	mu      sync.Mutex
	rows    string
	acked   int64
	fault   http.HandlerFunc // instead of every answer
	queries []url.Values     // of rows
	answers int
	totals  int // requests for the node's own counters
}

func newPlugin(t *testing.T, rows string, acked int64) *plugin {
	t.Helper()
	p := &plugin{rows: rows, acked: acked}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// ServeHTTP implements http.Handler.
func (p *plugin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.fault != nil:
		p.fault(w, r)
	case r.URL.Path == "/metrics/detailed":
		p.queries = append(p.queries, r.URL.Query())
		p.answers++
		fmt.Fprintf(w, "%stelemetry_scrape_duration_seconds_count{registry=\"detailed\"} %d\n", p.rows, p.answers)
	case r.URL.Path == "/metrics":
		p.totals++
		fmt.Fprint(w, totalsOf(p.acked))
	default:
		http.NotFound(w, r)
	}
}

func totalsOf(acked int64) string {
	var b strings.Builder
	for name, kind := range totalMetrics {
		n := int64(0)
		if kind == Acked {
			n = acked
		}
		fmt.Fprintf(&b, "%s%s{protocol=\"amqp091\",queue_type=\"rabbit_classic_queue\"} %d\n", global, name, n)
	}
	return b.String()
}

// tell sets what the plugin tells from now on.
func (p *plugin) tell(rows string, acked int64, fault http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows, p.acked, p.fault = rows, acked, fault
}

// readerOf returns a reader of plugins that watches queue "a".
func readerOf(t *testing.T, plugins ...*plugin) *Reader {
	t.Helper()
	config := broker.Config{Name: "main"}
	for _, p := range plugins {
		config.PrometheusURLs = append(config.PrometheusURLs, p.URL)
	}
	r, err := NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range r.nodes {
		e.timeout = time.Minute
	}
	r.Watch(ref("a"))
	return r
}

// mustRead reads once.
func mustRead(t *testing.T, r *Reader) Reading {
	t.Helper()
	reading, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

func ofNode(name, answer string) string { return strings.ReplaceAll(answer, "a@b", name) }

func TestAReadingIsTheSumOfAllNodesBetweenItsTwoMoments(t *testing.T) {
	one, two := newPlugin(t, ofNode("one", told(1, 9, 3, "1 a 50")), 100), newPlugin(t, ofNode("two", told(1, 9, 3, "1 a 7")), 100)
	r := readerOf(t, one, two)
	first := mustRead(t, r)
	one.tell(ofNode("one", told(2, 9, 3, "1 a 53")), 103, nil)
	two.tell(ofNode("two", told(2, 9, 4)), 105, nil)
	sent := time.Now()
	second := mustRead(t, r)
	if second.Begun.Before(sent) || second.Done.After(time.Now()) || second.Done.Before(second.Begun) || second.Since.After(first.Done) {
		t.Errorf("%+v", second)
	}
	before, _ := first.Count(ref("a"))
	after, ok := second.Count(ref("a"))
	if low, high := Between(before, after); low[Acked] != 8 || high[Acked] != 8 || !ok || after.Since.After(first.Done) {
		t.Errorf("%d to %d acked, since %s", low[Acked], high[Acked], after.Since)
	}
	if _, ok := second.Count(ref("b")); ok || second.Source != OfChannels || second.Gap != nil || second.Rows != 1 {
		t.Errorf("%+v", second)
	}
}

func TestRowsOfQueuesAreAskedForWhereTheBrokerHasThem(t *testing.T) {
	p := newPlugin(t, told(1, 9, 3)+ofQueues(0, "- a 5"), 9)
	r := readerOf(t, p)
	r.Watch(ref("a"))
	for range 3 {
		mustRead(t, r)
	}
	if got := mustRead(t, r); got.Source != OfQueues {
		t.Errorf("%+v", got)
	}
	for _, asked := range p.queries {
		if strings.Join(asked["family"], " ") != "connection_churn_metrics channel_process_metrics channel_queue_metrics queue_delivery_metrics queue_exchange_metrics" || asked.Get("vhost") != "/" {
			t.Errorf("asked %v", asked)
		}
	}
	if p.totals > 2 {
		t.Errorf("asked %d times for what rows of queues do not need", p.totals)
	}
}

func TestTheNodesOwnCountersAreReadSeldomWhereNothingGoes(t *testing.T) {
	p := newPlugin(t, told(1, 9, 3, "1 a 50"), 100)
	r := readerOf(t, p)
	for i := range 100 {
		p.tell(told(2+i, 9, 3, "1 a 50"), 100, nil)
		mustRead(t, r)
	}
	if p.totals > 2*(100/quietly+settling+2) {
		t.Errorf("asked %d times in 100 readings", p.totals)
	}
}

func TestANodeThatDoesNotAnswerIsAGapAndCountsGoOnAfterIt(t *testing.T) {
	one, two := newPlugin(t, ofNode("one", told(1, 9, 3, "1 a 50")), 100), newPlugin(t, ofNode("two", told(1, 9, 3, "1 a 7")), 100)
	r := readerOf(t, one, two)
	first := mustRead(t, r)
	two.tell("", 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	one.tell(ofNode("one", told(2, 9, 3, "1 a 60")), 110, nil)
	gap := mustRead(t, r)
	if gap.Gap == nil || gap.Gap.Since.After(first.Done) || gap.Gap.Since.Before(first.Begun) || len(gap.Gap.Nodes) != 1 || gap.Gap.Nodes[0].URL != two.URL {
		t.Fatalf("%+v", gap.Gap)
	}
	two.tell(ofNode("two", told(2, 9, 3, "1 a 17")), 110, nil)
	last := mustRead(t, r)
	count, _ := last.Count(ref("a"))
	if low, high := count.Range(); last.Gap != nil || low[Acked] != 20 || high[Acked] != 20 || count.Since.After(first.Done) {
		t.Errorf("%+v, %d to %d", last.Gap, low[Acked], high[Acked])
	}
}

func TestANodeThatIsListedTwiceCountsOnce(t *testing.T) {
	one, two := newPlugin(t, told(1, 9, 3, "1 a 50"), 100), newPlugin(t, told(1, 9, 3, "1 a 50"), 100)
	r := readerOf(t, one, two)
	mustRead(t, r)
	one.tell(told(2, 9, 3, "1 a 60"), 110, nil)
	two.tell(told(2, 9, 3, "1 a 60"), 110, nil)
	got := mustRead(t, r)
	if count, _ := got.Count(ref("a")); got.Gap == nil || got.Gap.Nodes[0].Reason != OtherNode || count.Counts[Acked] != 10 {
		t.Errorf("%+v, %+v", got.Gap, count)
	}
}

func TestABadEndpointSaysWhy(t *testing.T) {
	page := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	for name, tt := range map[string]struct {
		fault  http.HandlerFunc
		reason Reason
		text   string
	}{
		"another program":            {page(404, "no"), NotFound, "plugin rabbitmq_prometheus"},
		"an account is asked for":    {page(401, ""), Denied, "let this machine through"},
		"a proxy forbids it":         {page(403, ""), Denied, "let this machine through"},
		"a redirect, not followed":   {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", 302) }, Status, "302"},
		"it fails":                   {page(500, ""), Status, "500"},
		"a page for people":          {page(200, "<html>\n<body>\"} 1</body>\n"), Malformed, "not one of RabbitMQ's"},
		"nothing":                    {page(200, ""), Malformed, "not one of RabbitMQ's"},
		"counters of something else": {page(200, "go_goroutines 5\n"), Malformed, "not one of RabbitMQ's"},
		"no family of queues":        {page(200, "rabbitmq_build_info{rabbitmq_version=\"3.9.1\"} 1\n"), NoFamilies, "RabbitMQ 3.10"},
		"a line without an end":      {page(200, strings.Repeat("x", 2*maxLine)), Malformed, "too long"},
		"more than the limit":        {page(200, strings.Repeat("# a line\n", 20<<10)), TooLarge, "larger than"},
		"cut in a line":              {page(200, told(1, 1, 1, "1 a 5")+"rabbitmq_det"), Cut, "in its midst"},
		"cut by the connection": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			fmt.Fprint(w, told(1, 1, 1, "1 a 5"))
			panic(http.ErrAbortHandler)
		}, Cut, "in its midst"},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Timeout, "no complete answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlugin(t, told(1, 9, 3, "1 a 50"), 100)
			r := readerOf(t, p)
			mustRead(t, r)
			p.tell("", 0, tt.fault)
			r.nodes[0].limit = 64 << 10
			if tt.reason == Timeout {
				r.nodes[0].timeout = 50 * time.Millisecond
			}
			_, err := r.Read(t.Context())
			var failed *Error
			if !errors.As(err, &failed) || failed.Reason != tt.reason || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v", err)
			}
			// The next answer is counted as if nothing had been.
			r.nodes[0].timeout = time.Minute
			p.tell(told(2, 9, 3, "1 a 57"), 107, nil)
			got := mustRead(t, r)
			if count, _ := got.Count(ref("a")); count.Counts[Acked] != 7 || got.Rows != 1 {
				t.Errorf("%+v", count)
			}
		})
	}
}

func TestAPluginThatIsOffSaysSo(t *testing.T) {
	p := newPlugin(t, "", 0)
	r := readerOf(t, p)
	p.Close()
	_, err := r.Read(t.Context())
	var failed *Error
	if !errors.As(err, &failed) || failed.Reason != Refused || !strings.Contains(err.Error(), "rabbitmq-plugins enable rabbitmq_prometheus") {
		t.Errorf("%v", err)
	}
}

func TestAReadingThatIsGivenUpCountsNothing(t *testing.T) {
	r := readerOf(t, newPlugin(t, told(1, 9, 3, "1 a 50"), 100))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestABrokerWithoutEndpointsHasNoReader(t *testing.T) {
	if r, err := NewReader(broker.Config{}); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
	if r, err := NewReader(broker.Config{PrometheusURLs: []string{"no"}}); r != nil || err == nil {
		t.Errorf("%v, %v", r, err)
	}
}

func TestWhatIsSlowOrLargeIsReadLessOften(t *testing.T) {
	p := pace{interval: usually}
	step := func(slow, many bool, want time.Duration) {
		t.Helper()
		if got := p.after(slow, many); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	step(false, true, seldom)
	step(false, false, usually)
	step(true, false, usually)
	step(true, false, usually)
	step(false, false, usually)
	step(true, false, usually)
	step(true, false, usually)
	step(true, false, seldom)
	for range leniency - 1 {
		step(false, false, seldom)
	}
	step(false, false, usually)
}

// TestASlowAnswerIsMarked by the time that its rows took, and not by that of the node's own counters.
func TestASlowAnswerIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := nodeOf(t, "a")
		take(t, n, 1, nil, nil, told(1, 9, 3, "1 a 50"))
		now := time.Now()
		for wide, want := range map[time.Duration]bool{slowest: false, slowest + 1: true} {
			r := &Reader{nodes: []*endpoint{{node: n, root: &url.URL{}, begun: now, done: now.Add(wide)}}}
			if got, err := r.merge([]*Error{nil}); err != nil || got.TooSlow != want {
				t.Errorf("%s: %v, %v", wide, got.TooSlow, err)
			}
		}
	})
}

// TestWhyNoQueueIsToldOfIsSaid: a node that is missing, and one that counts nothing so.
func TestWhyNoQueueIsToldOfIsSaid(t *testing.T) {
	one, two := newPlugin(t, ofNode("one", told(1, 9, 3, "1 a 50")), 100), newPlugin(t, ofNode("two", told(1, 9, 3, "1 a 7")), 100)
	r := readerOf(t, one, two)
	r.Watch(ref("a"))
	if c, err := r.Live(t.Context()); err != nil || c.Why == "" && len(c.Queues) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	fail := func(status int) func(w http.ResponseWriter, _ *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	two.tell("", 0, fail(http.StatusServiceUnavailable))
	one.tell(ofNode("one", told(2, 9, 3, "1 a 60")), 110, nil)
	if c, err := r.Live(t.Context()); err != nil || len(c.Queues) != 0 || !strings.Contains(c.Why, two.URL) || !strings.Contains(c.Why, "503") {
		t.Errorf("%+v, %v", c, err)
	}
	one.tell("", 0, fail(http.StatusServiceUnavailable))
	if c, err := r.Live(t.Context()); err == nil || c.Off {
		t.Errorf("%+v, %v", c, err)
	}
	one.tell("", 0, fail(http.StatusNotFound))
	if c, err := r.Live(t.Context()); err == nil || !c.Off {
		t.Errorf("%+v, %v", c, err)
	}
}
