package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
)

// oneLine is the text of a selection on one line.
func oneLine(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

// orders returns a scene with its pipeline orders, to be changed.
func orders(t *testing.T) (*dedup.Snapshot, *dedup.PipelineStatus) {
	t.Helper()
	snap := demo.Scene("mixed", noon)
	p, ok := snap.Pipeline("orders")
	if !ok {
		t.Fatal("no pipeline orders")
	}
	return snap, p
}

func TestTheOverviewShowsAndSortsByTheMeanAckLatencyThatIsJudged(t *testing.T) {
	snap, p := orders(t)
	for i := range p.Windows {
		p.Windows[i].AckMean = dedup.Exact(dedup.Measured, dedup.Seconds, 9, noon, "test")
		p.Windows[i].AckMean.N, p.Windows[i].AckMean.Window = 10_000, p.Windows[i].Window
		p.Windows[i].AckP95 = dedup.Exact(dedup.Measured, dedup.Seconds, 0.001, noon, "test")
	}
	_, doc := overviewPage(t, snap, "sort=-latency")
	cell := doc.Find(`#row-orders [data-label="Mean ack latency"]`)
	if got := oneLine(cell.Find(".val")); got != "9 s" {
		t.Errorf("the cell shows %q", got)
	}
	if got := oneLine(cell.Find("small").Last()); got != "p95 1 ms" {
		t.Errorf("its second line is %q", got)
	}
	if got := names(doc); got[0] != "orders" {
		t.Errorf("the order is %v", got)
	}
}

func TestTheMessagesTileNamesItsWindow(t *testing.T) {
	_, doc := overviewPage(t, demo.Scene("mixed", noon), "")
	if got := oneLine(doc.Find(".stats > div").First()); !strings.Contains(got, "mean of 5 m") {
		t.Errorf("the tile says %q", got)
	}
}

func TestAWindowThatIsCoveredInPartSaysSoInItsHead(t *testing.T) {
	snap, p := orders(t)
	hour := slices.IndexFunc(p.Windows, func(w dedup.WindowFigures) bool { return w.Window == time.Hour })
	inflow := dedup.Exact(dedup.Measured, dedup.PerHour, 30, noon, "test")
	inflow.Window, inflow.Covered = time.Hour, 20*time.Minute
	p.Windows[hour] = dedup.WindowFigures{Window: time.Hour, DeadLetterInflow: inflow}
	_, doc := pipelinePage(t, snap, "orders", "", demo.History{})
	heads := doc.Find(".windows thead th")
	if got := oneLine(heads.Eq(hour + 1)); got != "1 h 20 m so far" {
		t.Errorf("the head says %q", got)
	}
	if got := oneLine(heads.Eq(1)); got != "5 m" {
		t.Errorf("the head of a whole window says %q", got)
	}
	cell := doc.Find(".windows tbody tr").Last().Find("td").Eq(hour)
	if got := oneLine(cell.ChildrenFiltered("small")); got != "from 20 m" {
		t.Errorf("the rate is shown as from %q", got)
	}
}

func TestALowerBoundIsShownAsOne(t *testing.T) {
	snap, p := orders(t)
	p.DeadLetters = dedup.Exact(dedup.Measured, dedup.Count, 12_132, noon, "test")
	p.DeadLetters.AtLeast = true
	_, doc := overviewPage(t, snap, "")
	if got := oneLine(doc.Find(`#row-orders [data-label="Dead letters"] .val`)); got != "≥ 12,132" {
		t.Errorf("the row shows %q", got)
	}
	if got := oneLine(doc.Find(".stats > div").Eq(2)); !strings.Contains(got, "≥ ") {
		t.Errorf("the sum over the pipelines shows %q", got)
	}
	j := web.FigureOf(p.DeadLetters, noon)
	if !j.AtLeast || j.High != nil || j.Low == nil || *j.Low != 12_132 {
		t.Errorf("the API has %+v", j)
	}
}

func TestAPassThatHasSeenEverythingIsNotUnderWay(t *testing.T) {
	snap, _ := orders(t)
	for coverage, want := range map[float64]bool{0.43: true, 0.998: false, 1: false} {
		snap.Stores[0].Stats.Progress.Coverage = coverage
		_, overview := overviewPage(t, snap, "")
		_, page := pipelinePage(t, snap, "orders", "", demo.History{})
		for name, doc := range map[string]*goquery.Document{"overview": overview, "pipeline": page} {
			if got := strings.Contains(doc.Find("main").Text(), "Pass under way"); got != want {
				t.Errorf("%s at %v: shown %v", name, coverage, got)
			}
		}
	}
}

func TestWhyAPassIsSlowIsSaidWhole(t *testing.T) {
	const why = "the store answers PING in 120 ms, usually in 1.2 ms: walking slower"
	snap, _ := orders(t)
	snap.Stores[0].Stats.Progress.Waiting = why
	_, overview := overviewPage(t, snap, "")
	_, page := pipelinePage(t, snap, "orders", "", demo.History{})
	for name, doc := range map[string]*goquery.Document{"overview": overview, "pipeline": page} {
		if !strings.Contains(doc.Find("main .facts").Text(), "43 %, "+why) {
			t.Errorf("%s says %q", name, oneLine(doc.Find("main .facts")))
		}
	}
}

func TestASourceThatAnswersWithNothingIsNotSimplyReachable(t *testing.T) {
	snap, _ := orders(t)
	snap.Sources[1].Note, snap.Stores[0].Health.Note = "nothing reported yet", "nothing reported yet"
	_, doc := overviewPage(t, snap, "")
	if got := oneLine(doc.Find(".source.t-unknown .state")); got != "nothing reported yet" {
		t.Errorf("the card says %q", got)
	}
	_, doc = pipelinePage(t, snap, "orders", "", demo.History{})
	if got := oneLine(doc.Find("#source-table td .chip.t-unknown")); got != "nothing reported yet" {
		t.Errorf("the row says %q", got)
	}
}

func TestOneThingIsNotPlural(t *testing.T) {
	snap, _ := orders(t)
	snap.Stores[0].Stats.Pass.Matched = 1
	_, doc := overviewPage(t, snap, "")
	if text := doc.Find("#sources").Text(); strings.Contains(text, " 1 markers") || !strings.Contains(text, " 1 marker") {
		t.Errorf("the cards say %q", oneLine(doc.Find("#sources")))
	}
}

func TestTheOldestMarkerHasTheSameAgeInTheTileAndBesideTheStates(t *testing.T) {
	snap, p := orders(t)
	p.OldestProcessing = dedup.Exact(dedup.Measured, dedup.Seconds, 75.24, noon, "test")
	p.OldestProcessing.AtLeast = true
	_, doc := pipelinePage(t, snap, "orders", "", demo.History{})
	if text := oneLine(doc.Find("main")); strings.Count(text, "≥ 1 m 15 s") != 2 || strings.Contains(text, "75.24") {
		t.Errorf("the page must say ≥ 1 m 15 s in both places: %s", text)
	}
}
