package brokertest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

var update = flag.Bool("update", false, "record the replies of the RabbitMQ that is installed into testdata")

// resources are the recorded resources and where they come from.
func resources() map[string]string {
	return map[string]string{
		"overview": "overview", "nodes": "nodes", "queues": "queues", "whoami": "whoami", "vhosts": "vhosts",
		"queues_totals": "queues?disable_stats=true&enable_queue_totals=true",
		"exchanges":     "exchanges", "bindings": "bindings", "consumers": "consumers",
	}
}

func TestRecordedRepliesHaveTheShapeOfARealBroker(t *testing.T) {
	recordings := map[Version][]string{V310: nil}
	if *update {
		recordings[V310RatesNone] = []string{"management.rates_mode = none"}
		recordings[V310StatsDisabled] = []string{"management_agent.disable_metrics_collector = true"}
	}
	for version, config := range recordings {
		t.Run(string(version), func(t *testing.T) {
			replies := record(t, config)
			if *update {
				write(t, version, replies)
				return
			}
			compareShapes(t, version, replies)
		})
	}
}

// record runs the scene on a private broker and returns its scrubbed replies by resource.
func record(t *testing.T, config []string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{
		StatisticsInterval: time.Second, Config: config,
	})
	playScene(ctx, t, rabbit)
	awaitStatistics(ctx, t, rabbit, len(config) == 0)
	scrub := newScrubber(rabbit)
	replies := make(map[string]any)
	for name, path := range resources() {
		var answer any
		if err := rabbit.API(ctx, "GET", "/api/"+path, nil, &answer); err != nil {
			if name == "consumers" && strings.Contains(err.Error(), "disabled") {
				continue
			}
			t.Fatal(err)
		}
		replies[name] = scrub.value(answer)
	}
	return replies
}

// playScene leaves queues of both types, a dead letter, an unacked message, a redelivery, a policy, awkward names and a
// live consumer behind.
func playScene(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(rabbit.PutVHost(ctx, "billing"))
	must(rabbit.PutPolicy(ctx, "/", "dlx", servers.Policy{
		Pattern: "^shipping$", Definition: map[string]any{"dead-letter-exchange": "dead", "max-length": 1000}, ApplyTo: "queues",
	}))
	connection, err := amqp.Dial(rabbit.AMQPURL(rabbit.Admin()))
	must(err)
	t.Cleanup(func() { _ = connection.Close() })
	channel, err := connection.Channel()
	must(err)
	must(channel.ExchangeDeclare("dead", "direct", true, false, false, false, nil))
	for name, arguments := range map[string]amqp.Table{
		"orders":      {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dead"},
		"orders.dead": nil, "shipping": nil, "shipping.dead": nil,
		"payments":               {"x-queue-type": "quorum", "x-delivery-limit": 5},
		"a/b%c?d#e<f>\"g\u202eh": nil,
	} {
		_, err := channel.QueueDeclare(name, true, false, false, false, arguments)
		must(err)
	}
	must(channel.QueueBind("shipping.dead", "shipping", "dead", false, nil))
	must(rabbit.API(ctx, "PUT", "/api/queues/billing/invoices", map[string]any{"durable": true}, nil))
	for range 10 {
		must(channel.PublishWithContext(ctx, "", "orders", false, false, amqp.Publishing{Body: []byte("{}"), Timestamp: time.Unix(1700000000, 0)}))
	}
	must(channel.Qos(3, 0, false))
	deliveries, err := channel.Consume("orders", "scene", false, false, false, false, nil)
	must(err)
	must((<-deliveries).Ack(false))
	must((<-deliveries).Reject(false))
	must((<-deliveries).Nack(false, true))
	must((<-deliveries).Ack(false))
}

// awaitStatistics waits until the broker shows the scene as far as its configuration allows.
func awaitStatistics(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ, counters bool) {
	t.Helper()
	for {
		var queue struct {
			State    string
			Messages *int64
			Stats    struct {
				Redeliver, Ack int64
				Details        any `json:"ack_details"`
			} `json:"message_stats"`
		}
		err := rabbit.API(ctx, "GET", "/api/queues/%2F/orders", nil, &queue)
		var quorum map[string]any
		_ = rabbit.API(ctx, "GET", "/api/queues/%2F/payments", nil, &quorum)
		if err == nil && !counters && queue.State != "" {
			return
		}
		if err == nil && queue.Messages != nil && queue.Stats.Redeliver > 0 && queue.Stats.Ack == 2 && quorum["messages"] != nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the statistics of the scene did not appear: %+v, %v", queue, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// A scrubber replaces what tells about the machine that recorded.
type scrubber struct{ patterns []replacement }

type replacement struct {
	pattern *regexp.Regexp
	with    string
}

func newScrubber(rabbit *servers.RabbitMQ) *scrubber {
	user, _ := rabbit.Admin()
	s := &scrubber{}
	for pattern, with := range map[string]string{
		regexp.QuoteMeta(user):                  "admin",
		`[\w-]+@(localhost|` + hostname() + `)`: "rabbit@node1",
		`127\.0\.0\.1:\d+`:                      "127.0.0.1:40000",
		`^/.+`:                                  "/path",
		`<[\d.]+>`:                              "<0.1.0>",
	} {
		s.patterns = append(s.patterns, replacement{regexp.MustCompile(pattern), with})
	}
	return s
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return regexp.QuoteMeta(name)
}

// value scrubs strings at any depth, and drops long descriptions of the node that nobody reads.
func (s *scrubber) value(v any) any {
	switch v := v.(type) {
	case string:
		for _, r := range s.patterns {
			v = r.pattern.ReplaceAllString(v, r.with)
		}
		return v
	case []any:
		for i := range v {
			v[i] = s.value(v[i])
		}
	case map[string]any:
		for _, long := range []string{"applications", "auth_mechanisms", "exchange_types", "contexts", "listeners", "enabled_plugins", "log_files", "config_files", "ra_open_file_metrics", "metrics_gc_queue_length", "cluster_links", "erlang_full_version"} {
			delete(v, long)
		}
		for k, inner := range v {
			if strings.HasSuffix(k, "port") {
				v[k] = 40000
				continue
			}
			delete(v, k)
			v[s.value(k).(string)] = s.value(inner)
		}
		return v
	}
	return v
}

func write(t *testing.T, version Version, replies map[string]any) {
	t.Helper()
	folder := filepath.Join("testdata", string(version))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, reply := range replies {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetIndent("", " ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(reply); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".json"), text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// compareShapes checks that every field of the recording still exists with the same type. A broker of another version
// has other fields and proves nothing about this recording.
func compareShapes(t *testing.T, version Version, replies map[string]any) {
	t.Helper()
	if got := replies["overview"].(map[string]any)["rabbitmq_version"]; got != string(version) {
		t.Logf("the installed RabbitMQ is %v: the recording of %s is not compared", got, version)
		return
	}
	for name, reply := range replies {
		text, err := testdata.ReadFile("testdata/" + string(version) + "/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var recorded any
		if err := json.Unmarshal(text, &recorded); err != nil {
			t.Fatal(err)
		}
		got, want := make(map[string]bool), make(map[string]bool)
		addShape(got, "", reply)
		addShape(want, "", recorded)
		for _, path := range slices.Sorted(maps.Keys(want)) {
			if !got[path] {
				t.Errorf("%s: the recording has %s, the broker does not send it", name, path)
			}
		}
	}
}

// addShape collects "path: type" of every scalar; null stands for any type and rates come and go with time.
func addShape(shape map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if strings.HasSuffix(k, "_details") || strings.Contains(k, "garbage") {
				continue
			}
			addShape(shape, path+"."+k, inner)
		}
	case []any:
		for _, inner := range v {
			addShape(shape, path+"[]", inner)
		}
	case nil:
	default:
		shape[fmt.Sprintf("%s: %T", path, v)] = true
	}
}
