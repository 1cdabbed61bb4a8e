package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/lab/demo"
)

func TestEveryChartHasASentenceADataTableAndACSV(t *testing.T) {
	_, doc := pipelinePage(t, demo.Scene("mixed", noon), "orders", "range=6h", demo.History{})
	charts := doc.Find("figure.chart")
	if charts.Length() != 5 {
		t.Fatalf("%d charts", charts.Length())
	}
	charts.Each(func(_ int, s *goquery.Selection) {
		name := s.Find("h3").Text()
		if text := s.Find("figcaption p").Text(); !strings.Contains(text, "lowest") || !strings.Contains(text, "highest") {
			t.Errorf("%s says %q", name, text)
		}
		if n := s.Find("details.data tbody tr").Length(); n == 0 || n > 60 {
			t.Errorf("%s has a table of %d rows", name, n)
		}
		if href := s.Find("a.csv").AttrOr("href", ""); !strings.Contains(href, "/pipelines/orders/chart.csv?chart=") || !strings.Contains(href, "range=6h") {
			t.Errorf("%s links to %q", name, href)
		}
	})
}

type brokenHistory struct{ err error }

func (h brokenHistory) QueryRange(context.Context, string, time.Time, time.Time, time.Duration) ([]series.Line, error) {
	return nil, h.err
}

func TestAHistoryThatDoesNotAnswerIsSaidInWords(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{series.ErrStarting, "History unknown: it is still being opened after a start."},
		{&dedup.Error{Kind: dedup.Unavailable, Public: "the disk is full"}, "History unknown: the disk is full."},
		{errors.New("/var/lib/secret-path"), "History unknown: Internal error."},
	} {
		html, doc := pipelinePage(t, demo.Scene("mixed", noon), "orders", "", brokenHistory{tt.err})
		if got := doc.Find("#charts .blank").Text(); !strings.Contains(got, tt.want) {
			t.Errorf("%v: the page says %q", tt.err, got)
		}
		if strings.Contains(html, "secret-path") {
			t.Error("an inner error is shown")
		}
		if !strings.Contains(html, "1.50 %") {
			t.Error("the figures are gone with the history")
		}
	}
}

func TestAnEmptyHistoryDrawsNoZero(t *testing.T) {
	_, doc := pipelinePage(t, demo.Scene("mixed", noon), "orders", "", brokenHistory{nil})
	if got := doc.Find("#chart-duplicates .blank").Text(); !strings.Contains(got, "No values in this range") {
		t.Errorf("the chart says %q", got)
	}
	if doc.Find("#chart-duplicates path").Length() != 0 {
		t.Error("a line is drawn without values")
	}
}

func TestEveryFigureOfTheWindowTableTellsItsSource(t *testing.T) {
	_, doc := pipelinePage(t, demo.Scene("mixed", noon), "invoices", "", demo.History{})
	folded := strings.Count(oneLine(doc.Find("#unknowns dt")), ";") + doc.Find("#unknowns dt").Length()
	const measures = 25 // of the table, those that are unknown folded
	figures := doc.Find(".windows .prov")
	if figures.Length() != (measures-folded)*4 || folded == 0 {
		t.Fatalf("%d figures, %d folded", figures.Length(), folded)
	}
	figures.Each(func(_ int, s *goquery.Selection) {
		text := s.Find(".panel").Text()
		if !strings.Contains(text, "Quality") || !strings.Contains(text, "Source") {
			t.Errorf("a figure says only %q", strings.Join(strings.Fields(text), " "))
		}
	})
}
