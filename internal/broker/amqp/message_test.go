package amqp

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/message"
)

// anyField draws a field as the AMQP library reads it.
func anyField(depth int) *rapid.Generator[any] {
	flat := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int8().AsAny(), rapid.Uint8().AsAny(), rapid.Int16().AsAny(), rapid.Uint16().AsAny(),
		rapid.Int32().AsAny(), rapid.Uint32().AsAny(), rapid.Int64().AsAny(), rapid.Float32().AsAny(), rapid.Float64().AsAny(),
		rapid.String().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(),
		rapid.Custom(func(t *rapid.T) any {
			return amqp.Decimal{Scale: rapid.Uint8().Draw(t, "scale"), Value: rapid.Int32().Draw(t, "value")}
		}),
		rapid.Custom(func(t *rapid.T) any { return time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "seconds"), 0) }),
	}
	if depth == 0 {
		return rapid.OneOf(flat...)
	}
	return rapid.OneOf(append(flat,
		rapid.Map(rapid.SliceOfN(anyField(depth-1), 0, 4), func(v []any) any { return v }),
		rapid.Map(anyTable(depth-1), func(v amqp.Table) any { return v }))...)
}

func anyTable(depth int) *rapid.Generator[amqp.Table] {
	return rapid.Map(rapid.MapOfN(rapid.StringN(0, 20, 60), anyField(depth), 0, 5), func(m map[string]any) amqp.Table { return m })
}

func TestAMessageIsSentAsItWasRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, 60)
		d := amqp.Delivery{
			Headers: anyTable(4).Draw(t, "headers"), ContentType: text.Draw(t, "content type"), ContentEncoding: text.Draw(t, "encoding"),
			DeliveryMode: rapid.Uint8Range(0, 2).Draw(t, "mode"), Priority: rapid.Uint8().Draw(t, "priority"),
			CorrelationId: text.Draw(t, "correlation"), ReplyTo: text.Draw(t, "reply to"), Expiration: text.Draw(t, "expiration"),
			MessageId: text.Draw(t, "id"), Type: text.Draw(t, "type"), UserId: text.Draw(t, "user"), AppId: text.Draw(t, "app"),
			Timestamp: time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "timestamp"), 0),
			Body:      rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
		}
		m := fromDelivery(&d)
		if kind := foreignField(m.Headers); kind != "" {
			t.Fatalf("a header of type %s is not of the vocabulary", kind)
		}
		p, err := publishing(&m)
		if err != nil {
			t.Fatal(err)
		}
		want := amqp.Publishing{
			Headers: d.Headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: amqp.Persistent, Priority: d.Priority,
			CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration, MessageId: d.MessageId, Timestamp: d.Timestamp,
			Type: d.Type, UserId: d.UserId, AppId: d.AppId, Body: d.Body,
		}
		headers, wanted := p.Headers, want.Headers
		p.Headers, want.Headers = nil, nil
		if !reflect.DeepEqual(p, want) || !sameField(headers, wanted) {
			t.Fatalf("\n%+v\n%+v", p, want)
		}
		if err := headers.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

// foreignField returns the first type of a header that message.Properties does not name.
func foreignField(v any) string {
	switch v := v.(type) {
	case nil, bool, int8, uint8, int16, uint16, int32, uint32, int64, float32, float64, string, []byte, time.Time, message.Decimal:
		return ""
	case map[string]any:
		for _, inner := range v {
			if kind := foreignField(inner); kind != "" {
				return kind
			}
		}
		return ""
	case []any:
		for _, inner := range v {
			if kind := foreignField(inner); kind != "" {
				return kind
			}
		}
		return ""
	default:
		return reflect.TypeOf(v).String()
	}
}

func TestWhatAMQPCannotCarryIsNamed(t *testing.T) {
	deep := any("end")
	for range maxTableDepth + 1 {
		deep = map[string]any{"in": deep}
	}
	for says, m := range map[string]message.Message{
		"no field of type int":           {Properties: message.Properties{Headers: map[string]any{"n": 1}}},
		"no field of type uint64":        {Properties: message.Properties{Headers: map[string]any{"n": []any{uint64(1)}}}},
		"no field of type []string":      {Properties: message.Properties{Headers: map[string]any{"n": map[string]any{"a": []string{"b"}}}}},
		"nest deeper":                    {Properties: message.Properties{Headers: map[string]any{"n": deep}}},
		"name of a header has 256 bytes": {Properties: message.Properties{Headers: map[string]any{strings.Repeat("k", 256): true}}},
		"the message id has 256 bytes":   {Properties: message.Properties{MessageID: strings.Repeat("m", 256)}},
	} {
		t.Run(says, func(t *testing.T) {
			if _, err := publishing(&m); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// FuzzReturns feeds publishes and what came of them to the matching of returns. Whatever the order and however alike the messages,
// a publish that came back must not count as arrived unless an equal one that arrived counts as returned.
func FuzzReturns(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{1, 1, 0, 0, 1, 4, 8, 9, 1, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		arrived := make(chan amqp.Return, len(script)+1)
		r := &returns{arrived: arrived}
		var all []*sent
		came, counted := map[string]int{}, map[string]int{}
		for _, step := range script {
			body := string(rune('a' + step>>2%3)) // three messages that differ
			p := &sent{queue: "q", message: amqp.Publishing{Body: []byte(body)}}
			r.expect(p)
			all = append(all, p)
			if step&1 == 1 {
				arrived <- amqp.Return{RoutingKey: "q", Body: []byte(body)}
				came[body]++
			}
			if step&2 == 2 { // settle the oldest now; its return is here
				settleOne(t, r, all[0], counted)
				all = all[1:]
			}
		}
		for _, p := range all {
			settleOne(t, r, p, counted)
		}
		if !reflect.DeepEqual(came, counted) {
			t.Errorf("%v came back, %v counted", came, counted)
		}
	})
}

func settleOne(t *testing.T, r *returns, p *sent, counted map[string]int) {
	t.Helper()
	returned, _, err := r.settle(p, true)
	if err != nil {
		t.Fatal(err)
	}
	if returned {
		counted[string(p.message.Body)]++
	}
}

func TestAReturnThatBelongsToNothingStopsEverything(t *testing.T) {
	arrived := make(chan amqp.Return, 1)
	r := &returns{arrived: arrived}
	p := &sent{queue: "q"}
	r.expect(p)
	arrived <- amqp.Return{RoutingKey: "q", Body: []byte("changed on the way")}
	if returned, _, err := r.settle(p, true); returned || err == nil {
		t.Errorf("%t, %v", returned, err)
	}
	next := &sent{queue: "q"}
	r.expect(next)
	if _, _, err := r.settle(next, true); err == nil {
		t.Error("the next one counts as arrived")
	}
}

func TestANaNEqualsItselfAmongReturns(t *testing.T) {
	nan := amqp.Table{"a": []any{math.NaN(), float32(math.NaN())}}
	if !isReturnOf(&amqp.Return{RoutingKey: "q", Headers: nan}, &sent{queue: "q", message: amqp.Publishing{Headers: nan}}) {
		t.Error("a returned message with a NaN is not known again")
	}
}
