package mask

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/text"
)

const (
	// deepest is how deep a body may be nested, deepestText how often a text may stand inside a text.
	deepest     = 1000
	deepestText = 8
	// judgementsKept is how many names are kept with what was found of them: bodies have few, many times.
	judgementsKept = 1024
	// namesKept is how many names of hidden members are kept for the page of a letter, longestName how many bytes of each.
	namesKept   = 20
	longestName = 60
)

// A Work is what a masker does with one message, or with texts that belong together: what is found of a name is kept for the next one.
type Work struct {
	*Masker
	known map[string]judgement
	// names are the words of the members that were hidden, each once.
	names []string
}

// Begin begins the work on a message.
func (m *Masker) Begin() *Work { return &Work{Masker: m, known: map[string]judgement{}} }

// of is judge, done once for each name.
func (m *Work) of(name string) judgement {
	j, ok := m.known[name]
	if ok {
		return j
	}
	if len(m.known) == judgementsKept {
		clear(m.known)
	}
	j = m.judge(name)
	m.known[name] = j
	return j
}

// hid notes that a member was hidden.
func (m *Work) hid(name string) {
	if len(m.names) > namesKept {
		return
	}
	words := text.Cut(strings.Join(nameParts(name), " "), longestName)
	switch {
	case slices.Contains(m.names, words):
	case len(m.names) == namesKept:
		m.names = append(m.names, "…")
	default:
		m.names = append(m.names, words)
	}
}

// json returns a body of JSON with hidden values replaced, the very same slice when none is; false for what is not JSON.
func (m *Masker) json(body []byte) ([]byte, bool) { return m.Begin().body(body) }

// body masks a body: what stands in it under no name is hidden too.
func (m *Work) body(body []byte) ([]byte, bool) {
	return m.run(jsonMasker{Work: m, body: body, unnamed: true}, nil)
}

// json masks a JSON text inside an object in which some ends of names are hidden too, and inside so many texts.
func (m *Work) json(body []byte, in []string, inside int) ([]byte, bool) {
	return m.run(jsonMasker{Work: m, body: body, inside: inside}, in)
}

func (m *Work) run(w jsonMasker, in []string) ([]byte, bool) {
	body := w.body
	if len(body) == 0 || !json.Valid(body) {
		return nil, false
	}
	if !w.value(0, in) {
		return nil, false
	}
	if !w.changed {
		return body, true
	}
	return append(w.out, body[w.copied:]...), true
}

// jsonMasker copies valid JSON but for what is hidden. It goes over the bytes once.
type jsonMasker struct {
	*Work
	body []byte
	// at is the next byte to read; what stands before copied is in out.
	at, copied int
	out        []byte
	inside     int
	// changed says that something was hidden.
	changed bool
	// unnamed is true while no object has been entered: an element of a list has no name there to say what it is.
	unnamed bool
}

// value copies a value. It is false for one that is nested too deep.
func (w *jsonMasker) value(depth int, in []string) bool {
	if depth > deepest {
		return false
	}
	switch w.space(); w.body[w.at] {
	case '{':
		return w.object(depth, in)
	case '[':
		return w.list(depth, in)
	case '"':
		w.text(in)
	default:
		w.skip()
	}
	return true
}

func (w *jsonMasker) object(depth int, in []string) bool {
	defer func(was bool) { w.unnamed = was }(w.unnamed)
	w.unnamed = false
	w.at++
	var pair jsonPair
	for {
		if w.space(); w.ended('}') {
			w.hideValues(pair)
			return true
		}
		name := w.name()
		w.space()
		w.at++ // the colon
		w.space()
		j, ok := w.known[string(name)]
		if !ok {
			j = w.of(string(name))
		}
		if !j.hidesIn(in) {
			if j.names && w.namesHidden(w.peek(), in) {
				pair.name = w.peek()
			}
			from := 0
			if j.valued {
				from = w.flush()
			}
			if !w.value(depth+1, j.within(in)) {
				return false
			}
			if j.valued {
				pair.values = append(pair.values, [2]int{from, w.flush()})
			}
			continue
		}
		begin := w.at
		if w.body[begin] == '"' && w.copyAddress(j, in) {
			continue
		}
		w.skip()
		w.replace(begin, Hidden)
		w.hid(string(name))
	}
}

// list copies a list. Values that stand under no name at all are hidden, as those of the positional arguments of Celery are. Of two elements the first
// can be the name of the second, and one can be the name of an argument.
func (w *jsonMasker) list(depth int, in []string) bool {
	w.at++
	before, rest := "", false // the element before, if it is a name that hides; rest is true behind one that hides all that follows
	for n := 0; ; n++ {
		if w.space(); w.ended(']') {
			return true
		}
		if c := w.body[w.at]; rest || w.unnamed && (c == '"' || c == '-' || c >= '0' && c <= '9') {
			begin := w.at
			w.skip()
			w.replace(begin, Hidden)
			continue
		}
		begin, item := w.at, w.peek()
		named := w.namesHidden(item, in)
		argument := strings.HasPrefix(before, "--") && !strings.HasPrefix(item, "-")
		if before != "" && (argument || !named) && w.scalar() && (argument || n == 1 && w.isLast()) {
			w.replace(begin, Hidden)
			w.hid(before)
			before = ""
			continue
		}
		if before = ""; named {
			before = item
		}
		w.at = begin
		if !w.value(depth+1, in) {
			return false
		}
		rest = w.body[begin] == '"' && w.namesRest(string(w.body[begin+1:w.at-1]), in)
	}
}

// ended reports whether an object or list ends here; a comma goes on to the next element.
func (w *jsonMasker) ended(end byte) bool {
	if w.body[w.at] == ',' {
		w.at++
		w.space()
		return false
	}
	if w.body[w.at] != end {
		return false
	}
	w.at++
	return true
}

func (w *jsonMasker) space() { w.at = message.SkipJSONSpace(w.body, w.at) }

// raw goes over a string and returns what stands between its quotes.
func (w *jsonMasker) raw() (raw []byte, escaped bool) {
	begin := w.at + 1
	w.at = message.SkipJSONString(w.body, w.at)
	raw = w.body[begin : w.at-1]
	return raw, bytes.IndexByte(raw, '\\') >= 0
}

// name reads the name of a member.
func (w *jsonMasker) name() []byte {
	raw, escaped := w.raw()
	if !escaped {
		return raw
	}
	return []byte(unescaped(raw))
}

// unescaped is what a JSON string with escapes says.
func unescaped(raw []byte) string {
	var text string
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	if err := json.Unmarshal(quoted, &text); err != nil { // it was valid
		return string(raw)
	}
	return text
}

// text copies a string without what its text hides.
func (w *jsonMasker) text(in []string) {
	begin := w.at
	raw, escaped := w.raw()
	if !escaped && !tellsMore(raw) {
		return
	}
	text := string(raw)
	if escaped {
		text = unescaped(raw)
	}
	if shown := w.Work.text(text, in, w.inside+1); shown != text {
		w.replace(begin, shown)
	}
}

// copyAddress copies the address of a queue under a name that is hidden elsewhere, and reports whether it is one.
func (w *jsonMasker) copyAddress(j judgement, in []string) bool {
	begin := w.at
	raw, escaped := w.raw()
	text := string(raw)
	if escaped {
		text = unescaped(raw)
	}
	w.at = begin
	if !j.isQueueAddress(text) {
		return false
	}
	w.text(in)
	return true
}

// skip goes over a value, however deep.
func (w *jsonMasker) skip() { w.at = message.SkipJSON(w.body, w.at) }

// replace writes a text in the place of the value that begins at a byte and has just been read.
func (w *jsonMasker) replace(begin int, text string) {
	w.out = append(w.out, w.body[w.copied:begin]...)
	w.out = appendJSONText(w.out, text)
	w.copied, w.changed = w.at, true
}

// appendJSONText writes a JSON string.
func appendJSONText(out []byte, text string) []byte {
	out = append(out, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ' || r == '\u2028' || r == '\u2029':
			out = append(out, `\u`...)
			hex := strconv.FormatInt(int64(r), 16)
			out = append(append(out, "0000"[len(hex):]...), hex...)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}
