package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
)

// TestEveryFindingHasARunbook compares the kinds of findings in the code with docs/findings.md.
func TestEveryFindingHasARunbook(t *testing.T) {
	files, err := filepath.Glob("collector/finding/*.go")
	if err != nil {
		t.Fatal(err)
	}
	ways, err := filepath.Glob("collector/topology/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, ways...)
	var code []byte
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue // it also names problems, which are no findings
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, text...)
	}
	doc, err := os.ReadFile("../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`Kind: +"([a-z_]+)"`).FindAllStringSubmatch(string(code), -1)
	if len(kinds) < 10 {
		t.Fatalf("only %d kinds of findings found in the code", len(kinds))
	}
	known := map[string]bool{}
	for _, k := range kinds {
		known[k[1]] = true
		if !strings.Contains(string(doc), "| `"+k[1]+"` |") {
			t.Errorf("docs/findings.md has no line for %s", k[1])
		}
	}
	for _, k := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		if !known[k[1]] {
			t.Errorf("docs/findings.md has a line for %s, which no code finds", k[1])
		}
	}
}

// TestThePagesGiveTheRightRoleForChanges: changing markers needs an admin (server/page/marker), and no page may promise it to others.
func TestThePagesGiveTheRightRoleForChanges(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatal(pages, err)
	}
	promise := regexp.MustCompile(`(?i)(operator|viewer)s? (can|may|selects?)\s+(clear|give|undo|change|set|markers)`)
	for _, page := range append(pages, "../README.md", "../config.example.yaml") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if found := promise.FindString(string(text)); found != "" {
			t.Errorf("%s says %q", page, found)
		}
	}
}

// TestTheFailureRateIsSaidAsItIsComputed: its denominator are attempts, not messages, of which duplicates are a part.
func TestTheFailureRateIsSaidAsItIsComputed(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ToLower(string(text))
	}
	formula := regexp.MustCompile(`failurerate\.formula = "([^"]+)"`).FindStringSubmatch(read("collector/rate/reported.go"))
	if formula == nil {
		t.Fatal("the formula of the failure rate was not found")
	}
	for _, name := range []string{"server/page/pipeline/windows.go", "server/metrics/metrics.go", "../docs/figures.md"} {
		if !strings.Contains(read(name), formula[1]) {
			t.Errorf("%s does not say %q", name, formula[1])
		}
	}
}

// TestTheTableOfSourcesIsWhatTheCodeRefuses compares docs/stores.md with the presets and with what the sources refuse.
func TestTheTableOfSourcesIsWhatTheCodeRefuses(t *testing.T) {
	doc, err := os.ReadFile("../docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range markers.PresetNames() {
		cfg, _ := markers.Preset(name)
		scheme, row := cfg.Scheme(), "| `"+name+"` |"
		for _, m := range dedup.Methods() {
			word := "yes"
			switch {
			case scheme.Refuses(m) != "":
				word = "no"
			case scheme.BoundsOnly(m):
				word = "at most"
			}
			row += " " + word + " |"
		}
		if !strings.Contains(string(doc), row+"\n") {
			t.Errorf("docs/stores.md lacks the line %s", row)
		}
	}
}
