package message

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

func TestTheLookThatAMessageIsShownFromSaysWhoHasLookedSince(t *testing.T) {
	scan := deadletter.Scan{By: "ada", At: time.Now().Add(-5 * time.Minute), NewerBy: "bob", NewerAt: time.Now()}
	if got := sinceLooked(scan, time.Now(), "/q"); len(got) != 1 || !strings.Contains(got[0].Text.Short, "bob looked at the queue again at ") || !strings.Contains(got[0].Text.Short, "what ada saw at ") {
		t.Errorf("%+v", got)
	}
	if got := sinceLooked(deadletter.Scan{By: "ada"}, time.Now(), "/q"); got != nil {
		t.Errorf("the newest look is said to be overtaken: %+v", got)
	}
}

func TestValuesOfHeadersAreShownWhole(t *testing.T) {
	trace := "shop.Outer: a\n" + strings.Repeat("\tat shop.Deep.call(Deep.java:1)\n", 300) + "Caused by: shop.OutOfStock: none left"
	nested := map[string]any{}
	for i := range 100 {
		nested["key"+strings.Repeat("x", i)] = strings.Repeat("v", 20)
	}
	l := deadletter.Letter{}
	l.Headers = map[string]any{"x-exception-stacktrace": trace, "short": "one line", "table": nested, "huge": strings.Repeat("A", 2<<20), "zhuge": strings.Repeat("B", 2<<20)}
	lines, note := headerLines(l)
	byName := map[string]string{}
	for _, h := range lines {
		byName[h.Name.Short] = h.Whole
	}
	if got := byName["x-exception-stacktrace"]; got != strings.ReplaceAll(trace, "\t", "    ") {
		t.Errorf("the trace has %d of %d bytes", len(got), len(trace))
	}
	if byName["short"] != "" {
		t.Error("a short value is folded")
	}
	if got := byName["table"]; strings.Count(got, "=") != 100 {
		t.Errorf("the table shows %d of 100", strings.Count(got, "="))
	}
	if len(byName["huge"])+len(byName["zhuge"]) > letter.ShownHeaders+2*show.PartLimit || note == "" {
		t.Errorf("%d and %d bytes are shown, and the page says %q", len(byName["huge"]), len(byName["zhuge"]), note)
	}
	for _, h := range lines {
		if h.Name.Short == "huge" && !strings.Contains(h.Cut, "of 2 MiB") {
			t.Errorf("what is cut says %q", h.Cut)
		}
	}
	for i := range letter.MaxHeaders + 5 {
		l.Headers["many"+strings.Repeat("y", i)] = "v"
	}
	if lines, note := headerLines(l); len(lines) != letter.MaxHeaders || !strings.Contains(note, "10 more headers") {
		t.Errorf("%d lines, %q", len(lines), note)
	}
}

func TestABodyIsEditedWithTheLineEndingsThatItHas(t *testing.T) {
	for name, c := range map[string]struct {
		body      string
		comesBack bool
	}{
		"one line":               {"a", true},
		"lines of Unix":          {"a\nb\n", true},
		"lines of Windows":       {"a\r\nb\r\n", true},
		"both":                   {"a\r\nb\nc", false},
		"a lone return":          {"a\rb", false},
		"a return at the end":    {"a\r", false},
		"another control":        {"a\x00b", false},
		"bytes that are no text": {"\xff", false},
	} {
		if got := comesBack([]byte(c.body)); got != c.comesBack {
			t.Errorf("%s comes back: %t", name, got)
		}
		if !c.comesBack {
			continue
		}
		l := deadletter.Letter{}
		l.Body = []byte(c.body)
		sent := strings.ReplaceAll(strings.ReplaceAll(c.body, "\r\n", "\n"), "\n", "\r\n") // as browsers send it
		if e, err := editOf(url.Values{"body": {sent}}, l); err != nil || e.Body != nil {
			t.Errorf("%s: unchanged it is sent as %q, %v", name, e.Body, err)
		}
		want := c.body + "!"
		if e, err := editOf(url.Values{"body": {sent + "!"}}, l); err != nil || string(e.Body) != want {
			t.Errorf("%s: changed it is sent as %q, %v", name, e.Body, err)
		}
	}
}

func TestALargeTableSaysHowLargeItIs(t *testing.T) {
	var list []any
	for range 5000 {
		list = append(list, strings.Repeat("x", 98))
	}
	text := letter.NestedText(list) // 98 and the two bytes between any two
	if !strings.HasSuffix(text, "x…") || len(text) > letter.ShownHeaders+utf8.UTFMax || letter.NestedSize(list) != 5000*100-2 {
		t.Errorf("%d bytes, ending in %q, of %d", len(text), text[len(text)-10:], letter.NestedSize(list))
	}
	lines, note := headerLines(deadletter.Letter{DeadLetter: dedup.DeadLetter{Message: message.Message{Properties: message.Properties{Headers: map[string]any{"many": list}}}}})
	if len(lines) != 1 || lines[0].Size != "488.3 KiB" || lines[0].Cut != "The first 256 KiB of 488.3 KiB are shown." || note == "" {
		t.Errorf("%q, %q, %q", lines[0].Size, lines[0].Cut, note)
	}
	if small := []any{"a", map[string]any{"b": int64(1)}}; letter.NestedText(small) != "a; b=1" {
		t.Errorf("a small one is %q", letter.NestedText(small))
	}
}

func TestAMessageWithoutATableOfHeadersIsToldFromOneWithAnEmptyTable(t *testing.T) {
	for want, headers := range map[string]map[string]any{`"headers":null`: nil, `"headers":{}`: {}} {
		l := deadletter.Letter{}
		l.Headers = headers
		if text, err := json.Marshal(exportOf(web.NewMasker(nil), auth.Principal{}, l)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", want, text, err)
		}
	}
}

func TestThePageSaysOfEachHeaderWhatARequeueDoesWithIt(t *testing.T) {
	for name, want := range map[string]string{"dedup-requeue-id": "written anew", "x-death": "left out", "x-opt-a": "left out", "CC": "left out", "cc": "kept", "tenant": "kept"} {
		if got := headerRule(name); got != want {
			t.Errorf("%s is %s", name, got)
		}
		if move.LockedHeader(name) != (want != "kept") {
			t.Errorf("%s is %s and can be edited: %t", name, want, !move.LockedHeader(name))
		}
	}
}

func TestABodyThatALookHasNotKeptIsNotOffered(t *testing.T) {
	for name, left := range map[string]*message.LeftOutBody{"kept": nil, "not kept": {Size: 5 << 20}} {
		l := deadletter.Letter{Size: 5 << 20}
		if l.LeftOut = left; left == nil {
			l.Body = []byte("text")
		} else {
			l.Hidden = "it is too large"
		}
		for _, revealed := range []bool{false, true} {
			p := (pages{site: web.Site{Masker: web.NewMasker(nil)}}).payloadOf(l, auth.Principal{Name: "ada", Role: auth.Admin}, letter.Key{}, "", "auto", revealed)
			if (p.Reveal == nil) != (left != nil) || (p.Download == "") != (left != nil) || strings.Contains(p.Masked, "it is too large") != (left != nil) {
				t.Errorf("%s, revealed %t: %+v", name, revealed, p)
			}
		}
	}
}

func TestAFieldThatIsClearedTakesThePropertyAway(t *testing.T) {
	l := deadletter.Letter{}
	l.ContentType, l.MessageID = "text/plain", "order-1"
	e, err := editOf(url.Values{"content_type": {""}, "message_id": {" "}}, l)
	if err != nil || !e.NoContentType || !e.NoMessageID {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := editOf(url.Values{"message_id": {"order-2"}}, l); err != nil || e.NoContentType || e.NoMessageID || e.MessageID != "order-2" || e.ContentType != "" {
		t.Errorf("a field that was not sent: %+v, %v", e, err)
	}
}

func TestWhatIsMaskedIsNamed(t *testing.T) {
	l := deadletter.Letter{Size: 9, Masked: true, MaskedNames: []string{"name", "card number"}}
	l.Body = []byte("{}")
	if got := maskedNote(l, false); !strings.HasPrefix(got, "Masked: name, card number.") {
		t.Errorf("%q", got)
	}
}
