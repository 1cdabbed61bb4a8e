package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// of is a message of the firehose, as 3.10 writes it.
func of(queue string, change func(headers map[string]any)) *message.Message {
	headers := map[string]any{
		"exchange_name": "orders", "routing_keys": []any{"orders.created"}, "node": "rabbit@one", "vhost": "/",
		"connection": "10.0.0.1:5000 -> 10.0.0.2:5672", "channel": int32(1), "user": "consumer", "redelivered": int32(1),
		"properties": map[string]any{"message_id": "m1", "app_id": "shop", "user_id": "seller", "headers": map[string]any{"attempt": int32(2)}},
	}
	if change != nil {
		change(headers)
	}
	return &message.Message{RoutingKey: deliverKey + queue, Properties: message.Properties{Headers: headers}, Body: []byte(canary)}
}

func TestAMessageOfTheFirehoseIsReadWhateverItHolds(t *testing.T) {
	at := time.Now()
	type headers = map[string]any
	for name, tt := range map[string]struct {
		message *message.Message
		want    string // ID, NoID, Redelivered, Consumer, Exchange, RoutingKey, UserID, AppID, Headers
	}{
		"as the broker writes it":    {of("q", nil), `"m1" "" true "10.0.0.1:5000 -> 10.0.0.2:5672 (1)" "orders" "orders.created" "seller" "shop" map[attempt:2]`},
		"not redelivered":            {of("q", func(h headers) { h["redelivered"] = int32(0) }), `"m1" "" false`},
		"a flag that is a bool":      {of("q", func(h headers) { h["redelivered"] = true }), `"m1" "" true`},
		"a flag that is a text":      {of("q", func(h headers) { h["redelivered"] = "1" }), `"m1" "" false`},
		"nothing of a message":       {&message.Message{RoutingKey: "deliver.q"}, `"" "the message has no message_id" false " ()" "" "" "" "" map[]`},
		"properties that are a list": {of("q", func(h headers) { h["properties"] = []any{1} }), `"" "the message has no message_id" true`},
		"headers that are a text": {of("q", func(h headers) { h["properties"] = headers{"message_id": "m", "headers": "x"} }),
			`"m" "" true "10.0.0.1:5000 -> 10.0.0.2:5672 (1)" "orders" "orders.created" "" "" map[]`},
		"routing keys of other types": {of("q", func(h headers) { h["routing_keys"] = []any{headers{}} }), `"m1" "" true "10.0.0.1:5000 -> 10.0.0.2:5672 (1)" "orders" ""`},
		"an app id of two kilobytes":  {of("q", func(h headers) { h["properties"] = headers{"app_id": strings.Repeat("ü", 1000), "message_id": "m"} }), `"m" ""`},
	} {
		p := newParser([]dedup.TracedQueue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: "q"}, ID: idFrom(t, "message_id")}})
		d, ok := p.read(tt.message, at)
		got := fmt.Sprintf("%q %q %t %q %q %q %q %q %v", d.ID, d.NoID, d.Redelivered, d.Consumer, d.Exchange, d.RoutingKey, d.UserID, d.AppID, d.Headers)
		if !ok || !strings.HasPrefix(got, tt.want) || !d.At.Equal(at) || len(d.AppID) > maxKeptText {
			t.Errorf("%s:\n%s, want\n%s", name, got, tt.want)
		}
	}
}

// TestRejectionsAreThoseOfTheQueue: the death history tells a message that came back through a retry queue from a copy of a producer.
func TestRejectionsAreThoseOfTheQueue(t *testing.T) {
	type headers = map[string]any
	death := func(queue, reason string, count any) headers {
		return headers{"queue": queue, "reason": reason, "count": count}
	}
	for name, tt := range map[string]struct {
		deaths any
		want   int64
	}{
		"never died":                       {nil, 0},
		"rejected, and expired in a retry": {[]any{death("q.retry", "expired", int64(2)), death("q", "rejected", int64(2))}, 2},
		"at its delivery limit":            {[]any{death("q", "delivery_limit", int64(1))}, 1},
		"rejected from another queue":      {[]any{death("p", "rejected", int64(3))}, 0},
		"expired in this queue":            {[]any{death("q", "expired", int64(3))}, 0},
		"hostile":                          {[]any{"x", int32(1), death("q", "rejected", "many"), headers{"queue": []any{}}}, 1},
		"no list":                          {"rejected", 0},
	} {
		p := newParser([]dedup.TracedQueue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: "q"}}})
		m := of("q", func(h headers) { h["properties"] = headers{"headers": headers{"x-death": tt.deaths}} })
		if d, ok := p.read(m, time.Now()); !ok || d.Rejections != tt.want {
			t.Errorf("%s: %d rejections, want %d", name, d.Rejections, tt.want)
		}
	}
}

func TestADeliveryOfAnotherQueueIsLeftOut(t *testing.T) {
	p := newParser([]dedup.TracedQueue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: "#"}}})
	for key, want := range map[string]bool{"deliver.#": true, "deliver.q": false, "deliver.": false, "publish.#": false, "deliver.#.x": false, "": false} {
		if _, ok := p.read(&message.Message{RoutingKey: key}, time.Now()); ok != want {
			t.Errorf("%q: %t", key, ok)
		}
	}
}

func TestATraceKeepsNoMoreThanItsBounds(t *testing.T) {
	p := newParser([]dedup.TracedQueue{{QueueRef: dedup.QueueRef{Name: "q"}, ID: idFrom(t, "message_id")}})
	deliveries := 0
	for ; !p.full(deliveries); deliveries++ {
		p.read(of("q", func(h map[string]any) {
			headers := map[string]any{}
			for i := range maxHeaders {
				headers[fmt.Sprint(i)] = fmt.Sprintf("%026d", deliveries)
			}
			h["properties"] = map[string]any{"message_id": fmt.Sprintf("%0*d", message.LongestID, deliveries), "headers": headers}
		}), time.Now())
		if deliveries > maxDeliveries {
			t.Fatal("it is never full")
		}
	}
	if deliveries < 20_000 || p.kept > maxKeptBytes+message.LongestID+eachTakes || len(p.words) > maxWords {
		t.Errorf("%d deliveries of %d bytes, %d words", deliveries, p.kept, len(p.words))
	}
	if d, _ := p.read(of("q", func(h map[string]any) {
		h["properties"] = map[string]any{"headers": map[string]any{"long": strings.Repeat("x", maxHeaderBytes)}}
	}), time.Now()); d.Headers != nil {
		t.Error("long headers are kept")
	}
}

func idFrom(t testing.TB, text string) message.IDSource {
	t.Helper()
	source, err := message.ParseIDSource(text)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// FuzzTrace reads messages of the firehose whose headers anybody could have written, as the AMQP library decodes them. None may panic, show a
// queue that was not asked for, keep more than is counted, or keep anything of the body but an id.
func FuzzTrace(f *testing.F) {
	f.Add("deliver.orders.#", "m1", "properties", "x", []byte(`{"id":"`+canary+`"}`), int64(1), byte(0))
	f.Add("deliver.#", "", "redelivered", "1", []byte{}, int64(-1), byte(3))
	f.Add("publish.x", "\xff", "routing_keys", "", []byte("null"), int64(1<<62), byte(7))
	f.Fuzz(func(t *testing.T, key, id, name, value string, body []byte, number int64, shape byte) {
		queues := []dedup.TracedQueue{
			{QueueRef: dedup.QueueRef{Vhost: "/", Name: "orders.#"}, ID: idFrom(t, "message_id else json:$.id else md5(body)")},
			{QueueRef: dedup.QueueRef{Vhost: "/", Name: "#"}, ID: idFrom(t, "header:x-id")},
		}
		p := newParser(queues)
		fields := []any{value, number, number != 0, []byte(value), []any{value, number}, map[string]any{name: value, "message_id": number}, nil, amqp091.Decimal{Value: 1}}
		m := of("", func(h map[string]any) {
			h["properties"].(map[string]any)["message_id"] = id
			h["properties"].(map[string]any)["headers"] = map[string]any{name: value, "x-id": fields[int(shape>>4)%len(fields)]}
			h[name] = fields[int(shape)%len(fields)]
		})
		m.RoutingKey, m.Body = key, body
		d, ok := p.read(m, time.Now())
		if !ok {
			if key == "deliver.#" || key == "deliver.orders.#" {
				t.Errorf("%q is left out", key)
			}
			return
		}
		if deliverKey+d.Queue.Name != key || len(d.ID) > message.LongestID || (d.ID == "") == (d.NoID == "") || p.kept < len(d.ID) || len(d.Headers) > maxHeaders {
			t.Errorf("%q: %+v, %d bytes", key, d, p.kept)
		}
	})
}
