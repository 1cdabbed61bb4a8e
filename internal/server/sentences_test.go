package server

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/lab/demo"
)

// wordy is longer than any sentence the collector writes, and says what matters at its very middle.
var wordy = strings.TrimSpace(strings.Repeat("in the last pass the interval is 12.31–42.87 % wide, ", 8)) + " and 30.56 % of 318 messages were duplicates, " +
	strings.TrimSpace(strings.Repeat("which began before the broker was read often enough, ", 8)) + " at the end"

// What stands beside a number is at most eight words long: the rest is one click away, and whole there.
func TestNoSentenceOfOursIsCut(t *testing.T) {
	snap, p := orders(t)
	for i := range p.Windows {
		p.Windows[i].DuplicateRate = dedup.Unknown(dedup.Ratio, wordy)
		p.Windows[i].DuplicateRate.Better = wordy
	}
	p.Findings = []dedup.Finding{{Kind: "looping", Tier: dedup.Warning, Text: wordy, Evidence: wordy, Remedy: wordy}}
	p.Events = []dedup.Event{{At: noon.Add(-1), Kind: "alarm", Text: wordy}}
	p.DeadLetterQueues[0].Found = wordy
	snap.Sources[1].Err = wordy
	snap.Brokers[0].Problems = []dedup.Problem{{Text: wordy, Remedy: wordy}}
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
		{"a finding in a row of the overview", overview, "#row-orders .why", 1},
		{"what stands behind a figure of a row", overview, "#row-orders .panel", 1},
		{"the sentence of the verdict", page, ".verdict", 1},
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

func TestAReasonIsBriefWhereItStandsBesideAFigure(t *testing.T) {
	for why, want := range map[string]string{
		"no delivery for 4 m": "no delivery for 4 m",
		"held for 3 m":        "held for 3 m",
		"automatic acks: there is no ack to wait for": "automatic acks",
		"consumers report no counters":                "consumers report nothing",
		"consumers report no counters; by the store events: SET was called 15,549 times while the broker delivered 429: others use the command": "others use the command",
		"by the residual interval: the store is shared with pipeline b; consumers report no counters":                                           "the store is shared with pipeline b",
		"":                                    "",
		strings.Repeat("a word too many ", 9): "no source can tell yet",
	} {
		if got := show.Brief(why); got != want {
			t.Errorf("%q is %q in a few words, want %q", why, got, want)
		}
	}
}

func TestNoTileSaysMoreThanEightWordsOfWhatIsNotKnown(t *testing.T) {
	for _, scene := range []string{"mixed", "outage", "starting", "stale", "shop", "hostile", "healthy"} {
		snap := demo.Scene(scene, noon)
		for _, p := range snap.Pipelines {
			_, page := pipelinePage(t, snap, p.Pipeline.Name, "", demo.History{})
			page.Find(".now .part:has(.missing) .grounds").Each(func(_ int, s *goquery.Selection) {
				if words := strings.Fields(s.Text()); len(words) > show.MostWords || len(words) == 0 {
					t.Errorf("%s, %s: a tile says %q", scene, p.Pipeline.Name, oneLine(s))
				}
			})
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
