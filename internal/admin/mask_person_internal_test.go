package admin

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesOfPersonsAreHiddenAndNamesOfThingsAreNot(t *testing.T) {
	m := newMasker(MaskWords())
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
	if got := m.begin().headers(map[string]any{"customer": map[string]any{"name": "Ada"}, "name": "x"}, nil); got["name"] != "x" || got["customer"].(map[string]any)["name"] != maskedWord {
		t.Errorf("headers became %v", got)
	}
}

func TestTheListOfWordsOfTheConfigurationCountsForPersonsToo(t *testing.T) {
	m := newMasker([]string{"token", "driver.name"})
	const in = `{"customer":{"name":"Ada"},"driver":{"name":"Bob","token":"t"}}`
	if got, _ := m.json([]byte(in)); string(got) != `{"customer":{"name":"Ada"},"driver":{"name":"***","token":"***"}}` {
		t.Errorf("%s", got)
	}
	m = newMasker([]string{"ship_to.name"})
	for in, want := range map[string]string{
		`{"ship_to":{"name":"Ada"}}`:                   `{"ship_to":{"name":"***"}}`,
		`{"shipTo":{"lines":[{"last_name":"Byron"}]}}`: `{"shipTo":{"lines":[{"last_name":"***"}]}}`,
		`{"ship_to_name":"Ada","to":{"name":"Ada"}}`:   `{"ship_to_name":"***","to":{"name":"Ada"}}`,
	} {
		if got, _ := m.json([]byte(in)); string(got) != want {
			t.Errorf("%s became %s", in, got)
		}
	}
	for _, word := range []string{"customer.", ".name", "."} {
		if err := (DeadLettersConfig{Mask: []string{word}}).Validate(); err == nil {
			t.Errorf("%q is taken for a word", word)
		}
	}
}

func TestALetterNamesWhatIsHiddenInIt(t *testing.T) {
	l := Letter{}
	l.Body = []byte(`{"customer":{"name":"Ada","e-mail":"a@b"},"cardNumber":1,"others":[{"customer":{"name":"Bob"}}],"text":"{\"token\":1}"}`)
	got := newMasker(MaskWords()).mask(l)
	if want := []string{"name", "e mail", "card number", "token"}; !got.Masked || !slices.Equal(got.MaskedNames, want) {
		t.Errorf("%q", got.MaskedNames)
	}
	var many strings.Builder
	for i := range 100 {
		many.WriteString(`,"token` + strings.Repeat("x", i) + `":1`)
	}
	l.Body = []byte(`{` + many.String()[1:] + `}`)
	if got := newMasker(MaskWords()).mask(l); len(got.MaskedNames) != maskedNamesKept+1 || got.MaskedNames[maskedNamesKept] != "…" {
		t.Errorf("%d names: %q", len(got.MaskedNames), got.MaskedNames)
	}
	l.Body = []byte(`{"n":1}`)
	if got := newMasker(MaskWords()).mask(l); got.Masked || got.MaskedNames != nil {
		t.Errorf("%q", got.MaskedNames)
	}
}
