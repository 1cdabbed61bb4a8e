package server

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/playground/demo"
)

// wordy is longer than any sentence the collector writes, and says what matters at its very middle.
var wordy = strings.TrimSpace(strings.Repeat("in the last pass the interval is 12.31–42.87 % wide, ", 8)) + " and 30.56 % of 318 messages were duplicates, " +
	strings.TrimSpace(strings.Repeat("which began before the broker was read often enough, ", 8)) + " at the end"

func TestNoSentenceOfOursIsCut(t *testing.T) {
	snap, p := orders(t)
	for i := range p.Windows {
		p.Windows[i].DuplicateRate = dedup.Unknown(dedup.Ratio, wordy)
		p.Windows[i].DuplicateRate.Better = wordy
	}
	p.Findings = []dedup.Finding{{Kind: "looping", Tier: dedup.Warning, Text: wordy, Evidence: wordy, Mend: wordy}}
	p.Events = []dedup.Event{{At: noon.Add(-1), Kind: "alarm", Text: wordy}}
	p.DeadLetterQueues[0].Found = wordy
	snap.Sources[1].Err = wordy
	snap.Brokers[0].Problems = []dedup.Problem{{Text: wordy, Mend: wordy}}
	snap.Stores[1].Health = dedup.SourceHealth{Name: "store payments", Kind: "store", Tried: true, Err: wordy}
	_, overview := overviewPage(t, snap, "")
	_, page := pipelinePage(t, snap, "orders", "", demo.History{})
	for _, place := range []struct {
		name string
		doc  *goquery.Document
		in   string
		n    int
	}{
		{"a card of the overview", overview, "#sources", 3},
		{"a row of the overview", overview, "#row-orders .why", 1},
		{"the sentence of the verdict", page, ".verdict", 1},
		{"a tile", page, ".now .part > small", 1},
		{"what stands behind a figure", page, ".now .panel", 2},
		{"a finding", page, "#status .problem", 3},
		{"an event", page, ".events", 1},
		{"a dead-letter queue", page, "#dead-letters", 1},
		{"a source", page, "#source-table", 1},
	} {
		// Sentences begin with a capital where they stand alone.
		text := strings.ToLower(oneLine(place.doc.Find(place.in)))
		if got := strings.Count(text, wordy); got < place.n || strings.Contains(text, "…") {
			t.Errorf("%s has the sentence %d times, want %d: %s", place.name, got, place.n, text)
		}
	}
}

func TestNoPageOfAnOrdinarySceneCutsAnything(t *testing.T) {
	for name, html := range everyPage(t) {
		if strings.Contains(name, "hostile") {
			continue
		}
		if i := strings.Index(html, "…"); i >= 0 {
			t.Errorf("%s cuts: %s", name, html[max(0, i-200):min(len(html), i+60)])
		}
	}
}
