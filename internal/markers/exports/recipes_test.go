package exports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/exports"
)

// The expositions of Java's and .NET's libraries are constructed from their source, as is FastStream's; those under testdata are recorded:
// Watermill 1.5.1, Dramatiq 2.2.0, celery-exporter 0.12.2 with Celery 5.2.6.
const (
	springTimer = `# TYPE spring_rabbitmq_listener_seconds summary
spring_rabbitmq_listener_seconds_count{exception="none",listener_id="l#0",queue="orders",result="success"} 40
spring_rabbitmq_listener_seconds_sum{exception="none",listener_id="l#0",queue="orders",result="success"} 2
spring_rabbitmq_listener_seconds_count{exception="ListenerExecutionFailedException",listener_id="l#0",queue="orders",result="failure"} 4
spring_rabbitmq_listener_seconds_sum{exception="ListenerExecutionFailedException",listener_id="l#0",queue="orders",result="failure"} 1
spring_rabbitmq_listener_seconds_count{exception="none",listener_id="l#1",queue="mails",result="success"} 900
spring_rabbitmq_listener_seconds_sum{exception="none",listener_id="l#1",queue="mails",result="success"} 9
# TYPE spring_rabbitmq_listener_seconds_max gauge
spring_rabbitmq_listener_seconds_max{exception="none",listener_id="l#0",queue="orders",result="success"} 0.2
`
	springObservation = `# TYPE spring_rabbit_listener_seconds histogram
spring_rabbit_listener_seconds_bucket{error="none",messaging_destination_name="orders",spring_rabbit_listener_id="l#0",le="0.05"} 20
spring_rabbit_listener_seconds_bucket{error="none",messaging_destination_name="orders",spring_rabbit_listener_id="l#0",le="0.07"} 40
spring_rabbit_listener_seconds_bucket{error="none",messaging_destination_name="orders",spring_rabbit_listener_id="l#0",le="+Inf"} 40
spring_rabbit_listener_seconds_count{error="none",messaging_destination_name="orders",spring_rabbit_listener_id="l#0"} 40
spring_rabbit_listener_seconds_sum{error="none",messaging_destination_name="orders",spring_rabbit_listener_id="l#0"} 2
spring_rabbit_listener_seconds_bucket{error="ListenerExecutionFailedException",messaging_destination_name="orders",le="+Inf"} 4
spring_rabbit_listener_seconds_count{error="ListenerExecutionFailedException",messaging_destination_name="orders"} 4
spring_rabbit_listener_seconds_sum{error="ListenerExecutionFailedException",messaging_destination_name="orders"} 1
`
	masstransit = `# TYPE messaging_masstransit_receive_ea_total counter
messaging_masstransit_receive_ea_total{messaging_masstransit_destination="order_events",messaging_masstransit_service="shop"} 44
messaging_masstransit_receive_errors_ea_total{messaging_masstransit_destination="order_events",messaging_masstransit_exception_type="X"} 4
messaging_masstransit_receive_ea_total{messaging_masstransit_destination="mails"} 900
# TYPE messaging_masstransit_receive_duration_milliseconds histogram
messaging_masstransit_receive_duration_milliseconds_bucket{messaging_masstransit_destination="order_events",le="5"} 0
messaging_masstransit_receive_duration_milliseconds_bucket{messaging_masstransit_destination="order_events",le="75"} 44
messaging_masstransit_receive_duration_milliseconds_bucket{messaging_masstransit_destination="order_events",le="+Inf"} 44
messaging_masstransit_receive_duration_milliseconds_sum{messaging_masstransit_destination="order_events"} 2200
messaging_masstransit_receive_duration_milliseconds_count{messaging_masstransit_destination="order_events"} 44
`
	nservicebus = `# TYPE nservicebus_messaging_fetches_total counter
nservicebus_messaging_fetches_total{nservicebus_queue="orders",nservicebus_discriminator="",nservicebus_message_type="A"} 44
nservicebus_messaging_failures_total{nservicebus_queue="orders",error_type="X",execution_result="failure"} 4
nservicebus_messaging_successes_total{nservicebus_queue="orders",execution_result="success"} 40
# TYPE nservicebus_messaging_processing_time_seconds histogram
nservicebus_messaging_processing_time_seconds_bucket{nservicebus_queue="orders",execution_result="success",le="0.1"} 37
nservicebus_messaging_processing_time_seconds_bucket{nservicebus_queue="orders",execution_result="success",le="+Inf"} 37
nservicebus_messaging_processing_time_seconds_sum{nservicebus_queue="orders",execution_result="success"} 1.85
nservicebus_messaging_processing_time_seconds_count{nservicebus_queue="orders",execution_result="success"} 37
`
	wolverine = `# TYPE wolverine_messages_succeeded_Messages_total counter
wolverine_messages_succeeded_Messages_total{message_destination="rabbitmq://queue/orders",message_type="A"} 40
wolverine_execution_failure_Messages_total{message_destination="rabbitmq://queue/orders",exception_type="X"} 4
wolverine_messages_succeeded_Messages_total{message_destination="rabbitmq://queue/preorders",message_type="A"} 900
# TYPE wolverine_execution_time_Milliseconds histogram
wolverine_execution_time_Milliseconds_bucket{message_destination="rabbitmq://queue/orders",le="100"} 40
wolverine_execution_time_Milliseconds_bucket{message_destination="rabbitmq://queue/orders",le="+Inf"} 40
wolverine_execution_time_Milliseconds_sum{message_destination="rabbitmq://queue/orders"} 2000
wolverine_execution_time_Milliseconds_count{message_destination="rabbitmq://queue/orders"} 40
`
	faststream = `# TYPE faststream_received_processed_messages_total counter
faststream_received_processed_messages_total{app_name="shop",broker="rabbitmq",handler="orders",status="acked"} 40
faststream_received_processed_messages_total{app_name="shop",broker="rabbitmq",handler="orders",status="nacked"} 3
faststream_received_processed_messages_total{app_name="shop",broker="rabbitmq",handler="orders",status="error"} 1
# TYPE faststream_received_processed_messages_duration_seconds histogram
faststream_received_processed_messages_duration_seconds_bucket{app_name="shop",broker="rabbitmq",handler="orders",le="0.075"} 44
faststream_received_processed_messages_duration_seconds_bucket{app_name="shop",broker="rabbitmq",handler="orders",le="+Inf"} 44
faststream_received_processed_messages_duration_seconds_sum{app_name="shop",broker="rabbitmq",handler="orders"} 2.2
faststream_received_processed_messages_duration_seconds_count{app_name="shop",broker="rabbitmq",handler="orders"} 44
`
	otel = `# TYPE messaging_process_duration_seconds histogram
messaging_process_duration_seconds_bucket{messaging_destination_name="shop:order.*:orders",le="0.075"} 40
messaging_process_duration_seconds_bucket{messaging_destination_name="shop:order.*:orders",le="+Inf"} 40
messaging_process_duration_seconds_sum{messaging_destination_name="shop:order.*:orders"} 2
messaging_process_duration_seconds_count{messaging_destination_name="shop:order.*:orders"} 40
messaging_process_duration_seconds_bucket{error_type="X",messaging_destination_name="shop:order.*:orders",le="+Inf"} 4
messaging_process_duration_seconds_sum{error_type="X",messaging_destination_name="shop:order.*:orders"} 1
messaging_process_duration_seconds_count{error_type="X",messaging_destination_name="shop:order.*:orders"} 4
`
	own = `mine_total{queue="orders",result="ok"} 40
mine_total{queue="orders",result="bad"} 4
mine_again_total{queue="orders"} 3
mine_ms_sum{queue="orders"} 2000
mine_ms_count{queue="orders"} 40
`
)

func recording(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readTwice reads an endpoint whose process counts nothing at first, and then what it exports.
func readTwice(t *testing.T, cfg exports.Config, text string) *dedup.Exports {
	t.Helper()
	one := newConsumerMetrics(t, "go_goroutines 3\n")
	cfg.URLs = []string{one.URL + "/metrics"}
	r, err := exports.Open("Prometheus of orders", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	exports.Patient(r)
	mustReport(t, r)
	one.text.Store(text)
	got := mustReport(t, r)
	return got.Exports
}

func TestEachRecipeReadsWhatItsFrameworkExports(t *testing.T) {
	custom := exports.Custom{Handled: `mine_total{result="ok"}`, Failed: `mine_total{result!~"o.*"}`, Duplicates: "mine_again_total", Work: "mine_ms", Unit: "ms", QueueLabel: "queue"}
	for _, tt := range []struct {
		name, recipe, queue, text string
		handled, failed           float64
		duplicates                float64 // -1 where the framework does not tell
		ack, work                 float64 // means in seconds, 0 where there is none
		bounds                    int     // of the one that there is
	}{
		{"a timer of Spring without a histogram", "spring-rabbit", "orders", springTimer, 40, 4, -1, 0, 0.05, 0},
		{"an observation of Spring, with buckets of its own", "spring-rabbit", "orders", springObservation, 40, 4, -1, 0, 0.05, 3},
		{"MassTransit, which rewrites names of queues and counts in milliseconds", "masstransit", "order.events", masstransit, 40, 4, -1, 0.05, 0, 3},
		{"NServiceBus, whose outbox hits have no processing time", "nservicebus", "orders", nservicebus, 40, 4, 3, 0, 0.05, 2},
		{"NServiceBus, which counts its outbox hits", "nservicebus", "orders", nservicebus + "nservicebus_outbox_duplicates_total{nservicebus_queue=\"orders\"} 2\n", 40, 4, 2, 0, 0.05, 2},
		{"Wolverine, whose destinations are addresses", "wolverine", "orders", wolverine, 40, 4, -1, 0, 0.05, 2},
		{"FastStream", "faststream", "orders", faststream, 40, 4, -1, 0, 0.05, 2},
		{"OpenTelemetry", "otel", "orders", otel, 40, 4, -1, 0, 0.05, 2},
		{"consumers of one's own", "custom", "orders", own, 40, 4, 3, 0, 0.05, 0},
		{"Watermill, recorded", "watermill", "orders", recording(t, "watermill.txt"), 40, 4, -1, 0, 1.7e-6, 12},
		{"Dramatiq, recorded", "dramatiq", "orders", recording(t, "dramatiq.txt"), 40, 4, -1, 0, 0.00475, 19},
		{"celery-exporter, recorded", "celery-exporter", "orders", recording(t, "celery-exporter.txt"), 39, 5, -1, 0, 0.00517, 15},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := exports.Config{Recipe: tt.recipe, Queues: []string{tt.queue}}
			if tt.recipe == "custom" {
				cfg.Custom = custom
			}
			e := readTwice(t, cfg, tt.text)
			if e.Handled != tt.handled || e.Failed != tt.failed || e.Instances != 1 || e.Why != "" || len(e.Marks) != 1 {
				t.Errorf("%+v", e)
			}
			if e.HasDuplicates != (tt.duplicates >= 0) || e.HasDuplicates && e.Duplicates != tt.duplicates {
				t.Errorf("duplicates %v, told %v", e.Duplicates, e.HasDuplicates)
			}
			checkMean(t, "ack", e.Ack, tt.ack, tt.bounds)
			checkMean(t, "work", e.Work, tt.work, tt.bounds)
		})
	}
}

func checkMean(t *testing.T, what string, d *dedup.Distribution, mean float64, bounds int) {
	t.Helper()
	if mean == 0 {
		if d != nil && d.Count > 0 {
			t.Errorf("%s %+v; want none", what, d)
		}
		return
	}
	if d == nil || d.Count == 0 || d.Sum/d.Count < 0.9*mean || d.Sum/d.Count > 1.1*mean || len(d.Bounds) != bounds {
		t.Errorf("%s %+v; want a mean of %v s and %d buckets", what, d, mean, bounds)
	}
}

func TestARecipeForAnotherQueueSaysWhichQueuesThereAre(t *testing.T) {
	e := readTwice(t, exports.Config{Recipe: "spring-rabbit", Queues: []string{"order"}}, springTimer)
	if e.Handled != 0 || e.Instances != 0 || !strings.Contains(e.Why, `those that are there name "mails", "orders"`) {
		t.Errorf("%+v", e)
	}
	e = readTwice(t, exports.Config{Recipe: "dramatiq", Queues: []string{"orders"}}, springTimer)
	if e.Why != "no series of the recipe dramatiq is there" {
		t.Errorf("%+v", e)
	}
}

func TestNamesOfQueuesFromSeriesAreHarmless(t *testing.T) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "spring_rabbitmq_listener_seconds_count{queue=\"\x1b[31m%d%s\",result=\"success\"} 1\n", i, strings.Repeat("y", 900))
	}
	e := readTwice(t, exports.Config{Recipe: "spring-rabbit", Queues: []string{"orders"}}, text.String())
	if len(e.Queues) > 20 || strings.Contains(e.Why, "\x1b") || len(e.Why) > 3000 {
		t.Errorf("%d queues, %q", len(e.Queues), e.Why)
	}
}

func TestWhatAProcessMayHaveHandledBeforeItsEndIsBounded(t *testing.T) {
	line := `spring_rabbitmq_listener_seconds_count{queue="orders",result="success"} %d` + "\n"
	one := newConsumerMetrics(t, fmt.Sprintf(line, 1000))
	r, err := exports.Open("p", exports.Config{Recipe: "spring-rabbit", Queues: []string{"orders"}, URLs: []string{one.URL}})
	if err != nil {
		t.Fatal(err)
	}
	exports.Patient(r)
	for _, value := range []int{1000, 1100, 1220} {
		one.text.Store(fmt.Sprintf(line, value))
		if e := mustReport(t, r).Exports; e.Unsure != 0 || e.Handled != float64(value-1000) {
			t.Fatalf("at %d: %+v", value, e)
		}
	}
	one.text.Store(fmt.Sprintf(line, 5)) // it began anew
	if e := mustReport(t, r).Exports; e.Handled != 225 || e.Unsure < 120 || e.Unsure > 400 {
		t.Errorf("%+v", e)
	}
}

func TestARecipeIsRefusedWithWhatToWriteInstead(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  exports.Config
		want string
	}{
		{"an unknown recipe", exports.Config{Recipe: "spring"}, `recipe: "spring" is not known; it is one of celery-exporter, `},
		{"a custom recipe without a counter", exports.Config{Recipe: "custom"}, "custom.handled: is missing"},
		{"an expression that is none", exports.Config{Recipe: "custom", Custom: exports.Custom{Handled: "rate(a[5m])"}}, `custom.handled: has "(a[5m])" where + or - or or should stand`},
		{"labels that cannot be read", exports.Config{Recipe: "custom", Custom: exports.Custom{Handled: `a{b}`}}, `has a label without a comparison`},
		{"a pattern that cannot be read", exports.Config{Recipe: "custom", Custom: exports.Custom{Handled: `a{b=~"("}`}}, `has a pattern for label b that cannot be read`},
		{"another unit", exports.Config{Recipe: "custom", Custom: exports.Custom{Handled: "a", Unit: "us"}}, `custom.unit: "us" is neither s nor ms`},
		{"custom fields for a known recipe", exports.Config{Recipe: "otel", Metric: "a"}, "recipe: says which series count"},
		{"custom fields without a recipe", exports.Config{Custom: exports.Custom{Handled: "a"}}, "custom: is of use with recipe: custom alone"},
		{"two places", exports.Config{Recipe: "otel", QueryURL: "http://p:9090"}, "url: give only one of url, dns and query_url"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.URLs = []string{"http://a/metrics"}
			if _, err := exports.Open("p", tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}
