package truth

import (
	"cmp"

	"dedup-dashboard/internal/dedup"
)

// Shown is the name of the duplicate rate that the pages show, beside the methods.
const Shown = "shown"

// A Row is one duplicate rate held against the truth.
type Row struct {
	// Name is Shown or the method of an estimate.
	Name      string
	Low, High float64 // the truth of the figure's span
	Figure    dedup.Figure
	Judgement
}

// An Outcome is what one case came to under one seed.
type Outcome struct {
	Case      Case
	Seed      uint64
	Truth     Counts
	Expected  Expected
	Latencies Latencies
	// Rows begin with what is shown.
	Rows    []Row
	Timings []Timing
	// Tallies are the counts beside the rate.
	Tallies []Tally
	// Looked counts the rates that were shown in mid-run, Violations those of them that were false.
	Looked     int
	Violations []string
}

// Verdict is that of what is shown, and wrong where any source or anything that was shown in mid-run is.
func (o Outcome) Verdict() Verdict {
	for _, r := range o.Rows {
		if r.Verdict == Wrong {
			return Wrong
		}
	}
	if len(o.Violations) > 0 {
		return Wrong
	}
	return o.Rows[0].Verdict
}

// shownWindow is the index of the window that pages judge first: 15 m.
const shownWindow = 1

// outcome judges a case by a snapshot.
func (l *lane) outcome(s *dedup.Snapshot) Outcome {
	o := Outcome{Case: l.c, Seed: l.seed, Truth: l.tally.read(), Expected: l.expected, Latencies: l.tally.latencies(),
		Looked: len(l.witness.shown), Violations: l.witness.violations()}
	var figures dedup.WindowFigures
	if p, ok := s.Pipeline(l.c.Name); ok && len(p.Windows) > shownWindow {
		figures = p.Windows[shownWindow]
	}
	add := func(name string, f dedup.Figure) {
		low, high := o.Truth.Rate()
		if claims(f) {
			low, high = l.witness.of(f)
		}
		o.Rows = append(o.Rows, Row{name, low, high, f, judge(low, high, f)})
	}
	add(Shown, figures.DuplicateRate)
	for _, e := range estimates(figures) {
		add(string(e.Method), e.Rate)
	}
	o.Timings = append(timings(figures, o.Latencies), l.witness.acksInMidRun(o.Latencies.Ways.Mean))
	o.Tallies = l.witness.tallies(figures)
	return o
}

// estimates returns what each source says; where sources are not told apart, the second one that is shown.
func estimates(w dedup.WindowFigures) []dedup.Estimate {
	if len(w.Estimates) > 0 {
		return w.Estimates
	}
	var all []dedup.Estimate
	for _, f := range []dedup.Figure{w.DuplicateRate, w.CrossCheck} {
		if claims(f) {
			all = append(all, dedup.Estimate{Method: dedup.Method(cmp.Or(f.Source, "unnamed")), Rate: f})
		}
	}
	return all
}
