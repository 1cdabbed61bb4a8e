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
	"dedup-dashboard/internal/server/web"
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
		q, err := web.ParseRange(url.Values{"range": {word}}, noon)
		if err != nil {
			t.Fatal(err)
		}
		from, to, step := q.Window(15 * time.Second)
		if step > most || step%(15*time.Second) != 0 || to.Sub(from)/step > 240 {
			t.Errorf("%s has steps of %v, %d of them", word, step, to.Sub(from)/step)
		}
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
