package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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
// the first death; and requeues>=n. There are no other ones, and no regular expressions.
type Filter struct{ terms []term }

// The fields of a filter.
const (
	fieldReason    = "reason"
	fieldSource    = "source"
	fieldExchange  = "exchange"
	fieldRoute     = "route"
	fieldType      = "type"
	fieldID        = "id"
	fieldException = "exception"
	fieldClass     = "class"
	fieldBody      = "body"
	fieldHeader    = "header."
	fieldBefore    = "before"
	fieldAfter     = "after"
	fieldRequeues  = "requeues"
)

// textFields are compared whole or by their beginning.
func textFields() []string {
	return []string{fieldReason, fieldSource, fieldExchange, fieldRoute, fieldType, fieldID, fieldException, fieldClass}
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
	// at is the value of before and after, least that of requeues.
	at    time.Time
	least int
}

// ParseFilter reads a filter. Its errors are for the person who wrote it.
func ParseFilter(text string) (Filter, error) {
	if len(text) > MaxFilter {
		return Filter{}, invalid(fmt.Sprintf("A filter has at most %d bytes", MaxFilter))
	}
	if !utf8.ValidString(text) {
		return Filter{}, invalid("A filter is text in UTF-8")
	}
	var f Filter
	for p := (&filterParser{rest: text}); ; {
		p.skipSpace()
		if p.rest == "" {
			return f, nil
		}
		t, err := p.term()
		if err != nil {
			return Filter{}, err
		}
		if f.terms = append(f.terms, t); len(f.terms) > MaxFilterTerms {
			return Filter{}, invalid(fmt.Sprintf("A filter has at most %d terms", MaxFilterTerms))
		}
	}
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
		return b.String() + ":" + t.at.Format(time.RFC3339Nano)
	case fieldHeader:
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
	if s != "" && plain(s) && !strings.ContainsAny(s, " \u00a0\u2003\u3000"+special) && len(strings.Fields(s)) == 1 {
		return s
	}
	return strconv.QuoteToGraphic(s)
}

// filterParser takes terms off the front of a text.
type filterParser struct{ rest string }

func (p *filterParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *filterParser) term() (term, error) {
	var t term
	p.rest, t.not = cutMinus(p.rest)
	name, err := p.name()
	if err != nil {
		return term{}, err
	}
	if strings.HasPrefix(name, fieldHeader) {
		t.field, t.header = fieldHeader, strings.TrimPrefix(name, fieldHeader)
		if t.header == "" {
			return term{}, invalid("Name the header: header.NAME:value")
		}
	} else {
		t.field = name
	}
	if t.field == fieldRequeues {
		return p.requeues(t)
	}
	if !slices.Contains(textFields(), t.field) && !slices.Contains([]string{fieldBody, fieldHeader, fieldBefore, fieldAfter}, t.field) {
		return term{}, invalid(fmt.Sprintf("There is no field %q; use %s, body, header.NAME, before, after or requeues>=n",
			clipWord(t.field), strings.Join(textFields(), ", ")))
	}
	if !strings.HasPrefix(p.rest, ":") {
		return term{}, invalid(fmt.Sprintf("Write %s:value", clipWord(name)))
	}
	p.rest = p.rest[1:]
	if t.value, t.prefix, err = p.value(name); err != nil {
		return term{}, err
	}
	return t.finish()
}

func cutMinus(s string) (string, bool) {
	rest, not := strings.CutPrefix(s, "-")
	return rest, not
}

// name takes a field name, of which that of a header may be quoted.
func (p *filterParser) name() (string, error) {
	if rest, ok := strings.CutPrefix(p.rest, fieldHeader+`"`); ok {
		p.rest = `"` + rest
		header, err := p.quoted()
		return fieldHeader + header, err
	}
	end := strings.IndexAny(p.rest, ":> \t\r\n\"")
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	if name == "" || p.rest == "" || p.rest[0] != ':' && p.rest[0] != '>' {
		return "", invalid(fmt.Sprintf("%q is no term; write field:value", clipWord(name)))
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
			return "", false, invalid(fmt.Sprintf(`%s has no value; write %s:"" for letters that have none`, clipWord(name), clipWord(name)))
		case strings.ContainsAny(value, `"*\`):
			return "", false, invalid(fmt.Sprintf("Quote the value of %s: a quote, star or backslash stands in it", clipWord(name)))
		}
		return value, prefix, nil
	}
	p.rest, prefix = strings.CutPrefix(p.rest, "*")
	if p.rest != "" && !strings.ContainsAny(p.rest[:1], " \t\r\n") {
		return "", false, invalid(fmt.Sprintf("There must be a space behind the value of %s", clipWord(name)))
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
			text, err := strconv.Unquote(p.rest[:i+1])
			if err != nil {
				return "", invalid(fmt.Sprintf("%s is no quoted value; write a quote as \\\" and a backslash as \\\\", clipWord(p.rest[:i+1])))
			}
			p.rest = p.rest[i+1:]
			return text, nil
		}
	}
	return "", invalid("A quote is not closed")
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
		return term{}, invalid("Write requeues>=n with a whole number n")
	}
	t.least, p.rest = int(n), rest[end:]
	return t, nil
}

// finish checks a value for its field.
func (t term) finish() (term, error) {
	switch t.field {
	case fieldBefore, fieldAfter:
		at, err := filterTime(t.value)
		if err != nil || t.prefix {
			return term{}, invalid(fmt.Sprintf("%q is no time for %s; write 2026-11-21, 2026-11-21T03:00Z or 2026-11-21T03:00:00Z", clipWord(t.value), t.field))
		}
		t.at, t.value = at, ""
	case fieldClass:
		if !t.prefix && !slices.Contains(Classes(), Class(t.value)) && t.value != "" {
			return term{}, invalid(fmt.Sprintf("There is no class %q; use runs, last_attempt, may_run_twice, skipped, swallowed_perhaps, swallowed, blocks or unknown", clipWord(t.value)))
		}
	case fieldBody:
		if t.value == "" || t.prefix {
			return term{}, invalid("Write body:text or body:\"text\" to look for a part of the body; a star has no meaning there")
		}
	}
	return t, nil
}

// filterTime reads a time; without a zone it is UTC.
func filterTime(s string) (time.Time, error) {
	var err error
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		var at time.Time
		if at, err = time.Parse(layout, s); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, err
}

// clipWord shortens what somebody typed for an error message.
func clipWord(s string) string { return printable(s, 60) }
