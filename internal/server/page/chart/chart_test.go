package chart

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/lab/demo"
	"dedup-dashboard/web/templates"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestTheCSVHasUTCTimesPlainNumbersAndEmptyCells(t *testing.T) {
	c := templates.Chart{Unit: templates.UnitRatio, Lines: []templates.Line{
		{Name: "a", Points: []templates.Point{{At: noon, Value: 0.015}, {At: noon.Add(time.Minute), Value: 0.02}}},
		{Name: "b", Points: []templates.Point{{At: noon, Value: 0.03}}},
	}}
	want := [][]string{{"time", "a (ratio)", "b (ratio)"}, {"2026-11-21T12:00:00Z", "0.015", "0.03"}, {"2026-11-21T12:01:00Z", "0.02", ""}}
	if got := csvRows(c); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v", got)
	}
}

func TestALongRangeIsDrawnInSteps(t *testing.T) {
	for word, most := range map[string]time.Duration{"15m": 15 * time.Second, "1h": 15 * time.Second, "24h": 7 * time.Minute, "7d": 45 * time.Minute} {
		q, err := ParseQuery(url.Values{"range": {word}}, noon)
		if err != nil {
			t.Fatal(err)
		}
		from, to, step := q.Window(15 * time.Second)
		if step > most || step%(15*time.Second) != 0 || to.Sub(from)/step > columns {
			t.Errorf("%s has steps of %v, %d of them", word, step, to.Sub(from)/step)
		}
	}
}

func TestTheRangeOfAChartHoldsBothHoursOfTheNightOfTheClocks(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, zone)
	q, err := ParseQuery(url.Values{"from": {"2026-11-01T01:30"}, "to": {"2026-11-01T01:45"}}, now)
	if err != nil || q.to.Sub(q.from) != 75*time.Minute {
		t.Errorf("from %s to %s, %v", q.from, q.to, err)
	}
	if r := RangeView(q, "/", now); !strings.Contains(r.Text, "01:30 EDT to 1 Nov 01:45 EST") {
		t.Errorf("the range is written %q", r.Text)
	}
}

// A latencyHistory holds upper bounds, and means if it is true.
type latencyHistory bool

func (h latencyHistory) QueryRange(_ context.Context, query string, _, to time.Time, _ time.Duration) ([]series.Line, error) {
	at := []dedup.Point{{At: to, Value: 0.05}}
	switch {
	case strings.HasPrefix(query, series.AckLatencyHigh):
		return []series.Line{{Points: at}}, nil
	case bool(h) && strings.HasPrefix(query, series.AckLatency):
		return []series.Line{{Labels: map[string]string{"quantile": "mean"}, Points: at}}, nil
	}
	return nil, nil
}

func TestAChartOfBoundsAloneSaysSo(t *testing.T) {
	for name, tt := range map[string]struct {
		mean  bool
		title string
		lines []string
	}{
		"bounds alone":        {false, "Mean ack latency, at most", []string{"mean, at most"}},
		"numbers with a band": {true, "Ack latency", []string{"mean", "mean, at most"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := demo.Scene("mixed", noon).Pipeline("orders")
			d := Data{pipeline: p, history: latencyHistory(tt.mean), from: noon.Add(-time.Hour), to: noon, step: time.Minute, zone: time.UTC}
			var c templates.Chart
			if err := d.latency(t.Context(), &c); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, l := range c.Lines {
				lines = append(lines, l.Name)
			}
			if c.Title != tt.title || !slices.Equal(lines, tt.lines) {
				t.Errorf("%q with the lines %q", c.Title, lines)
			}
		})
	}
}
