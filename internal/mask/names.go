package mask

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Masker hides what names of members and headers say is personal or secret. It is immutable.
type Masker struct {
	// exact are words that hide a name, or a part of it, that is nothing else.
	exact map[string]bool
	// anywhere are words that count inside a name too, by their first byte; pieces are short words and what may stand beside them.
	anywhere, pieces map[byte][]string
	harmless         map[string]bool
	inside           []insideWord
	// insideEnds are the ends of names that name an object and a member of it: customer_name.
	insideEnds []string
}

// An insideWord hides a member of objects that bear a name.
type insideWord struct {
	object string
	// members are the ends of the names of members.
	members []string
}

// personNames are the members that hold the name of a person, where a name is one.
func personNames() []string {
	return []string{"name", "first", "last", "given", "family", "middle", "名称", "名稱", "名字"}
}

// longWord is the length in letters up to which a word counts only where it stands by itself, or beside glueWords: pin not in shipping.
const longWord = 4

// New returns a masker that hides what the words name; none hides nothing but what cannot be read.
func New(words []string) *Masker {
	m := &Masker{exact: map[string]bool{}, anywhere: map[byte][]string{}, pieces: map[byte][]string{}, harmless: map[string]bool{}}
	for _, w := range words {
		object, member, dotted := cutWord(w)
		switch {
		case object != "" && member == "name":
			m.inside = append(m.inside, insideWord{object, personNames()})
		case object != "" && member != "":
			m.inside = append(m.inside, insideWord{object, []string{member}})
		case object != "" && !dotted:
			m.exact[object] = true
			if utf8.RuneCountInString(object) > longWord || !isASCII(object) || len(nameParts(w)) > 1 {
				m.anywhere[object[0]] = append(m.anywhere[object[0]], object)
			} else {
				m.pieces[object[0]] = append(m.pieces[object[0]], object)
			}
		}
	}
	for _, w := range glueWords() {
		m.pieces[w[0]] = append(m.pieces[w[0]], w)
	}
	for _, w := range harmlessWords() {
		m.harmless[w] = !m.exact[w]
	}
	for _, w := range m.inside {
		for _, end := range w.members {
			m.insideEnds = append(m.insideEnds, w.object+end)
		}
	}
	return m
}

// cutWord folds a word of the configuration, and the two sides of one with a dot.
func cutWord(w string) (object, member string, dotted bool) {
	object, member, dotted = strings.Cut(w, ".")
	return folded(object), folded(member), dotted
}

// IsWord reports whether a word hides anything.
func IsWord(w string) bool {
	m := New([]string{w})
	return len(m.exact)+len(m.inside) > 0
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// A judgement is what a name says of the value that bears it.
type judgement struct {
	hides bool
	whole string
	// names and valued say that the value may be a name itself, and that it may be the value of one that stands beside it:
	// {"name": "password", "value": "hunter2"}.
	names, valued bool
	// members are the ends of names that are hidden inside the value.
	members []string
}

// judge reads a name. One that is not told for sure is hidden: a value that is not shown can be revealed, and one that was shown cannot be
// taken back.
func (m *Masker) judge(name string) judgement {
	parts := nameParts(name)
	j := judgement{whole: folded(name)}
	j.names, j.valued = slices.Contains(nameNames(), j.whole), slices.Contains(valueNames(), j.whole)
	for _, w := range m.inside { // an object may be named by two words: ship_to
		if strings.HasPrefix(j.whole, w.object) || strings.HasSuffix(j.whole, w.object) ||
			slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, w.object) || strings.HasSuffix(p, w.object) }) {
			j.members = append(j.members, w.members...)
		}
	}
	j.hides = m.exact[j.whole] || m.holdsWord(j.whole, parts) || !utf8.ValidString(name) ||
		slices.ContainsFunc(m.insideEnds, func(end string) bool { return strings.HasSuffix(j.whole, end) })
	return j
}

// holdsWord reports whether a name holds a word that hides it.
func (m *Masker) holdsWord(whole string, parts []string) bool {
	for _, p := range parts {
		if m.harmless[p] {
			whole = strings.Replace(whole, p, " ", 1)
		}
	}
	for i := range len(whole) {
		for _, w := range m.anywhere[whole[i]] {
			if strings.HasPrefix(whole[i:], w) {
				return true
			}
		}
	}
	return slices.ContainsFunc(parts, func(p string) bool {
		return !m.harmless[p] && (m.exact[p] || m.exact[strings.TrimSuffix(p, "s")] || m.glued(p))
	})
}

// longestGlued is the longest part of a name that is taken apart.
const longestGlued = 40

// glued reports whether a part of a name is made of short words and glueWords, and of one that hides.
func (m *Masker) glued(part string) bool {
	if len(part) > longestGlued {
		return false
	}
	var reached, hiding [longestGlued + 1]bool // up to a byte: by any words, and by words of which one hides
	reached[0] = true
	for i := range len(part) {
		if !reached[i] {
			continue
		}
		for _, w := range m.pieces[part[i]] {
			if strings.HasPrefix(part[i:], w) {
				reached[i+len(w)] = true
				hiding[i+len(w)] = hiding[i+len(w)] || hiding[i] || m.exact[w]
			}
		}
	}
	return hiding[len(part)] || strings.HasSuffix(part, "s") && hiding[len(part)-1]
}

// nameNames are the members that hold a name where an object is a pair, valueNames those that hold its value.
func nameNames() []string {
	return []string{"name", "key", "k", "field", "fieldname", "header", "headername", "attribute", "property", "parameter", "param", "label", "type", "system", "字段", "键"}
}

func valueNames() []string { return []string{"value", "values", "val", "v", "stringvalue", "值"} }

// namesHidden reports whether a text is a name by itself that hides.
func (m *Work) namesHidden(text string, in []string) bool {
	const longest = 64
	return text != "" && len(text) <= longest && !strings.ContainsAny(text, " \t\r\n:/") && m.of(text).hidesIn(in)
}

// hidesIn reports whether the value of a name is hidden inside an object in which some ends of names are hidden too.
func (j judgement) hidesIn(in []string) bool {
	return j.hides || slices.ContainsFunc(in, func(end string) bool { return strings.HasSuffix(strings.TrimSuffix(j.whole, "s"), end) })
}

// within returns the ends of names that are hidden inside the value of a name, when those of in are hidden where it stands.
func (j judgement) within(in []string) []string {
	if len(j.members) == 0 {
		return in
	}
	return append(slices.Clip(in), j.members...)
}

// addressNames are the ends of names under which frameworks keep the addresses of queues
// (https://masstransit.io/documentation/concepts/messages#message-headers), not those of people.
func addressNames() []string {
	return []string{"inputaddress", "faultaddress", "sourceaddress", "destinationaddress", "responseaddress", "replytoaddress"}
}

// isQueueAddress reports whether a value is the address of a queue, and its name says so.
func (j judgement) isQueueAddress(value string) bool {
	if !slices.ContainsFunc(addressNames(), func(end string) bool { return strings.HasSuffix(j.whole, end) }) {
		return false
	}
	scheme, rest, ok := strings.Cut(value, ":")
	return ok && (strings.HasPrefix(rest, "//") && scheme != "" && !strings.ContainsAny(scheme, " \t\r\n@=/") || slices.Contains([]string{"queue", "exchange", "topic"}, scheme)) &&
		!strings.ContainsAny(rest, " \t\r\n")
}

// folded returns the letters and digits of a name in lower case, in one spelling.
func folded(name string) string {
	var out strings.Builder
	out.Grow(len(name))
	for _, r := range name {
		writeFolded(&out, r)
	}
	return out.String()
}

// writeFolded writes a letter or digit in lower case, in one spelling: that of Ａ is a, that of ü ue.
func writeFolded(out *strings.Builder, r rune) {
	if r >= '！' && r <= '～' { // ASCII in the full width of East Asian scripts
		r -= '！' - '!'
	}
	switch r = unicode.ToLower(r); {
	case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9'):
		out.WriteByte(byte(r))
	case r < utf8.RuneSelf:
	case r == 'ä' || r == 'ö' || r == 'ü':
		out.WriteByte(map[rune]byte{'ä': 'a', 'ö': 'o', 'ü': 'u'}[r])
		out.WriteByte('e')
	case r == 'ß':
		out.WriteString("ss")
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		out.WriteRune(r)
	}
}

// nameParts splits cardNumber, card_number, CARD-NUMBER and HTTPCard into their words.
func nameParts(name string) []string {
	var spaced strings.Builder
	spaced.Grow(len(name) + 8)
	var before rune
	for i, r := range name {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		letter := unicode.IsLetter(r)
		if !letter || unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsUpper(before) && lowerAfter(name[i:])) {
			spaced.WriteByte(' ')
		}
		if letter {
			writeFolded(&spaced, r)
		}
		before = r
	}
	return strings.Fields(spaced.String())
}

// lowerAfter reports whether a small letter follows the first one.
func lowerAfter(s string) bool {
	_, size := utf8.DecodeRuneInString(s)
	r, _ := utf8.DecodeRuneInString(s[size:])
	return unicode.IsLower(r)
}
