package server

import (
	"net/url"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
)

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

func TestAFieldThatIsClearedTakesThePropertyAwayAndTheReviewSaysSo(t *testing.T) {
	l := deadletter.Letter{}
	l.ContentType, l.MessageID = "text/plain", "order-1"
	e, err := editOf(url.Values{"content_type": {""}, "message_id": {" "}}, l)
	if err != nil || !e.NoContentType || !e.NoMessageID {
		t.Errorf("%+v, %v", e, err)
	}
	var said []string
	for _, f := range diffOf(e, l, move.Plan{}).Headers {
		said = append(said, f.Label+" "+f.Value)
	}
	if got := strings.Join(said, ", "); got != "Content type “text/plain” → removed, Message id “order-1” → removed" {
		t.Errorf("the review says %q", got)
	}
	if e, err := editOf(url.Values{"message_id": {"order-2"}}, l); err != nil || e.NoContentType || e.NoMessageID || e.MessageID != "order-2" || e.ContentType != "" {
		t.Errorf("a field that was not sent: %+v, %v", e, err)
	}
}
