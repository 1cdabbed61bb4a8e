package show

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// Arrivals tells what came in, and over what; empty while that is not known.
func Arrivals(in dedup.Figure) string {
	if !in.Known() {
		return ""
	}
	text := inflowText(in)
	if in.Covered >= leastRated {
		text += ", " + lastSpan(in)
	}
	return text
}

// leastRated is how much of the history must be there before arrivals are told as a rate per hour: a burst of two minutes is none.
const leastRated = 15 * time.Minute

// inflowText tells what came into dead-letter queues: per hour, or with little history how many there were in how long.
func inflowText(f dedup.Figure) string {
	if f.IsInterval() && f.Covered < leastRated {
		return templates.Number(f.N) + "–" + templates.Number(math.Round(f.High*f.Covered.Hours())) + " in " + templates.Span(f.Covered)
	}
	if f.Known() && f.Covered < leastRated {
		return templates.Number(f.N) + " in " + templates.Span(f.Covered)
	}
	return FigureText(f)
}

// InflowFigure is the figure of what came into dead-letter queues.
func InflowFigure(f dedup.Figure, now time.Time) templates.Figure {
	v := Figure(f, "unknown", now)
	if v.Known {
		v.Text = inflowText(f)
	}
	return v
}

// lastSpan names the part of a window that has data.
func lastSpan(f dedup.Figure) string {
	if Short(f) {
		return "last " + templates.Span(f.Covered)
	}
	return "last hour"
}
