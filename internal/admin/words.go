package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxTarget is the most bytes of a target in the audit.
const MaxTarget = 512

// Printable returns s with everything that is not graphic escaped as in Go source: control and bidi characters and bytes
// that are not UTF-8, and quotes. Two strings never share a printable form unless they are longer than n bytes; those end in their hash.
func Printable(s string, n int) string { return cut(s, escaped(s), n) }

// Legible is printable with quotes as they are, for text that is to be read and not written into a filter.
func Legible(s string, n int) string {
	return cut(s, strings.ReplaceAll(escaped(s), `\"`, `"`), n) // each quote has a backslash of its own
}

func escaped(s string) string {
	if Plain(s) {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return quoted[1 : len(quoted)-1]
}

// cutMark stands between what is left of a text and its hash.
const cutMark = "…sha256:"

// cut shortens what was made of s to n bytes, the last of which are the hash of s.
func cut(s, out string, n int) string {
	if len(out) <= n {
		return out
	}
	sum := sha256.Sum256([]byte(s))
	tail := cutMark + hex.EncodeToString(sum[:8])
	end := max(0, n-len(tail))
	for end > 0 && !utf8.RuneStart(out[end]) {
		end--
	}
	return out[:end] + tail
}

// Plain reports whether a text can stand as it is: graphic characters alone, without quotes and backslashes.
func Plain(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r == '\\' || r == '"' || !unicode.IsGraphic(r) {
			return false
		}
	}
	return true
}

// Stamp writes a time to the second, in UTC.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// Span writes a duration for people: 90 s, 15 min, 3 h, 7 d.
func Span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	default:
		return fmt.Sprintf("%d s", d/time.Second)
	}
}

// Plural writes a count with its noun: 1 marker, 2 markers.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// WriteField adds a field with its length, so that no two lists of fields look the same.
func WriteField(h hash.Hash, s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
