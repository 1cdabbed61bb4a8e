package templates

import (
	"math"
	"strings"
	"time"
)

const (
	sparkWidth  = 100.0
	sparkHeight = 24.0
)

// A Spark is a line of at most 60 points without axes.
type Spark struct {
	From   time.Time
	To     time.Time
	Step   time.Duration
	Points []Point
	// Limit is drawn as a dashed line where it lies within the plot.
	Limit float64
	// Label says the same in words.
	Label string
	Stale bool
}

// line returns the path, the place of the last point, and the height of the limit line, each empty if there is none.
func (s Spark) line() (path, lastX, lastY, limit string) {
	if len(s.Points) == 0 || !s.To.After(s.From) {
		return "", "", "", ""
	}
	top := s.Limit * 1.2
	for _, p := range s.Points {
		top = math.Max(top, p.Value*1.05)
	}
	if top <= 0 {
		top = 1
	}
	x := func(at time.Time) float64 {
		return 2 + (sparkWidth-5)*float64(at.Sub(s.From))/float64(s.To.Sub(s.From))
	}
	y := func(v float64) float64 { return 2 + (sparkHeight-4)*(1-v/top) }
	var b strings.Builder
	for _, run := range runs(s.Points, s.Step) {
		for i, p := range run {
			command := "L"
			if i == 0 {
				command = "M"
			}
			b.WriteString(command + px(x(p.At)) + " " + px(y(p.Value)))
		}
		if len(run) == 1 {
			b.WriteString("h1")
		}
	}
	last := s.Points[len(s.Points)-1]
	if s.Limit > 0 {
		limit = px(y(s.Limit))
	}
	return b.String(), px(x(last.At)), px(y(last.Value)), limit
}
