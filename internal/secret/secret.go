// Package secret holds values that never print: passwords, tokens and connection strings with credentials in them.
package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Redacted is what a secret prints as, everywhere.
const Redacted = "<redacted>"

// A Secret is a string that prints as Redacted through fmt, slog, JSON and YAML. The zero value is an empty secret.
// Only Reveal gives the string away, so that a reader of the code can find every place where one is used.
type Secret struct {
	// value is behind a pointer because fmt reads structs by reflection where it cannot call our methods: in unexported
	// fields of others, and under the verbs p and w. There it meets an address. Nil is the empty secret.
	value *string
	// err is why a reference could not be followed; see Err.
	err error
}

// New returns a secret that holds the value.
func New(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// FromEnv returns the value of an environment variable, or an error naming the variable if it is unset.
func FromEnv(name string) (Secret, error) {
	v, ok := os.LookupEnv(name)
	if !ok {
		return Secret{}, fmt.Errorf("environment variable %s is not set", name)
	}
	return New(v), nil
}

// FromFile returns the content of a file without its trailing line break, or an error naming the file.
func FromFile(path string) (Secret, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, fmt.Errorf("read secret: %w", err)
	}
	return New(strings.TrimRight(string(b), "\r\n")), nil
}

// UnmarshalYAML reads a secret written as a value, {env: NAME} or {file: PATH}. A reference that cannot be followed is
// kept for Err, so that a configuration with several of them reports all at once.
func (s *Secret) UnmarshalYAML(unmarshal func(any) error) error {
	var value string
	if err := unmarshal(&value); err == nil {
		*s = New(value)
		return nil
	}
	var ref map[string]string
	if err := unmarshal(&ref); err != nil || len(ref) != 1 {
		*s = Secret{err: errForm}
		return nil
	}
	for how, where := range ref {
		*s = follow(how, where)
	}
	return nil
}

// errForm says how a secret is written; it never quotes what was found, which may be the secret itself.
var errForm = errors.New("must be a value, {env: NAME} or {file: PATH}")

func follow(how, where string) Secret {
	var s Secret
	var err error
	switch how {
	case "env":
		s, err = FromEnv(where)
	case "file":
		s, err = FromFile(where)
	default:
		err = errForm
	}
	if err != nil {
		return Secret{err: err}
	}
	return s
}

// Err returns why the secret could not be read from its environment variable or file; nil when it could.
func (s Secret) Err() error { return s.err }

// Reveal returns the string itself.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.value == nil }

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return Redacted
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// Format implements fmt.Formatter, so that no verb reaches the value by reflection.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML implements the YAML marshaler.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
