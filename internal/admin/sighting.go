package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// typeString is the Type of a sighting of a Redis string, typeRow that of one in a SQL table.
const (
	typeString = "string"
	TypeRow    = "row"
)

const tokenMark = "token sha256:"

// maxCounter is the most bytes of what may be a retry counter.
const maxCounter = 64

// SameExpiry is how far two readings of one expiry may differ: servers before Redis 7 say only what is left.
const SameExpiry = time.Second

// MarkerTarget is how the audit names a marker: no two markers share it.
func MarkerTarget(store, key string) string { return store + "/" + Printable(key, MaxTarget) }

// MarkerOf is the marker that MarkerTarget named; false where its key was too long to be kept whole.
func MarkerOf(target string) (store, key string, ok bool) {
	store, printed, _ := strings.Cut(target, "/")
	key, err := strconv.Unquote(`"` + printed + `"`)
	if err != nil || key == "" || strings.Contains(printed, cutMark) {
		return "", "", false
	}
	return store, key, true
}

// Describe says in words what is in a store: "processing, expires 2026-11-21T03:12:07Z".
func Describe(s *dedup.Sighting) string {
	if s == nil {
		return "no marker"
	}
	text := string(s.State)
	if s.Owner != "" {
		text += " by " + Printable(ownerText(*s), 80)
	}
	if !s.Since.IsZero() {
		text += " since " + Stamp(s.Since)
	}
	switch {
	case s.ExpiresMillis != dedup.NoExpiry:
		text += ", expires " + Stamp(time.UnixMilli(s.ExpiresMillis))
	case s.Type != TypeRow:
		text += ", never expires"
	}
	return text
}

// WithoutValue returns a copy of a sighting without its value and without the words that may show some of it: values can be
// payload, and plans, operations and the audit outlive them.
func WithoutValue(s dedup.Sighting) *dedup.Sighting {
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

// WithoutDetail takes the words on a value that cannot be decoded out of a text about it.
func WithoutDetail(text string, now *dedup.Sighting) string {
	if now == nil || now.Detail == "" {
		return text
	}
	return strings.ReplaceAll(text, now.Detail, "cannot be decoded")
}

// ValueHash returns the SHA-256 of a value in hex: what plans, images and the audit hold of it.
func ValueHash(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}

// Confirmation returns what must be typed: the message id, or the beginning of the key's hash where the id cannot be
// typed.
func Confirmation(s dedup.Sighting) string {
	typeable := func(c rune) bool { return c > ' ' && c < 0x7f }
	if s.ID != "" && len(s.ID) <= 128 && strings.IndexFunc(s.ID, func(c rune) bool { return !typeable(c) }) < 0 {
		return s.ID
	}
	return "clear " + ValueHash([]byte(s.Key))[:8]
}

// OutcomeText says in words what became of a marker.
func OutcomeText(o dedup.Outcome) string {
	if o.Text == "" {
		return string(o.Result)
	}
	return string(o.Result) + ": " + o.Text
}
