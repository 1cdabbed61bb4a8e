package message_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/message"
)

func source(t testing.TB, from string) message.IDSource {
	t.Helper()
	s, err := message.ParseIDSource(from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestIDOfAMessage(t *testing.T) {
	header := func(v any) message.Message {
		return message.Message{Properties: message.Properties{Headers: map[string]any{"x-key": v}}}
	}
	body := func(s string) message.Message { return message.Message{Body: []byte(s)} }
	withID := message.Message{Properties: message.Properties{MessageID: "m-1"}, Body: []byte("hello")}
	tests := []struct {
		name    string
		from    string
		message message.Message
		id      string
		absent  bool
		why     string
	}{
		{"the message_id as it stands", "message_id", withID, "m-1", false, ""},
		{"no message_id", "message_id", body("x"), "", true, "no message_id"},
		{"a message_id goes before the hash", "message_id else md5(body)", withID, "m-1", false, ""},
		{"the hash stands in for a missing message_id", "message_id else md5(body)", body("hello"), "5d41402abc4b2a76b9719d911017c592", false, ""},
		{"the hash of the body", "md5(body)", withID, "5d41402abc4b2a76b9719d911017c592", false, ""},
		{"the hash of an empty body", "md5(body)", body(""), "d41d8cd98f00b204e9800998ecf8427e", false, ""},
		{"a header of text", "header:x-key", header("k"), "k", false, ""},
		{"a header of bytes", "header:x-key", header([]byte("k")), "k", false, ""},
		{"a header of a small number", "header:x-key", header(int8(-7)), "-7", false, ""},
		{"a header of a large number", "header:x-key", header(int64(10010)), "10010", false, ""},
		{"a header of NULL", "header:x-key", header(nil), "", true, "no header x-key"},
		{"an empty header", "header:x-key", header(""), "", true, "is empty"},
		{"a header of another name", "header:X-Key", header("k"), "", true, "no header X-Key"},
		{"a header that is a list", "header:x-key", header([]any{"k"}), "", false, "is a list, which is no id"},
		{"a header that is a number with a fraction", "header:x-key", header(1.5), "", false, "a number with a fraction"},
		{"a header that is a truth value", "header:x-key", header(true), "", false, "a truth value"},
		{"a header that is a time", "header:x-key", header(time.Unix(1, 0)), "", false, "a time"},
		{"a header that is not UTF-8", "header:x-key", header("\xff"), "", false, "not valid UTF-8"},
		{"a header of 5,000 bytes", "header:x-key", header(strings.Repeat("a", 5000)), "", false, "5000 bytes"},
		{"an unreadable header does not fall back", "header:x-key else md5(body)", header([]any{}), "", false, "is a list"},
		{"a member of the body", "json:$.orderId", body(`{"orderId": "o-1"}`), "o-1", false, ""},
		{"a member with escapes", "json:$.orderId", body(`{"order\u0049d": "o\u002d1"}`), "o-1", false, ""},
		{"a number of the body as it stands", "json:$.orderId", body(`{"orderId": 12345678901234567890}`), "12345678901234567890", false, ""},
		{"a nested member", "json:$.a.b[1].c", body(`{"x":[{"c":0}],"a":{"b":[{"c":"no"}, {"c":"yes"}]}}`), "yes", false, ""},
		{"the last of two members of one name", "json:$.id", body(`{"id":"a","id":"b"}`), "b", false, ""},
		{"an array of the body", "json:$[0]", body(` ["a"] `), "a", false, ""},
		{"white space everywhere", "json:$.a.b", body("\t{ \"a\" :\n{ \"b\" : \"x\" } }\r\n"), "x", false, ""},
		{"a member that is not there", "json:$.orderId", body(`{"order": 1}`), "", true, "nothing at this place"},
		{"a member of a text", "json:$.orderId.x", body(`{"orderId": "a"}`), "", true, "nothing at this place"},
		{"a member that is null", "json:$.orderId", body(`{"orderId": null}`), "", true, "is empty"},
		{"a member that is empty", "json:$.orderId", body(`{"orderId": ""}`), "", true, "is empty"},
		{"a member that is a list", "json:$.orderId", body(`{"orderId": [1]}`), "", false, "no single value"},
		{"a member that has a fraction", "json:$.orderId", body(`{"orderId": 1.0}`), "", false, "neither a text nor a whole number"},
		{"a member that is true", "json:$.orderId", body(`{"orderId": true}`), "", false, "neither a text nor a whole number"},
		{"a member that is not UTF-8", "json:$.orderId", body("{\"orderId\": \"\xff\"}"), "", false, "not valid UTF-8"},
		{"a body that breaks off", "json:$.orderId", body(`{"orderId": "o-1"`), "", false, "no valid JSON"},
		{"a body with something behind it", "json:$.orderId", body(`{"orderId": "o-1"} x`), "", false, "no valid JSON"},
		{"an empty body", "json:$.orderId", body(``), "", false, "no valid JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := source(t, tt.from).Identify(tt.message)
			if got.ID != tt.id || got.Absent != tt.absent || !strings.Contains(got.Why, tt.why) || (got.Why == "") != (tt.why == "") {
				t.Errorf("got %+v, want id %q, absent %v, why … %q …", got, tt.id, tt.absent, tt.why)
			}
			if id, ok, why := source(t, tt.from).ID(tt.message); id != tt.id || ok != (tt.id != "") || why != got.Why {
				t.Errorf("ID says %q, %v, %q", id, ok, why)
			}
		})
	}
}

func TestIDSourceRefusesWhatIsNoPlace(t *testing.T) {
	for _, from := range []string{"", "body", "header:", "header: x", "header::", "json:", "json:$", "json:$.", "json:$.a b", "json:a", "json:$[-1]",
		"json:$[99999999999]", "message_id else", "message_id else body", "message_id, md5(body)", "Message_ID"} {
		if s, err := message.ParseIDSource(from); err == nil {
			t.Errorf("%q was taken for %v", from, s)
		}
	}
	if got := (message.IDSource{}).Identify(message.Message{}); !got.Absent || got.Why == "" {
		t.Errorf("the zero value says %+v", got)
	}
}

func TestIDOfALargeBody(t *testing.T) {
	filler := bytes.Repeat([]byte(`{"a":"\\\"}{]["},`), 1<<20)
	body := append([]byte(`{"items":[`), filler...)
	body = append(body, `0],"orderId":"o-1"}`...)
	started := time.Now()
	id, ok, why := source(t, "json:$.orderId").ID(message.Message{Body: body})
	if id != "o-1" || !ok {
		t.Fatalf("%d MiB: %q, %s", len(body)>>20, id, why)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	deep := strings.Repeat("[", 5_000_000)
	if _, ok, _ := source(t, "json:$[0]").ID(message.Message{Body: []byte(deep)}); ok {
		t.Error("a body of open brackets has an id")
	}
}

// What a parser of the standard library finds is what is found here.
func TestIDInJSONIsWhatAParserFinds(t *testing.T) {
	scalar := rapid.OneOf(rapid.Map(rapid.StringMatching(`[a-zA-Z"\\/{}\[\],: é\n]{0,8}`), func(s string) any { return s }), rapid.Map(rapid.Int64(), func(n int64) any { return n }), rapid.Just[any](nil))
	names := rapid.SampledFrom([]string{"id", "a", "b", "i d", `i"d`, "order"})
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
			case depth == 0 || kind < 2:
				return scalar.Draw(t, "scalar")
			case kind == 2:
				list := make([]any, rapid.IntRange(0, 3).Draw(t, "n"))
				for i := range list {
					list[i] = value(depth - 1)
				}
				return list
			}
			object := map[string]any{}
			for range rapid.IntRange(0, 3).Draw(t, "members") {
				object[names.Draw(t, "name")] = value(depth - 1)
			}
			return object
		}
		tree := value(3)
		body, err := json.MarshalIndent(tree, "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		for from, look := range map[string]func(any) any{
			"json:$.id":      func(v any) any { return member(v, "id") },
			"json:$.a.id":    func(v any) any { return member(member(v, "a"), "id") },
			"json:$.a[1].id": func(v any) any { return member(element(member(v, "a"), 1), "id") },
			"json:$[0]":      func(v any) any { return element(v, 0) },
		} {
			s, _ := message.ParseIDSource(from)
			got := s.Identify(message.Message{Body: body})
			var want string
			switch v := look(tree).(type) {
			case string:
				want = v
			case int64:
				b, _ := json.Marshal(v)
				want = string(b)
			}
			if got.ID != want {
				t.Fatalf("%s of %s: %+v, want %q", from, body, got, want)
			}
		}
	})
}

func member(v any, name string) any {
	object, _ := v.(map[string]any)
	return object[name]
}

func element(v any, i int) any {
	list, _ := v.([]any)
	if i >= len(list) {
		return nil
	}
	return list[i]
}

func FuzzIdentify(f *testing.F) {
	f.Add("json:$.a[0].b", []byte(`{"a":[{"b":"c"}]}`), "h")
	f.Add("header:x else md5(body)", []byte(`{`), "\xff")
	f.Add("message_id", []byte("null"), "")
	f.Fuzz(func(t *testing.T, from string, body []byte, text string) {
		s, err := message.ParseIDSource(from)
		if err != nil {
			return
		}
		m := message.Message{Body: body, Properties: message.Properties{MessageID: text, Headers: map[string]any{"x": text, "y": body}}}
		got := s.Identify(m)
		if (got.ID == "") == (got.Why == "") || len(got.ID) > message.LongestID || !utf8.ValidString(got.ID) || (got.Absent && got.ID != "") {
			t.Errorf("%q: %+v", from, got)
		}
		without := m
		without.Body = nil
		if !s.NeedsBody() && s.Identify(without) != got {
			t.Errorf("%q reads the body", from)
		}
		if s.String() != from {
			t.Errorf("%q is written %q", from, s)
		}
		sum := md5.Sum(body)
		if from == "md5(body)" && got.ID != hex.EncodeToString(sum[:]) {
			t.Errorf("another hash: %s", got.ID)
		}
	})
}

func TestAnIDInABodyThatWasLeftOutCannotBeRead(t *testing.T) {
	for rule, unread := range map[string]bool{"md5(body)": true, "json:$.id": true, "message_id": false, "header:id": false} {
		source, err := message.ParseIDSource(rule)
		if err != nil {
			t.Fatal(err)
		}
		i := source.Identify(message.Message{LeftOut: &message.LeftOutBody{Size: 5 << 20}})
		if i.ID != "" || i.Absent == unread || i.Why == "" || source.NeedsBody() != unread {
			t.Errorf("%s: %+v", rule, i)
		}
	}
}
