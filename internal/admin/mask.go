package admin

import (
	"bytes"
	"maps"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

// maskedWord stands in the place of a value that is hidden.
const maskedWord = "***"

// mask returns a letter without what is hidden: members of a JSON body and headers by their names, what in texts cannot be read to tell,
// what was read of the exception from those, and a body whole whose values have no names. The letter itself is not changed.
func (m *masker) mask(l Letter) Letter {
	w := m.begin()
	l = w.bodyOf(l)
	l.Headers = w.headers(l.Headers, nil)
	for _, text := range []*string{&l.ReplyTo, &l.CorrelationID, &l.AppID} {
		*text = w.text(*text, nil, 0)
	}
	shown := l.Message
	shown.Headers = maps.Clone(l.Headers)
	maps.DeleteFunc(shown.Headers, func(name string, _ any) bool { return w.hidden(name, nil) })
	l.Exception, l.Failure = exceptionOf(shown)
	return l
}

// bodyOf masks the body of a letter.
func (m *masking) bodyOf(l Letter) Letter {
	if len(l.Body) == 0 {
		return l
	}
	body, ok := m.body(l.Body)
	switch first := bytes.TrimLeft(l.Body, " \t\r\n"); {
	case !ok:
		l.Body, l.Hidden = nil, "the body is not JSON, so that it cannot be masked"
	case !utf8.Valid(l.Body):
		l.Body, l.Hidden = nil, "the body is not UTF-8, so that it cannot be masked"
	case first[0] != '{' && first[0] != '[':
		l.Body, l.Hidden = nil, "the body is a single value, which has no name to say whether it is personal or secret"
	default:
		l.Masked = l.Masked || &body[0] != &l.Message.Body[0]
		l.Body, l.MaskedNames = body, m.names
	}
	return l
}

// hidden reports whether the value of a header is hidden, inside a table in which some ends of names are hidden too.
func (m *masking) hidden(header string, in []string) bool {
	return m.of(header).hidesIn(in) && !dedup.OwnHeader(header) && !dedup.DeathHeader(header)
}

func (m *masking) headers(headers map[string]any, in []string) map[string]any {
	if headers == nil {
		return nil
	}
	out := make(map[string]any, len(headers))
	pair := m.namesItsValue(headers, in)
	for name, v := range headers {
		j := m.of(name)
		if pair && j.valued {
			out[name] = maskedWord
			continue
		}
		if address, ok := v.(string); m.hidden(name, in) && !(ok && j.isQueueAddress(address)) {
			out[name] = maskedWord
			continue
		}
		out[name] = m.field(v, j.within(in))
	}
	return out
}

// namesItsValue reports whether a table is a pair whose name hides its value.
func (m *masking) namesItsValue(table map[string]any, in []string) bool {
	for member, v := range table {
		if name, ok := v.(string); ok && m.of(member).names && m.namesHidden(name, in) {
			return true
		}
	}
	return false
}

func (m *masking) field(v any, in []string) any {
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
func (m *masking) row(list []any, in []string) []any {
	out := make([]any, len(list))
	rest := false
	for i, v := range list {
		if rest {
			out[i] = maskedWord
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
func (m *masking) namesRest(text string, in []string) bool {
	for i := range len(text) {
		if c := text[i]; !inName(c) || c == '.' || i == longestRowName {
			return false
		}
	}
	return text != "" && m.of(text).hidesIn(in)
}
