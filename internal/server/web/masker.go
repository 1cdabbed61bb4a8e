package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

// A Masker hides values from those who may not see them. It turns hashes of what is hidden into ones that nobody can try guesses
// against: a phone number is found by its SHA-256 within a second. Equal values have equal ones, for as long as the installation
// keeps its key.
type Masker struct{ key []byte }

// NewMasker returns the masker of a key; without one, of a key of its own until the program ends.
func NewMasker(key []byte) Masker {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails (crypto/rand since Go 1.24)
	}
	return Masker{key}
}

// Hash returns a SHA-256 as a role may see it: admins, who can see the value itself, as it is, and everybody else keyed.
func (s Masker) Hash(who auth.Principal, sum string) string {
	if sum == "" || who.Can(auth.Admin) {
		return sum
	}
	return s.Keyed(sum)
}

// Keyed is the hash of a text under the key of the installation.
func (s Masker) Keyed(text string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// ValueHashes are the hash of a value or of a plan for admins, and the keyed one for others.
type ValueHashes struct {
	SHA256 string `json:"value_sha256"`
	Keyed  string `json:"value_keyed_hash"`
}

// ValueHashesOf is the hash of a value as a role may see it.
func (s Masker) ValueHashesOf(who auth.Principal, sum string) ValueHashes {
	if who.Can(auth.Admin) {
		return ValueHashes{SHA256: sum}
	}
	return ValueHashes{Keyed: s.Hash(who, sum)}
}

// HashName says which of the two a role sees.
func HashName(who auth.Principal) string {
	if who.Can(auth.Admin) {
		return "SHA-256"
	}
	return "Keyed hash"
}

// A Reader is who reads a page, with the masker of what is hidden from them.
type Reader struct {
	Masker
	Who auth.Principal
}

// Masked returns a marker as a role may see it: every marker that is shown, in whatever form, has passed here. Values can be
// payload, and the owner of a lock can be the token that ends it. So admins see both; operators see the shape of a value
// that could not be decoded, viewers nothing of it; and both see of an owner a keyed hash, by which two owners can be told apart.
func (s Masker) Masked(m dedup.Marker, who auth.Principal) dedup.Marker {
	if who.Can(auth.Admin) {
		return m
	}
	m.Owner = s.owner(m.Owner)
	if m.State == dedup.StateUnknown {
		m.Status = "" // it is no status then, but what stands in its place
	}
	if who.Can(auth.Operator) {
		m.Sample = MaskValue([]byte(m.Sample))
	} else {
		m.Sample = ""
	}
	return m
}

// holders matches the owners of a lock of Redisson: a client's UUID and its thread. They name a consumer and are no secret.
var holders = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+(, [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+)*$`)

// owner hides an owner that may be a token: who knows the token of a lock can end it.
func (s Masker) owner(owner string) string {
	if owner == "" || holders.MatchString(owner) {
		return owner
	}
	return fmt.Sprintf("keyed:%s, %s", s.Keyed(owner)[:12], show.Counted(len(owner), "byte"))
}

// ValueChars is how much of a value pages show.
const ValueChars = 600

// MaskValue hides what a value says and keeps its shape; a value that is only a status word stays.
func MaskValue(value []byte, words ...string) string {
	for _, w := range words {
		if w != "" && string(value) == w {
			return w
		}
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c >= '0' && c <= '9':
			return '0'
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c > 0x7f:
			return 'x'
		default:
			return c
		}
	}, string(value[:min(len(value), 4*ValueChars)]))
}
