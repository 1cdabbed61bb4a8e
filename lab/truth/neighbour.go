package truth

import (
	"fmt"
	"math"

	"dedup-dashboard/internal/dedup"
)

// A Tally is one count that is shown beside the rate, held against the truth of its span.
type Tally struct {
	Name      string
	Low, High float64
	Figure    dedup.Figure
	// OK says whether the figure, or its interval, holds the truth within a thousandth of the messages; it means nothing where the
	// figure is unknown.
	OK bool
}

// tallies holds the counts of a window against the truth: the duplicates, what they come from, and their neighbours.
func (w *witness) tallies(figures dedup.WindowFigures) []Tally {
	type counter = func(Counts) int64
	all := []struct {
		name string
		f    dedup.Figure
		// low and high count what certainly, and what arguably, is meant.
		low, high counter
	}{
		{"messages", figures.Messages, func(c Counts) int64 { return c.Acked }, func(c Counts) int64 { return c.Acked + c.LostAcks }},
		{"duplicates", figures.Duplicates, func(c Counts) int64 { return c.Duplicates }, func(c Counts) int64 { return c.Duplicates + c.Early }},
		{"sent by the producer", figures.ProducerSent, func(c Counts) int64 { return c.Duplicates - c.Redelivered },
			func(c Counts) int64 { return c.Duplicates - c.Redelivered + c.Early }},
		{"redelivered", figures.Redelivered, func(c Counts) int64 { return c.Redelivered }, func(c Counts) int64 { return c.Redelivered }},
		{"swallowed", figures.Swallowed, func(c Counts) int64 { return c.Swallowed }, func(c Counts) int64 { return c.Swallowed + c.Early }},
		{"looping", figures.Looping, func(c Counts) int64 { return c.Looping }, func(c Counts) int64 { return c.Looping }},
		{"double effects", figures.DoubleEffects, func(c Counts) int64 { return c.DoubleEffects }, func(c Counts) int64 { return c.DoubleEffects }},
		{"failures", figures.Failures, func(c Counts) int64 { return c.Failures }, func(c Counts) int64 { return c.Failures }},
		{"gave up", figures.GaveUp, func(c Counts) int64 { return c.GaveUp }, func(c Counts) int64 { return c.GaveUp }},
		{"lost", figures.Lost, func(c Counts) int64 { return c.Lost }, func(c Counts) int64 { return c.Lost + c.GaveUp + c.Swallowed }},
	}
	last := w.notes[len(w.notes)-1].counts
	grace := math.Max(1, float64(last.Acked)/1000)
	var tallies []Tally
	for _, t := range all {
		if !t.f.Known() || t.f.Covered == 0 {
			continue
		}
		low, _ := w.count(t.f, t.low)
		_, high := w.count(t.f, t.high)
		ok := t.f.Low <= high+grace && (t.f.AtLeast || t.f.High >= low-grace)
		tallies = append(tallies, Tally{t.name, low, high, t.f, ok})
	}
	return tallies
}

// String writes the figure beside the truth.
func (t Tally) String() string {
	truth, figure := fmt.Sprintf("%.0f", t.Low), fmt.Sprintf("%.0f", t.Figure.Low)
	if t.High > t.Low {
		truth += fmt.Sprintf("..%.0f", t.High)
	}
	switch {
	case t.Figure.AtLeast:
		figure = "at least " + figure
	case t.Figure.High > t.Figure.Low:
		figure += fmt.Sprintf("..%.0f", t.Figure.High)
	}
	return fmt.Sprintf("%s %s (%s), truth %s", t.Name, figure, t.Figure.Quality, truth)
}
