package show

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestALowerBoundIsNoPaceAndNotNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		f    dedup.Figure
		want string
	}{
		{"a count of which none was seen", dedup.Figure{Unit: dedup.Count, AtLeast: true}, "none seen"},
		{"a rate of which none was seen", dedup.Figure{Unit: dedup.PerHour, AtLeast: true}, "none seen"},
		{"one event in a window that is not covered yet", dedup.Figure{Unit: dedup.PerHour, AtLeast: true, Value: 1, N: 1, Window: time.Hour, Covered: 3 * time.Minute}, "≥ 1 in 1 h"},
		{"a bound on a count", dedup.Figure{Unit: dedup.Count, AtLeast: true, Value: 118, N: 400, Window: time.Hour}, "≥ 118"},
		{"a count of none", dedup.Figure{Unit: dedup.Count}, "0"},
	} {
		c.f.Quality = dedup.Measured
		if got := FigureText(c.f); got != c.want {
			t.Errorf("%s reads %q, want %q", c.name, got, c.want)
		}
	}
}

func TestANumberStandsWithItsBand(t *testing.T) {
	f := dedup.Figure{Quality: dedup.Estimated, Unit: dedup.Seconds, Value: 0.023, Low: 0.018, High: 0.025, Error: 0.0035, N: 400, Window: time.Hour, Covered: time.Hour}
	if text, note := FigureText(f), FigureNote(f); text != "23 ms ± 5" || note != "1 h · n\u00a0400" {
		t.Errorf("it reads %q, %q", text, note)
	}
}
