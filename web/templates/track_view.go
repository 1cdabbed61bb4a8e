package templates

import "math"

// A Track is the events under the duplicate chart, in its time, numbered in time order.
type Track struct {
	Events []TrackEvent
	Ticks  []Tick
	// Wide are events of the whole broker, newest first, which are not drawn; WideWord heads them.
	Wide     []TrackEvent
	WideWord string
	// More counts events that were left out.
	More int
}

// A TrackEvent is one mark on the track with its number and its place, 0 to 100 percent of the range. It stands for one
// event, or for several that lie too close to be told apart.
type TrackEvent struct {
	Number int
	At     Moment
	// Kind is the word for it: "alarm", "12 consumer restarts". Shape tells kinds apart without colour.
	Kind  string
	Shape string
	Text  Text
	X     string
	// Place is X as a number. Minor marks are drawn without their number on narrow screens.
	Place float64
	Minor bool
	// Members are the events of a mark that stands for several; Until is when the last of them was, More those left out.
	Members []TrackMember
	Until   Moment
	More    int
}

// A TrackMember is one event of a mark that stands for several.
type TrackMember struct {
	At   Moment
	Kind string
	Text Text
}

// TrackGap is the least distance between two marks in percent of the width of the duplicate chart, which is more than 24
// pixels, the least target, on a wide screen; trackGapPhone is that on a phone.
const (
	TrackGap      = 4.0
	trackGapPhone = 14.0
)

// ThinOut finds the marks, in time order, that would cover the one before on a narrow screen; the list still has them all.
func ThinOut(events []TrackEvent) {
	last := math.Inf(-1)
	for i := range events {
		e := &events[i]
		if e.Minor = e.Place-last < trackGapPhone; !e.Minor {
			last = e.Place
		}
	}
}

// say is a mark in one line, for those who hover over it or reach it by key.
func (e TrackEvent) say() string {
	line := e.At.Text
	if e.Until.RFC != "" {
		line += "–" + e.Until.Text
	}
	line += " " + e.Kind
	if len(e.Members) == 0 && e.Text.Short != "" {
		line += ": " + Plain(e.Text.Short, 110).Short
	}
	return line
}

// side is where the line of a mark stands, so that it stays within the track.
func (e TrackEvent) side() string {
	switch {
	case e.Place < 33:
		return "from"
	case e.Place > 67:
		return "to"
	default:
		return "mid"
	}
}

// outline draws a shape around 0, 0, about 20 pixels wide.
func outline(shape string) string {
	switch shape {
	case "square": // the broker
		return "M-9 -9H9V9H-9Z"
	case "triangle": // an alarm
		return "M0 -11L11 9H-11Z"
	case "hexagon": // an ack timeout
		return "M-10 0L-5 -9H5L10 0L5 9H-5Z"
	case "diamond": // counters
		return "M0 -11L11 0L0 11L-11 0Z"
	case "barrel": // a store
		return "M-10 -6Q0 -11 10 -6V6Q0 11 -10 6Z"
	case "arrow": // an action of ours
		return "M-10 -8H3L11 0L3 8H-10Z"
	case "flag": // a deploy
		return "M-9 -9H9V10L0 5L-9 10Z"
	case "cross": // a source that is lost or back
		return "M-4 -10H4V-4H10V4H4V10H-4V4H-10V-4H-4Z"
	case "stack": // several kinds
		return "M-12 -8H8V-11H12V8H-12Z"
	default: // a consumer
		return "M-10 0A10 10 0 1 0 10 0A10 10 0 1 0 -10 0Z"
	}
}
