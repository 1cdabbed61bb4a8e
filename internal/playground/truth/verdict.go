package truth

import "fmt"

// allowedCannotTell is how many of twelve cases may end in "cannot tell".
const allowedCannotTell = 4

// Misses names every figure that is not good, and why.
func (r Result) Misses() []string {
	var all []string
	for _, o := range r.Outcomes {
		where := fmt.Sprintf("seed %d, %s", o.Seed, o.Case.Name)
		for _, row := range o.Rows {
			if row.Verdict == Good || row.Verdict == CannotTell && row.Name != Shown {
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
				all = append(all, fmt.Sprintf("%s, %s: %s instead of %s, off by %+.1f %%", where, g.Name, millis(g.Figure.Value), g.truth(), 100*g.Error))
			}
		}
	}
	return all
}

// Failures says why the run as a whole does not pass; empty when it does.
func (r Result) Failures() []string {
	var all []string
	unknown, counted := 0, 0
	for _, s := range r.byCase() {
		worst := s.verdict()
		if worst == Wrong {
			all = append(all, s.c.Name+": a figure was wrong")
		}
		all = append(all, s.beside()...)
		if s.c.Companion() {
			continue
		}
		counted++
		if worst == CannotTell {
			unknown++
			if s.c.Must {
				all = append(all, fmt.Sprintf("%s: scheme %s must be told, and was not", s.c.Name, s.c.Scheme))
			}
		}
	}
	if unknown*12 > allowedCannotTell*counted {
		all = append(all, fmt.Sprintf("%d of %d cases could not be told, which is more than %d of 12", unknown, counted, allowedCannotTell))
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

// beside names the counts that miss the truth, and the latencies that are off by more than their limit. The mean of the work is
// printed and fails no run: where rows are dated to the second its own error is of the size of the limit.
func (s caseOutcomes) beside() []string {
	var all []string
	for _, o := range s.runs {
		for _, t := range o.Tallies {
			if !t.OK {
				all = append(all, fmt.Sprintf("%s, seed %d: %s", s.c.Name, o.Seed, t))
			}
		}
		for _, t := range o.Timings {
			if t.Name != workMean && t.Figure.Known() && !t.OK {
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
