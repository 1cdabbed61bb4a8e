package truth

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestCountsBesideTheRateAreHeldAgainstTheTruth(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	end := Counts{Acked: 10_000, Duplicates: 300, Redelivered: 40, Swallowed: 20, Early: 3, Looping: 500, GaveUp: 12, LostAcks: 40}
	w := witness{notes: []note{{began, began, Counts{}}, {began.Add(time.Minute), began.Add(time.Minute), end}}}
	figure := func(low, high float64) dedup.Figure {
		return dedup.Figure{Quality: dedup.Derived, Unit: dedup.Count, Value: low, Low: low, High: high, At: began.Add(2 * time.Minute), Covered: 3 * time.Minute}
	}
	atLeast := figure(30, 30)
	atLeast.AtLeast = true
	for _, c := range []struct {
		name    string
		figures dedup.WindowFigures
		want    bool
	}{
		{"the exact looping ones are right", dedup.WindowFigures{Looping: figure(500, 500)}, true},
		{"a thousandth of the messages is allowed", dedup.WindowFigures{Looping: figure(510, 510)}, true},
		{"more is not", dedup.WindowFigures{Looping: figure(511, 511)}, false},
		{"an early hit may count as swallowed", dedup.WindowFigures{Swallowed: figure(23, 23)}, true},
		{"an interval holds the truth", dedup.WindowFigures{ProducerSent: figure(200, 263)}, true},
		{"an interval misses the truth", dedup.WindowFigures{ProducerSent: figure(280, 300)}, false},
		{"a lower bound is right below the truth", dedup.WindowFigures{Redelivered: atLeast}, true},
		{"a lower bound is wrong above it", dedup.WindowFigures{GaveUp: atLeast}, false},
		{"a lost ack may count as a message", dedup.WindowFigures{Messages: figure(10_040, 10_040)}, true},
	} {
		got := w.tallies(c.figures)
		if len(got) != 1 || got[0].OK != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := w.tallies(dedup.WindowFigures{Looping: dedup.Unknown(dedup.Count, "no events")}); len(got) != 0 {
		t.Errorf("an unknown figure was judged: %v", got)
	}
}

func TestTheTallyTellsTheOriginOfDuplicates(t *testing.T) {
	y := newTally()
	y.hit("a", 1) // the other copy is being worked on
	y.completed("a")
	if !y.worked("a", 0, 0, 0) {
		t.Fatal("the work was done")
	}
	y.hit("a", 0)
	y.hit("a", 1)
	y.completed("a")
	if y.worked("b", 0, 0, 0) || y.worked("b", 1, 0, 0) {
		t.Fatal("the work of b was never done")
	}
	want := Counts{Completions: 1, DoubleEffects: 1, Duplicates: 2, Redelivered: 1, Early: 1, Lost: 1}
	if got := y.read(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
