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

// MaskWords are the words that hide the value of a JSON member or header whose name holds one, unless others are configured. Of two
// words with a dot between them the second counts inside objects that the first one names: what is the name of a product elsewhere is
// the name of a person there.
func MaskWords() []string {
	return []string{
		"password", "passwd", "pwd", "secret", "token", "authorization", "auth", "cookie", "session", "credential", "private_key", "api_key",
		"card", "cvv", "cvc", "pan", "iban", "bic", "account_number", "bank_account", "ssn", "tax_id", "passport", "birth", "birthday", "dob",
		"email", "mail", "phone", "mobile", "fax", "address", "street", "firstname", "lastname", "fullname", "surname",
		"customer.name", "person.name", "contact.name", "user.name", "recipient.name", "receiver.name", "sender.name", "buyer.name", "client.name", "owner.name",
		"holder.name", "payer.name", "payee.name", "patient.name", "employee.name", "passenger.name", "guest.name", "member.name", "billing.name", "shipping.name",
	}
}

// A masker hides what names of members and headers say is personal or secret. It is immutable.
type masker struct {
	words  []string
	inside []insideWord
}

// An insideWord hides a member of objects that bear a name.
type insideWord struct {
	object string
	// members are the ends of the names of members.
	members []string
}

// personNames are the members that hold the name of a person, where a name is one.
func personNames() []string { return []string{"name", "first", "last", "given", "family", "middle"} }

// newMasker hides what the words name; none hides nothing but what is no JSON.
func newMasker(words []string) masker {
	var m masker
	for _, w := range words {
		object, member, dotted := strings.Cut(w, ".")
		object, member = folded(object), folded(member)
		switch {
		case object != "" && member == "name":
			m.inside = append(m.inside, insideWord{object, personNames()})
		case object != "" && member != "":
			m.inside = append(m.inside, insideWord{object, []string{member}})
		case object != "" && !dotted:
			m.words = append(m.words, object)
		}
	}
	return m
}

// isMaskWord reports whether a word hides anything.
func isMaskWord(w string) bool {
	m := newMasker([]string{w})
	return len(m.words)+len(m.inside) > 0
}

// within returns the ends of names that are hidden inside the value of a member, when those are hidden where the member stands.
func (m masker) within(name string, in []string) []string {
	parts := append(nameParts(name), folded(name)) // an object may be named by two words: ship_to
	for _, w := range m.inside {
		if slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, w.object) || strings.HasSuffix(p, w.object) }) {
			in = append(slices.Clip(in), w.members...)
		}
	}
	return in
}

// hidesIn is hides for a member of an object in which some ends of names are hidden too. The name may name the object itself:
// customer_name is the name of a customer.
func (m masker) hidesIn(name string, in []string) bool {
	whole := folded(name)
	return m.hides(name) || slices.ContainsFunc(in, func(end string) bool { return strings.HasSuffix(strings.TrimSuffix(whole, "s"), end) }) ||
		slices.ContainsFunc(m.inside, func(w insideWord) bool {
			return slices.ContainsFunc(w.members, func(end string) bool { return strings.HasSuffix(whole, w.object+end) })
		})
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
	body, names, ok := m.masked(l.Body, nil)
	switch first := bytes.TrimLeft(l.Body, " \t\r\n"); {
	case !ok:
		l.Body, l.Hidden = nil, "the body is not JSON, so that it cannot be masked"
	case first[0] != '{' && first[0] != '[':
		l.Body, l.Hidden = nil, "the body is a single value, which has no name to say whether it is personal or secret"
	default:
		l.Masked = l.Masked || &body[0] != &l.Message.Body[0]
		l.Body, l.MaskedNames = body, names
	}
	return l
}

// hidden reports whether the value of a header is hidden.
func (m masker) hidden(header string) bool { return m.hiddenIn(header, nil) }

func (m masker) hiddenIn(header string, in []string) bool {
	return m.hidesIn(header, in) && !dedup.OwnHeader(header) && !dedup.DeathHeader(header)
}

func (m masker) headers(headers map[string]any) map[string]any { return m.headersIn(headers, nil) }

func (m masker) headersIn(headers map[string]any, in []string) map[string]any {
	if headers == nil {
		return nil
	}
	out := make(map[string]any, len(headers))
	for name, v := range headers {
		if m.hiddenIn(name, in) {
			out[name] = maskedWord
			continue
		}
		out[name] = m.field(v, m.within(name, in))
	}
	return out
}

func (m masker) field(v any, in []string) any {
	switch v := v.(type) {
	case map[string]any:
		return m.headersIn(v, in)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.field(v[i], in)
		}
		return out
	case string:
		text, _ := m.text(v, in)
		return text
	case []byte:
		text, _ := m.text(string(v), in)
		return []byte(text)
	}
	return v
}

// text masks a text that holds a JSON object or list, and names the members that it hid.
func (m masker) text(s string, in []string) (string, []string) {
	trimmed := strings.TrimSpace(s)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return s, nil
	}
	if out, names, ok := m.masked([]byte(trimmed), in); ok {
		return string(out), names
	}
	return s, nil
}

// json returns a JSON text with hidden values replaced, the very same slice when none is; false for what is not JSON.
func (m masker) json(body []byte) ([]byte, bool) {
	out, _, ok := m.masked(body, nil)
	return out, ok
}

// masked is json inside an object in which some ends of names are hidden too. It returns the words of the members that it hid.
func (m masker) masked(body []byte, in []string) ([]byte, []string, bool) {
	if len(body) == 0 || !json.Valid(body) {
		return nil, nil, false
	}
	w := jsonMasker{masker: m, dec: json.NewDecoder(bytes.NewReader(body))}
	w.dec.UseNumber()
	w.enc = json.NewEncoder(&w.out)
	w.enc.SetEscapeHTML(false)
	if err := w.value(0, in); err != nil {
		return nil, nil, false
	}
	if !w.changed {
		return body, nil, true
	}
	return w.out.Bytes(), w.names, true
}

// jsonMasker copies JSON token by token, in its order.
type jsonMasker struct {
	masker
	dec     *json.Decoder
	out     bytes.Buffer
	enc     *json.Encoder
	changed bool
	// names are the words of the members that were hidden, each once.
	names []string
}

// maskedNamesKept is how many names of hidden members are kept for the page of a letter, longestName how many bytes of each.
const (
	maskedNamesKept = 20
	longestName     = 60
)

// hid notes that a member was hidden.
func (w *jsonMasker) hid(name string) {
	words := cutText(strings.Join(nameParts(name), " "), longestName)
	switch {
	case slices.Contains(w.names, words) || len(w.names) > maskedNamesKept:
	case len(w.names) == maskedNamesKept:
		w.names = append(w.names, "…")
	default:
		w.names = append(w.names, words)
	}
}

// deepest is how deep a body may be nested.
const deepest = 1000

var errTooDeep = errors.New("nested too deep")

func (w *jsonMasker) value(depth int, in []string) error {
	if depth > deepest {
		return errTooDeep
	}
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return w.nested(v, depth, in)
	case string:
		text, names := w.text(v, in)
		w.changed = w.changed || text != v
		for _, name := range names {
			w.hid(name)
		}
		return w.write(text)
	default:
		return w.write(v)
	}
}

// nested copies an object or a list.
func (w *jsonMasker) nested(open json.Delim, depth int, in []string) error {
	w.out.WriteByte(byte(open))
	for first := true; w.dec.More(); first = false {
		if !first {
			w.out.WriteByte(',')
		}
		if err := w.member(open, depth, in); err != nil {
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

// member copies one element of a list, or one member of an object with its name.
func (w *jsonMasker) member(open json.Delim, depth int, in []string) error {
	if open != '{' {
		return w.value(depth+1, in)
	}
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	name, _ := token.(string)
	if err := w.write(name); err != nil {
		return err
	}
	w.out.WriteByte(':')
	if !w.hidesIn(name, in) {
		return w.value(depth+1, w.within(name, in))
	}
	var skipped json.RawMessage
	if err := w.dec.Decode(&skipped); err != nil {
		return err
	}
	w.changed = true
	w.hid(name)
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
