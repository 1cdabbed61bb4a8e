package amqp

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// headerFrame returns how many bytes the content header of a message takes in one frame, which is all that AMQP 0-9-1 gives it
// (specification §2.3.5.2 and §4.2.6.1).
func headerFrame(p *amqp.Publishing) int {
	const frame, class, weight, bodySize, flags = 8, 2, 2, 8, 2
	size := frame + class + weight + bodySize + flags
	for _, text := range []string{p.ContentType, p.ContentEncoding, p.CorrelationId, p.ReplyTo, p.Expiration, p.MessageId, p.Type, p.UserId, p.AppId} {
		if text != "" {
			size += 1 + len(text)
		}
	}
	if len(p.Headers) > 0 {
		size += tableSize(p.Headers)
	}
	const deliveryMode, priority, timestamp = 1, 1, 8
	return size + deliveryMode + priority + timestamp
}

func tableSize(t amqp.Table) int {
	size := 4
	for k, v := range t {
		size += 1 + len(k) + fieldSize(v)
	}
	return size
}

// fieldSize returns the bytes of a field with the byte of its type.
func fieldSize(v any) int {
	switch v := v.(type) {
	case nil:
		return 1
	case bool, int8, uint8:
		return 2
	case int16, uint16:
		return 3
	case int32, uint32, float32:
		return 5
	case amqp.Decimal:
		return 6
	case int64, float64, time.Time:
		return 9
	case string:
		return 5 + len(v)
	case []byte:
		return 5 + len(v)
	case amqp.Table:
		return 1 + tableSize(v)
	case []any:
		size := 5
		for _, inner := range v {
			size += fieldSize(inner)
		}
		return size
	default: // publishing lets no other type through
		return 9
	}
}
