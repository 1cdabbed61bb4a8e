package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"dedup-dashboard/internal/dedup"
)

// maskedWord stands in the place of a value that is hidden.
const maskedWord = "***"

// MaskWords are the words that hide the value of a JSON member or header whose name holds one, unless others are configured.
func MaskWords() []string {
	return []string{
		"password", "passwd", "pwd", "secret", "token", "authorization", "auth", "cookie", "session", "credential", "private_key", "api_key",
		"card", "cvv", "cvc", "pan", "iban", "bic", "account_number", "bank_account", "ssn", "tax_id", "passport", "birth", "birthday", "dob",
		"email", "mail", "phone", "mobile", "fax", "address", "street", "firstname", "lastname", "fullname", "surname",
	}
}

// A masker hides what names of members and headers say is personal or secret. It is immutable.
type masker struct{ words []string }

// newMasker hides what the words name; none hides nothing but what is no JSON.
func newMasker(words []string) masker {
	var m masker
	for _, w := range words {
		if w = folded(w); w != "" {
			m.words = append(m.words, w)
		}
	}
	return m
}

// longWord is the length from which a word also counts inside another one: "phone" in "telephones". A shorter one counts at its
// start and end: "pan" in "pannumber", but not in "company".
const longWord = 4

// hides reports whether the value of a name is hidden. Case, and what stands between words, makes no difference. A name that is not
// told for sure is hidden: a value that is not shown can be revealed, and one that was shown cannot be taken back.
func (m masker) hides(name string) bool {
	whole, parts := folded(name), nameParts(name)
	return slices.ContainsFunc(m.words, func(w string) bool {
		switch {
		case w == whole || slices.Contains(parts, w):
			return true
		case len(w) > longWord:
			return strings.Contains(whole, w)
		}
		return slices.ContainsFunc(parts, func(part string) bool {
			if slices.Contains(harmlessWords(), part) {
				return false
			}
			return len(w) == longWord && strings.Contains(part, w) || strings.HasPrefix(part, w) || strings.HasSuffix(part, w)
		})
	})
}

// harmlessWords hold a short word of MaskWords and mean something else.
func harmlessWords() []string {
	return []string{
		"discard", "discards", "discarded", "cardinality", "wildcard", "author", "authors", "authored", "authority",
		"span", "spans", "timespan", "lifespan", "panel", "panels", "japan", "cubic",
	}
}

// folded returns the letters and digits of a name in lower case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// nameParts splits cardNumber, card_number and CARD-NUMBER into card and number.
func nameParts(name string) []string {
	var spaced strings.Builder
	var before rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) || !unicode.IsLetter(r) {
			spaced.WriteByte(' ')
		}
		if unicode.IsLetter(r) {
			spaced.WriteRune(unicode.ToLower(r))
		}
		before = r
	}
	return strings.Fields(spaced.String())
}

// mask returns a letter without what is hidden: members of a JSON body and headers by their names, what was read of the exception
// from those, and a body whole whose values have no names. The letter itself is not changed.
func (m masker) mask(l Letter) Letter {
	l = m.body(l)
	l.Headers = m.headers(l.Headers)
	shown := l.Message
	shown.Headers = maps.Clone(l.Headers)
	maps.DeleteFunc(shown.Headers, func(name string, _ any) bool { return m.hidden(name) })
	l.Exception, l.Failure = exceptionOf(shown)
	return l
}

// body masks the body of a letter.
func (m masker) body(l Letter) Letter {
	if len(l.Body) == 0 {
		return l
	}
	body, ok := m.json(l.Body)
	switch first := bytes.TrimLeft(l.Body, " \t\r\n"); {
	case !ok:
		l.Body, l.Hidden = nil, "the body is not JSON, so that it cannot be masked"
	case first[0] != '{' && first[0] != '[':
		l.Body, l.Hidden = nil, "the body is a single value, which has no name to say whether it is personal or secret"
	default:
		l.Masked = l.Masked || &body[0] != &l.Message.Body[0]
		l.Body = body
	}
	return l
}

// hidden reports whether the value of a header is hidden.
func (m masker) hidden(header string) bool {
	return m.hides(header) && !dedup.OwnHeader(header) && !dedup.DeathHeader(header)
}

func (m masker) headers(headers map[string]any) map[string]any {
	if headers == nil {
		return nil
	}
	out := make(map[string]any, len(headers))
	for name, v := range headers {
		if m.hidden(name) {
			out[name] = maskedWord
			continue
		}
		out[name] = m.field(v)
	}
	return out
}

func (m masker) field(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return m.headers(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.field(v[i])
		}
		return out
	case string:
		return m.text(v)
	case []byte:
		return []byte(m.text(string(v)))
	}
	return v
}

// text masks a text that holds a JSON object or list.
func (m masker) text(s string) string {
	trimmed := strings.TrimSpace(s)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return s
	}
	if out, ok := m.json([]byte(trimmed)); ok {
		return string(out)
	}
	return s
}

// json returns a JSON text with hidden values replaced, the very same slice when none is; false for what is not JSON.
func (m masker) json(body []byte) ([]byte, bool) {
	if len(body) == 0 || !json.Valid(body) {
		return nil, false
	}
	w := jsonMasker{masker: m, dec: json.NewDecoder(bytes.NewReader(body))}
	w.dec.UseNumber()
	w.enc = json.NewEncoder(&w.out)
	w.enc.SetEscapeHTML(false)
	if err := w.value(0); err != nil {
		return nil, false
	}
	if !w.changed {
		return body, true
	}
	return w.out.Bytes(), true
}

// jsonMasker copies JSON token by token, in its order.
type jsonMasker struct {
	masker
	dec     *json.Decoder
	out     bytes.Buffer
	enc     *json.Encoder
	changed bool
}

// deepest is how deep a body may be nested.
const deepest = 1000

var errTooDeep = errors.New("nested too deep")

func (w *jsonMasker) value(depth int) error {
	if depth > deepest {
		return errTooDeep
	}
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return w.nested(v, depth)
	case string:
		text := w.text(v)
		w.changed = w.changed || text != v
		return w.write(text)
	default:
		return w.write(v)
	}
}

// nested copies an object or a list.
func (w *jsonMasker) nested(open json.Delim, depth int) error {
	w.out.WriteByte(byte(open))
	for first := true; w.dec.More(); first = false {
		if !first {
			w.out.WriteByte(',')
		}
		hide := false
		if open == '{' {
			name, err := w.dec.Token()
			if err != nil {
				return err
			}
			text, _ := name.(string)
			if err := w.write(text); err != nil {
				return err
			}
			w.out.WriteByte(':')
			hide = w.hides(text)
		}
		if err := w.memberOrMask(hide, depth); err != nil {
			return err
		}
	}
	end, err := w.dec.Token()
	if err != nil {
		return err
	}
	closing, ok := end.(json.Delim)
	if !ok {
		return io.ErrUnexpectedEOF
	}
	w.out.WriteByte(byte(closing))
	return nil
}

func (w *jsonMasker) memberOrMask(hide bool, depth int) error {
	if !hide {
		return w.value(depth + 1)
	}
	var skipped json.RawMessage
	if err := w.dec.Decode(&skipped); err != nil {
		return err
	}
	w.changed = true
	return w.write(maskedWord)
}

// write writes a scalar without the line break that an encoder adds.
func (w *jsonMasker) write(v any) error {
	if err := w.enc.Encode(v); err != nil {
		return err
	}
	w.out.Truncate(w.out.Len() - 1)
	return nil
}
