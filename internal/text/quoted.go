package text

import (
	"strconv"
	"unicode/utf8"
)

// Quoted shows a foreign text of at most n bytes between quotation marks, with control, bidi and invalid characters escaped, so that it can
// neither break a line, reverse it nor fill a page.
func Quoted(s string, n int) string {
	if len(s) <= n {
		return strconv.Quote(s)
	}
	cut := n
	for cut > n-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}
