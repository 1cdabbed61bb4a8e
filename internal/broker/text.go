package broker

import (
	"dedup-dashboard/internal/text"
	"strconv"
	"strings"
	"unicode"
)

// maxQuoted is how many bytes of a foreign text a message repeats.
const maxQuoted = 120

// Quote returns a foreign text between quotation marks, with control, bidi and invalid characters escaped and its
// length capped, so that a name can neither break a line, reverse it nor fill a page.
func Quote(s string) string { return text.Quoted(s, maxQuoted) }

// shellWord returns s as one word for a POSIX shell, or for bash where s holds characters that do not print.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	quoted := strconv.QuoteToASCII(s)
	return "$'" + strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), "'", `\'`) + "'"
}
