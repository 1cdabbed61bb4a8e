package templates

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Text is a string from outside, made safe to look at: control, format and bidi characters are shown as visible
// escapes, and a long one is cut in the middle.
type Text struct {
	// Short is what is shown; Full is the whole, for the title attribute, and equal to Short when nothing was cut.
	Short string
	Full  string
}

const (
	// fullLimit bounds what even a title shows of a string: a store may hold 1 MB values.
	fullLimit = 600
	// sentenceLimit is beyond every sentence that is put together here: the names and errors in one are shortened before.
	sentenceLimit = 2400
	// foldLimit is beyond most of what is said in our words: a longer text shows its first lines.
	foldLimit = 600
)

// Plain returns the text of a hostile string, cut in the middle to at most limit characters.
func Plain(s string, limit int) Text {
	full := cutMiddle(Visible(s), max(fullLimit, limit))
	return Text{Short: cutMiddle(full, limit), Full: full}
}

// Sentence returns the text of what is said in our words, whole: a sentence that lost its middle lost its number or its
// meaning. What is hostile in it was shortened before it became part of it; the limit only keeps a megabyte off the page.
func Sentence(s string) Text {
	t := cutMiddle(Visible(s), sentenceLimit)
	return Text{Short: t, Full: t}
}

// long reports whether a text is too long to stand open among others.
func (t Text) long() bool { return utf8.RuneCountInString(t.Short) > foldLimit }

// Visible replaces every character that cannot be seen, or that changes the direction or place of others, by an escape
// such as \u202e. Bytes that are not UTF-8 become \xff. Of a very long string only what can be shown is kept.
func Visible(s string) string {
	if len(s) > 4*sentenceLimit { // work on what can be shown only
		s = s[:2*sentenceLimit] + "…" + s[len(s)-2*sentenceLimit:]
	}
	return Escape(s)
}

// Escape is Visible without its bound: for tables whose texts must be whole. Pages show Plain.
func Escape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case hidden(r) && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}

// hidden reports whether a character is invisible or moves others: controls, formats (which hold the bidi marks),
// private use, unassigned, line separators and every space but the ordinary one.
func hidden(r rune) bool {
	return r != ' ' && !unicode.IsPrint(r)
}

// cutMiddle shortens s to at most limit characters by replacing its middle with an ellipsis.
func cutMiddle(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	r := []rune(s)
	head := limit / 2
	tail := limit - head - 1
	return string(r[:head]) + "…" + string(r[len(r)-tail:])
}
