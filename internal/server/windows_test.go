package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/demo"
)

func linesOf(s *goquery.Selection) []string {
	return s.Map(func(_ int, one *goquery.Selection) string { return oneLine(one) })
}

func TestWhatNoWindowKnowsIsOneLineThatOpensToReasonsAndMends(t *testing.T) {
	_, doc := pipelinePage(t, demo.Scene("outage", noon), "orders", "", demo.History{})
	if got := oneLine(doc.Find("#unknowns summary")); got != "18 more figures are unknown: for the most part, store down" {
		t.Errorf("the line says %q", got)
	}
	inside := oneLine(doc.Find("#unknowns dl"))
	for _, want := range []string{"Ack latency, p95", "Cross-check", "What consumers report cannot be read: " + refused, "Let the consumers report counters"} {
		if !strings.Contains(inside, want) {
			t.Errorf("it lacks %q: %s", want, inside)
		}
	}
	rows := strings.Join(linesOf(doc.Find(".windows tbody th")), "|")
	if !strings.Contains(rows, "Duplicate rate") || strings.Contains(rows, "Failures") {
		t.Errorf("the table has %s", rows)
	}
	if _, doc := pipelinePage(t, demo.Scene("mixed", noon), "orders", "", demo.History{}); doc.Find("#unknowns").Length() != 0 {
		t.Error("a pipeline that knows everything has a line of what it does not know")
	}
}

func TestAWindowWithoutDataOfItsOwnIsLeftOut(t *testing.T) {
	_, doc := pipelinePage(t, demo.Scene("outage", noon), "orders", "", demo.History{})
	if got := strings.Join(linesOf(doc.Find(".windows thead th")), "|"); got != "Measure|5 m|15 m 11 m 59 s so far" {
		t.Errorf("the heads are %q", got)
	}
	if text := doc.Find("#status").Text(); !strings.Contains(text, "1 h and 24 h are left out: the data go back 11 m 59 s only, which 15 m shows whole.") {
		t.Error("nothing says why the others are missing")
	}

	snap := demo.Scene("outage", noon)
	p, _ := snap.Pipeline("orders")
	p.Windows[3].Failures = dedup.Exact(dedup.Measured, dedup.Count, 7, noon, "test")
	_, doc = pipelinePage(t, snap, "orders", "", demo.History{})
	if got := linesOf(doc.Find(".windows thead th")); len(got) != 4 || !strings.HasPrefix(got[3], "24 h") {
		t.Errorf("a window with a figure of its own is left out: %v", got)
	}
	p.Windows = []dedup.WindowFigures{{Window: 5 * time.Minute}, {Window: time.Hour}}
	_, doc = pipelinePage(t, snap, "orders", "", demo.History{})
	if text := doc.Find("#status").Text(); !strings.Contains(text, "1 h is left out: there are no data in any window yet.") {
		t.Error("without any data nothing is said")
	}
}

func TestAFindingIsAClaimItsEvidenceAndAMendEachPunctuated(t *testing.T) {
	snap, p := orders(t)
	p.Findings = []dedup.Finding{{Kind: "stuck_markers", Tier: dedup.Severe, Text: "2 markers are stuck: until somebody clears them", Evidence: "msg:1, for example: name one.", Remedy: "look for a consumer"}}
	_, doc := pipelinePage(t, snap, "orders", "", demo.History{})
	f := doc.Find("#status .problem")
	for in, want := range map[string]string{
		".claim": "2 markers are stuck: until somebody clears them.", ".seen": "Seen: msg:1, for example: name one.", ".remedy": "Look for a consumer.",
	} {
		if got := oneLine(f.Find(in)); got != want {
			t.Errorf("%s says %q, want %q", in, got, want)
		}
	}
	if href, _ := f.Find("a").Attr("href"); href != "/pipelines/orders/markers?state=processing" {
		t.Errorf("it leads to %q", href)
	}
}

func TestTheTileOfStuckMarkersLeadsToTheirList(t *testing.T) {
	snap, p := orders(t)
	p.Stuck = dedup.Exact(dedup.Derived, dedup.Count, 12, noon, "test")
	_, doc := pipelinePage(t, snap, "orders", "", demo.History{})
	link := doc.Find(".now .part a.stuck-link")
	if href, _ := link.Attr("href"); oneLine(link) != "12 stuck" || href != "/pipelines/orders/markers?state=processing" {
		t.Errorf("the tile has %q leading to %q", oneLine(link), href)
	}
}

func TestClosedChannelsOfTheBrokerStandApartFromThePipelinesEvents(t *testing.T) {
	_, doc := pipelinePage(t, demo.Scene("mixed", noon), "orders", "", demo.History{})
	if text := doc.Find(".track").Text(); strings.Contains(text, "channel") || !strings.Contains(text, "emory alarm") {
		t.Errorf("the pipeline's events: %s", text)
	}
	if got := oneLine(doc.Find("#events-wide summary")); got != "Broker main: channels were closed 2 times in this range, by whichever pipelines" {
		t.Errorf("the fold says %q", got)
	}
	if got := linesOf(doc.Find("#events-wide li")); len(got) != 2 || !strings.Contains(got[1], "1 channel was closed.") {
		t.Errorf("the fold has %v", got)
	}
}

func TestAPageThatDoesNotExistIsSaid(t *testing.T) {
	_, doc := overviewPage(t, demo.Scene("many", noon), "page=99")
	if got := oneLine(doc.Find("[role=note]")); got != "There is no page 99: this is the last, page 4." {
		t.Errorf("the overview says %q", got)
	}
	s := stocked(t, nil)
	if got := oneLine(s.page("viewer", "/pipelines/orders/markers?page=99").Find("[role=note]")); got != "There is no page 99: this is the last, page 1." {
		t.Errorf("the list says %q", got)
	}
}

func TestReviewingNothingIsAPageThatLeadsBack(t *testing.T) {
	s := stocked(t, nil)
	const from = "/pipelines/orders/markers?state=processing"
	res := s.as("admin", "POST", "/markers/plan", url.Values{"store": {"orders"}, "do": {"clear-selected"}}.Encode(), "Referer", "http://127.0.0.1:8080"+from)
	doc, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	href, _ := doc.Find("main a.button").Attr("href")
	if res.StatusCode != http.StatusBadRequest || oneLine(doc.Find("h1")) != "No marker was selected" || href != from {
		t.Errorf("%s, %q, back to %q", res.Status, oneLine(doc.Find("h1")), href)
	}
}

func TestEveryErrorPageEndsItsSentence(t *testing.T) {
	s := stocked(t, nil)
	for _, at := range []string{"/nothing", "/pipelines/none", "/markers/one", "/markers/one?store=none&key=k", "/pipelines/orders?range=x", "/operations/none", "/plans/none"} {
		doc, err := goquery.NewDocumentFromReader(s.as("admin", "GET", at, "").Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := oneLine(doc.Find("main h1 + p")); !strings.HasSuffix(got, ".") || strings.HasSuffix(got, "..") {
			t.Errorf("%s says %q", at, got)
		}
	}
}
