package amqp

import (
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/message"
)

// answers publishes to the given queues in order with a window, and counts the outcomes by queue.
func answers(t *testing.T, sink *Sink, window int, queues []string, m func(i int) message.Message) map[string]map[message.PublishOutcome]int {
	t.Helper()
	counts := map[string]map[message.PublishOutcome]int{}
	answer := func(i int) {
		t.Helper()
		a, err := sink.Answer(t.Context())
		must(t, err)
		if counts[queues[i]] == nil {
			counts[queues[i]] = map[message.PublishOutcome]int{}
		}
		counts[queues[i]][a.Outcome]++
	}
	for i, queue := range queues {
		if i >= window {
			answer(i - window)
		}
		must(t, sink.Publish(t.Context(), queue, m(i)))
	}
	for i := max(0, len(queues)-window); i < len(queues); i++ {
		answer(i)
	}
	return counts
}

func (b *movingBroker) tellsReturnsApart(t *testing.T) {
	channel := b.admin(t)
	declare(t, channel, "there", nil)
	const n, window = 10000, 256
	queues := make([]string, n)
	for i := range queues {
		// In runs of changing length, so that a return is for the last, the first or one in the middle of a window.
		queues[i] = []string{"there", "missing"}[(i/(1+i%7))%2]
	}
	sink, err := b.mover.Sink(t.Context(), "/", window)
	must(t, err)
	defer sink.Close()
	counts := answers(t, sink, window, queues, func(i int) message.Message {
		return message.Message{Properties: message.Properties{MessageID: fmt.Sprint(i)}, Body: []byte("x")}
	})
	if len(counts["there"]) != 1 || len(counts["missing"]) != 1 || counts["there"][message.Confirmed]+counts["missing"][message.Returned] != n {
		t.Fatalf("%v", counts)
	}
	if got := drainIDs(t, channel, "there"); len(got) != counts["there"][message.Confirmed] {
		t.Errorf("%d arrived, %d were confirmed", len(got), counts["there"][message.Confirmed])
	}
}

// tellsEqualReturnsApart publishes one message again and again to a queue that is deleted and declared meanwhile: as many copies
// must be there as were confirmed since it was there last.
func (b *movingBroker) tellsEqualReturnsApart(t *testing.T) {
	channel := b.admin(t)
	const window = 64
	sink, err := b.mover.Sink(t.Context(), "/", window)
	must(t, err)
	defer sink.Close()
	equal := message.Message{Properties: message.Properties{MessageID: "same", Headers: map[string]any{"a": []any{int8(1), nil}}}, Body: []byte("same")}
	confirmed, returned := 0, 0
	const rounds, each = 20, 10
	for round := range rounds {
		if round%2 == 0 {
			declare(t, channel, "sometimes", nil)
		}
		for range each {
			must(t, sink.Publish(t.Context(), "sometimes", equal))
		}
		for range each {
			a, err := sink.Answer(t.Context())
			must(t, err)
			switch a.Outcome {
			case message.Confirmed:
				confirmed++
			case message.Returned:
				returned++
			}
		}
		if round%2 == 0 {
			_, err := channel.QueueDelete("sometimes", false, false, false)
			must(t, err)
		}
	}
	if confirmed != rounds/2*each || returned != rounds/2*each {
		t.Errorf("%d confirmed, %d returned", confirmed, returned)
	}
}

func (b *movingBroker) tellsRejected(t *testing.T) {
	channel := b.admin(t)
	declare(t, channel, "full", amqp.Table{"x-max-length": int32(10), "x-overflow": "reject-publish"})
	sink, err := b.mover.Sink(t.Context(), "/", 8)
	must(t, err)
	defer sink.Close()
	queues := make([]string, 60)
	for i := range queues {
		queues[i] = []string{"full", "missing"}[i%2]
	}
	equal := message.Message{Body: []byte("equal")}
	counts := answers(t, sink, 8, queues, func(int) message.Message { return equal })
	there := depth(t, channel, "full")
	if counts["missing"][message.Returned] != 30 || counts["full"][message.Confirmed] != there || counts["full"][message.Rejected] != 30-there {
		t.Errorf("%v with %d in the queue", counts, there)
	}
}

func (b *movingBroker) refusesWhatDoesNotFit(t *testing.T) {
	channel := b.admin(t)
	declare(t, channel, "fits", nil)
	sink, err := b.mover.Sink(t.Context(), "/", 8)
	must(t, err)
	defer sink.Close()
	deep := any("end")
	for range maxTableDepth + 1 {
		deep = []any{deep}
	}
	bad := []message.Message{
		{Properties: message.Properties{Headers: map[string]any{"huge": make([]byte, 131072)}}},
		{Properties: message.Properties{Headers: map[string]any{"wide": 7}}},
		{Properties: message.Properties{Headers: map[string]any{"deep": deep}}},
		{Properties: message.Properties{MessageID: string(make([]byte, 256))}},
	}
	for i, m := range bad {
		must(t, sink.Publish(t.Context(), "fits", m))
		must(t, sink.Publish(t.Context(), "fits", message.Message{}))
		a, err := sink.Answer(t.Context())
		if err != nil || a.Outcome != message.Rejected || a.Text == "" {
			t.Errorf("%d: %+v, %v", i, a, err)
		}
		if a, err := sink.Answer(t.Context()); err != nil || a.Outcome != message.Confirmed {
			t.Errorf("the one after %d: %+v, %v", i, a, err)
		}
	}
}

func (b *movingBroker) tellsLost(t *testing.T) {
	declare(t, b.admin(t), "lost", nil)
	sink, err := b.mover.Sink(t.Context(), "/", 8)
	must(t, err)
	defer sink.Close()
	must(t, sink.Publish(t.Context(), "lost", message.Message{Properties: message.Properties{UserID: "somebody else"}}))
	a, err := sink.Answer(t.Context())
	if err != nil || a.Outcome != message.AnswerLost {
		t.Errorf("%+v, %v", a, err)
	}
	if err := sink.Publish(t.Context(), "lost", message.Message{}); err == nil {
		t.Error("a channel that has ended took a message")
	} else {
		checkAct(t, err, broker.Declined, "user_id")
	}
}
