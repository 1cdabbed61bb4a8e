package requeue

import (
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

var (
	deadQueue = dedup.QueueRef{Vhost: "/", Name: "orders.dead"}
	now       = time.Date(2026, 11, 21, 3, 4, 5, 999, time.UTC)
	sender    = rewriter{run: "run-1"}
)

// deadLetter returns a dead letter with every property set, and some more headers.
func deadLetter(headers map[string]any) dedup.DeadLetter {
	all := map[string]any{
		"x-death": []any{map[string]any{
			"queue": "orders", "reason": "rejected", "count": int64(2), "time": now, "exchange": "shop", "routing-keys": []any{"order.paid"},
		}},
		"x-first-death-queue": "orders", "x-last-death-reason": "rejected",
		"x-delivery-count": int64(3), "x-acquired-count": int64(3), "x-opt-rabbitmq-delivery-time": int64(1),
		"CC": []any{"copy"}, "BCC": []any{"hidden"},
		"x-app": "kept", "x-death-note": "kept", "number": int32(7), "nested": map[string]any{"list": []any{nil, true, 1.5}},
	}
	maps.Copy(all, headers)
	return dedup.NewDeadLetter(deadQueue, message.Message{
		Exchange: "dlx", RoutingKey: "dead", Redelivered: true, Body: []byte{0, 1, 255},
		Properties: message.Properties{
			ContentType: "application/json", ContentEncoding: "gzip", Headers: all, DeliveryMode: 1, Priority: 9, CorrelationID: "c",
			ReplyTo: "r", Expiration: "1000", MessageID: "id", Timestamp: now, Type: "t", UserID: "shop", AppID: "app",
		},
	})
}

func mustRewrite(t *testing.T, letter dedup.DeadLetter, d Decision) message.Message {
	t.Helper()
	m, refused := sender.rewrite(letter, d, now)
	if refused != "" {
		t.Fatalf("refused: %s", refused)
	}
	return m
}

func TestWhatIsSentIsTheMessageWithoutWhatActsOnTheBroker(t *testing.T) {
	letter := deadLetter(nil)
	got := mustRewrite(t, letter, Decision{Target: "orders"})
	want := letter.Message
	want.Exchange, want.RoutingKey, want.Redelivered = "", "orders", false
	want.DeliveryMode, want.Expiration, want.UserID = 2, "", ""
	want.Headers = map[string]any{
		"x-app": "kept", "x-death-note": "kept", "number": int32(7), "nested": map[string]any{"list": []any{nil, true, 1.5}},
		"dedup-requeue-id": letter.Ref, "dedup-requeue-run": "run-1", "dedup-requeue-count": int64(1),
		"dedup-requeued-at": now.Truncate(time.Second), "dedup-original-queue": "orders.dead", "dedup-original-user-id": "shop",
		"dedup-original-death": `[{"queue":"orders","reason":"rejected","count":2,"time":1795230245,"exchange":"shop","routing-keys":["order.paid"]}]`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent\n%#v\nwant\n%#v", got, want)
	}
	if !reflect.DeepEqual(letter, deadLetter(nil)) {
		t.Error("the letter itself was changed")
	}
}

func TestARequeuedMessageKeepsItsIdentity(t *testing.T) {
	first := mustRewrite(t, deadLetter(nil), Decision{Target: "orders"})
	first.Headers["x-death"] = []any{map[string]any{"queue": "orders", "reason": "expired", "count": int64(1)}}
	again := dedup.NewDeadLetter(dedup.QueueRef{Vhost: "/", Name: "other.dead"}, first)
	second := mustRewrite(t, again, Decision{Target: "orders"})
	for _, header := range []string{"dedup-requeue-id", "dedup-original-queue", "dedup-original-user-id"} {
		if first.Headers[header] != second.Headers[header] {
			t.Errorf("%s was %v and is %v", header, first.Headers[header], second.Headers[header])
		}
	}
	if n := second.Headers["dedup-requeue-count"]; n != int64(2) {
		t.Errorf("it was requeued %v times", n)
	}
	deaths := message.DecodeDeaths(second.Headers["dedup-original-death"].(string))
	if len(deaths) != 2 || deaths[0].Reason != "expired" || deaths[1].Reason != "rejected" {
		t.Errorf("the deaths are %+v", deaths)
	}
}

func TestAMoveThatNoConsumerSeesIsNotCounted(t *testing.T) {
	parked, _ := rewriter{run: "run-1", uncounted: true}.rewrite(deadLetter(map[string]any{"dedup-requeue-count": int64(2)}), Decision{Target: "parking"}, now)
	if n := parked.Headers["dedup-requeue-count"]; n != int64(2) {
		t.Errorf("it counts %v requeues", n)
	}
	back := mustRewrite(t, dedup.NewDeadLetter(deadQueue, parked), Decision{Target: "orders"})
	if back.Headers["dedup-original-death"] != parked.Headers["dedup-original-death"] {
		t.Error("the deaths were lost in the parking queue")
	}
}

func TestAnEditTakesThePlaceOfTheMessageButNotOfItsIdentity(t *testing.T) {
	letter := deadLetter(map[string]any{"dedup-requeue-count": int64(1)})
	edited := message.Message{Body: []byte("new"), Properties: message.Properties{MessageID: "new id", Headers: map[string]any{
		"mine": "yes", "CC": []any{"copy"}, "dedup-requeue-count": int64(-5), "dedup-requeue-id": "forged", "dedup-original-death": "forged",
	}}}
	got := mustRewrite(t, letter, Decision{Target: "orders", Message: &edited})
	if string(got.Body) != "new" || got.MessageID != "new id" || got.Headers["mine"] != "yes" || got.Headers["CC"] != nil {
		t.Errorf("sent %+v", got)
	}
	if got.Headers["dedup-requeue-id"] != letter.Ref || got.Headers["dedup-requeue-count"] != int64(2) || got.Headers["dedup-original-death"] == "forged" {
		t.Errorf("signed %+v", got.Headers)
	}
	if edited.Headers["CC"] == nil {
		t.Error("the edit itself was changed")
	}
}

func TestHeadersOfOursThatSomebodyElseWroteDoNoHarm(t *testing.T) {
	for name, tc := range map[string]struct {
		headers map[string]any
		count   int64
		id      string // empty for the letter's own
	}{
		"a count that is a text":      {map[string]any{"dedup-requeue-count": "many"}, 1, ""},
		"a count below 0":             {map[string]any{"dedup-requeue-count": int32(-7)}, 1, ""},
		"a count that is not finite":  {map[string]any{"dedup-requeue-count": math.NaN()}, 1, ""},
		"a count of another width":    {map[string]any{"dedup-requeue-count": int8(2)}, 3, ""},
		"a count that cannot grow":    {map[string]any{"dedup-requeue-count": int64(math.MaxInt64)}, math.MaxInt64, ""},
		"an id that is a number":      {map[string]any{"dedup-requeue-id": int64(1)}, 1, ""},
		"an id that is a long text":   {map[string]any{"dedup-requeue-id": strings.Repeat("a", 100_000)}, 1, ""},
		"an id of our form":           {map[string]any{"dedup-requeue-id": strings.Repeat("a", 64)}, 1, strings.Repeat("a", 64)},
		"a queue that is a list":      {map[string]any{"dedup-original-queue": []any{}}, 1, ""},
		"deaths that are a number":    {map[string]any{"dedup-original-death": int64(1)}, 1, ""},
		"deaths that are a long text": {map[string]any{"dedup-original-death": strings.Repeat("[", 100_000)}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			letter := deadLetter(tc.headers)
			got := mustRewrite(t, letter, Decision{Target: "orders"})
			if tc.id == "" {
				tc.id = letter.Ref
			}
			if got.Headers["dedup-requeue-count"] != tc.count || got.Headers["dedup-requeue-id"] != tc.id || got.Headers["dedup-original-queue"] != "orders.dead" {
				t.Errorf("signed %v", got.Headers)
			}
		})
	}
}

func TestWhatWouldEndTheConnectionIsRefused(t *testing.T) {
	deep := any(true)
	for range 100 {
		deep = []any{deep}
	}
	for name, tc := range map[string]struct {
		headers map[string]any
		edit    *message.Message
		target  string
		want    string
	}{
		"a number that is not finite":        {headers: map[string]any{"x": math.NaN()}, want: "not finite"},
		"one of them deep in a list":         {headers: map[string]any{"x": map[string]any{"y": []any{float32(math.Inf(-1))}}}, want: "not finite"},
		"a type that AMQP does not have":     {headers: map[string]any{"x": uint64(1)}, want: "uint64"},
		"headers that fill a frame":          {headers: map[string]any{"x": strings.Repeat("a", 130_000)}, want: "frame"},
		"a header with a long name":          {headers: map[string]any{strings.Repeat("a", 256): true}, want: "256 bytes"},
		"headers that are nested too deeply": {headers: map[string]any{"x": deep}, want: "deep"},
		"a target with a long name":          {target: strings.Repeat("q", 256), want: "target has 256 bytes"},
		"an edit with a long id":             {edit: &message.Message{Properties: message.Properties{MessageID: strings.Repeat("i", 256)}}, want: "message id has 256 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			target := tc.target
			if target == "" {
				target = "orders"
			}
			_, refused := sender.rewrite(deadLetter(tc.headers), Decision{Target: target, Message: tc.edit}, now)
			if !strings.Contains(refused, tc.want) {
				t.Errorf("refused with %q, want %q", refused, tc.want)
			}
		})
	}
}

func TestNothingThatActsOnTheBrokerIsEverSent(t *testing.T) {
	names := []string{"CC", "BCC", "x-death", "x-first-death-queue", "x-last-death-x", "x-delivery-count", "x-acquired-count", "x-opt-y", "mine", "dedup-requeue-count", "dedup-original-death"}
	field := rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Int8().AsAny(), rapid.Float64().AsAny(),
			rapid.SliceOf(rapid.Byte()).AsAny(), rapid.SliceOf(rapid.String().AsAny()).AsAny(), rapid.MapOf(rapid.String(), rapid.Int32().AsAny()).AsAny(),
		)
	})
	rapid.Check(t, func(t *rapid.T) {
		headers := rapid.MapOf(rapid.SampledFrom(names), field).Draw(t, "headers")
		letter := dedup.NewDeadLetter(deadQueue, message.Message{Properties: message.Properties{Headers: headers, UserID: rapid.String().Draw(t, "user")}})
		m, refused := sender.rewrite(letter, Decision{Target: "q"}, now)
		if refused != "" {
			return
		}
		for name := range m.Headers {
			if message.IsBrokerHeader(name) {
				t.Fatalf("header %s was sent", name)
			}
		}
		if m.UserID != "" || m.DeliveryMode != 2 || m.Expiration != "" || m.Headers["dedup-requeue-count"].(int64) < 1 {
			t.Fatalf("sent %+v", m)
		}
		if mine, ok := headers["mine"]; ok && !reflect.DeepEqual(mine, m.Headers["mine"]) {
			t.Fatalf("a header was changed from %v to %v", mine, m.Headers["mine"])
		}
	})
}

func TestHeadersOfOursThatSomebodyElseWroteAreNotSentOn(t *testing.T) {
	letter := deadLetter(map[string]any{
		"dedup-requeue-count": int64(7), "dedup-requeue-id": strings.Repeat("a", 64), "dedup-original-queue": "made.up", "dedup-original-user-id": "root", "dedup-anything": "x", "mine": "yes",
	})
	got, refused := rewriter{run: "run-1"}.rewrite(letter, Decision{Target: "orders", Foreign: true}, time.Now())
	if refused != "" || got.Headers["dedup-requeue-count"] != int64(1) || got.Headers["dedup-requeue-id"] != letter.Ref || got.Headers["dedup-original-queue"] != letter.Queue.Name ||
		got.Headers["dedup-original-user-id"] == "root" || got.Headers["dedup-anything"] != nil || got.Headers["mine"] != "yes" {
		t.Errorf("%q: %v", refused, got.Headers)
	}
}
