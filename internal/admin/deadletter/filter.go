package deadletter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/text"
)

// The bounds of a filter.
const (
	MaxFilter      = 1024 // bytes
	MaxFilterTerms = 20
)

// A Filter selects dead letters. It is a list of terms that a letter must meet all. The zero value meets every letter.
//
// A term is field:value, with a minus before it to turn it round and a star behind the value for a beginning. A value with
// spaces or quotes is written as a Go string: source:"a b"*. The fields are reason, source, exchange, route, type, id,
// exception and class; body, which looks for a part of the text; header.NAME; before and after, which compare the time of
// the newest death that is known; and requeues>=n. There are no other ones, and no regular expressions.
type Filter struct{ terms []term }

// The fields of a filter.
const (
	fieldReason    = "reason"
	fieldSource    = "source"
	fieldExchange  = "exchange"
	fieldRoute     = "route"
	FieldType      = "type"
	fieldID        = "id"
	FieldException = "exception"
	FieldClass     = "class"
	FieldBody      = "body"
	FieldHeader    = "header."
	fieldBefore    = "before"
	fieldAfter     = "after"
	fieldRequeues  = "requeues"
)

// textFields are compared whole or by their beginning.
func textFields() []string {
	return []string{fieldReason, fieldSource, fieldExchange, fieldRoute, FieldType, fieldID, FieldException, FieldClass}
}

// A term is one condition.
type term struct {
	not   bool
	field string
	// header is the name of the header where field is fieldHeader.
	header string
	value  string
	// prefix compares the beginning only.
	prefix bool
	// at is the value of before and after, which was written as it would mean another time elsewhere or later unless absolute is set; least
	// is the value of requeues.
	at       time.Time
	absolute bool
	least    int
}

// ParseFilter reads a filter. Times without an offset are read in the zone of now, and before now: 15:00 is the last one, 2h is two
// hours ago. What String returns is the same to every reader at any time. Its errors are for the person who wrote it.
func ParseFilter(words string, now time.Time) (Filter, error) {
	if len(words) > MaxFilter {
		return Filter{}, errLongFilter()
	}
	if !utf8.ValidString(words) {
		return Filter{}, admin.Invalid("A filter is text in UTF-8")
	}
	var f Filter
	for p := (&filterParser{rest: words, now: now}); ; {
		p.skipSpace()
		if p.rest == "" {
			if len(f.String()) > MaxFilter { // it is kept in this form, and read again
				return Filter{}, errLongFilter()
			}
			return f, nil
		}
		t, err := p.term()
		if err != nil {
			return Filter{}, err
		}
		if f.terms = append(f.terms, t); len(f.terms) > MaxFilterTerms {
			return Filter{}, admin.Invalid(fmt.Sprintf("A filter has at most %d terms", MaxFilterTerms))
		}
	}
}

func errLongFilter() error {
	return admin.Invalid(fmt.Sprintf("A filter has at most %d bytes, with its times and quotes written out", MaxFilter))
}

// A FilterTime is a bound that a filter sets to the time of a death.
type FilterTime struct {
	// From is set where it selects what died at this time or later, else it selects what died before.
	From bool
	At   time.Time
	// Unknown is set where letters of which no time is known are selected too.
	Unknown bool
}

// Absolute reports whether the filter was written so that its times mean the same to every reader at any time.
func (f Filter) Absolute() bool {
	return !slices.ContainsFunc(f.terms, func(t term) bool { return (t.field == fieldBefore || t.field == fieldAfter) && !t.absolute })
}

// Times are the bounds of a filter in its order.
func (f Filter) Times() []FilterTime {
	var times []FilterTime
	for _, t := range f.terms {
		if t.field == fieldAfter || t.field == fieldBefore {
			times = append(times, FilterTime{From: (t.field == fieldAfter) != t.not, At: t.at, Unknown: t.not})
		}
	}
	return times
}

// Empty reports whether the filter meets every letter.
func (f Filter) Empty() bool { return len(f.terms) == 0 }

// String returns the filter in its shortest unambiguous form.
func (f Filter) String() string {
	words := make([]string, len(f.terms))
	for i, t := range f.terms {
		words[i] = t.String()
	}
	return strings.Join(words, " ")
}

func (t term) String() string {
	var b strings.Builder
	if t.not {
		b.WriteByte('-')
	}
	b.WriteString(t.field)
	switch t.field {
	case fieldRequeues:
		return b.String() + ">=" + strconv.Itoa(t.least)
	case fieldBefore, fieldAfter:
		return b.String() + ":" + text.Absolute(t.at)
	case FieldHeader:
		b.WriteString(quoteWord(t.header, ":*>"))
	}
	b.WriteByte(':')
	b.WriteString(quoteWord(t.value, "*"))
	if t.prefix {
		b.WriteByte('*')
	}
	return b.String()
}

// quoteWord quotes a word unless it can stand bare.
func quoteWord(s, special string) string {
	if s != "" && admin.Plain(s) && !strings.ContainsAny(s, " \u00a0\u2003\u3000"+special) && len(strings.Fields(s)) == 1 {
		return s
	}
	return strconv.QuoteToGraphic(s)
}

// filterParser takes terms off the front of a text.
type filterParser struct {
	rest string
	now  time.Time
}

func (p *filterParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *filterParser) term() (term, error) {
	var t term
	p.rest, t.not = cutMinus(p.rest)
	name, err := p.name()
	if err != nil {
		return term{}, err
	}
	if strings.HasPrefix(name, FieldHeader) {
		t.field, t.header = FieldHeader, strings.TrimPrefix(name, FieldHeader)
		if t.header == "" {
			return term{}, admin.Invalid("Name the header: header.NAME:value")
		}
	} else {
		t.field = name
	}
	if t.field == fieldRequeues {
		return p.requeues(t)
	}
	if !slices.Contains(textFields(), t.field) && !slices.Contains([]string{FieldBody, FieldHeader, fieldBefore, fieldAfter}, t.field) {
		return term{}, admin.Invalid(fmt.Sprintf("There is no field %q; use %s, body, header.NAME, before, after or requeues>=n",
			ClipWord(t.field), strings.Join(textFields(), ", ")))
	}
	if !strings.HasPrefix(p.rest, ":") {
		return term{}, admin.Invalid(fmt.Sprintf("Write %s:value", ClipWord(name)))
	}
	p.rest = p.rest[1:]
	if t.value, t.prefix, err = p.value(name); err != nil {
		return term{}, err
	}
	if t.field == fieldBefore || t.field == fieldAfter {
		return p.moment(t)
	}
	return t.finish()
}

// moment reads the time of before and after. People write it with spaces: after:2026-11-23 15:00.
func (p *filterParser) moment(t term) (term, error) {
	for {
		p.skipSpace()
		end := strings.IndexAny(p.rest, " \t\r\n")
		if end < 0 {
			end = len(p.rest)
		}
		if word := p.rest[:end]; word == "" || isTerm(word) {
			break
		}
		t.value += " " + p.rest[:end]
		p.rest = p.rest[end:]
	}
	m, err := text.Reader{Now: p.now}.Read(t.value)
	if err != nil || t.prefix {
		return term{}, admin.Invalid(fmt.Sprintf("%q is no time for %s; write 15:00, yesterday 15:00, 2h, 2026-11-21, 2026-11-21 03:00, or 2026-11-21T03:00Z for UTC",
			ClipWord(t.value), t.field))
	}
	if doubt := m.Doubt(); doubt != "" {
		return term{}, admin.Invalid(fmt.Sprintf("%s:%s has no clear meaning. %s", t.field, ClipWord(t.value), doubt))
	}
	_, notExact := time.Parse(time.RFC3339Nano, t.value)
	t.at, t.absolute, t.value = m.At, notExact == nil, ""
	return t, nil
}

// isTerm tells a word that begins a term from one that goes on with a time: 15:00, hours, ago.
func isTerm(word string) bool {
	return strings.ContainsAny(word, `:>"`) && (word[0] < '0' || word[0] > '9')
}

func cutMinus(s string) (string, bool) {
	rest, not := strings.CutPrefix(s, "-")
	return rest, not
}

// name takes a field name, of which that of a header may be quoted.
func (p *filterParser) name() (string, error) {
	if rest, ok := strings.CutPrefix(p.rest, FieldHeader+`"`); ok {
		p.rest = `"` + rest
		header, err := p.quoted()
		return FieldHeader + header, err
	}
	end := strings.IndexAny(p.rest, ":> \t\r\n\"")
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	if name == "" || p.rest == "" || p.rest[0] != ':' && p.rest[0] != '>' {
		return "", admin.Invalid(fmt.Sprintf("%q is no term; write field:value", ClipWord(name)))
	}
	return name, nil
}

// value takes a bare or quoted value, and the star behind it.
func (p *filterParser) value(name string) (value string, prefix bool, err error) {
	if strings.HasPrefix(p.rest, `"`) {
		if value, err = p.quoted(); err != nil {
			return "", false, err
		}
	} else {
		end := strings.IndexAny(p.rest, " \t\r\n")
		if end < 0 {
			end = len(p.rest)
		}
		value, p.rest = p.rest[:end], p.rest[end:]
		value, prefix = strings.CutSuffix(value, "*")
		switch {
		case value == "":
			return "", false, admin.Invalid(fmt.Sprintf(`%s has no value; write %s:"" for letters that have none`, ClipWord(name), ClipWord(name)))
		case strings.ContainsAny(value, `"*\`):
			return "", false, admin.Invalid(fmt.Sprintf("Quote the value of %s: a quote, star or backslash stands in it", ClipWord(name)))
		}
		return value, prefix, nil
	}
	p.rest, prefix = strings.CutPrefix(p.rest, "*")
	if p.rest != "" && !strings.ContainsAny(p.rest[:1], " \t\r\n") {
		return "", false, admin.Invalid(fmt.Sprintf("There must be a space behind the value of %s", ClipWord(name)))
	}
	return value, prefix, nil
}

// quoted takes a Go string.
func (p *filterParser) quoted() (string, error) {
	for i := 1; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '"':
			unquoted, err := strconv.Unquote(p.rest[:i+1])
			if err != nil {
				return "", admin.Invalid(fmt.Sprintf("%s is no quoted value; write a quote as \\\" and a backslash as \\\\", ClipWord(p.rest[:i+1])))
			}
			p.rest = p.rest[i+1:]
			return unquoted, nil
		}
	}
	return "", admin.Invalid("A quote is not closed")
}

// requeues takes the bound of requeues>=n.
func (p *filterParser) requeues(t term) (term, error) {
	rest, ok := strings.CutPrefix(p.rest, ">=")
	end := strings.IndexAny(rest, " \t\r\n")
	if end < 0 {
		end = len(rest)
	}
	n, err := strconv.ParseUint(rest[:end], 10, 31)
	if !ok || err != nil {
		return term{}, admin.Invalid("Write requeues>=n with a whole number n")
	}
	t.least, p.rest = int(n), rest[end:]
	return t, nil
}

// finish checks a value for its field.
func (t term) finish() (term, error) {
	switch t.field {
	case FieldClass:
		if !t.prefix && !slices.Contains(preflight.Classes(), preflight.Class(t.value)) && t.value != "" {
			return term{}, admin.Invalid(fmt.Sprintf("There is no class %q; use runs, last_attempt, may_run_twice, skipped, swallowed_perhaps, swallowed, blocks or unknown", ClipWord(t.value)))
		}
	case FieldBody:
		if t.value == "" || t.prefix {
			return term{}, admin.Invalid("Write body:text or body:\"text\" to look for a part of the body; a star has no meaning there")
		}
	}
	return t, nil
}

// ClipWord shortens what somebody typed for an error message.
func ClipWord(s string) string { return admin.Printable(s, 60) }
