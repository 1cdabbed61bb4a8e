package truth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestRewriteReplacesOnlyTheTable(t *testing.T) {
	l, snapshot := staged(dedup.Exact(dedup.Measured, dedup.Ratio, 0.032, time.Time{}, "events"),
		dedup.Estimate{Method: dedup.MethodIDGap, Rate: dedup.Unknown(dedup.Ratio, "a | hostile\n<word>")})
	r := Result{Options: Options{Cases: []Case{l.c}, Seeds: 1}, Outcomes: []Outcome{l.outcome(snapshot)}}
	path := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + tableBegins + "\nstale text\n" + tableEnds + "\nafter\n")
	if err := r.Rewrite(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !strings.HasPrefix(page, "before\n"+tableBegins) || !strings.HasSuffix(page, tableEnds+"\nafter\n") || strings.Contains(page, "stale text") {
		t.Errorf("the page is %s", page)
	}
	for _, want := range []string{"wrong", "0.200", "does **not** pass", "a / hostile &lt;word>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	write("no marks")
	if err := r.Rewrite(path); err == nil {
		t.Error("a page without marks was written")
	}
}

func TestThePageOfTheRepositoryHasItsMarks(t *testing.T) {
	page, err := os.ReadFile("../../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, rest, ok := strings.Cut(string(page), tableBegins); !ok || !strings.Contains(rest, tableEnds) {
		t.Error("docs/accuracy.md has no marks for its table")
	}
}
