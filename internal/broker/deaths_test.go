package broker

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/brokertest"
	"dedup-dashboard/lab/servers"
)

const exposition = `# TYPE rabbitmq_global_messages_dead_lettered_rejected_total counter
# HELP rabbitmq_global_messages_dead_lettered_rejected_total Total number of messages dead-lettered due to basic.reject or basic.nack
rabbitmq_global_messages_dead_lettered_rejected_total{queue_type="rabbit_classic_queue",dead_letter_strategy="at_most_once"} 7
rabbitmq_global_messages_dead_lettered_rejected_total{queue_type="rabbit_quorum_queue",dead_letter_strategy="at_most_once"} 5
rabbitmq_global_messages_dead_lettered_rejected_total{queue_type="rabbit_classic_queue",dead_letter_strategy="disabled"} 2
rabbitmq_global_messages_dead_lettered_maxlen_total{queue_type="rabbit_classic_queue",dead_letter_strategy="disabled"} 0
rabbitmq_global_messages_dead_lettered_confirmed_total{queue_type="rabbit_quorum_queue",dead_letter_strategy="at_least_once"} 99
rabbitmq_queue_messages{queue="a{b"} nonsense
`

func key(reason, strategy string) dedup.DeathKey {
	return dedup.DeathKey{Reason: reason, Strategy: strategy}
}

// deathsIn reads the deaths of a whole exposition.
func deathsIn(text string) (map[dedup.DeathKey]int64, error) {
	lines, err := pickLines(strings.NewReader(text), deathsPrefix, acknowledgedTotal)
	if err != nil {
		return nil, err
	}
	return readDeaths(lines[0])
}

func TestDeathsAreSummedOverQueueTypes(t *testing.T) {
	got, err := deathsIn(exposition)
	want := map[dedup.DeathKey]int64{key("rejected", "at_most_once"): 12, key("rejected", "disabled"): 2, key("maxlen", "disabled"): 0}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestWhatIsNoCountOfDeathsIsAbsentOrAnError(t *testing.T) {
	line := func(value string) string {
		return deathsPrefix + `expired_total{dead_letter_strategy="disabled"} ` + value + "\n"
	}
	for _, tt := range []struct{ name, text, err string }{
		{"an empty answer", "", "no counters of dead letters"},
		{"a page of something else", "<html>hello</html>\n", "no counters of dead letters"},
		{"an older broker", "rabbitmq_queues 3\n", "no counters of dead letters"},
		{"no number", line("many"), "cannot be read"},
		{"not a number", line("NaN"), "no counters"},
		{"less than nothing", line("-3"), "no counters"},
		{"infinity", line("+Inf"), "no counters"},
		{"half a message", line("1.5"), "no counters"},
		{"an endless line", "# " + strings.Repeat("x", maxMetricLine), "too long"},
		{"endless counters", strings.Repeat(line("1"), maxDeathLines/len(line("1"))+2), "too many"},
	} {
		if got, err := deathsIn(tt.text); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, %v; want %q", tt.name, got, err, tt.err)
		}
	}
}

func FuzzReadDeaths(f *testing.F) {
	f.Add(exposition)
	f.Add(deathsPrefix + "x_total{a=\"\\\"} 1e309\n")
	f.Fuzz(func(t *testing.T, text string) {
		counts, err := deathsIn(text)
		for k, n := range counts {
			if n < 0 || err != nil {
				t.Errorf("%+v: %d, %v", k, n, err)
			}
		}
	})
}

func TestEachNodeTellsItsOwnDeathsOrWhyNot(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "" {
			t.Errorf("asked for %s with credentials %q", r.URL, r.Header.Get("Authorization"))
		}
		fmt.Fprint(w, exposition)
	}))
	t.Cleanup(up.Close)
	stuck := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stuck:
		}
	}))
	t.Cleanup(func() { close(stuck); slow.Close() })
	away := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(away.Close)
	server := brokertest.NewServer(t, brokertest.V310)
	client := newClient(t, server.URL, func(c *Config) {
		c.PrometheusURLs = []string{up.URL, away.URL, slow.URL}
	})
	client.scraper.timeout = 10 * time.Second // the others answer by then
	sample, err := client.Sample(t.Context())
	if err != nil || len(sample.Deaths) != 3 {
		t.Fatalf("%+v, %v", sample.Deaths, err)
	}
	if d := sample.Deaths[0]; d.URL != up.URL || d.Err != "" || d.Counts[key("rejected", "at_most_once")] != 12 {
		t.Errorf("%+v", d)
	}
	for i, want := range []string{"no counter rabbitmq_global_messages_acknowledged_total", "404", "no answer within"} {
		if n := sample.Totals[i]; !strings.Contains(n.Err, want) || n.Acked != 0 || n.URL != sample.Deaths[i].URL {
			t.Errorf("totals of node %d: %+v, want %q", i, n, want)
		}
	}
	if d := sample.Deaths[1]; d.Counts != nil || !strings.Contains(d.Err, "404") || !strings.Contains(d.Err, "rabbitmq_prometheus") {
		t.Errorf("%+v", d)
	}
	if d := sample.Deaths[2]; d.Counts != nil || !strings.Contains(d.Err, "no answer within 10s") {
		t.Errorf("%+v", d)
	}
}

func TestCountersOfNodesAreWaitedForAsLongAsTheBrokerIsAndNoLongerThanTwoSeconds(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{500 * time.Millisecond: 500 * time.Millisecond, 10 * time.Second: 2 * time.Second} {
		if got := newClient(t, "http://127.0.0.1:1", within(timeout)).scraper.timeout; got != want {
			t.Errorf("with a timeout of %s they are waited for for %s, want %s", timeout, got, want)
		}
	}
}

func TestEndpointsOfPrometheusAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		urls       []string
	}{
		{"two nodes", "", []string{"http://node1:15692", "https://node2:15692/prefix"}},
		{"a node twice", "prometheus_urls[1]: this node is listed twice", []string{"http://node1:15692", "http://node1:15692/"}},
		{"a password", "prometheus_urls[0]: must not hold a user", []string{"http://u:hunter2@node1:15692"}},
		{"the whole address", "prometheus_urls[0]: must not end in /metrics", []string{"http://node1:15692/metrics"}},
		{"no scheme", "prometheus_urls[0]: must be http", []string{"node1:15692"}},
	} {
		err := Config{PrometheusURLs: tt.urls}.validatePrometheus()
		if (err == nil) != (tt.want == "") || err != nil && (!strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// checkDeaths lets messages die in each way and compares the counts, which never wait for statistics, with those of before.
func checkDeaths(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ, client *Client) {
	before, err := client.Sample(ctx)
	must(t, err)
	declare := func(name string, arguments map[string]any) {
		t.Helper()
		if err := rabbit.API(ctx, "PUT", "/api/queues/%2F/"+name, map[string]any{"durable": true, "arguments": arguments}, nil); err != nil {
			t.Fatal(err)
		}
	}
	declare("dead", map[string]any{})
	declare("bounded", map[string]any{"x-max-length": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
	declare("lossy", map[string]any{"x-message-ttl": 0})
	for queue, n := range map[string]int{"bounded": 3, "lossy": 2} {
		for range n {
			body := map[string]any{"properties": map[string]any{}, "routing_key": queue, "payload": "x", "payload_encoding": "string"}
			if err := rabbit.API(ctx, "POST", "/api/exchanges/%2F/amq.default/publish", body, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[dedup.DeathKey]int64{key("maxlen", "at_most_once"): 3, key("expired", "disabled"): 2, key("rejected", "disabled"): 0}
	var got map[dedup.DeathKey]int64
	for matches := false; !matches && ctx.Err() == nil; {
		sample, err := client.Sample(ctx)
		if err != nil || len(sample.Deaths) != 1 || sample.Deaths[0].Err != "" {
			t.Fatalf("%+v, %v", sample.Deaths, err)
		}
		got, matches = sample.Deaths[0].Counts, true
		for k, n := range want {
			have, ok := got[k]
			matches = matches && ok && have == before.Deaths[0].Counts[k]+n
		}
		time.Sleep(betweenLooks)
	}
	if ctx.Err() != nil {
		t.Errorf("the broker counts %+v, and %+v before; want %+v more", got, before.Deaths[0].Counts, want)
	}
}
