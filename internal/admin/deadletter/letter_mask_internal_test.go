package deadletter

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/mask"
	"dedup-dashboard/internal/message"
)

func TestTheConfigurationAddsWordsAndTakesSomeAway(t *testing.T) {
	const in = `{"staffNo":1,"session":2,"password":3,"customer":{"name":4}}`
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"as it is":              {Config{}, `{"staffNo":1,"session":"***","password":"***","customer":{"name":"***"}}`},
		"a word more":           {Config{MaskAdd: []string{"staff_no"}}, `{"staffNo":"***","session":"***","password":"***","customer":{"name":"***"}}`},
		"words less":            {Config{MaskRemove: []string{"Session", "customer.name"}}, `{"staffNo":1,"session":2,"password":"***","customer":{"name":4}}`},
		"a list of its own":     {Config{Mask: []string{"staffNo"}}, `{"staffNo":"***","session":2,"password":3,"customer":{"name":4}}`},
		"a list and one more":   {Config{Mask: []string{"staffNo"}, MaskAdd: []string{"session"}}, `{"staffNo":"***","session":"***","password":3,"customer":{"name":4}}`},
		"a list without a word": {Config{Mask: []string{"staffNo", "session"}, MaskRemove: []string{"session"}}, `{"staffNo":"***","session":2,"password":3,"customer":{"name":4}}`},
		"an empty list":         {Config{Mask: []string{}}, in},
	} {
		if err := c.cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := mask.New(c.cfg.MaskWords()).Message(message.Message{Body: []byte(in)}); string(got.Body) != c.want {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	for _, bad := range []Config{{Mask: []string{"-"}}, {MaskAdd: []string{" "}}, {MaskRemove: []string{"nosuchword"}}, {Mask: []string{"a"}, MaskRemove: []string{"password"}}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestAWordNeedsLettersOnBothSidesOfItsDot(t *testing.T) {
	for _, word := range []string{"customer.", ".name", "."} {
		if err := (Config{Mask: []string{word}}).Validate(); err == nil {
			t.Errorf("%q is taken for a word", word)
		}
	}
}

func TestWhatWasReadOfTheExceptionIsMaskedWithItsHeader(t *testing.T) {
	for name, c := range map[string]struct {
		words         []string
		headers       map[string]any
		body          string
		kind, failure string
	}{
		"a header that is shown":     {mask.Words(), map[string]any{"error_type": "ValueError", "error_message": "bad amount"}, "", "ValueError", "bad amount"},
		"a header that is hidden":    {[]string{"exception"}, map[string]any{"x-exception-fqcn": "java.io.IOException", "x-exception-message": "card 4111 refused"}, "", "", ""},
		"JSON in a header":           {mask.Words(), map[string]any{"error_message": `{"password":"hunter2","n":1}`}, "", "", `{"password":"***","n":1}`},
		"JSON that is cut for a row": {mask.Words(), map[string]any{"error_message": `{"password":"hunter2","n":"` + strings.Repeat("x", 2000) + `"}`}, "", "", `{"password":"***","n":"` + strings.Repeat("x", 477) + "…"},
		"a member that is hidden":    {[]string{"exception"}, nil, `{"Exception":"System.Exception: boom"}`, "", "***"},
	} {
		l := Letter{}
		l.Headers, l.Body, l.Type = c.headers, []byte(c.body), "EasyNetQ.SystemMessages.Error:EasyNetQ"
		l.Exception, l.Failure = exceptionOf(l.Message)
		if got := Masked(mask.New(c.words), l); got.Exception != c.kind || got.Failure != c.failure {
			t.Errorf("%s: %q, %q", name, got.Exception, got.Failure)
		}
	}
}
