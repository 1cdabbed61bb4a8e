package templates

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheStepsOfClearingOfAJobAreFoldedIntoOneLine(t *testing.T) {
	v := JobView{Self: "/jobs/J", Clears: []string{"/operations/a", "/operations/b", "/operations/c"}, ClearsTitle: "3 steps of clearing"}
	var html bytes.Buffer
	if err := Job(v).Render(t.Context(), &html); err != nil {
		t.Fatal(err)
	}
	_, folded, ok := strings.Cut(html.String(), `<details id="clears"`)
	folded, _, _ = strings.Cut(folded, "</details>")
	if !ok || strings.Contains(folded[:strings.Index(folded, ">")], "open") || !strings.Contains(folded, "<summary>"+v.ClearsTitle+"</summary>") || strings.Count(folded, `href="/operations/`) != 3 {
		t.Errorf("the steps are %q", folded)
	}
}
