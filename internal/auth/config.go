package auth

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"dedup-dashboard/internal/secret"
)

// Config is the section `auth` of the configuration.
type Config struct {
	// Users are people who sign in with a password. Users may also live in the journal; a name in both is an error.
	Users []UserConfig `yaml:"users"`
	// Tokens are for programs that call the API.
	Tokens []TokenConfig `yaml:"tokens"`
}

// UserConfig is one user of the configuration.
type UserConfig struct {
	Name string `yaml:"name"`
	Role string `yaml:"role"`
	// PasswordHash is what `dashboard hash-password` prints (argon2id in PHC form), or a bcrypt hash of another system.
	PasswordHash secret.Secret `yaml:"password_hash"`
}

// TokenConfig is one API token of the configuration. It holds the token itself, or only its SHA-256 in hex.
type TokenConfig struct {
	Name   string        `yaml:"name"`
	Role   string        `yaml:"role"`
	Token  secret.Secret `yaml:"token"`
	SHA256 string        `yaml:"sha256"`
	// Expires is when the token stops working; never when zero.
	Expires time.Time `yaml:"expires"`
}

// minTokenLength is 256 bits in the densest usual notation, base64 without padding, less one character of grace.
const minTokenLength = 42

// Validate returns every problem of the section, joined.
func (c Config) Validate() error {
	var errs []error
	seen := map[string]bool{}
	for i, u := range c.Users {
		path := fmt.Sprintf("users[%d]", i)
		errs = append(errs, validateName(path, u.Name, seen), validateRole(path, u.Role))
		if err := checkHash(u.PasswordHash.Reveal()); err != nil {
			errs = append(errs, fmt.Errorf("%s.password_hash: %w; make one with `dashboard hash-password`", path, err))
		}
	}
	names := map[string]bool{}
	for i, t := range c.Tokens {
		path := fmt.Sprintf("tokens[%d]", i)
		errs = append(errs, validateName(path, t.Name, names), validateRole(path, t.Role))
		if err := t.validateSecret(); err != nil {
			errs = append(errs, fmt.Errorf("%s.token: %w", path, err))
		}
	}
	return errors.Join(errs...)
}

func (t TokenConfig) validateSecret() error {
	switch {
	case t.Token.IsZero() && t.SHA256 == "":
		return errors.New("missing; make one with `openssl rand -hex 32` and give it as a value, {env: NAME} or {file: PATH}")
	case !t.Token.IsZero() && t.SHA256 != "":
		return errors.New("give either token or sha256, not both")
	case t.SHA256 != "":
		if b, err := hex.DecodeString(t.SHA256); err != nil || len(b) != 32 {
			return errors.New("sha256 must be 64 hexadecimal digits, as `printf %s TOKEN | sha256sum` prints")
		}
	case len(t.Token.Reveal()) < minTokenLength:
		return fmt.Errorf("shorter than %d characters; make one of 256 bits with `openssl rand -hex 32`", minTokenLength)
	}
	return nil
}

func validateName(path, name string, seen map[string]bool) error {
	if !ValidName(name) {
		return fmt.Errorf("%s.name: %q is not a user name; %s", path, name, nameRule)
	}
	key := CanonicalName(name)
	if seen[key] {
		return fmt.Errorf("%s.name: %q appears twice; names differ by more than upper and lower case", path, name)
	}
	seen[key] = true
	return nil
}

func validateRole(path, role string) error {
	if _, ok := ParseRole(role); !ok {
		return fmt.Errorf("%s.role: %q is not a role; use viewer, operator or admin", path, role)
	}
	return nil
}

const nameRule = "use 1 to 64 letters, digits or . _ - @, beginning with a letter or digit"

const maxName = 64

// ValidName reports whether a user or token may have this name.
func ValidName(name string) bool {
	if strings.TrimSpace(name) == "" || len(name) > maxName {
		return false
	}
	// Not the canonical form: lower case makes ASCII of some letters that are not, such as the Kelvin sign.
	for i, c := range []byte(strings.TrimSpace(name)) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte("._-@", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// CanonicalName returns the form in which names are compared: Alice and alice are one account.
func CanonicalName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// validPHC is the shape of an argon2id hash in PHC notation.
var validPHC = regexp.MustCompile(`^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$`)
