package mask

import (
	"bytes"
	"maps"
	"unicode/utf8"

	"dedup-dashboard/internal/message"
)

// Hidden stands in the place of a value that is hidden.
const Hidden = "***"

// A Message is a message as everybody may see it.
type Message struct {
	message.Message
	// Changed is true when values in Body are hidden, Names are words of the names of the members whose values are, each once, the first ones.
	Changed bool
	Names   []string
	// Why says why there is no Body at all; empty when there is, or it is empty.
	Why string
	// Readable are Headers without those that are hidden whole.
	Readable map[string]any
}

// Message returns a message without what is hidden: members of a JSON body and headers by their names, what in texts cannot be read to tell,
// and a body whole whose values have no names. The message itself is not changed.
func (m *Masker) Message(in message.Message) Message {
	w := m.Begin()
	out := w.bodyOf(in)
	out.Headers = w.Headers(in.Headers)
	for _, text := range []*string{&out.ReplyTo, &out.CorrelationID, &out.AppID} {
		*text = w.Text(*text)
	}
	out.Readable = maps.Clone(out.Headers)
	maps.DeleteFunc(out.Readable, func(name string, _ any) bool { return w.hidden(name, nil) })
	return out
}

// bodyOf masks the body of a message.
func (m *Work) bodyOf(in message.Message) Message {
	out := Message{Message: in}
	if len(in.Body) == 0 {
		return out
	}
	body, ok := m.body(in.Body)
	switch first := bytes.TrimLeft(in.Body, " \t\r\n"); {
	case !ok:
		out.Body, out.Why = nil, "the body is not JSON, so that it cannot be masked"
	case !utf8.Valid(in.Body):
		out.Body, out.Why = nil, "the body is not UTF-8, so that it cannot be masked"
	case first[0] != '{' && first[0] != '[':
		out.Body, out.Why = nil, "the body is a single value, which has no name to say whether it is personal or secret"
	default:
		out.Body, out.Names, out.Changed = body, m.names, &body[0] != &in.Body[0]
	}
	return out
}

// Text returns a text without the values that names in it hide.
func (m *Work) Text(s string) string { return m.text(s, nil, 0) }

// Headers returns headers without hidden values; nil for nil.
func (m *Work) Headers(headers map[string]any) map[string]any { return m.headers(headers, nil) }

// hidden reports whether the value of a header is hidden, inside a table in which some ends of names are hidden too.
func (m *Work) hidden(header string, in []string) bool {
	return m.of(header).hidesIn(in) && !message.IsOwnHeader(header) && !message.IsDeathHeader(header)
}

func (m *Work) headers(headers map[string]any, in []string) map[string]any {
	if headers == nil {
		return nil
	}
	out := make(map[string]any, len(headers))
	pair := m.namesItsValue(headers, in)
	for name, v := range headers {
		j := m.of(name)
		if pair && j.valued {
			out[name] = Hidden
			continue
		}
		if address, ok := v.(string); m.hidden(name, in) && !(ok && j.isQueueAddress(address)) {
			out[name] = Hidden
			continue
		}
		out[name] = m.field(v, j.within(in))
	}
	return out
}

// namesItsValue reports whether a table is a pair whose name hides its value.
func (m *Work) namesItsValue(table map[string]any, in []string) bool {
	for member, v := range table {
		if name, ok := v.(string); ok && m.of(member).names && m.namesHidden(name, in) {
			return true
		}
	}
	return false
}

func (m *Work) field(v any, in []string) any {
	switch v := v.(type) {
	case map[string]any:
		return m.headers(v, in)
	case []any:
		return m.row(v, in)
	case string:
		return m.text(v, in, 0)
	case []byte:
		return []byte(m.text(string(v), in, 0))
	}
	return v
}

// row masks a list in headers, and what follows a hidden name in it.
func (m *Work) row(list []any, in []string) []any {
	out := make([]any, len(list))
	rest := false
	for i, v := range list {
		if rest {
			out[i] = Hidden
			continue
		}
		out[i] = m.field(v, in)
		name, ok := v.(string)
		rest = ok && m.namesRest(name, in)
	}
	return out
}

// longestRowName is the longest text in a list that is taken for a name.
const longestRowName = 40

// namesRest reports whether a text in a list is a name that hides what follows it there: a word by itself, not a sentence or a class.
func (m *Work) namesRest(text string, in []string) bool {
	for i := range len(text) {
		if c := text[i]; !inName(c) || c == '.' || i == longestRowName {
			return false
		}
	}
	return text != "" && m.of(text).hidesIn(in)
}
