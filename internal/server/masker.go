package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/web"
)

// A masker hides values from those who may not see them. It turns hashes of what is hidden into ones that nobody can try guesses
// against: a phone number is found by its SHA-256 within a second. Equal values have equal ones, for as long as the installation
// keeps its key.
type masker struct{ key []byte }

// newMasker returns the masker of a key; without one, of a key of its own until the program ends.
func newMasker(key []byte) masker {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails (crypto/rand since Go 1.24)
	}
	return masker{key}
}

// hash returns a SHA-256 as a role may see it: admins, who can see the value itself, as it is, and everybody else keyed.
func (s masker) hash(who auth.Principal, sum string) string {
	if sum == "" || who.Can(adminRole) {
		return sum
	}
	return s.keyed(sum)
}

func (s masker) keyed(text string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// valueHashes are the hash of a value or of a plan for admins, and the keyed one for others.
type valueHashes struct {
	SHA256 string `json:"value_sha256"`
	Keyed  string `json:"value_keyed_hash"`
}

func (s masker) valueHashes(who auth.Principal, sum string) valueHashes {
	if who.Can(adminRole) {
		return valueHashes{SHA256: sum}
	}
	return valueHashes{Keyed: s.hash(who, sum)}
}

// hashName says which of the two a role sees.
func hashName(who auth.Principal) string {
	if who.Can(adminRole) {
		return "SHA-256"
	}
	return "Keyed hash"
}

// A reader is who reads a page, with the masker of what is hidden from them.
type reader struct {
	masker
	who auth.Principal
}

// reader returns who asks.
func (s *Server) reader(r *web.Request) reader { return reader{s.masker, r.Who} }
