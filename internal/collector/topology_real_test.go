package collector_test

import (
	amqp "github.com/rabbitmq/amqp091-go"
	"net/http"
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// TestARealBrokerShowsItsOperatorPoliciesAndVolatileQueues: an operator policy gives a queue a time to live that nobody declared, and its
// dead-letter queue deletes itself.
func TestARealBrokerShowsItsOperatorPoliciesAndVolatileQueues(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	_, err := g.channel.QueueDeclare("orders", true, false, false, false, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dlq"})
	must(t, err)
	_, err = g.channel.QueueDeclare("orders.dlq", true, true, false, false, nil)
	must(t, err)
	must(t, g.rabbit.API(t.Context(), http.MethodPut, "/api/operator-policies/%2F/limits",
		map[string]any{"pattern": "^orders$", "apply-to": "queues", "definition": map[string]any{"message-ttl": 60000}}, nil))
	pipeline := dedup.Pipeline{Name: "p", Broker: "main", Vhost: "/", Queues: []string{"orders"}, DiscoverDeadLetters: true}
	var kinds []string
	eventually(t, 2*time.Minute, "the queue is listed with its operator policy, and both are found", func() bool {
		sample, err := g.client.Sample(t.Context())
		must(t, err)
		declared, err := g.client.Topology(t.Context())
		must(t, err)
		_, findings := topology.DeadLetters(pipeline, &sample, declared)
		kinds = nil
		for _, f := range findings {
			kinds = append(kinds, f.Kind)
		}
		return slices.Contains(kinds, "operator_policy_limits") && slices.Contains(kinds, "dead_letter_queue_volatile")
	})
}
