package message

import (
	"crypto/sha256"
	"time"
)

// A Message is one AMQP 0-9-1 message as a queue delivered it, with everything that is needed to send it again.
type Message struct {
	// Exchange and RoutingKey are those by which it came into the queue.
	Exchange    string
	RoutingKey  string
	Redelivered bool
	Properties
	Body []byte
	// LeftOut is what is known of a body that was too large to be kept: then Body is nil, and the message cannot be sent again. Nil where
	// Body is the body.
	LeftOut *LeftOutBody
}

// MaxPeekedBody is the largest body that a peek keeps.
const MaxPeekedBody = 4 << 20

// A LeftOutBody is what is known of a body that is not in memory.
type LeftOutBody struct {
	Size   int64
	SHA256 [sha256.Size]byte
}

// BodySize returns the length of the whole body in bytes, whether it is there or not.
func (m *Message) BodySize() int64 {
	if m.LeftOut != nil {
		return m.LeftOut.Size
	}
	return int64(len(m.Body))
}

// BodySum returns the SHA-256 of the whole body, whether it is there or not.
func (m *Message) BodySum() [sha256.Size]byte {
	if m.LeftOut != nil {
		return m.LeftOut.SHA256
	}
	return sha256.Sum256(m.Body)
}

// Properties are the properties of an AMQP 0-9-1 message. An empty string and a zero time mean that the property is absent.
type Properties struct {
	ContentType     string
	ContentEncoding string
	// Headers hold the types of AMQP fields: bool, int8, uint8, int16, uint16, int32, uint32, int64, float32, float64, Decimal,
	// string, []byte, time.Time, nil, []any and map[string]any. Their exact types are kept, so that a message can be sent as it was.
	Headers map[string]any
	// DeliveryMode is 2 for a persistent message, 1 or 0 for a transient one.
	DeliveryMode  uint8
	Priority      uint8
	CorrelationID string
	ReplyTo       string
	// Expiration is the time to live in milliseconds as text; the broker removes it from what it dead-letters.
	Expiration string
	MessageID  string
	// Timestamp has a resolution of one second.
	Timestamp time.Time
	Type      string
	UserID    string
	AppID     string
}

// A Decimal is the AMQP field of type D: Value / 10^Scale.
type Decimal struct {
	Scale uint8
	Value int32
}

// Dated reports whether a time from a message is a date that can be written. AMQP counts seconds since 1970 in 64 bits without a sign:
// producers write milliseconds there, and anything else, and what is too large for a signed number comes as a time before 1970.
func Dated(t time.Time) bool {
	const last = 253_402_300_799 // the last second of the year 9999, which is the last that RFC 3339 can write
	return t.Unix() >= 0 && t.Unix() <= last
}
