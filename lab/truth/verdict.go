package truth

import "fmt"

// What a run must reach: the share of its rows that are good, a row being one case under one seed of which more than a bound can be known, and
// the lower confidence limit of the share of disjoint windows whose figure holds the truth.
const (
	leastGood     = 0.95
	leastCoverage = 0.93
)

// Misses names every figure that is not good, and why.
func (r Result) Misses() []string {
	var all []string
	for _, o := range r.Outcomes {
		where := fmt.Sprintf("seed %d, %s", o.Seed, o.Case.Name)
		for _, row := range o.Rows {
			if row.Verdict == Good || row.Verdict == CannotTell && (row.Name != Shown && row.Name != ShownLive || o.Case.Bound != "") {
				continue
			}
			all = append(all, fmt.Sprintf("%s, %s: %s; truth %s, figure [%s, %s] %s: %s", where, row.Name, row.Verdict, span(row.Low, row.High),
				points(row.Figure.Low), points(row.Figure.High), row.Figure.Quality, row.Figure.Why))
		}
		for i, v := range o.Violations {
			if i == 3 {
				all = append(all, fmt.Sprintf("%s: and %d more like these", where, len(o.Violations)-i))
				break
			}
			all = append(all, where+": "+v)
		}
		for _, t := range o.Tallies {
			if !t.OK {
				all = append(all, fmt.Sprintf("%s: %s", where, t))
			}
		}
		for _, g := range o.Timings {
			if g.Figure.Known() && !g.OK {
				all = append(all, fmt.Sprintf("%s, %s: %s instead of %s, off by %+.1f %%", where, g.Name, g.shown(), g.truth(), 100*g.Error))
			}
		}
	}
	return all
}

// Failures says why the run as a whole does not pass; empty when it does.
func (r Result) Failures() []string {
	var all []string
	for _, s := range r.byCase() {
		if s.verdict() == Wrong {
			all = append(all, s.c.Name+": a figure was wrong")
		}
		all = append(all, s.beside()...)
	}
	if good, rows := r.good(); float64(good) < leastGood*float64(rows) {
		all = append(all, fmt.Sprintf("%d of %d rows are good, which is less than %.0f %%", good, rows, 100*leastGood))
	}
	for _, c := range r.coverages() {
		if c.Windows > 0 && c.Least() < leastCoverage {
			all = append(all, fmt.Sprintf("%s, which can be less than %.0f %%", c, 100*leastCoverage))
		}
	}
	return all
}

// good counts the rows of which more than a bound can be known, and those of them that are good.
func (r Result) good() (good, rows int) {
	for _, o := range r.Outcomes {
		if o.Case.Companion() || o.Case.Bound != "" {
			continue
		}
		rows++
		if o.Verdict() == Good {
			good++
		}
	}
	return good, rows
}

// A namedCoverage is what the disjoint windows of one length came to, over all cases and seeds.
type namedCoverage struct {
	name string
	Coverage
}

// String says it in one line.
func (c namedCoverage) String() string {
	return fmt.Sprintf("%s: %d of %d disjoint windows hold the truth (at least %.1f %% with a confidence of 95 %%), %d usable, %d wrong",
		c.name, c.Held, c.Windows, 100*c.Least(), c.Usable, c.Wrong)
}

func (r Result) coverages() []namedCoverage {
	all := []namedCoverage{{name: "rates over 1 m"}, {name: "rates over 5 m"}, {name: "mean ack latencies over 1 m"}, {name: "mean ack latencies over 5 m"}}
	for _, o := range r.Outcomes {
		for i, c := range []Coverage{o.Short, o.Long, o.Held, o.HeldLong} {
			all[i].Coverage = all[i].plus(c)
		}
	}
	return all
}

// caseOutcomes are the outcomes of one case under all seeds.
type caseOutcomes struct {
	c    Case
	runs []Outcome
}

func (r Result) byCase() []caseOutcomes {
	var all []caseOutcomes
	for _, c := range r.Options.Cases {
		s := caseOutcomes{c: c}
		for _, o := range r.Outcomes {
			if o.Case.Name == c.Name {
				s.runs = append(s.runs, o)
			}
		}
		if len(s.runs) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// beside names the counts that miss the truth, and the latencies that fail the run.
func (s caseOutcomes) beside() []string {
	var all []string
	for _, o := range s.runs {
		for _, t := range o.Tallies {
			if !t.OK {
				all = append(all, fmt.Sprintf("%s, seed %d: %s", s.c.Name, o.Seed, t))
			}
		}
		for _, t := range o.Timings {
			if t.fails() {
				all = append(all, fmt.Sprintf("%s, seed %d: the %s is off by %+.1f %%", s.c.Name, o.Seed, t.Name, 100*t.Error))
			}
		}
	}
	return all
}

// verdict is the worst of all seeds.
func (s caseOutcomes) verdict() Verdict {
	worst := Good
	for _, o := range s.runs {
		switch v := o.Verdict(); {
		case v == Wrong:
			return Wrong
		case v == CannotTell:
			worst = CannotTell
		}
	}
	return worst
}
