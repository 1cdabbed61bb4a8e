package web

import (
	"math"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestAPIRoundsTheEndsOfACountOutwards(t *testing.T) {
	f := dedup.Figure{Quality: dedup.Derived, Unit: dedup.Count, Value: 49.18682341695523, Low: 49.18682341695523, High: 54.14541795133456}
	if j := FigureOf(f, time.Now()); *j.Value != 49 || *j.Low != 49 || *j.High != 55 {
		t.Errorf("a count from 49.2 to 54.1 is %v, %v to %v", *j.Value, *j.Low, *j.High)
	}
	mean := dedup.Exact(dedup.Measured, dedup.Count, 1.5, time.Now(), "retry counters")
	if j := FigureOf(mean, time.Now()); *j.Value != 1.5 {
		t.Errorf("a mean of 1.5 is %v", *j.Value)
	}
	f.Unit = dedup.Seconds
	if j := FigureOf(f, time.Now()); *j.Low != f.Low {
		t.Errorf("seconds are rounded to %v", *j.Low)
	}
}

func TestAPIGivesTheEndsOfAnIntervalThatIsTooWideToJudgeBy(t *testing.T) {
	wide := dedup.Figure{Unit: dedup.Ratio, Value: 0.0012, Low: 0.0012, High: 0.0305, N: 6500, Why: "the interval is too wide"}
	j := FigureOf(wide, time.Now())
	if j.Value != nil || j.Hits != nil || j.Quality != "unknown" || j.Low == nil || *j.Low != 0.0012 || j.High == nil || *j.High != 0.0305 {
		t.Errorf("a rate within bounds: %+v", j)
	}
	counted := dedup.Figure{Unit: dedup.Count, Low: 7.8, High: 198.25, N: 6500, Why: "the interval is too wide"}
	if j := FigureOf(counted, time.Now()); j.Value != nil || j.Low == nil || *j.Low != 7 || *j.High != 199 {
		t.Errorf("a count within bounds: %+v", j)
	}
	for what, f := range map[string]dedup.Figure{"nothing": dedup.Unknown(dedup.Ratio, "no data"), "no sample": {Unit: dedup.Ratio, High: 1},
		"no number": {Unit: dedup.Ratio, High: math.Inf(1), N: 5}} {
		if j := FigureOf(f, time.Now()); j.Value != nil || j.Low != nil || j.High != nil {
			t.Errorf("%s is known: %+v", what, j)
		}
	}
	late := Reading{time.Now(), "Stale since 12:00:00"}
	if j := late.Figure(wide); j.Low != nil || j.High != nil {
		t.Errorf("an old interval passes for one of now: %+v", j)
	}
}

// Who reads a number by program never has to ask whether it has ends, nor to look for whole messages.
func TestAPIGivesTheEndsOfEveryNumber(t *testing.T) {
	for name, tt := range map[string]struct {
		figure    dedup.Figure
		low, high any
	}{
		"an exact value":                    {dedup.Exact(dedup.Measured, dedup.Ratio, 0.015, noon, "test"), 0.015, 0.015},
		"a number in a band":                {dedup.Figure{Quality: dedup.Derived, Unit: dedup.Ratio, Low: 0.01, Value: 0.015, High: 0.03}, 0.01, 0.03},
		"an upper bound":                    {dedup.Figure{Quality: dedup.Derived, Unit: dedup.Seconds, High: 0.05}, 0.0, 0.05},
		"a lower bound of a rate":           {dedup.Figure{Quality: dedup.Derived, Unit: dedup.Ratio, Low: 0.2, Value: 0.2, High: 0.2, AtLeast: true}, 0.2, 1.0},
		"a lower bound of what has no end":  {dedup.Figure{Quality: dedup.Derived, Unit: dedup.Seconds, Low: 10, Value: 10, High: 10, AtLeast: true}, 10.0, nil},
		"an interval too wide to be judged": {dedup.Figure{Unit: dedup.Ratio, Low: 0.01, High: 0.2, N: 300, Why: "too wide"}, 0.01, 0.2},
		"what nobody knows":                 {dedup.Unknown(dedup.Ratio, "no traffic"), nil, nil},
	} {
		j := FigureOf(tt.figure, noon)
		for end, pair := range map[string][2]any{"low": {j.Low, tt.low}, "high": {j.High, tt.high}} {
			got := pair[0].(*float64)
			if want, known := pair[1].(float64); known != (got != nil) || known && *got != want {
				t.Errorf("%s: the %s end is %v, want %v", name, end, got, pair[1])
			}
		}
	}
	f := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Ratio, Low: 0.01, Value: 0.015, High: 0.03, N: 1000, Hits: 14.6}
	if j := FigureOf(f, noon); *j.Hits != 15 {
		t.Errorf("%v hits: there is no part of a message", *j.Hits)
	}
}
