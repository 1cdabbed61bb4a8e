package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// The cost of a password hash: the OWASP minimum for argon2id (Password Storage Cheat Sheet): 19 MiB, 2 passes, 1 lane.
const (
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
	saltLength   = 16
	keyLength    = 32
)

// The bounds of a hash that is accepted from a configuration, so that none can exhaust the machine.
const (
	maxArgonMemory  = 256 * 1024 // KiB
	maxArgonTime    = 10
	maxArgonThreads = 8
	maxBcryptCost   = 14
	maxBcryptBytes  = 72
)

// MinPassword is how many characters a new password has at least.
const MinPassword = 12

const maxPassword = 1024 // bytes

// CheckPassword returns why a new password is not acceptable: it needs 12 characters or more, and nothing else.
func CheckPassword(password, name string) error {
	switch {
	case utf8.RuneCountInString(password) < MinPassword:
		return fmt.Errorf("the password needs %d characters or more; a few words in a row are fine", MinPassword)
	case len(password) > maxPassword:
		return fmt.Errorf("the password is longer than %d bytes", maxPassword)
	case name != "" && strings.EqualFold(password, name):
		return errors.New("the password must not be the name")
	}
	return nil
}

// HashPassword returns the argon2id hash of a password in PHC notation, as `password_hash` takes it.
func HashPassword(password string) (string, error) {
	if err := CheckPassword(password, ""); err != nil {
		return "", err
	}
	return hashPassword(password), nil
}

func hashPassword(password string) string {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails (crypto/rand since Go 1.24)
	return argonHash{argonMemory, argonTime, argonThreads, salt, make([]byte, keyLength)}.of(password).String()
}

// argonHash is an argon2id hash.
type argonHash struct {
	memory, time uint32
	threads      uint8
	salt, key    []byte
}

// of returns the hash of a password with the salt and the cost of another one.
func (h argonHash) of(password string) argonHash {
	h.key = argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, uint32(len(h.key)))
	return h
}

// String writes the hash in PHC notation.
func (h argonHash) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads,
		base64.RawStdEncoding.EncodeToString(h.salt), base64.RawStdEncoding.EncodeToString(h.key))
}

// random returns a hash of the same cost that no password is known to fit.
func (h argonHash) random() argonHash {
	h.salt, h.key = slices.Clone(h.salt), slices.Clone(h.key)
	_, _ = rand.Read(h.salt)
	_, _ = rand.Read(h.key)
	return h
}

func parseArgon(phc string) (argonHash, error) {
	m := validPHC.FindStringSubmatch(phc)
	if m == nil {
		return argonHash{}, errors.New("not an argon2id hash in PHC form")
	}
	memory, _ := strconv.ParseUint(m[1], 10, 32)
	passes, _ := strconv.ParseUint(m[2], 10, 32)
	threads, _ := strconv.ParseUint(m[3], 10, 8)
	if passes < 1 || passes > maxArgonTime || threads < 1 || threads > maxArgonThreads ||
		memory < 8*threads || memory > maxArgonMemory {
		return argonHash{}, fmt.Errorf("its cost (m=%d,t=%d,p=%d) is out of bounds; at most m=%d,t=%d,p=%d",
			memory, passes, threads, maxArgonMemory, maxArgonTime, maxArgonThreads)
	}
	salt, err := base64.RawStdEncoding.DecodeString(m[4])
	if err != nil {
		return argonHash{}, errors.New("its salt is not base64")
	}
	key, err := base64.RawStdEncoding.DecodeString(m[5])
	if err != nil {
		return argonHash{}, errors.New("its hash is not base64")
	}
	return argonHash{uint32(memory), uint32(passes), uint8(threads), salt, key}, nil
}

func isBcrypt(hash string) bool {
	return strings.HasPrefix(hash, "$2a$") || strings.HasPrefix(hash, "$2b$") || strings.HasPrefix(hash, "$2y$")
}

// checkHash returns why a password hash cannot be used.
func checkHash(hash string) error {
	switch {
	case hash == "":
		return errors.New("missing")
	case isBcrypt(hash):
		cost, err := bcrypt.Cost([]byte(hash))
		if err != nil {
			return errors.New("not a whole bcrypt hash")
		}
		if cost > maxBcryptCost {
			return fmt.Errorf("bcrypt cost %d is above %d", cost, maxBcryptCost)
		}
		return nil
	default:
		_, err := parseArgon(hash)
		return err
	}
}

// verify reports whether the password belongs to the hash. A hash that cannot be parsed belongs to no password.
func verify(hash, password string) bool {
	if len(password) > maxPassword {
		return false
	}
	if isBcrypt(hash) {
		return len(password) <= maxBcryptBytes && checkHash(hash) == nil &&
			bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
	}
	h, err := parseArgon(hash)
	if err != nil {
		return false
	}
	return subtle.ConstantTimeCompare(h.of(password).key, h.key) == 1
}

// ErrBusy means that too many passwords are being checked at once; trying again a little later helps.
var ErrBusy = errors.New("too many sign-ins at once")

// A hasher lets at most two hashes run at once, so that a flood of sign-ins cannot take all memory and both cores.
type hasher struct {
	slots chan struct{}
	// dummies are verified for names that do not exist, so that these take as long as those that do: one for each account of the
	// configuration, of the kind and cost of its hash, and one for those of the journal.
	dummies []string
	// verify checks a password; a field so that tests can count what is checked.
	verify func(hash, password string) bool
}

func newHasher(hashes []string) *hasher {
	ours := argonHash{memory: argonMemory, time: argonTime, threads: argonThreads, salt: make([]byte, saltLength), key: make([]byte, keyLength)}
	h := &hasher{slots: make(chan struct{}, 2), dummies: []string{ours.random().String()}, verify: verify}
	for _, hash := range hashes {
		h.dummies = append(h.dummies, dummyLike(hash))
	}
	return h
}

// dummyFor returns the hash to check for a name that does not exist. A name has the same one always, under a key that nobody outside has:
// so names are spread over kinds and costs as accounts are, and the time that one takes says nothing about it.
func (h *hasher) dummyFor(key []byte, name string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("dummy " + name))
	return h.dummies[binary.BigEndian.Uint64(mac.Sum(nil))%uint64(len(h.dummies))]
}

// dummyLike returns a hash that costs as much as the one given, and that no password is known to fit.
func dummyLike(hash string) string {
	if isBcrypt(hash) {
		// The header with its cost, 22 characters of salt and 31 of hash; the last of each holds fewer bits, and '.' is none.
		return hash[:7] + bcryptText(21) + "." + bcryptText(30) + "."
	}
	a, err := parseArgon(hash)
	if err != nil {
		return hash
	}
	return a.random().String()
}

// bcryptText returns n characters of the alphabet of bcrypt.
func bcryptText(n int) string {
	const alphabet = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = alphabet[b[i]%64]
	}
	return string(b)
}

func (h *hasher) do(ctx context.Context, work func()) error {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
	}
	defer func() { <-h.slots }()
	work()
	return nil
}
