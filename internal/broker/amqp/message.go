package amqp

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/message"
)

// maxTableDepth is how deep the headers of a message may nest; the AMQP library reads no deeper either.
const maxTableDepth = 32

// fromDelivery returns a delivery as the rest of the program knows it. Every type of field keeps its exact type, so that publishing
// the message sends the same bytes but for the order of the headers.
func fromDelivery(d *amqp.Delivery) message.Message {
	m := message.Message{
		Exchange: d.Exchange, RoutingKey: d.RoutingKey, Redelivered: d.Redelivered, Body: d.Body,
		Properties: message.Properties{
			ContentType: d.ContentType, ContentEncoding: d.ContentEncoding,
			DeliveryMode: d.DeliveryMode, Priority: d.Priority,
			CorrelationID: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration, MessageID: d.MessageId,
			Timestamp: d.Timestamp, Type: d.Type, UserID: d.UserId, AppID: d.AppId,
		},
	}
	if d.Headers != nil {
		m.Headers = fromTable(d.Headers)
	}
	return m
}

func fromTable(t amqp.Table) map[string]any {
	out := make(map[string]any, len(t))
	for k, v := range t {
		out[k] = fromField(v)
	}
	return out
}

func fromField(v any) any {
	switch v := v.(type) {
	case amqp.Table:
		return fromTable(v)
	case amqp.Decimal:
		return message.Decimal{Scale: v.Scale, Value: v.Value}
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = fromField(inner)
		}
		return out
	default: // the other types are those of message.Properties
		return v
	}
}

// publishing returns a message as it is sent: persistent, whatever it was. A header whose type AMQP lacks, or nested too deep, is
// an error, which names it.
func publishing(m *message.Message) (amqp.Publishing, error) {
	if m.LeftOut != nil {
		return amqp.Publishing{}, fmt.Errorf("its body of %d bytes was not kept", m.LeftOut.Size)
	}
	p := amqp.Publishing{
		ContentType: m.ContentType, ContentEncoding: m.ContentEncoding,
		DeliveryMode: amqp.Persistent, Priority: m.Priority,
		CorrelationId: m.CorrelationID, ReplyTo: m.ReplyTo, Expiration: m.Expiration, MessageId: m.MessageID,
		Timestamp: m.Timestamp, Type: m.Type, UserId: m.UserID, AppId: m.AppID,
		Body: m.Body,
	}
	for name, text := range map[string]string{
		"content type": m.ContentType, "content encoding": m.ContentEncoding, "correlation id": m.CorrelationID, "reply-to": m.ReplyTo,
		"expiration": m.Expiration, "message id": m.MessageID, "type": m.Type, "user id": m.UserID, "app id": m.AppID,
	} {
		if len(text) > maxShort {
			return p, fmt.Errorf("the %s has %d bytes, of which AMQP allows %d", name, len(text), maxShort)
		}
	}
	if m.Headers == nil {
		return p, nil
	}
	headers, err := toTable(m.Headers, 0)
	p.Headers = headers
	return p, err
}

// maxShort is how many bytes a short string of AMQP holds: a property, or the name of a header.
const maxShort = 255

func toTable(t map[string]any, depth int) (amqp.Table, error) {
	if depth > maxTableDepth {
		return nil, fmt.Errorf("headers nest deeper than %d", maxTableDepth)
	}
	out := make(amqp.Table, len(t))
	for k, v := range t {
		if len(k) > maxShort {
			return nil, fmt.Errorf("the name of a header has %d bytes, of which AMQP allows %d", len(k), maxShort)
		}
		field, err := toField(v, depth)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", broker.Quote(k), err)
		}
		out[k] = field
	}
	return out, nil
}

func toField(v any, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool, int8, uint8, int16, uint16, int32, uint32, int64, float32, float64, string, []byte, time.Time:
		return v, nil
	case message.Decimal:
		return amqp.Decimal{Scale: v.Scale, Value: v.Value}, nil
	case map[string]any:
		return toTable(v, depth+1)
	case []any:
		if depth >= maxTableDepth {
			return nil, fmt.Errorf("headers nest deeper than %d", maxTableDepth)
		}
		out := make([]any, len(v))
		for i, inner := range v {
			field, err := toField(inner, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = field
		}
		return out, nil
	default: // an int among them, which the library would cut to 32 bits
		return nil, fmt.Errorf("AMQP has no field of type %T", v)
	}
}
