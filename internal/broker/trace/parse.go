package trace

import (
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

const (
	// maxHeaders and maxHeaderBytes bound the headers that are kept of a delivery: those of one with more are left out.
	maxHeaders     = 16
	maxHeaderBytes = 512
	// maxKeptText bounds a text of a message that is kept beside its id.
	maxKeptText = 255
	// maxWords is how many texts are remembered, so that equal ones are in memory once.
	maxWords = 20_000
	// Of the bytes that all deliveries of a trace may take, headers may take half.
	maxKeptBytes  = 128 << 20
	maxDeliveries = 300_000
	// eachTakes is what a delivery takes beside its texts.
	eachTakes = 256
)

// A parser reads messages of the firehose, in their order. Whatever they hold was written by others: any field may be of any type.
type parser struct {
	queues map[string]dedup.TracedQueue
	words  map[string]string
	// kept is how many bytes the deliveries take that were read.
	kept int
}

func newParser(queues []dedup.TracedQueue) *parser {
	p := &parser{queues: make(map[string]dedup.TracedQueue, len(queues)), words: map[string]string{}}
	for _, q := range queues {
		p.queues[q.Name] = q
	}
	return p
}

// read returns the delivery that a message of the firehose tells of; false where it is of another queue: a name of a queue may hold words that
// are wildcards in a binding. Nothing of the body stays but the id.
func (p *parser) read(m *message.Message, at time.Time) (dedup.TracedDelivery, bool) {
	name, ok := strings.CutPrefix(m.RoutingKey, deliverKey)
	queue, asked := p.queues[name]
	if !ok || !asked {
		return dedup.TracedDelivery{}, false
	}
	traced := original(m)
	d := dedup.TracedDelivery{
		At: at, Queue: queue.QueueRef, Redelivered: traced.Redelivered,
		Consumer: p.word(textOf(m.Headers["connection"]) + " (" + textOf(m.Headers["channel"]) + ")"),
		Exchange: p.word(traced.Exchange), RoutingKey: p.word(traced.RoutingKey), UserID: p.word(traced.UserID), AppID: p.word(traced.AppID),
	}
	id := queue.ID.Identify(traced)
	d.ID, d.NoID = strings.Clone(id.ID), p.word(id.Why)
	d.Rejections = rejections(traced.Headers, queue.Name)
	p.kept += eachTakes + len(d.ID)
	if p.kept < maxKeptBytes/2 {
		d.Headers = p.headers(traced.Headers)
	}
	return d, true
}

// full reports whether no more deliveries may be kept.
func (p *parser) full(deliveries int) bool {
	return p.kept >= maxKeptBytes || deliveries >= maxDeliveries
}

// original is the message that was delivered, as the headers of its trace describe it.
func original(m *message.Message) message.Message {
	properties, _ := m.Headers["properties"].(map[string]any)
	headers, _ := properties["headers"].(map[string]any)
	keys, _ := m.Headers["routing_keys"].([]any)
	traced := message.Message{
		Exchange: textOf(m.Headers["exchange_name"]), Redelivered: isTrue(m.Headers["redelivered"]), Body: m.Body, LeftOut: m.LeftOut,
		Properties: message.Properties{
			Headers: headers, MessageID: textOf(properties["message_id"]), UserID: textOf(properties["user_id"]), AppID: textOf(properties["app_id"]),
		},
	}
	if len(keys) > 0 {
		traced.RoutingKey = textOf(keys[0])
	}
	return traced
}

// rejections is how often a message was rejected from a queue, as its headers tell.
func rejections(headers map[string]any, queue string) int64 {
	deaths, _ := message.DeathsOf(headers)
	var n int64
	for _, d := range deaths {
		if d.Queue == queue && (d.Reason == "rejected" || d.Reason == "delivery_limit") {
			n += max(1, d.Count)
		}
	}
	return n
}

// textOf returns a text or a whole number as text, and "" for anything else.
func textOf(v any) string {
	s, _ := message.TextField(v)
	return s
}

// isTrue reads a flag, which the broker writes as 0 or 1.
func isTrue(v any) bool {
	if b, ok := v.(bool); ok {
		return b
	}
	n, ok := message.WholeField(v)
	return ok && n != 0
}

// word returns a text that is cut where it is long.
func (p *parser) word(s string) string {
	if len(s) > maxKeptText {
		cut := maxKeptText
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	return p.whole(s)
}

// whole returns a text in memory of its own, once for all that are equal.
func (p *parser) whole(s string) string {
	if kept, ok := p.words[s]; ok {
		return kept
	}
	s = strings.Clone(s)
	if len(p.words) < maxWords {
		p.words[s] = s
		return s
	}
	p.kept += len(s)
	return s
}

// headers returns the headers of a message if they are few, short and simple.
func (p *parser) headers(all map[string]any) map[string]any {
	if len(all) == 0 || len(all) > maxHeaders {
		return nil
	}
	size := 0
	for name, v := range all {
		size += len(name)
		switch v := v.(type) {
		case string:
			size += len(v)
		case []byte:
			size += len(v)
		case map[string]any, []any:
			return nil
		default:
			size += 16
		}
	}
	if size > maxHeaderBytes {
		return nil
	}
	kept := make(map[string]any, len(all))
	for name, v := range all {
		switch value := v.(type) {
		case string:
			v = p.whole(value)
		case []byte:
			v = append([]byte(nil), value...)
		}
		kept[p.whole(name)] = v
	}
	p.kept += size + 64*len(all)
	return kept
}
