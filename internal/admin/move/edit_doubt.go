package move

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/message"
)

// Changes reports whether the edit makes another message of this one.
func (e Edit) Changes(m message.Message) bool {
	switch {
	case e.Body != nil && !bytes.Equal(e.Body, m.Body),
		e.ContentType != "" && e.ContentType != m.ContentType, e.NoContentType && m.ContentType != "",
		e.MessageID != "" && e.MessageID != m.MessageID, e.NoMessageID && m.MessageID != "":
		return true
	}
	for name, text := range e.Headers {
		if was, ok := deadletter.HeaderWord(m.Headers[name]); !ok || was != text {
			return true
		}
	}
	return slices.ContainsFunc(e.Remove, func(name string) bool { _, there := m.Headers[name]; return there })
}

// Doubt says why consumers would hardly understand the body after the edit: it is emptied, or no JSON although the message says so or
// was JSON before. It is empty where nothing speaks against it.
func (e Edit) Doubt(m message.Message) string {
	body, says := m.Body, m.ContentType
	if e.Body != nil {
		body = e.Body
	}
	if e.ContentType != "" || e.NoContentType {
		says = e.ContentType
	}
	if bytes.Equal(body, m.Body) && says == m.ContentType {
		return ""
	}
	empty, was := len(bytes.TrimSpace(body)) == 0, jsonFault(m.Body) == ""
	switch fault := jsonFault(body); {
	case empty && len(bytes.TrimSpace(m.Body)) > 0:
		return "the body is empty: consumers get a message without content"
	case empty || fault == "":
		return ""
	case isJSONType(says):
		return fmt.Sprintf("the content type says %s, and the body is not JSON: %s", admin.Printable(says, 100), fault)
	case was && (says == "" || says == m.ContentType):
		return "the body was JSON and is not JSON any more: " + fault
	}
	return ""
}

// isJSONType reports whether a content type is one of JSON (https://www.rfc-editor.org/rfc/rfc6839#section-3.1).
func isJSONType(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(contentType), ";")
		media = strings.TrimSpace(media)
	}
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// jsonFault says what is wrong with a JSON text, and in which line; empty when nothing is.
func jsonFault(body []byte) string {
	if json.Valid(body) {
		return ""
	}
	var v json.RawMessage
	err := json.Unmarshal(body, &v)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "it cannot be read"
	}
	line := 1 + bytes.Count(body[:min(int(syntax.Offset), len(body))], []byte("\n"))
	return fmt.Sprintf("line %d: %s", line, admin.Printable(syntax.Error(), 100))
}
