package mask

import (
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/message"
)

func TestNamesOfPersonsAreHiddenAndNamesOfThingsAreNot(t *testing.T) {
	m := New(Words())
	for in, want := range map[string]string{
		`{"customer":{"name":"Ada","id":7}}`:                        `{"customer":{"name":"***","id":7}}`,
		`{"contacts":[{"first":"Ada","last":"Byron"}]}`:             `{"contacts":[{"first":"***","last":"***"}]}`,
		`{"Recipient":{"full_name":"A","given-name":"B","n":1}}`:    `{"Recipient":{"full_name":"***","given-name":"***","n":1}}`,
		`{"order":{"buyerPerson":{"profile":{"name":"Ada"}}}}`:      `{"order":{"buyerPerson":{"profile":{"name":"***"}}}}`,
		`{"customer_name":"Ada","userName":"ada","contact":"x"}`:    `{"customer_name":"***","userName":"***","contact":"x"}`,
		`{"user":"{\"name\":\"Ada\",\"plan\":\"gold\"}"}`:           `{"user":"{\"name\":\"***\",\"plan\":\"gold\"}"}`,
		`{"customer":{"id":1},"product":{"name":"Cup"},"name":"x"}`: `{"customer":{"id":1},"product":{"name":"Cup"},"name":"x"}`,
		`{"queue":{"name":"orders"},"hostname":"a","last":3}`:       `{"queue":{"name":"orders"},"hostname":"a","last":3}`,
	} {
		got, ok := m.json([]byte(in))
		if !ok || string(got) != want {
			t.Errorf("%s became %s (%t)", in, got, ok)
		}
	}
	if got := m.Begin().Headers(map[string]any{"customer": map[string]any{"name": "Ada"}, "name": "x"}); got["name"] != "x" || got["customer"].(map[string]any)["name"] != Hidden {
		t.Errorf("headers became %v", got)
	}
}

func TestTheListOfWordsOfTheConfigurationCountsForPersonsToo(t *testing.T) {
	m := New([]string{"token", "driver.name"})
	const in = `{"customer":{"name":"Ada"},"driver":{"name":"Bob","token":"t"}}`
	if got, _ := m.json([]byte(in)); string(got) != `{"customer":{"name":"Ada"},"driver":{"name":"***","token":"***"}}` {
		t.Errorf("%s", got)
	}
	m = New([]string{"ship_to.name"})
	for in, want := range map[string]string{
		`{"ship_to":{"name":"Ada"}}`:                   `{"ship_to":{"name":"***"}}`,
		`{"shipTo":{"lines":[{"last_name":"Byron"}]}}`: `{"shipTo":{"lines":[{"last_name":"***"}]}}`,
		`{"ship_to_name":"Ada","to":{"name":"Ada"}}`:   `{"ship_to_name":"***","to":{"name":"Ada"}}`,
	} {
		if got, _ := m.json([]byte(in)); string(got) != want {
			t.Errorf("%s became %s", in, got)
		}
	}
}

func TestALetterNamesWhatIsHiddenInIt(t *testing.T) {
	l := message.Message{}
	l.Body = []byte(`{"customer":{"name":"Ada","e-mail":"a@b"},"cardNumber":1,"others":[{"customer":{"name":"Bob"}}],"text":"{\"token\":1}"}`)
	got := New(Words()).Message(l)
	if want := []string{"name", "e mail", "card number", "token"}; !got.Changed || !slices.Equal(got.Names, want) {
		t.Errorf("%q", got.Names)
	}
	var many strings.Builder
	for i := range 100 {
		many.WriteString(`,"token` + strings.Repeat("x", i) + `":1`)
	}
	l.Body = []byte(`{` + many.String()[1:] + `}`)
	if got := New(Words()).Message(l); len(got.Names) != namesKept+1 || got.Names[namesKept] != "…" {
		t.Errorf("%d names: %q", len(got.Names), got.Names)
	}
	l.Body = []byte(`{"n":1}`)
	if got := New(Words()).Message(l); got.Changed || got.Names != nil {
		t.Errorf("%q", got.Names)
	}
}
