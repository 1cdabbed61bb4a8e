package message_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/message"
)

var died = time.Date(2026, 11, 21, 3, 12, 7, 0, time.UTC)

func entry(change map[string]any) map[string]any {
	e := map[string]any{"queue": "orders", "reason": "rejected", "count": int64(2), "time": died, "exchange": "shop", "routing-keys": []any{"orders.new", "cc"}}
	for k, v := range change {
		e[k] = v
	}
	return e
}

func TestDeathHistory(t *testing.T) {
	whole := message.Death{Queue: "orders", Reason: "rejected", Count: 2, Time: died, Exchange: "shop", RoutingKeys: []string{"orders.new", "cc"}}
	with := func(change func(*message.Death)) message.Death {
		d := whole
		change(&d)
		return d
	}
	tests := []struct {
		name      string
		headers   map[string]any
		deaths    []message.Death
		malformed string
	}{
		{"none", nil, nil, ""},
		{"one entry", map[string]any{"x-death": []any{entry(nil)}}, []message.Death{whole}, ""},
		{"an expiration that was removed", map[string]any{"x-death": []any{entry(map[string]any{"original-expiration": "500"})}},
			[]message.Death{with(func(d *message.Death) { d.OriginalExpiration = "500" })}, ""},
		{"newest first", map[string]any{"x-death": []any{entry(map[string]any{"queue": "delay", "reason": "expired"}), entry(nil)}},
			[]message.Death{with(func(d *message.Death) { d.Queue, d.Reason = "delay", "expired" }), whole}, ""},
		{"a text instead of a list", map[string]any{"x-death": "boom"}, nil, "x-death is a text, not a list"},
		{"a list of a number and a text", map[string]any{"x-death": []any{int64(1), "a"}}, nil, "entry 1 of x-death is a whole number, not a table; entry 2"},
		{"a broken entry beside a good one", map[string]any{"x-death": []any{nil, entry(nil)}}, []message.Death{whole}, "entry 1 of x-death is missing"},
		{"a count of text", map[string]any{"x-death": []any{entry(map[string]any{"count": "2"})}},
			[]message.Death{with(func(d *message.Death) { d.Count = 0 })}, "count is a text"},
		{"a count below 0", map[string]any{"x-death": []any{entry(map[string]any{"count": int64(-1)})}},
			[]message.Death{with(func(d *message.Death) { d.Count = 0 })}, "below 0"},
		{"a time of text", map[string]any{"x-death": []any{entry(map[string]any{"time": "today"})}},
			[]message.Death{with(func(d *message.Death) { d.Time = time.Time{} })}, "time is a text"},
		{"a queue of 300 bytes", map[string]any{"x-death": []any{entry(map[string]any{"queue": strings.Repeat("q", 300)})}},
			[]message.Death{with(func(d *message.Death) { d.Queue = "" })}, "queue has 300 bytes"},
		{"neither queue nor reason", map[string]any{"x-death": []any{map[string]any{"count": int64(1)}}}, nil, "queue is missing"},
		{"routing keys of text", map[string]any{"x-death": []any{entry(map[string]any{"routing-keys": "a"})}},
			[]message.Death{with(func(d *message.Death) { d.RoutingKeys = nil })}, "routing-keys is a text"},
		{"a routing key that is a table", map[string]any{"x-death": []any{entry(map[string]any{"routing-keys": []any{map[string]any{}, "b"}})}},
			[]message.Death{with(func(d *message.Death) { d.RoutingKeys = []string{"b"} })}, "routing key 1 is a table"},
		{"the first death alone", map[string]any{"x-first-death-queue": "orders", "x-first-death-reason": "expired", "x-first-death-exchange": "shop"},
			[]message.Death{{Queue: "orders", Reason: "expired", Exchange: "shop"}}, ""},
		{"the first death where the history is broken", map[string]any{"x-death": "boom", "x-first-death-queue": "orders", "x-first-death-reason": "expired"},
			[]message.Death{{Queue: "orders", Reason: "expired"}}, "not a list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			deaths, malformed := message.DeathsOf(tt.headers)
			if !reflect.DeepEqual(deaths, tt.deaths) || !strings.Contains(malformed, tt.malformed) || (malformed == "") != (tt.malformed == "") {
				t.Errorf("got %+v, malformed %q; want %+v, %q", deaths, malformed, tt.deaths, tt.malformed)
			}
		})
	}
}

func TestCountsOfEveryWidth(t *testing.T) {
	for _, n := range []any{int8(7), uint8(7), int16(7), uint16(7), int32(7), uint32(7), int64(7), uint64(7), 7} {
		deaths, malformed := message.DeathsOf(map[string]any{"x-death": []any{entry(map[string]any{"count": n})}})
		if len(deaths) != 1 || deaths[0].Count != 7 || malformed != "" {
			t.Errorf("%T: %+v, %q", n, deaths, malformed)
		}
	}
	if deaths, malformed := message.DeathsOf(map[string]any{"x-death": []any{entry(map[string]any{"count": ^uint64(0)})}}); deaths[0].Count != 0 || malformed == "" {
		t.Errorf("a count beyond int64: %+v, %q", deaths, malformed)
	}
}

func TestHostileHistoriesAreBounded(t *testing.T) {
	var many []any
	for range 50_000 {
		many = append(many, entry(map[string]any{"routing-keys": make([]any, 1000)}))
	}
	deaths, malformed := message.DeathsOf(map[string]any{"x-death": many})
	if len(deaths) != 100 || len(malformed) > 1000 || !strings.Contains(malformed, "more") {
		t.Errorf("%d deaths, %d bytes of %q", len(deaths), len(malformed), malformed)
	}
}

// fieldValue draws any AMQP field.
func fieldValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		top := 14
		if depth == 0 {
			top = 12
		}
		switch rapid.IntRange(0, top).Draw(t, "type") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "v")
		case 2:
			return rapid.Int8().Draw(t, "v")
		case 3:
			return rapid.Byte().Draw(t, "v")
		case 4:
			return rapid.Int16().Draw(t, "v")
		case 5:
			return rapid.Uint16().Draw(t, "v")
		case 6:
			return rapid.Int32().Draw(t, "v")
		case 7:
			return rapid.Int64().Draw(t, "v")
		case 8:
			return rapid.Float64().Draw(t, "v")
		case 9:
			return rapid.String().Draw(t, "v")
		case 10:
			return rapid.SliceOf(rapid.Byte()).Draw(t, "v")
		case 11:
			return time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "v"), 0)
		case 12:
			return message.Decimal{Scale: rapid.Byte().Draw(t, "scale"), Value: rapid.Int32().Draw(t, "v")}
		case 13:
			return rapid.SliceOfN(fieldValue(depth-1), 0, 3).Draw(t, "v")
		}
		return rapid.MapOfN(rapid.SampledFrom([]string{"queue", "reason", "count", "time", "a", "b"}), fieldValue(depth-1), 0, 3).Draw(t, "v")
	})
}

func headers() *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"x-death", "x-first-death-queue", "dedup-requeue-id", "dedup-requeue-count", "a", "b", ""}), fieldValue(2), 0, 5)
}

func TestAnyHistoryIsReadWithoutPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		headers := headers().Draw(t, "headers")
		if deaths, malformed := message.DeathsOf(headers); len(malformed) > 2000 {
			t.Fatalf("%+v, %q", deaths, malformed)
		}
		message.FirstDeath(headers)
	})
}

// plain makes references without a key.
var plain message.RefKey

func drawMessage(t *rapid.T) message.Message {
	text := func(name string) string { return rapid.StringMatching(`[ab]{0,3}`).Draw(t, name) }
	return message.Message{
		Exchange: text("exchange"), RoutingKey: text("key"), Body: []byte(text("body")),
		Properties: message.Properties{
			ContentType: text("type"), ContentEncoding: text("encoding"), Headers: headers().Draw(t, "headers"),
			DeliveryMode: rapid.Uint8Range(0, 2).Draw(t, "mode"), Priority: rapid.Uint8Range(0, 9).Draw(t, "priority"),
			CorrelationID: text("correlation"), ReplyTo: text("reply"), Expiration: text("expiration"), MessageID: text("id"),
			Timestamp: time.Unix(rapid.Int64Range(0, 3).Draw(t, "time"), 0), Type: text("kind"), UserID: text("user"), AppID: text("app"),
		},
	}
}

func TestOneMessageHasOneReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		want := plain.Ref("/", "dead", m)
		again := m
		again.Redelivered = true
		again.Timestamp = m.Timestamp.UTC()
		again.Headers = map[string]any{"x-delivery-count": int64(3), "x-acquired-count": int64(4)}
		for k, v := range m.Headers {
			again.Headers[k] = v
		}
		if got := plain.Ref("/", "dead", again); got != want {
			t.Fatalf("the redelivered message has another reference")
		}
	})
}

// Two drawn messages have one reference only when they are equal: their fields are short, so that texts often are one
// another's beginnings and neighbours.
func TestTwoMessagesHaveTwoReferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawMessage(t), drawMessage(t)
		if rapid.Bool().Draw(t, "near") {
			headers := b.Headers
			b = a
			b.Headers = headers
		}
		name := func(of string) string { return rapid.StringMatching(`[ab]{0,2}`).Draw(t, of) }
		va, qa, vb, qb := name("va"), name("qa"), name("vb"), name("qb")
		same := va == vb && qa == qb && described(a) == described(b)
		if got := plain.Ref(va, qa, a) == plain.Ref(vb, qb, b); got != same {
			t.Fatalf("one reference: %v, one message: %v\n%s\n%s", got, same, described(a), described(b))
		}
	})
}

// described writes a message with every type and length, by another way than the reference does.
func described(m message.Message) string { return fmt.Sprintf("%#v", m) }

func TestEveryFieldCountsForTheReference(t *testing.T) {
	base := message.Message{Exchange: "e", RoutingKey: "k", Body: []byte("b"), Properties: message.Properties{Headers: map[string]any{"h": int32(1)}}}
	changes := map[string]func(*message.Message){
		"exchange":          func(m *message.Message) { m.Exchange = "x" },
		"routing key":       func(m *message.Message) { m.RoutingKey = "x" },
		"body":              func(m *message.Message) { m.Body = []byte("c") },
		"content type":      func(m *message.Message) { m.ContentType = "x" },
		"content encoding":  func(m *message.Message) { m.ContentEncoding = "x" },
		"delivery mode":     func(m *message.Message) { m.DeliveryMode = 2 },
		"priority":          func(m *message.Message) { m.Priority = 2 },
		"correlation id":    func(m *message.Message) { m.CorrelationID = "x" },
		"reply to":          func(m *message.Message) { m.ReplyTo = "x" },
		"expiration":        func(m *message.Message) { m.Expiration = "1" },
		"message id":        func(m *message.Message) { m.MessageID = "x" },
		"timestamp":         func(m *message.Message) { m.Timestamp = died },
		"type":              func(m *message.Message) { m.Type = "x" },
		"user id":           func(m *message.Message) { m.UserID = "x" },
		"app id":            func(m *message.Message) { m.AppID = "x" },
		"width of a number": func(m *message.Message) { m.Headers = map[string]any{"h": int64(1)} },
		"value of a number": func(m *message.Message) { m.Headers = map[string]any{"h": int32(2)} },
		"a header more":     func(m *message.Message) { m.Headers = map[string]any{"h": int32(1), "i": nil} },
		"no headers":        func(m *message.Message) { m.Headers = nil },
		"our own requeue":   func(m *message.Message) { m.Headers = map[string]any{"h": int32(1), "dedup-requeue-count": int64(1)} },
		"inner count": func(m *message.Message) {
			m.Headers = map[string]any{"h": map[string]any{"x-delivery-count": int64(1)}}
		},
		"empty inner table": func(m *message.Message) { m.Headers = map[string]any{"h": map[string]any{}} },
		"empty inner list":  func(m *message.Message) { m.Headers = map[string]any{"h": []any{}} },
		"text for bytes":    func(m *message.Message) { m.Headers = map[string]any{"h": "1"} },
		"bytes for text":    func(m *message.Message) { m.Headers = map[string]any{"h": []byte("1")} },
	}
	seen := map[string]string{plain.Ref("/", "dead", base): "the message", plain.Ref("/", "d", base): "another queue"}
	for name, change := range changes {
		m := base
		change(&m)
		ref := plain.Ref("/", "dead", m)
		if other, ok := seen[ref]; ok {
			t.Errorf("%s has the reference of %s", name, other)
		}
		seen[ref] = name
	}
}

func FuzzDeaths(f *testing.F) {
	f.Add("orders", "rejected", int64(1), []byte("k"))
	f.Fuzz(func(t *testing.T, queue, reason string, count int64, key []byte) {
		headers := map[string]any{"x-death": []any{map[string]any{"queue": queue, "reason": reason, "count": count, "routing-keys": []any{key}}}, "x-first-death-queue": key}
		deaths, _ := message.DeathsOf(headers)
		for _, d := range deaths {
			if len(d.Queue) > 255 || d.Count < 0 || (d.Queue == "" && d.Reason == "") {
				t.Errorf("%+v", d)
			}
		}
	})
}

// TestAReferenceThatAnOlderVersionMadeIsStillThatOfItsMessage: plans and jobs that were kept before there was a key name messages by it.
func TestAReferenceThatAnOlderVersionMadeIsStillThatOfItsMessage(t *testing.T) {
	m := message.Message{Exchange: "shop", RoutingKey: "orders.new", Body: []byte(`{"id":1}`), Properties: message.Properties{
		MessageID: "m-1", Timestamp: time.Unix(1_700_000_000, 0), Headers: map[string]any{"tenant": "a", "n": int64(3)},
	}}
	const kept = "3267100651c09d1c55b3a4c92bfb132e0bfeb706dfc90cd0f357afc7365d0870"
	if got := plain.Ref("/", "orders.dlq", m); got != kept {
		t.Errorf("it is %s, and was %s", got, kept)
	}
}
