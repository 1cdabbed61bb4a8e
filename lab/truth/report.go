package truth

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// Print writes every miss, and whether the run passes.
func (r Result) Print(w io.Writer) {
	fmt.Fprintln(w)
	for _, m := range r.Misses() {
		fmt.Fprintln(w, "miss:", m)
	}
	for _, f := range r.Failures() {
		fmt.Fprintln(w, "FAILED:", f)
	}
	for _, p := range r.proofs() {
		fmt.Fprintln(w, "proof:", p)
	}
	for _, c := range r.coverages() {
		fmt.Fprintln(w, "coverage:", c)
	}
	good, rows := r.good()
	fmt.Fprintf(w, "%d of %d rows are good\n", good, rows)
	fmt.Fprintf(w, "%d cases, %d seeds, %d messages each, took %s: %s\n", len(r.Options.Cases), r.Options.Seeds, r.Options.Messages,
		r.Took.Round(time.Second), r.Servers)
}

// Print writes every figure of one case beside its truth.
func (o Outcome) Print(w io.Writer) {
	t := o.Truth
	fmt.Fprintf(w, "\nseed %d, %s (%s): %s; %d figures in mid-run, %d false\n", o.Seed, o.Case.Name, o.Case.Scheme, o.Verdict(), o.Looked, len(o.Violations))
	fmt.Fprintf(w, "  truth: %d messages, %d duplicates, %d early, %d swallowed, %d looping, %d double effects, %d failures, %d gave up, %d lost acks, %d crashes\n",
		t.Acked, t.Duplicates, t.Early, t.Swallowed, t.Looping, t.DoubleEffects, t.Failures, t.GaveUp, t.LostAcks, t.Crashes)
	if want, got := o.Expected, o.Truth.expected(); want != got {
		fmt.Fprintf(w, "  two deliveries raced: %+v, without races it were %+v\n", got, want)
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range o.Rows {
		f := row.Figure
		if row.Refused {
			fmt.Fprintf(table, "  %s\ttruth %s\trefused\t\t\t\t%s\n", row.Name, span(row.Low, row.High), f.Why)
			continue
		}
		fmt.Fprintf(table, "  %s\ttruth %s\t[%s, %s]\twidth %s\toff %s\t%s\t%s %s\n", row.Name, span(row.Low, row.High), points(f.Low), points(f.High),
			points(f.High-f.Low), points(row.Miss), f.Quality, row.Verdict, f.Why)
	}
	for _, g := range o.Timings {
		if !g.Figure.Known() {
			fmt.Fprintf(table, "  %s\ttruth %s\tunknown\t\t\t\t%s\n", g.Name, g.truth(), g.Figure.Why)
			continue
		}
		fmt.Fprintf(table, "  %s\ttruth %s\t%s\t\toff %+.1f %%\t%s\t%s, %s\n", g.Name, g.truth(), g.shown(), 100*g.Error,
			g.Figure.Quality, g.Figure.Source, g.word())
	}
	table.Flush()
	fmt.Fprintf(w, "  usable after %s; over 1 m %+v; over 5 m %+v; ack mean over 1 m %+v, over 5 m %+v; ends %+v\n", o.Usable.Round(time.Second), o.Short, o.Long, o.Held, o.HeldLong, o.Ends)
	for _, t := range o.Tallies {
		fmt.Fprintf(w, "  %s: %s\n", t, within(t.OK))
	}
}

func within(ok bool) string {
	if ok {
		return "ok"
	}
	return "MISS"
}

// A proof counts what the figures of one time came to, over all cases and seeds.
type proof struct {
	name                           string
	within, loose, refused, missed int
	// worst is the largest error, of either sign.
	worst float64
}

// String says it in one line.
func (p proof) String() string {
	return fmt.Sprintf("%s: %d sharp and within its limit, %d missed, %d loose (the truth itself was blurred), %d refused; worst %+.1f %%",
		p.name, p.within, p.missed, p.loose, p.refused, 100*p.worst)
}

// add counts one figure.
func (p *proof) add(t Timing) {
	if math.Abs(t.Error) > math.Abs(p.worst) {
		p.worst = t.Error
	}
	switch {
	case !t.Figure.Known():
		p.refused++
	case t.Loose:
		p.loose++
	case t.OK:
		p.within++
	default:
		p.missed++
	}
}

// proofs counts what the times came to, by their names.
func (r Result) proofs() []proof {
	var all []proof
	for _, o := range r.Outcomes {
		for i, t := range o.Timings {
			if i == len(all) {
				all = append(all, proof{name: t.Name})
			}
			all[i].add(t)
		}
	}
	return all
}

// word says whether a latency is within its limit.
func (t Timing) word() string {
	if t.Loose {
		return "loose, between the ends of a truth that proves nothing: the machine is too busy"
	}
	return within(t.OK)
}

func millis(seconds float64) string { return fmt.Sprintf("%.1f ms", 1000*seconds) }

// shown writes a latency as the page does: an upper bound, both bounds, or a number.
func (t Timing) shown() string {
	switch f := t.Figure; {
	case !f.Known():
		return "unknown"
	case f.AtMost():
		return "≤ " + millis(f.High)
	case f.Bounded():
		return millis(f.Low) + "–" + millis(f.High)
	default:
		return millis(f.Value)
	}
}

// truth writes the bounds of a latency, as one number where they agree, and a dash where nothing happened.
func (t Timing) truth() string {
	if t.High == 0 {
		return "–"
	}
	low, high := millis(t.Low.Seconds()), millis(t.High.Seconds())
	if low == high {
		return low
	}
	return strings.TrimSuffix(low, " ms") + ".." + high
}

// span writes the bounds of a truth, as one number where they agree.
func span(low, high float64) string {
	if points(low) == points(high) {
		return points(low)
	}
	return points(low) + ".." + points(high)
}
