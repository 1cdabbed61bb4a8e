package templates

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)

func line(values ...float64) []Point {
	var points []Point
	for i, v := range values {
		if !math.IsNaN(v) {
			points = append(points, Point{At: start.Add(time.Duration(i) * time.Minute), Value: v})
		}
	}
	return points
}

func chart(l Line) Chart {
	return Chart{Unit: UnitRatio, From: start, To: start.Add(10 * time.Minute), Step: time.Minute, Lines: []Line{l}}
}

func TestMarksThatWouldCoverTheOneBeforeOnAPhoneAreLeftOutThere(t *testing.T) {
	var events []TrackEvent
	for _, place := range []float64{10, 15, 23.9, 24, 30, 38} {
		events = append(events, TrackEvent{Place: place})
	}
	ThinOut(events)
	var got strings.Builder
	for _, e := range events {
		if e.Minor {
			got.WriteString("m")
		} else {
			got.WriteString("n")
		}
	}
	if got.String() != "nmmnmn" {
		t.Errorf("got %s, want nmmnmn", got.String())
	}
}

func TestAMissingStepIsAGapAndAValueBetweenGapsIsADot(t *testing.T) {
	gap := math.NaN()
	p := chart(Line{Points: line(0.01, 0.02, gap, 0.03, gap, gap, 0.01, 0.02)}).layout()
	if got := strings.Count(p.lines[0].line, "M"); got != 3 {
		t.Errorf("%d runs in %q, want 3", got, p.lines[0].line)
	}
	if !strings.Contains(p.lines[0].line, "h1") {
		t.Errorf("no dot in %q", p.lines[0].line)
	}
}

func TestTheAxisReachesToTheNextLimitAboveTheData(t *testing.T) {
	limits := []Limit{{Value: 0.01, Tier: "warning"}, {Value: 0.03, Tier: "severe"}, {Value: 0.10, Tier: "emergency"}}
	for _, tt := range []struct {
		name      string
		highest   float64
		low, high float64
	}{
		{"quiet data show the warning limit and not the emergency one", 0.002, 0.012, 0.03},
		{"data above warning show the severe limit", 0.018, 0.036, 0.05},
		{"data above every limit show themselves", 0.5, 0.5, 0.7},
		{"no data at all show the warning limit", 0, 0.012, 0.03},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := chart(Line{Points: line(tt.highest)})
			c.Limits = limits
			if a := c.valueAxis(); a.low != 0 || a.high < tt.low || a.high > tt.high {
				t.Errorf("axis from %v to %v, want its end between %v and %v", a.low, a.high, tt.low, tt.high)
			}
		})
	}
}

func TestALogarithmicAxisOfCountsHasAPlaceForZero(t *testing.T) {
	c := Chart{Unit: UnitCount, Log: true, From: start, To: start.Add(time.Hour), Step: time.Minute, Lines: []Line{{Points: line(0, 5, 200_000)}}}
	a := c.valueAxis()
	if y := a.y(0); y != plotHeight {
		t.Errorf("0 is at %v", y)
	}
	if y5, y0 := a.y(5), a.y(0); y0-y5 < 10 {
		t.Errorf("5 beside 200,000 is %v px high: too little to see", y0-y5)
	}
}

func TestAnyPointsGiveAPlotWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e12), 0, 40).Draw(t, "values")
		c := chart(Line{Points: line(values...), High: line(values...), Filled: rapid.Bool().Draw(t, "filled")})
		c.To = start.Add(time.Hour)
		c.Log = rapid.Bool().Draw(t, "log")
		c.Unit = rapid.SampledFrom([]Unit{UnitRatio, UnitSeconds, UnitCount}).Draw(t, "unit")
		a := c.valueAxis()
		if !(a.high > a.low) || math.IsInf(a.high, 0) {
			t.Fatalf("axis from %v to %v", a.low, a.high)
		}
		p := c.layout()
		if strings.Contains(p.lines[0].line+p.lines[0].area, "NaN") || len(p.yticks) > 20 {
			t.Fatalf("%q with %d ticks", p.lines[0].line, len(p.yticks))
		}
		for _, v := range values {
			if y := a.y(v); y < 0 || y > plotHeight {
				t.Fatalf("%v is at %v", v, y)
			}
		}
	})
}

func TestLabelsAtTheRightEdgeDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var labels []label
		for _, y := range rapid.SliceOfN(rapid.Float64Range(0, plotHeight), 2, 5).Draw(t, "places") {
			labels = append(labels, label{y: px(y)})
		}
		spread(labels)
		for i := 1; i < len(labels); i++ {
			if number(labels[i].texty)-number(labels[i-1].texty) < labelGap-0.2 {
				t.Fatalf("labels at %s and %s", labels[i-1].texty, labels[i].texty)
			}
		}
	})
}

func TestTimeTicksAreRoundTimesOfTheZone(t *testing.T) {
	kolkata, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	for _, span := range []time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour} {
		ticks := TimeTicks(start.In(kolkata), start.Add(span).In(kolkata))
		if len(ticks) < 3 || len(ticks) > 8 {
			t.Errorf("%v has %d ticks", span, len(ticks))
		}
		if span == 24*time.Hour && !strings.HasSuffix(ticks[0].Label, ":00") {
			t.Errorf("a tick at %s", ticks[0].Label)
		}
	}
}
