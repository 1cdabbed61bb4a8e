package server

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryFieldOfTheAPIIsInItsPage: docs/api.md names each field that an answer can have. Properties of messages are named as in AMQP.
func TestEveryFieldOfTheAPIIsInItsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, at := range []string{"*.go", "*/*.go", "page/*/*.go"} {
		some, err := filepath.Glob(at)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	fields := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`json:"([a-z0-9_]+)`).FindAllStringSubmatch(string(source), -1) {
			fields++
			if !regexp.MustCompile(`\b` + m[1] + `\b`).Match(page) {
				t.Errorf("docs/api.md does not name %s (%s)", m[1], file)
			}
		}
	}
	if fields < 300 {
		t.Fatalf("only %d fields found in the code", fields)
	}
}
