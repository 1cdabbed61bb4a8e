package mask

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/message"
)

func TestMaskHidesWhatNamesSay(t *testing.T) {
	m := New(Words())
	for in, want := range map[string]string{
		`{"password":"a","id":1}`:                          `{"password":"***","id":1}`,
		`{"userPassword":{"old":"a"}}`:                     `{"userPassword":"***"}`,
		`{"a":[{"e-mail":"x@y.z"},{"CARD_NUMBER":42}]}`:    `{"a":[{"e-mail":"***"},{"CARD_NUMBER":"***"}]}`,
		`{"a":{"b":{"c":{"iban":null}}}}`:                  `{"a":{"b":{"c":{"iban":"***"}}}}`,
		`{"inner":"{\"token\":\"t\"}"}`:                    `{"inner":"{\"token\":\"***\"}"}`,
		`{"discard":1,"company":2,"description":"<b>&x"}`:  `{"discard":1,"company":2,"description":"<b>&x"}`,
		` { "n" : 12345678901234567890.10 } `:              ` { "n" : 12345678901234567890.10 } `,
		`{"p":12345678901234567890.10,"telephones":["1"]}`: `{"p":12345678901234567890.10,"telephones":"***"}`,
		`"text"`: `"text"`,
		`[]`:     `[]`,
	} {
		got, ok := m.json([]byte(in))
		if !ok || string(got) != want {
			t.Errorf("%s became %s (%t)", in, got, ok)
		}
	}
}

func TestNamesThatRunWordsTogetherAreHiddenAndWordsThatOnlyLookAlikeAreNot(t *testing.T) {
	m := New(Words())
	for _, name := range []string{
		"cardnumber", "creditcard", "cardholder", "CARDNUMBER", "pannumber", "userpan", "ibannumber", "cvvcode", "authcode", "bankaccount", "bank-account", "bic_code", "customerSSN", "x-authtoken",
	} {
		if !m.judge(name).hides {
			t.Errorf("%s is shown", name)
		}
	}
	for _, name := range []string{"discardReason", "discarded_at", "company", "author", "spanId", "className", "business", "cardinality", "quantity", "status", "orderId"} {
		if m.judge(name).hides {
			t.Errorf("%s is hidden", name)
		}
	}
}

func TestABodyThatIsASingleValueIsNotShown(t *testing.T) {
	m := New(Words())
	for _, body := range []string{"4111111111111111", " \n4111111111111111", `"password=hunter2"`, "true", "null"} {
		l := message.Message{}
		l.Body = []byte(body)
		if got := m.Message(l); got.Body != nil || got.Why == "" {
			t.Errorf("%q is shown: %q", body, got.Body)
		}
	}
}

func TestABodyThatIsNotJSONIsNotShown(t *testing.T) {
	m := New(Words())
	for _, body := range []string{"password=hunter2", "\x1f\x8b\x08", `{"a":1}{"b":2}`, `{"a":`, strings.Repeat("[", 2000) + strings.Repeat("]", 2000)} {
		l := message.Message{}
		l.Body = []byte(body)
		if got := m.Message(l); got.Body != nil || got.Why == "" {
			t.Errorf("%.20q is shown: %.20q, %q", body, got.Body, got.Why)
		}
	}
	if got := m.Message(message.Message{}); got.Why != "" {
		t.Errorf("an empty body is hidden: %q", got.Why)
	}
}

func TestHeadersAreMaskedAtAnyDepthAndTheLetterStaysAsItWas(t *testing.T) {
	m := New([]string{"token"})
	l := message.Message{}
	l.Headers = map[string]any{"x-token": "a", "deep": map[string]any{"accessToken": "b", "n": int32(1)}, "list": []any{map[string]any{"token": "c"}}, "json": `{"token":"d"}`, "dedup-token": "kept"}
	text, err := json.Marshal(m.Message(l).Headers)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"dedup-token":"kept","deep":{"accessToken":"***","n":1},"json":"{\"token\":\"***\"}","list":[{"token":"***"}],"x-token":"***"}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
	if l.Headers["x-token"] != "a" || l.Headers["deep"].(map[string]any)["accessToken"] != "b" {
		t.Error("the letter itself was changed")
	}
}

// TestNothingUnderAHiddenNameIsEverShown draws JSON with a secret at random places under hidden names.
func TestNothingUnderAHiddenNameIsEverShown(t *testing.T) {
	const secret = "hunter2-secret"
	m := New(Words())
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int, hidden bool) any
		value = func(depth int, hidden bool) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case depth == 0 || kind <= 1:
				if hidden {
					return secret
				}
				return rapid.String().Draw(t, "text")
			case kind == 2:
				return []any{value(depth-1, hidden), value(depth-1, hidden)}
			case kind == 3 && hidden:
				return map[string]any{secret: 1}
			default:
				return map[string]any{"plain": value(depth-1, hidden), "userPassword": value(depth-1, true)}
			}
		}
		body, err := json.Marshal(value(4, false))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := m.json(body)
		if !ok || !json.Valid(got) {
			t.Fatalf("%s became %s", body, got)
		}
		if strings.Contains(string(got), secret) {
			t.Fatalf("%s still holds the secret: %s", body, got)
		}
	})
}

func FuzzMaskKeepsJSONValid(f *testing.F) {
	for _, s := range []string{`{}`, `{"token":1}`, `[1,"{\"pwd\":2}"]`, `{"a":"[`, "null", `{"a":1,"a":{"token":[]}}`} {
		f.Add([]byte(s))
	}
	m := New(Words())
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := m.json(body)
		if ok && !json.Valid(got) {
			t.Fatalf("%q became %q", body, got)
		}
	})
}
