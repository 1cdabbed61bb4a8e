package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/secret"
)

const hidden = "hunter2"

// holder is how configurations hold secrets: by value, by pointer, in slices and maps, and unexported.
type holder struct {
	Value   secret.Secret
	Pointer *secret.Secret
	List    []secret.Secret
	Named   map[string]secret.Secret
	inner   secret.Secret
}

func newHolder() holder {
	s := secret.New(hidden)
	return holder{Value: s, Pointer: &s, List: []secret.Secret{s}, Named: map[string]secret.Secret{"a": s}, inner: s}
}

func wantHidden(t *testing.T, how, text string) {
	t.Helper()
	if strings.Contains(text, hidden) || strings.Contains(text, fmt.Sprintf("%x", hidden)) || strings.Contains(text, fmt.Sprintf("%X", hidden)) {
		t.Errorf("%s prints the secret: %s", how, text)
	}
}

func TestNoVerbPrintsASecret(t *testing.T) {
	s, h := secret.New(hidden), newHolder()
	for verb := 'A'; verb <= 'z'; verb++ {
		for _, flags := range []string{"", "+", "#", "-20", "020", "0.3", "# "} {
			format := "%" + flags + string(verb)
			wantHidden(t, format, fmt.Sprintf(format, s))
			wantHidden(t, format+" of a pointer", fmt.Sprintf(format, &s))
			wantHidden(t, format+" of a list", fmt.Sprintf(format, []secret.Secret{s}))
			wantHidden(t, format+" of a map", fmt.Sprintf(format, h.Named))
		}
	}
	wantHidden(t, "an error", fmt.Errorf("dial %v", s).Error())
	wantHidden(t, "Println", fmt.Sprintln(s, &s))
	if got := fmt.Sprintf("%v %s %#v", s, s, s); got != strings.TrimSpace(strings.Repeat(secret.Redacted+" ", 3)) {
		t.Errorf("printed as %s", got)
	}
}

func TestNoVerbPrintsASecretInsideAStruct(t *testing.T) {
	h := newHolder()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		wantHidden(t, format, fmt.Sprintf(format, h))
		wantHidden(t, format, fmt.Sprintf(format, &h))
	}
}

func TestNoLogPrintsASecret(t *testing.T) {
	var out bytes.Buffer
	s, h := secret.New(hidden), newHolder()
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(handler).With("with", s)
		log.Info("message", "secret", s, "pointer", &s, "holder", h, "list", h.List, slog.Group("group", "inner", s), slog.Any("any", h.Named))
		log.Info(fmt.Sprint(s))
	}
	wantHidden(t, "slog", out.String())
	if !strings.Contains(out.String(), secret.Redacted) {
		t.Errorf("logged as %s", out.String())
	}
}

func TestNoEncodingHoldsASecret(t *testing.T) {
	h := newHolder()
	asJSON, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	wantHidden(t, "JSON", string(asJSON))
	wantHidden(t, "YAML", string(asYAML))
	if n := strings.Count(string(asYAML), secret.Redacted); n != 4 {
		t.Errorf("YAML holds %d of 4 secrets: %s", n, asYAML)
	}
}

func TestASecretIsReadFromValueEnvironmentAndFile(t *testing.T) {
	t.Setenv("STORE_PASSWORD", hidden)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(hidden+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, fault := range map[string]string{
		hidden:                    "",
		"{env: STORE_PASSWORD}":   "",
		"{file: " + file + "}":    "",
		"{env: NOT_SET_ANYWHERE}": "NOT_SET_ANYWHERE",
		"{file: /nowhere/at/all}": "/nowhere/at/all",
		"{vault: x}":              "{env: NAME}",
		"[hunter2]":               "{env: NAME}",
		"{env: A, file: B}":       "{env: NAME}",
	} {
		var s secret.Secret
		if err := yaml.Unmarshal([]byte(text), &s); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if fault == "" && (s.Err() != nil || s.Reveal() != hidden || s.IsZero()) {
			t.Errorf("%s: %q, %v", text, s.Reveal(), s.Err())
		}
		if fault != "" && (s.Err() == nil || !strings.Contains(s.Err().Error(), fault) || !s.IsZero()) {
			t.Errorf("%s: %v", text, s.Err())
		}
		if s.Err() != nil {
			wantHidden(t, "the error of "+text, s.Err().Error())
		}
	}
}

func TestAnEmptySecretPrintsAsNothing(t *testing.T) {
	if got := fmt.Sprintf("%v%s%#v", secret.Secret{}, secret.Secret{}, secret.Secret{}); got != "" {
		t.Errorf("printed as %q", got)
	}
}
