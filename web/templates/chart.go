package templates

import "time"

// A Chart is one figure with its lines, limits and data table, ready to be drawn.
type Chart struct {
	// ID is a plain word: part of element ids and of the CSV address.
	ID    string
	Title string
	Unit  Unit
	From  time.Time
	To    time.Time
	Step  time.Duration
	Lines []Line
	// Limits are labelled boundaries; with Bands the space between them is tinted by tier.
	Limits []Limit
	Bands  bool
	Log    bool
	// Bars are arrivals per step, drawn in a strip of their own below the plot.
	Bars      []Point
	BarsLabel string
	// Sentence says now, lowest, highest and the limit in words.
	Sentence string
	CSV      string
	Table    Table
	// Missing says why there is nothing to draw; empty when there is.
	Missing string
	Events  []TrackEvent
}

// Unit says how the values of a chart are written.
type Unit string

// The units of charts: ratios 0 to 1, seconds, and plain counts.
const (
	UnitRatio   Unit = "ratio"
	UnitSeconds Unit = "seconds"
	UnitCount   Unit = "count"
)

// Format writes one value of the unit.
func (u Unit) Format(v float64) string {
	switch u {
	case UnitRatio:
		return Percent(v)
	case UnitSeconds:
		return Latency(v)
	default:
		return Rate(v)
	}
}

// A Line is one series of a chart.
type Line struct {
	// Name is the end label and the column of the table; Class picks colour and dash.
	Name  string
	Class string
	// Points are in time order; a missing step is a gap. High, if any, is the upper end of an interval.
	Points []Point
	High   []Point
	// Stepped lines hold their value until the next one; Filled ones are areas.
	Stepped bool
	Filled  bool
}

// A Point is one value at one time.
type Point struct {
	At    time.Time
	Value float64
}

// A Limit is a boundary between tiers: values above it have the tier.
type Limit struct {
	Value float64
	Label string
	Tier  string
}

// A Table is a chart's data in words.
type Table struct {
	Note string
	Head []string
	Rows [][]string
}

// A Tick is a label on an axis. X and Y are positions: X in percent of the width, Y in pixels from the top.
type Tick struct {
	X     string
	Y     string
	Label string
	// Minor labels are left out on narrow screens.
	Minor bool
}
