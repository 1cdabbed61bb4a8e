package server

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/demo"
)

func TestALongTextOfAFindingIsFoldedAndAShortOneStandsOpen(t *testing.T) {
	snap, p := orders(t)
	long := strings.Repeat("<b>evil</b> ", 80)
	p.Findings = []dedup.Finding{{Kind: "odd", Tier: dedup.Severe, Text: "one name is odd", Evidence: long + "the end", Remedy: "rename it"}}
	_, doc := pipelinePage(t, snap, "orders", "", demo.History{})
	f := doc.Find("#status .problem")
	if got := oneLine(f.Find(".claim")); got != "One name is odd." || f.Find(".claim details, .remedy details").Length() != 0 {
		t.Errorf("what is short says %q", got)
	}
	fold := f.Find(".seen > details.fold:not([open])")
	if whole := oneLine(fold.Find("summary")); fold.Length() != 1 || !strings.HasPrefix(whole, "<b>evil</b>") || !strings.Contains(whole, "the end") {
		t.Errorf("%d texts are folded, to %q", fold.Length(), whole)
	}
}
