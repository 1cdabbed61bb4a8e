package kill

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// bodySize is the length of every body in bytes.
const bodySize = 512

// A lot is a number of messages that died in several queues in turn, so that neighbours in the dead-letter queue have different targets:
// an engine that acks more than it should would pass unseen otherwise. Every message can be made again from its id.
type lot struct {
	name    string
	size    int
	sources []string
	// user is the publisher, which some messages name in user_id.
	user string
}

func (l lot) id(i int) string { return fmt.Sprintf("%s-%06d", l.name, i) }

// index returns the number of a message of the lot; false for any other id.
func (l lot) index(id string) (int, bool) {
	digits, ok := strings.CutPrefix(id, l.name+"-")
	i, err := strconv.Atoi(digits)
	return i, ok && err == nil && 0 <= i && i < l.size && id == l.id(i)
}

// source is the queue that a message dies in, and that a requeue must send it to.
func (l lot) source(i int) string { return l.sources[i%len(l.sources)] }

// message is what the producer sent, with every property that can come through and a header of several types.
func (l lot) message(i int) amqp.Publishing {
	id := l.id(i)
	p := amqp.Publishing{
		MessageId: id, CorrelationId: "correlation-" + id, ContentType: "application/octet-stream", ContentEncoding: "identity",
		DeliveryMode: amqp.Persistent, Priority: uint8(i % 10), ReplyTo: "answers", Type: "order.placed", AppId: "shop",
		Timestamp: time.Unix(1_700_000_000+int64(i), 0),
		Headers: amqp.Table{
			"tenant": "acme", "number": int64(i), "small": int32(i % 100), "urgent": i%2 == 0, "raw": []byte{0, 255, byte(i)},
			"nested": amqp.Table{"list": []any{int32(1), "two", nil}}, "price": amqp.Decimal{Scale: 2, Value: int32(i % 100_000)},
		},
		Body: make([]byte, bodySize),
	}
	if i%7 == 0 {
		p.UserId = l.user
	}
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(id))).Read(p.Body) // its error is always nil
	return p
}
