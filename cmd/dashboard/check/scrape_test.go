package check

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/exports"
)

// TestCheckSaysWhatARecipeFinds: processes, queues, distributions, and both numbers side by side.
func TestCheckSaysWhatARecipeFinds(t *testing.T) {
	var handled atomic.Int64
	consumer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := handled.Add(40)
		fmt.Fprintf(w, "# TYPE dramatiq_messages_total counter\ndramatiq_messages_total{queue_name=\"orders\",actor_name=\"a\"} %d\n"+
			"dramatiq_messages_total{queue_name=\"mails\",actor_name=\"a\"} 7\ndramatiq_message_errors_total{queue_name=\"orders\",actor_name=\"a\"} 0\n"+
			"dramatiq_message_duration_milliseconds_sum{queue_name=\"orders\"} 1\ndramatiq_message_duration_milliseconds_count{queue_name=\"orders\"} 1\n", n)
	}))
	t.Cleanup(consumer.Close)
	acked := int64(0)
	acks := ackCount{read: func(context.Context) (int64, bool) { acked += 38; return acked, true }}
	for _, tt := range []struct {
		name, queue, recipe string
		want                []string
		fails               bool
	}{
		{"a recipe that fits", "orders", "dramatiq", []string{"  recipe dramatiq (Dramatiq): processes 1, series of each up to 4\n", `  queues that its series name: ["mails" "orders"]`,
			"work time is exported as a mean alone", "consumers handled 40 messages and failed at 0 messages; the broker counted 38 acks"}, false},
		{"another queue", "order", "dramatiq", []string{`PROBLEM no series of the recipe dramatiq is of the pipeline's queues; those that are there name "mails", "orders"`}, true},
		{"another framework", "orders", "otel", []string{"PROBLEM no series of the recipe otel is there"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := readScrape(t.Context(), &out, dedup.Pipeline{Name: "orders"}, exports.Config{URLs: []string{consumer.URL}, Recipe: tt.recipe, Queues: []string{tt.queue}}, acks)
			if (err != nil) != tt.fails {
				t.Errorf("%v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, out.String())
				}
			}
		})
	}
}
