package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

// maxTarget is the most bytes of a target in the audit.
const maxTarget = 512

// printable returns s with everything that is not graphic escaped as in Go source: control and bidi characters and bytes
// that are not UTF-8, and quotes. Two strings never share a printable form unless they are longer than n bytes; those end in their hash.
func printable(s string, n int) string { return cut(s, escaped(s), n) }

// legible is printable with quotes as they are, for text that is to be read and not written into a filter.
func legible(s string, n int) string {
	return cut(s, strings.ReplaceAll(escaped(s), `\"`, `"`), n) // each quote has a backslash of its own
}

func escaped(s string) string {
	if plain(s) {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return quoted[1 : len(quoted)-1]
}

// cut shortens what was made of s to n bytes, the last of which are the hash of s.
func cut(s, out string, n int) string {
	if len(out) <= n {
		return out
	}
	sum := sha256.Sum256([]byte(s))
	tail := "…sha256:" + hex.EncodeToString(sum[:8])
	end := max(0, n-len(tail))
	for end > 0 && !utf8.RuneStart(out[end]) {
		end--
	}
	return out[:end] + tail
}

func plain(s string) bool {
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

// markerTarget is how the audit names a marker: no two markers share it.
func markerTarget(store, key string) string { return store + "/" + printable(key, maxTarget) }

// describe says in words what is in a store: "processing, expires 2026-11-21T03:12:07Z".
func describe(s *dedup.Sighting) string {
	if s == nil {
		return "no marker"
	}
	text := string(s.State)
	if s.Owner != "" {
		text += " by " + printable(ownerText(*s), 80)
	}
	if !s.Since.IsZero() {
		text += " since " + stamp(s.Since)
	}
	switch {
	case s.ExpiresMillis != dedup.NoExpiry:
		text += ", expires " + stamp(time.UnixMilli(s.ExpiresMillis))
	case s.Type != typeRow:
		text += ", never expires"
	}
	return text
}

// withoutValue returns a copy of a sighting without its value and without the words that may show some of it: values can be
// payload, and plans, operations and the audit outlive them.
func withoutValue(s dedup.Sighting) *dedup.Sighting {
	s.Value, s.Detail = nil, ""
	s.Owner = ownerText(s)
	if s.State == dedup.StateUnknown {
		s.Status = ""
	}
	if s.Retry != nil && len(s.Retry.Value) > maxCounter {
		s.Retry = nil // what is longer than any number is no counter
	}
	return &s
}

// ownerText names the owner of a marker. Of a lock whose whole value is the owner's token it is a hash: who knows the token
// can end the lock.
func ownerText(s dedup.Sighting) string {
	if s.Owner == "" || s.Type != typeString || strings.HasPrefix(s.Owner, tokenMark) {
		return s.Owner
	}
	return hiddenOwner(s.Owner)
}

func hiddenOwner(owner string) string { return tokenMark + ValueHash([]byte(owner))[:12] }

const tokenMark = "token sha256:"

// withoutDetail takes the words on a value that cannot be decoded out of a text about it.
func withoutDetail(text string, now *dedup.Sighting) string {
	if now == nil || now.Detail == "" {
		return text
	}
	return strings.ReplaceAll(text, now.Detail, "cannot be decoded")
}

// typeString is the Type of a sighting of a Redis string, typeRow that of one in a SQL table.
const (
	typeString = "string"
	typeRow    = "row"
)

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// ValueHash returns the SHA-256 of a value in hex: what plans, images and the audit hold of it.
func ValueHash(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}

// span writes a duration for people: 90 s, 15 min, 3 h, 7 d.
func span(d time.Duration) string {
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

// plural writes a count with its noun: 1 marker, 2 markers.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
