package main

import (
	stdio "io"
	"strconv"
	"strings"
	"unicode"
)

// plainWriter writes text for a terminal: what a broker or a store says must not move the cursor, hide lines or turn text
// around. Each Write must hold whole characters, as those of package fmt do.
type plainWriter struct{ to stdio.Writer }

// Write implements io.Writer.
func (p plainWriter) Write(text []byte) (int, error) {
	if _, err := stdio.WriteString(p.to, plain(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// plain turns what does not print into its escape; line breaks stay.
func plain(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c == '\n' || unicode.IsPrint(c) {
			b.WriteRune(c)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(c)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
