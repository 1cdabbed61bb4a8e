package collector

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

// plain bounds a hostile string to max bytes and replaces everything that does not print: control characters, bidi
// overrides, broken UTF-8. Quotes stay as they are.
func plain(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError || r >= utf8.RuneSelf {
			s = s[:len(s)-size]
		}
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if cut {
		s += "…"
	}
	return s
}

// name quotes the name of a queue, exchange or store for a sentence.
func name(s string) string {
	q := strconv.Quote(plain(s, 120))
	return q[1 : len(q)-1]
}

// names joins at most five names for a sentence.
func names(refs []dedup.QueueRef) string {
	const most = 5
	var b strings.Builder
	for i, r := range refs {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(refs)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(r.Name))
	}
	return b.String()
}
