package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// nameLimit is the most bytes of a name in a sentence, namesShown how many names a sentence lists.
	nameLimit  = 120
	namesShown = 5
)

// Plain bounds a hostile string to max bytes and replaces everything that does not print: control characters, bidi
// overrides, broken UTF-8. Quotes stay as they are.
func Plain(s string, limit int) string {
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

// Name escapes the name of a queue, exchange or store for a sentence.
func Name(s string) string {
	q := strconv.Quote(Plain(s, nameLimit))
	return q[1 : len(q)-1]
}

// Names joins at most five names for a sentence, and says how many more there are.
func Names(list []string) string {
	if more := len(list) - namesShown; more > 0 {
		return fmt.Sprintf("%s and %d more", SomeNames(list), more)
	}
	return SomeNames(list)
}

// SomeNames joins at most five names for a sentence, without a word of the others.
func SomeNames(list []string) string {
	shown := make([]string, 0, namesShown)
	for _, s := range list[:min(len(list), namesShown)] {
		shown = append(shown, Name(s))
	}
	return strings.Join(shown, ", ")
}

// Capitalised returns a sentence whose first letter, where it is one of ASCII, is a capital.
func Capitalised(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
