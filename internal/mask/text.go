package mask

import (
	"dedup-dashboard/internal/message"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Texts that stand in headers and JSON strings can be JSON themselves, several of them, a form, the address of a server, the printed form
// of an object in some language, or plain words. A textMasker reads what it can: JSON, pairs of a name and a value, the addresses of servers.
// Where something begins that it cannot read it hides the rest. It goes over the text once.
type textMasker struct {
	*Work
	text   string
	in     []string
	inside int
	// at is the next byte to read; what stands before copied is in out.
	at, copied int
	out        strings.Builder
	// xml and urn say that the text holds elements, and that it is the name of a thing.
	xml, urn bool
}

// tellsMore reports whether a text can be more than plain words: most strings cannot, and are not gone over.
func tellsMore[T string | []byte](text T) bool {
	if beginsBase64JSON(string(text[:min(len(text), 3)])) {
		return true
	}
	for i := range len(text) {
		switch text[i] {
		case '{', '[', '<', '=', ':', '(', '"', '\'', '%', '&', 0xef: // which begins a character in full width
			return true
		case 'e':
			if i+2 < len(text) && text[i+1] == 'y' && text[i+2] == 'J' {
				return true
			}
		case '-':
			if i+1 < len(text) && text[i+1] == '-' {
				return true
			}
		case 'B', 'b':
			if rest := string(text[i:min(len(text), i+len("bearer"))]); hasPrefixFold(rest, "bearer") || hasPrefixFold(rest, "basic") {
				return true
			}
		}
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// text returns a text without what it hides, inside an object in which some ends of names are hidden too, and inside so many texts.
func (m *Work) text(s string, in []string, inside int) string {
	switch {
	case !utf8.ValidString(s):
		return Hidden
	case !tellsMore(s):
		return s
	case inside > deepestText:
		return Hidden
	}
	w := textMasker{
		Work: m, text: s, in: in, inside: inside, xml: strings.Contains(s, "</") || strings.Contains(s, "/>") || strings.Contains(s, "<?xml"),
		urn: strings.HasPrefix(s, "urn:") && !strings.ContainsAny(s, " \t\r\n"),
	}
	w.begin()
	for w.at < len(s) {
		w.next()
	}
	shown := s
	if w.copied > 0 {
		w.out.WriteString(s[min(w.copied, len(s)):])
		shown = w.out.String()
	}
	if plain := decoded(shown); plain != shown && m.text(plain, in, inside+1) != plain {
		return Hidden
	}
	return shown
}

// begin reads what a text begins with: a list is told from the mark of a log line by what stands in its brackets.
func (w *textMasker) begin() {
	w.at = len(w.text) - len(strings.TrimLeft(w.text, " \t\r\n\ufeff"))
	rest := w.text[w.at:]
	switch {
	case strings.HasPrefix(rest, "["):
		if !w.structure(w.in) {
			if head, _, ok := strings.Cut(rest, "]"); !ok || len(head)+1 == len(strings.TrimSpace(rest)) || strings.ContainsAny(head[1:], `[{('"=<`) {
				w.hideRest(w.at)
				return
			}
			w.at++
		}
	case strings.HasPrefix(rest, "('") || strings.HasPrefix(rest, `("`) || strings.HasPrefix(rest, "(b'") || strings.HasPrefix(rest, "(u'"):
		w.hideRest(w.at)
	}
}

// next reads one thing of a text.
func (w *textMasker) next() {
	switch c := w.text[w.at]; {
	case c == '{':
		if !w.structure(w.in) && !w.placeholder() {
			w.hideRest(w.at)
		}
	case c == '<' && (w.xml || w.hidingElement()):
		w.hideRest(w.at)
	case inName(c):
		w.name()
	default:
		w.at++
	}
}

// structure masks the JSON object or list that begins here; it is false where none does.
func (w *textMasker) structure(in []string) bool {
	end := message.SkipJSON(w.text, w.at)
	if end < 0 {
		return false
	}
	piece := []byte(w.text[w.at:end])
	if !json.Valid(piece) {
		return false
	}
	shown, ok := w.json(piece, in, w.inside)
	if !ok {
		return false
	}
	begin := w.at
	w.at = end
	if &shown[0] != &piece[0] {
		w.put(begin, string(shown), w.at)
	}
	return true
}

// longestPlaceholder is the longest name between braces that a text with gaps has for each of them: {OrderId}, ${id}, {0}.
const longestPlaceholder = 64

// placeholder goes over such a name.
func (w *textMasker) placeholder() bool {
	head, _, ok := strings.Cut(w.text[w.at+1:min(len(w.text), w.at+2+longestPlaceholder)], "}")
	if !ok || strings.ContainsFunc(head, func(r rune) bool { return r >= utf8.RuneSelf || !inName(byte(r)) }) {
		return false
	}
	w.at += len(head) + 2
	return true
}

// inName reports whether a byte belongs to a name or word.
func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '$' || c == '@' || c >= utf8.RuneSelf
}

// nameEnd returns the end of the name or word that begins at a byte. Full-width signs end it as the common ones do.
func nameEnd(s string, i int) int {
	for i < len(s) && inName(s[i]) {
		if s[i] == 0xef && (strings.HasPrefix(s[i:], "：") || strings.HasPrefix(s[i:], "＝")) {
			break
		}
		i++
	}
	return i
}

// name reads a word, and the value behind it when it is the name of one.
func (w *textMasker) name() {
	begin := w.at
	end := nameEnd(w.text, begin)
	if end == begin { // a sign in full width alone
		w.at += len("：")
		return
	}
	word := w.text[begin:end]
	w.at = end
	switch {
	case strings.HasPrefix(word, "-----BEGIN"):
		w.hideRest(begin)
		return
	case strings.HasPrefix(word, "eyJ") && strings.Count(word, ".") >= 2 && len(word) > 20: // a JSON web token
		w.put(begin, Hidden, end)
		return
	case strings.HasPrefix(word, "eyJ"):
		w.base64(begin)
		return
	case len(word) <= len("bearer") && w.credentials(word):
		return
	}
	if strings.HasPrefix(w.text[end:], "://") {
		w.server()
		return
	}
	if index := indexEnd(w.text, end); index > end {
		if sign, value := signAfter(w.text, index); sign != 0 {
			w.pair(w.text[begin:index], sign, value)
			return
		}
	}
	sign, value := signAfter(w.text, end)
	if sign != 0 {
		w.pair(word, sign, value)
		return
	}
	switch {
	case quotedInRow(w.text, begin, end) && w.of(word).hidesIn(w.in):
		w.hideRest(end)
	case strings.HasPrefix(word, "--"):
		w.argument(word)
	}
}

// credentials hides what follows the name of a way to sign in: Bearer, Basic.
func (w *textMasker) credentials(word string) bool {
	bearer := strings.EqualFold(word, "bearer")
	begin := spaces(w.text, w.at)
	if !bearer && !strings.EqualFold(word, "basic") || begin == w.at {
		return false
	}
	end := begin + len(w.text[begin:])
	if i := strings.IndexAny(w.text[begin:], " \t\r\n\"',;)]}"); i >= 0 {
		end = begin + i
	}
	if !bearer {
		plain, err := base64.StdEncoding.DecodeString(w.text[begin:end])
		if err != nil || !strings.Contains(string(plain), ":") {
			return false
		}
	}
	if begin < end {
		w.put(begin, Hidden, end)
	}
	return true
}

// signAfter returns the sign that makes a word the name of a value, '=' or ':', and where the value begins; 0 when none follows. Between
// the name and the sign stand at most the end of a string or an index, and a few spaces.
func signAfter(s string, i int) (sign byte, value int) {
	const most = 16
	for begin := i; i < len(s) && i < begin+most; i++ {
		switch {
		case s[i] == '%' && (hasPrefixFold(s[i:], "%5d") || hasPrefixFold(s[i:], "%22")):
			i += 2
		case s[i] == '"' || s[i] == '\'' || s[i] == '`' || s[i] == '\\' || s[i] == ']' || s[i] == ' ' || s[i] == '\t':
		case s[i] == ')' && strings.HasPrefix(s[i:], ")="): // Key (email)=(ada@example.com) already exists
		case s[i] == '=':
			for i < len(s) && (s[i] == '=' || s[i] == '>') {
				i++
			}
			return '=', spaces(s, i)
		case s[i] == ':' && !strings.HasPrefix(s[i:], "::"):
			return ':', spaces(s, i+1)
		case s[i] == 0xef && strings.HasPrefix(s[i:], "＝"):
			return '=', spaces(s, i+len("＝"))
		case s[i] == 0xef && strings.HasPrefix(s[i:], "："):
			return ':', spaces(s, i+len("："))
		case hasPrefixFold(s[i:], "%3a"), hasPrefixFold(s[i:], "%3d"):
			return '=', i + 3
		default:
			return 0, i
		}
	}
	return 0, i
}

func spaces(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\r' || s[i] == '\n') {
		i++
	}
	return i
}

// quotedInRow reports whether a word is a string by itself in a row of values, as formats write names that no sign follows:
// s:8:"password";s:7:"hunter2", <entry key="password">hunter2.
func quotedInRow(s string, begin, end int) bool {
	return begin > 0 && end+1 < len(s) && (s[begin-1] == '"' || s[begin-1] == '\'') && s[end] == s[begin-1] && (s[end+1] == ';' || s[end+1] == ',' || s[end+1] == '>')
}

// pair reads the value of a name.
func (w *textMasker) pair(name string, sign byte, value int) {
	j := w.of(name)
	rest := w.text[value:]
	switch {
	case sign == ':' && (w.urn || isNoPair(name, rest)):
		w.at = value
	case j.hidesIn(w.in) && !j.isQueueAddress(firstWord(rest[:min(len(rest), longestAddress)])):
		end := w.valueEnd(value)
		switch {
		case onNextLine(w.text[:value]) && end > value: // what YAML writes below a name has no end that is told
			end = len(w.text)
		case listsPairs(j, rest):
			end = value + max(0, strings.IndexByte(rest+"\n", '\n'))
		}
		if end > value {
			w.put(value, Hidden, end)
			w.hid(name)
		} else {
			w.at = value
		}
	case sign == ':' && len(j.members) > 0 && onNextLine(w.text[:value]):
		w.at, w.in = value, j.within(w.in)
	case sign == ':' && w.text[value-1] == ':' && w.signsIn(value):
	case strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "["):
		if w.at = value; !w.structure(j.within(w.in)) && !(rest[0] == '{' && w.placeholder()) {
			w.hideRest(value)
		}
	case sign == '=' && strings.HasPrefix(rest, "%"):
		w.encoded(value, len(firstWord(rest)), j.within(w.in))
	default:
		w.at = value
	}
}

// isNoPair reports whether a colon behind a word means something else: the class of an exception, the line of a source file.
func isNoPair(name, rest string) bool {
	for _, end := range []string{"Exception", "Error", "Failure", "Fault", "Warning"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	dot := strings.LastIndexByte(name, '.')
	return dot >= 0 && slices.Contains([]string{"java", "kt", "scala", "groovy", "py", "rb", "go", "js", "ts", "cs", "vb", "php", "cpp", "c"}, name[dot+1:]) &&
		(strings.HasPrefix(rest, "line ") || rest != "" && rest[0] >= '0' && rest[0] <= '9')
}

// firstWord returns a text up to where a value without spaces ends at the latest.
func firstWord(s string) string {
	if i := strings.IndexAny(s, "&; \t\r\n\"',<>"); i >= 0 {
		return s[:i]
	}
	return s
}

// encoded hides a value whose encoding in a form hides something.
func (w *textMasker) encoded(begin, length int, in []string) {
	value := w.text[begin : begin+length]
	plain, err := url.QueryUnescape(value)
	if err == nil && w.Work.text(plain, in, w.inside+1) == plain {
		w.at = begin + length
		return
	}
	w.put(begin, Hidden, begin+length)
}

// put writes a text in the place of what stands between two bytes, and goes on behind it.
func (w *textMasker) put(begin int, shown string, end int) {
	w.out.WriteString(w.text[w.copied:begin])
	w.out.WriteString(shown)
	w.at, w.copied = end, end
}

// hideRest hides everything from a byte on.
func (w *textMasker) hideRest(begin int) { w.put(begin, Hidden, len(w.text)) }
