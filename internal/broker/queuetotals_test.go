package broker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/broker/brokertest"
	"dedup-dashboard/internal/dedup"
)

// detailed41 is what the nodes answer since 4.1 (prometheus_rabbitmq_core_metrics_collector.erl, label/1 and metrics_raw).
const detailed41 = `# TYPE rabbitmq_detailed_queue_messages_acked_total counter
# HELP rabbitmq_detailed_queue_messages_acked_total Total number of messages acknowledged by consumers on a queue
rabbitmq_detailed_queue_messages_acked_total{vhost="/",queue="orders"} 40
rabbitmq_detailed_queue_messages_acked_total{vhost="a\"b\\",queue="{o} r"} 2
rabbitmq_detailed_queue_messages_redelivered_total{vhost="/",queue="orders"} 7
# TYPE rabbitmq_detailed_queue_exchange_messages_published_total counter
rabbitmq_detailed_queue_exchange_messages_published_total{vhost="/",exchange="",queue="orders"} 30
rabbitmq_detailed_queue_exchange_messages_published_total{vhost="/",exchange="amq.fanout",queue="orders"} 12
rabbitmq_detailed_queue_exchange_messages_published_total{vhost="/",exchange="",queue="idle"} 1
`

func queueTotalsIn(text string) (map[dedup.QueueRef]dedup.QueueEvents, error) {
	lines, err := pickLines(strings.NewReader(text), maxQueueLines, ackedByQueue, publishedByQueue)
	if err != nil {
		return nil, err
	}
	return readQueueTotals(lines[0], lines[1])
}

func TestTheCountsOfEachQueueAreSummedOverExchanges(t *testing.T) {
	got, err := queueTotalsIn(detailed41)
	want := map[dedup.QueueRef]dedup.QueueEvents{
		{Vhost: "/", Name: "orders"}: {Acked: 40, Published: 42}, {Vhost: `a"b\`, Name: "{o} r"}: {Acked: 2}, {Vhost: "/", Name: "idle"}: {Published: 1},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

func TestCountsOfQueuesThatCannotBeReadAreNone(t *testing.T) {
	for name, text := range map[string]string{
		"no count":         strings.Replace(detailed41, "} 40", "} NaN", 1),
		"a fraction":       strings.Replace(detailed41, "} 40", "} 40.5", 1),
		"no queue":         strings.Replace(detailed41, `queue="orders"} 40`, `channel="orders"} 40`, 1),
		"too large to add": strings.NewReplacer("} 30", "} 9.2e18", "} 12", "} 9.2e18").Replace(detailed41),
		"broken":           detailed41 + ackedByQueue + "{\n",
	} {
		if got, err := queueTotalsIn(text); err == nil || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := queueTotalsIn(""); err != nil || len(got) != 0 {
		t.Errorf("a node that nobody used yet: %v, %v", got, err)
	}
}

func FuzzReadQueueTotals(f *testing.F) {
	f.Add(detailed41)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := queueTotalsIn(text)
		for ref, e := range got {
			if err != nil || ref.Name == "" || e.Acked < 0 || e.Published < 0 {
				t.Errorf("%v: %+v, %v", ref, e, err)
			}
		}
	})
}

// TestNodesAreAskedForTheCountsOfQueuesWhereTheyHaveThem: since 4.1, and not for very many queues.
func TestNodesAreAskedForTheCountsOfQueuesWhereTheyHaveThem(t *testing.T) {
	for name, tt := range map[string]struct {
		version string
		queues  int
		answer  int
		want    string // of the first node: an error, "told" or "not asked"
	}{
		"4.2.9":            {"4.2.9", 7, 200, "told"},
		"4.1.0":            {"4.1.0", 7, 200, "told"},
		"4.0.9":            {"4.0.9", 7, 200, "not asked"},
		"3.13.7":           {"3.13.7", 7, 200, "not asked"},
		"too many queues":  {"4.2.9", maxCountedQueues + 1, 200, "not asked"},
		"a node of before": {"4.2.9", 7, 404, "it answers 404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/metrics":
					fmt.Fprint(w, exposition+totals310)
				case tt.answer != 200:
					http.Error(w, "no", tt.answer)
				case r.URL.Path == "/metrics/detailed" && cmp.Equal(r.URL.Query()["family"], []string{"queue_delivery_metrics", "queue_exchange_metrics"}):
					fmt.Fprint(w, detailed41)
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(node.Close)
			server := brokertest.NewServer(t, brokertest.V42)
			server.Reply("overview", overviewOf(t, tt.version, tt.queues))
			client := newClient(t, server.URL, func(c *Config) { c.PrometheusURLs = []string{node.URL}; c.Timeout = 5 * time.Second })
			sample, err := client.Sample(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := "not asked"
			if len(sample.QueueTotals) == 1 {
				if got = "told"; sample.QueueTotals[0].Err != "" {
					got = sample.QueueTotals[0].Err
				} else if sample.QueueTotals[0].Queues[dedup.QueueRef{Vhost: "/", Name: "orders"}].Acked != 40 {
					t.Errorf("%+v", sample.QueueTotals)
				}
			}
			if !strings.HasPrefix(got, tt.want) || len(sample.Totals) != 1 || sample.Totals[0].Err != "" {
				t.Errorf("%s, want %s; totals %+v", got, tt.want, sample.Totals)
			}
		})
	}
}

// overviewOf is an overview of another version and number of queues.
func overviewOf(t *testing.T, version string, queues int) string {
	t.Helper()
	text, err := os.ReadFile("brokertest/testdata/4.2.9/overview.json")
	if err != nil {
		t.Fatal(err)
	}
	var overview map[string]any
	if err := json.Unmarshal(text, &overview); err != nil {
		t.Fatal(err)
	}
	objects, ok := overview["object_totals"].(map[string]any)
	if !ok {
		t.Fatal("the overview has no object_totals")
	}
	overview["rabbitmq_version"], objects["queues"] = version, queues
	changed, err := json.Marshal(overview)
	if err != nil {
		t.Fatal(err)
	}
	return string(changed)
}
