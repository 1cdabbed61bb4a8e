package amqp

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/message"
)

// fieldZoo holds a value of each type of AMQP field and at its limits.
func fieldZoo() []any {
	return []any{
		true, false, int8(-128), int8(127), uint8(255), int16(-32768), uint16(65535), int32(math.MinInt32), uint32(math.MaxUint32),
		int64(math.MinInt64), int64(math.MaxInt64), float32(math.MaxFloat32), float32(0), math.SmallestNonzeroFloat64, -0.5,
		amqp.Decimal{Scale: 255, Value: -1}, amqp.Decimal{}, "", "text", "\xff\x00 not UTF-8", strings.Repeat("long", 10000), []byte{}, []byte{0, 255},
		time.Unix(0, 0), time.Unix(-1, 0), time.Unix(253402300800, 0), nil,
		[]any{}, []any{nil, "a", int8(1), []any{uint16(2)}}, amqp.Table{}, amqp.Table{"": amqp.Table{"x": []any{amqp.Table{"y": nil}}}},
	}
}

// nested wraps a value in tables and arrays by turns.
func nested(v any, depth int) any {
	for i := range depth {
		if i%2 == 0 {
			v = []any{v}
		} else {
			v = amqp.Table{"in": v}
		}
	}
	return v
}

// messageZoo returns messages of more than 200 shapes that RabbitMQ 3.10 accepts.
func messageZoo(user string) []amqp.Publishing {
	var zoo []amqp.Publishing
	headers := func(h amqp.Table) { zoo = append(zoo, amqp.Publishing{Headers: h, Body: []byte("body")}) }
	for i, v := range fieldZoo() {
		headers(amqp.Table{"field": v})
		headers(amqp.Table{"array": []any{v, v}})
		headers(amqp.Table{"table": amqp.Table{"a": v, strings.Repeat("n", 255): v}})
		headers(amqp.Table{"nested": nested(v, 1+i%28)})
	}
	headers(nil)
	headers(amqp.Table{})
	headers(amqp.Table{strings.Repeat("k", 255): "v", "\u202eevil": "<script>"})
	headers(amqp.Table{"huge": strings.Repeat("h", 120_000)})
	headers(amqp.Table{"CC": []any{"side"}})
	headers(amqp.Table{"CC": []any{"side", "work.side"}, "keep": "me"})
	headers(amqp.Table{"BCC": []any{"side"}})
	for _, deaths := range []any{[]any{int32(1), "a"}, "no list", int64(7), []any{}, []any{amqp.Table{}}, []any{amqp.Table{"count": "many", "queue": int8(1)}},
		amqp.Table{"a": nil}, nil, []any{amqp.Table{"count": int64(1), "reason": "rejected", "queue": "work", "time": time.Unix(1, 0), "routing-keys": []any{"work"}}}} {
		headers(amqp.Table{"x-death": deaths, "x-first-death-queue": "work", "x-delivery-count": int64(3), "x-opt-a": "b"})
	}
	for p := range 256 {
		zoo = append(zoo, amqp.Publishing{Priority: uint8(p)})
	}
	long := strings.Repeat("p", 255)
	zoo = append(zoo,
		amqp.Publishing{MessageId: long, CorrelationId: long, ReplyTo: long, ContentType: long, ContentEncoding: long, Type: long, AppId: long},
		amqp.Publishing{UserId: user}, amqp.Publishing{Expiration: "86400000"}, amqp.Publishing{DeliveryMode: amqp.Transient}, amqp.Publishing{},
		amqp.Publishing{Timestamp: time.Unix(0, 0)}, amqp.Publishing{Timestamp: time.Unix(1<<40, 0)},
	)
	for _, size := range []int{0, 1, 4095, 4096, 4097, 131063, 131064, 131065, 131072, 1 << 20, 16 << 20} {
		zoo = append(zoo, amqp.Publishing{Body: bytes.Repeat([]byte{byte(size)}, size)})
	}
	return zoo
}

func (b *movingBroker) movesZoo(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "zoo.dead", nil)
	declare(t, channel, "zoo", nil)
	user, _ := b.rabbit.Admin()
	zoo := messageZoo(user)
	tooLarge := amqp.Publishing{Headers: amqp.Table{"huge": strings.Repeat("h", 131_000)}}
	must(t, channel.Confirm(false))
	for i, p := range append([]amqp.Publishing{tooLarge}, zoo...) {
		confirm, err := channel.PublishWithDeferredConfirm("", queue.Name, true, false, p)
		must(t, err)
		if !confirm.Wait() {
			t.Fatalf("shape %d was not taken", i)
		}
	}
	declare(t, channel, "side", nil)
	declare(t, channel, "work.side", nil)
	before := depth(t, channel, queue.Name)
	result := b.run(t, b.mover, queue, len(zoo)+1, always("zoo"))
	if int(result.Moved) != len(zoo) || result.Left != 1 || result.Reconnects != 0 {
		t.Fatalf("%+v of %d shapes; %d were ready before, %d are left and %d arrived", result, len(zoo), before, depth(t, channel, queue.Name), depth(t, channel, "zoo"))
	}
	t.Logf("%d shapes moved", len(zoo))
	for _, side := range []string{"side", "work.side"} {
		if n := depth(t, channel, side); n != 0 {
			t.Errorf("%d side copies in %s", n, side)
		}
	}
	for i := range zoo {
		d, ok, err := channel.Get("zoo", true)
		must(t, err)
		if !ok {
			t.Fatalf("shape %d is missing", i)
		}
		checkMoved(t, i, &zoo[i], &d)
	}
	eventually(t, "the one that does not fit with our headers stayed", func() bool { return depth(t, channel, queue.Name) == 1 })
}

// checkMoved compares a message with what was published, but for what a move changes.
func checkMoved(t *testing.T, i int, was *amqp.Publishing, is *amqp.Delivery) {
	t.Helper()
	expected := *was
	expected.Expiration, expected.UserId = "", ""
	expected.Headers = amqp.Table{}
	for k, v := range was.Headers {
		if k != "CC" && k != "BCC" && !strings.HasPrefix(k, "x-") {
			expected.Headers[k] = v
		}
	}
	got := amqp.Table{}
	for k, v := range is.Headers {
		if !strings.HasPrefix(k, "dedup-") {
			got[k] = v
		}
	}
	same := isReturnOf(&amqp.Return{
		RoutingKey: is.RoutingKey, Headers: got, MessageId: is.MessageId, CorrelationId: is.CorrelationId, Type: is.Type, AppId: is.AppId,
		ReplyTo: is.ReplyTo, Expiration: is.Expiration, ContentType: is.ContentType, ContentEncoding: is.ContentEncoding, Priority: is.Priority, Body: is.Body,
	}, &sent{queue: "zoo", message: expected})
	if !same || len(got) != len(expected.Headers) || is.UserId != "" || is.DeliveryMode != amqp.Persistent || is.Timestamp.Unix() != was.Timestamp.Unix() {
		t.Errorf("shape %d was changed:\n%.300s\n%.300s", i, fmt.Sprintf("%+v", *was), fmt.Sprintf("%+v", *is))
	}
	if is.Headers[message.HeaderRequeueRun] == nil || is.Headers[message.HeaderRequeueID] == nil {
		t.Errorf("shape %d does not bear our headers", i)
	}
}
