package truth

import (
	"cmp"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Shown is the name of the duplicate rate that the pages show at rest, beside the methods; ShownLive that of the last whole window of 5 minutes
// while traffic flowed.
const (
	Shown     = "shown"
	ShownLive = "shown in mid-run"
)

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
	// Short and Long count the rates of disjoint windows in mid-run, Held and HeldLong the mean ack latencies.
	Short, Long, Held, HeldLong Coverage
	// Usable is how long after the first message a rate was usable first; zero where none was.
	Usable time.Duration
	// Ends are those of the windows of 5 minutes.
	Ends Ends
}

// Verdict is the worse one of what is shown at rest and in mid-run, and wrong where any source or anything that was shown in mid-run is.
func (o Outcome) Verdict() Verdict {
	worst := Good
	for _, r := range o.Rows {
		if r.Verdict == Wrong {
			return Wrong
		}
		if r.Verdict == CannotTell && (r.Name == Shown || r.Name == ShownLive) {
			worst = CannotTell
		}
	}
	if len(o.Violations) > 0 {
		return Wrong
	}
	return worst
}

// shownWindow is the index of the window that is judged at rest: the whole run.
const shownWindow = 2

// outcome judges a case by a snapshot.
func (l *lane) outcome(s *dedup.Snapshot) Outcome {
	o := Outcome{Case: l.c, Seed: l.seed, Truth: l.tally.read(), Expected: l.expected, Latencies: l.tally.latencies(),
		Looked: len(l.witness.shown), Violations: l.witness.violations(), Short: l.witness.short.coverage(l.witness.of),
		Long: l.witness.long.coverage(l.witness.of), Usable: l.witness.usable, Ends: l.witness.ends}
	ways := o.Latencies.Ways.Mean
	o.Held, o.HeldLong = l.witness.holds(l.witness.held, ways), l.witness.holds(l.witness.heldLong, ways)
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
	if all := l.witness.long.all; len(all) > 0 {
		add(ShownLive, all[len(all)-1])
	}
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
