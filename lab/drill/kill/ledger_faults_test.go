package kill

import (
	"maps"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/message"
)

// delivered is what a correct requeue makes of message i.
func delivered(l lot, i int) *amqp.Delivery {
	p := l.message(i)
	headers := maps.Clone(p.Headers)
	maps.Copy(headers, amqp.Table{
		message.HeaderRequeueID: strings.Repeat("a", 64), message.HeaderRequeueRun: "run", message.HeaderRequeueCount: int64(1),
		message.HeaderRequeuedAt: time.Unix(1_800_000_000, 0), message.HeaderOriginalQueue: "dead",
		message.HeaderOriginalDeath: message.EncodeDeaths([]message.Death{{Queue: l.source(i), Reason: message.DeathRejected, Count: 1}}),
	})
	if p.UserId != "" {
		headers[message.HeaderOriginalUserID] = p.UserId
	}
	return &amqp.Delivery{
		MessageId: p.MessageId, CorrelationId: p.CorrelationId, ContentType: p.ContentType, ContentEncoding: p.ContentEncoding,
		DeliveryMode: p.DeliveryMode, Priority: p.Priority, ReplyTo: p.ReplyTo, Type: p.Type, AppId: p.AppId, Timestamp: p.Timestamp,
		Headers: headers, Body: p.Body,
	}
}

// TestLedgerTellsWhatIsWrong enters the moves of a lot with one fault each.
func TestLedgerTellsWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		// spoil returns the queue that message 7 is found in and how often, after it has spoilt it.
		spoil func(d *amqp.Delivery) (queue string, times int)
		want  string
		extra int
	}{
		"nothing is wrong":                    {func(*amqp.Delivery) (string, int) { return "b", 1 }, "", 0},
		"a copy is no fault, and is counted":  {func(*amqp.Delivery) (string, int) { return "b", 3 }, "", 2},
		"a message is nowhere":                {func(*amqp.Delivery) (string, int) { return "b", 0 }, "1 lost, as lot-000007", 0},
		"a message is in another queue":       {func(*amqp.Delivery) (string, int) { return "c", 1 }, "lot-000007 died in b and is in c", 0},
		"a byte of the body was changed":      {spoilt(func(d *amqp.Delivery) { d.Body[3]++ }), "lot-000007: another body", 0},
		"a property was lost":                 {spoilt(func(d *amqp.Delivery) { d.Type = "" }), "lot-000007: properties", 0},
		"the time was changed":                {spoilt(func(d *amqp.Delivery) { d.Timestamp = time.Now() }), "lot-000007: timestamp", 0},
		"the publisher was lost":              {spoilt(func(d *amqp.Delivery) { delete(d.Headers, message.HeaderOriginalUserID) }), "properties", 0},
		"a header of the producer was lost":   {spoilt(func(d *amqp.Delivery) { delete(d.Headers, "tenant") }), "lot-000007: headers", 0},
		"a header has another type":           {spoilt(func(d *amqp.Delivery) { d.Headers["small"] = int64(7) }), "lot-000007: headers", 0},
		"a header of the broker was copied":   {spoilt(func(d *amqp.Delivery) { d.Headers["x-death"] = []any{} }), "lot-000007: headers", 0},
		"it does not say which message it is": {spoilt(func(d *amqp.Delivery) { delete(d.Headers, message.HeaderRequeueID) }), "no requeue id", 0},
		"its death was forgotten":             {spoilt(func(d *amqp.Delivery) { delete(d.Headers, message.HeaderOriginalDeath) }), "death history", 0},
		"it was sent twice one after another": {spoilt(func(d *amqp.Delivery) { d.Headers[message.HeaderRequeueCount] = int64(2) }), "requeued 2 times", 0},
		"a message is none of the lot":        {spoilt(func(d *amqp.Delivery) { d.MessageId = "lot-7" }), `none of the lot, as "lot-7" in b`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := lot{name: "lot", size: 20, sources: []string{"a", "b", "c"}, user: "producer"}
			g := newLedger(l, "dead")
			for i := range l.size {
				d, queue, times := delivered(l, i), l.source(i), 1
				if i == 7 {
					queue, times = test.spoil(d)
				}
				for range times {
					g.find(queue, d)
				}
			}
			b := g.close()
			if faults := b.faults(); !strings.Contains(faults, test.want) || (faults == "") != (test.want == "") {
				t.Errorf("faults %q, want %q", faults, test.want)
			}
			if b.extra != test.extra {
				t.Errorf("%d extra copies, want %d", b.extra, test.extra)
			}
		})
	}
}

func spoilt(how func(*amqp.Delivery)) func(*amqp.Delivery) (string, int) {
	return func(d *amqp.Delivery) (string, int) {
		how(d)
		return "b", 1
	}
}

// TestLedgerTellsCopiesApartFromTwins enters two copies of one message with different requeue ids.
func TestLedgerTellsCopiesApartFromTwins(t *testing.T) {
	l := lot{name: "lot", size: 1, sources: []string{"a"}}
	g := newLedger(l, "dead")
	first, second := delivered(l, 0), delivered(l, 0)
	second.Headers[message.HeaderRequeueID] = strings.Repeat("b", 64)
	g.find("a", first)
	g.find("a", second)
	if b := g.close(); !strings.Contains(b.faults(), "1 copies with different requeue ids") || b.extra != 1 {
		t.Errorf("balance %v, faults %q", b, b.faults())
	}
}
