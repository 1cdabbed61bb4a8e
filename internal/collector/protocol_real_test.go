//go:build matrix

package collector_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"dedup-dashboard/internal/dedup"
)

// TestMessagesOfConsumersThatSpeakAMQP10AreSaidNotToBeCounted: RabbitMQ 4 speaks their protocol itself, and counts nothing of their queues.
func TestMessagesOfConsumersThatSpeakAMQP10AreSaidNotToBeCounted(t *testing.T) {
	t.Parallel()
	const n = 60
	d := newDeathbed(t)
	version, err := d.rabbit.Version(t.Context())
	must(t, err)
	if !(dedup.BrokerInfo{Version: version}).Since(4, 0) {
		t.Attr("without", "AMQP 1.0 was not tried: the plugin makes channels of its links, which are counted as any other")
		return
	}
	user, password := d.rabbit.Admin()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	connection, err := goamqp.Dial(ctx, "amqp://"+d.rabbit.AMQPAddr(), &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain(user, password)})
	must(t, err)
	defer connection.Close()
	session, err := connection.NewSession(ctx, nil)
	must(t, err)
	receiver, err := session.NewReceiver(ctx, "/queues/orders", &goamqp.ReceiverOptions{Credit: 10})
	must(t, err)
	for range n {
		must(t, d.rabbit.API(ctx, http.MethodPost, "/api/exchanges/%2F/amq.default/publish", map[string]any{
			"routing_key": "orders", "payload": "x", "payload_encoding": "string", "properties": map[string]any{},
		}, nil))
	}
	for range n {
		message, err := receiver.Receive(ctx, nil)
		must(t, err)
		must(t, receiver.AcceptMessage(ctx, message))
	}
	eventually(t, 90*time.Second, "it is said why nothing is counted", func() bool {
		_, w := d.figures()
		says := func(f dedup.Figure) bool { return !f.Known() && strings.Contains(f.Why, "consumers speak AMQP 1.0") }
		return says(w.Messages) && says(w.AckMean) && says(w.Redeliveries) && !w.DuplicateRate.Known()
	})
}
