package message

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
)

// The versions of references are written first, so that a change of the encoding cannot give the reference of another message. A plain one is
// made over the body itself: plans and jobs of versions without a key hold such references. The others are made over its SHA-256, which
// is known also of a body that was left out.
const (
	plainRefVersion = 1
	refVersion      = 2
)

// changing are the headers that a quorum queue changes when a message is returned to it.
func changing(header string) bool {
	return header == "x-delivery-count" || header == "x-acquired-count"
}

// A RefKey makes references that nobody without it can make: a plain one tells whether a guess at what is hidden of a message is right. With
// nil they are plain.
type RefKey []byte

// Ref returns the reference of a message in a queue: the SHA-256 in hex of the queue, the exchange and routing key,
// every property and header with its type, and the body. What a redelivery changes is left out: the flag redelivered and
// the headers x-delivery-count and x-acquired-count. Two messages have one reference only if they are equal in all the rest.
// With a key it is an HMAC-SHA-256 in place of the hash, over the SHA-256 of the body.
func (k RefKey) Ref(vhost, queue string, m Message) string {
	sum, version := sha256.New(), byte(plainRefVersion)
	if len(k) > 0 {
		sum = hmac.New(sha256.New, k)
	}
	if len(k) > 0 || m.LeftOut != nil || m.BodySize() > MaxPeekedBody { // a look leaves such a body out, and a job has it
		version = refVersion
	}
	buffered := bufio.NewWriterSize(sum, 4096)
	w := refWriter{buffered}
	w.tag(version)
	for _, text := range []string{vhost, queue, m.Exchange, m.RoutingKey} {
		w.text(text)
	}
	w.properties(m.Properties)
	w.number(uint64(m.BodySize()))
	body := m.Body
	if version != plainRefVersion {
		of := m.BodySum()
		body = of[:]
	}
	_, _ = w.to.Write(body)
	_ = buffered.Flush() // a hash does not fail
	return hex.EncodeToString(sum.Sum(nil))
}

// refWriter writes values so that different values have different encodings, and none is the beginning of another: a tag
// for the type, then a fixed width or a length.
type refWriter struct{ to io.Writer }

func (w refWriter) tag(b byte) { _, _ = w.to.Write([]byte{b}) }

func (w refWriter) number(n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	_, _ = w.to.Write(b[:])
}

func (w refWriter) text(s string) {
	w.number(uint64(len(s)))
	_, _ = io.WriteString(w.to, s)
}

func (w refWriter) time(t time.Time) {
	w.number(uint64(t.Unix()))
	w.number(uint64(t.Nanosecond()))
}

func (w refWriter) properties(p Properties) {
	for _, text := range []string{p.ContentType, p.ContentEncoding, p.CorrelationID, p.ReplyTo, p.Expiration, p.MessageID, p.Type, p.UserID, p.AppID} {
		w.text(text)
	}
	w.tag(p.DeliveryMode)
	w.tag(p.Priority)
	w.time(p.Timestamp)
	w.table(p.Headers, changing)
}

// table writes a table in the order of its names.
func (w refWriter) table(t map[string]any, leave func(string) bool) {
	names := slices.Sorted(maps.Keys(t))
	names = slices.DeleteFunc(names, leave)
	w.number(uint64(len(names)))
	for _, name := range names {
		w.text(name)
		w.field(t[name])
	}
}

// field writes one value of a table with the letter of its type in AMQP 0-9-1
// (https://www.rabbitmq.com/amqp-0-9-1-errata#section_3).
func (w refWriter) field(v any) {
	if tag, ok := integerTag(v); ok {
		n, _ := wholeOf(v)
		if wide, isWide := v.(uint64); isWide {
			n = int64(wide)
		}
		w.tag(tag)
		w.number(uint64(n))
		return
	}
	switch v := v.(type) {
	case nil:
		w.tag('V')
	case bool:
		w.tag('t')
		w.tag(map[bool]byte{true: 1}[v])
	case float32, float64, Decimal:
		w.fraction(v)
	case string:
		w.tag('S')
		w.text(v)
	case []byte:
		w.tag('x')
		w.text(string(v))
	case time.Time:
		w.tag('T')
		w.time(v)
	case []any:
		w.tag('A')
		w.number(uint64(len(v)))
		for _, e := range v {
			w.field(e)
		}
	case map[string]any:
		w.tag('F')
		w.table(v, func(string) bool { return false })
	default:
		// No AMQP client makes it; its type keeps it apart.
		w.tag(0)
		w.text(fmt.Sprintf("%T", v))
		w.text(fmt.Sprintf("%#v", v))
	}
}

// fraction writes the bits of a number with a fraction, so that NaN equals itself and 0 is not -0.
func (w refWriter) fraction(v any) {
	switch v := v.(type) {
	case float32:
		w.tag('f')
		w.number(uint64(math.Float32bits(v)))
	case float64:
		w.tag('d')
		w.number(math.Float64bits(v))
	case Decimal:
		w.tag('D')
		w.tag(v.Scale)
		w.number(uint64(v.Value))
	}
}

// integerTag returns the letter of an integer type.
func integerTag(v any) (byte, bool) {
	switch v.(type) {
	case int8:
		return 'b', true
	case uint8:
		return 'B', true
	case int16:
		return 's', true
	case uint16:
		return 'u', true
	case int32:
		return 'I', true
	case uint32:
		return 'i', true
	case int64:
		return 'l', true
	case uint64:
		return 'L', true
	case int:
		return 'n', true
	}
	return 0, false
}
