package truth

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// The marks between which a page's table is generated.
const (
	tableBegins = "<!-- generated table: begin -->"
	tableEnds   = "<!-- generated table: end -->"
)

// Rewrite replaces what stands between the marks of a page; the rest of the page stays as it is.
func (r Result) Rewrite(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	before, rest, begins := bytes.Cut(page, []byte(tableBegins))
	_, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		return fmt.Errorf("write the table: %s has no %q with %q after it", path, tableBegins, tableEnds)
	}
	text := string(before) + tableBegins + "\n" + r.markdown() + tableEnds + string(after)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// markdown is the generated part of the page.
func (r Result) markdown() string {
	var b strings.Builder
	o := r.Options
	fmt.Fprintf(&b, "Run of %s: %s, %s, %d messages a case over %s, read every %s, %s in all. %s.\n\n",
		r.Began.UTC().Format(time.DateOnly), amount(len(o.Cases), "case"), amount(o.Seeds, "seed"), o.Messages, o.Over, o.Interval, r.Took.Round(time.Minute), r.Servers)
	fmt.Fprintf(&b, "%s\n\n", r.sentence())
	b.WriteString("| case | scheme and troubles | source | known | true, % | shown, % | off, worst | half width, worst | verdict |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range r.byCase() {
		c.rates(&b)
	}
	b.WriteString("\n*True* and *shown* are of the seed with the widest figure. Off and half width are in percentage points; *known* says under how many seeds the\n" +
		"source gave a figure. Of times, off is relative.\n\n")
	b.WriteString("| case | rate usable after | 1 m windows | hold the truth | usable | 5 m windows | hold the truth | usable | rounds | with a later end |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range r.byCase() {
		c.midRun(&b)
	}
	b.WriteString("\nDisjoint windows in mid-run, all cases and seeds together:\n\n")
	for _, c := range r.coverages() {
		fmt.Fprintf(&b, "- %s\n", c)
	}
	b.WriteString("\n")
	b.WriteString("| case | work p95, true | off, worst | work mean, true | off, worst | ack mean, true | off, worst | ack mean in mid-run, true | off, worst |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range r.byCase() {
		c.times(&b)
	}
	b.WriteString("\nWhat these times came to, each counted once for each case and seed:\n\n")
	for _, p := range r.proofs() {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	b.WriteString("\nEvery figure that was wrong or outside its limit:\n\n")
	misses := r.wrongOnly()
	for _, m := range misses {
		fmt.Fprintf(&b, "- %s\n", cell(m, 400))
	}
	if len(misses) == 0 {
		b.WriteString("- none\n")
	}
	return b.String()
}

// sentence sums the run up.
func (r Result) sentence() string {
	looked, wrong := 0, 0
	for _, o := range r.Outcomes {
		looked += o.Looked
		wrong += len(o.Violations)
	}
	good, rows := r.good()
	text := fmt.Sprintf("%d of %d rows are good, a row being a case under one seed of which more than a bound can be known. Rates that any source gave in mid-run, held against the truth of their own spans: %d, of which %d false.",
		good, rows, looked, wrong)
	if failures := r.Failures(); len(failures) > 0 {
		return text + " The run does **not** pass: " + cell(strings.Join(failures, "; "), 2000) + "."
	}
	return text + " The run passes."
}

// wrongOnly are the misses without those that only cannot tell.
func (r Result) wrongOnly() []string {
	return slices.DeleteFunc(r.Misses(), func(m string) bool { return strings.Contains(m, ": "+string(CannotTell)+";") })
}

// rates writes one line for each source of a case.
func (s caseOutcomes) rates(b *strings.Builder) {
	for i, name := range s.sources() {
		label, scheme := "", ""
		if i == 0 {
			label, scheme = s.c.Name, string(s.c.Scheme)+": "+s.c.Knobs.String()
		}
		rows := s.rows(name)
		told := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Refused })
		verdict := string(worstOf(rows))
		if s.c.Bound != "" && verdict == string(CannotTell) {
			verdict = "bound: " + s.c.Bound
		}
		if len(told) == 0 {
			fmt.Fprintf(b, "| %s | %s | %s | 0 of %d | | | | | refused: %s |\n", label, scheme, name, len(rows), cell(rows[0].Figure.Why, 200))
			continue
		}
		widest, off := told[0], 0.0
		for _, r := range told {
			off = max(off, r.Miss)
			if r.Figure.High-r.Figure.Low > widest.Figure.High-widest.Figure.Low {
				widest = r
			}
		}
		f := widest.Figure
		fmt.Fprintf(b, "| %s | %s | %s | %d of %d | %s | %s | %s | %s | %s |\n", label, scheme, name, len(told), len(rows),
			span(widest.Low, widest.High), span(f.Low, f.High), points(off), points((f.High-f.Low)/2), verdict)
	}
}

// midRun writes what a case came to while traffic flowed.
func (s caseOutcomes) midRun(b *strings.Builder) {
	var short, long Coverage
	var ends Ends
	slowest := time.Duration(0)
	for _, o := range s.runs {
		short, long, ends = short.plus(o.Short), long.plus(o.Long), ends.plus(o.Ends)
		if o.Usable == 0 {
			slowest = never
		}
		slowest = max(slowest, o.Usable)
	}
	after := slowest.Round(time.Second).String()
	if slowest == never {
		after = "never"
	}
	fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", s.c.Name, after, short.Windows, short.Held, short.Usable, long.Windows, long.Held, long.Usable,
		ends.Rounds, ends.Moved)
}

// never is longer than any run.
const never = time.Duration(math.MaxInt64)

// times writes the line of a case's latencies.
func (s caseOutcomes) times(b *strings.Builder) {
	fmt.Fprintf(b, "| %s |", s.c.Name)
	for i := range s.runs[0].Timings {
		var lows, highs, off []float64
		loose := false
		for _, o := range s.runs {
			t := o.Timings[i]
			lows, highs = append(lows, t.Low.Seconds()), append(highs, t.High.Seconds())
			loose = loose || t.Loose
			if t.Figure.Known() {
				off = append(off, t.Error)
			}
		}
		shown := "not shown"
		if len(off) > 0 {
			worst := slices.MaxFunc(off, func(a, b float64) int { return int(math.Copysign(1, math.Abs(a)-math.Abs(b))) })
			shown = fmt.Sprintf("%+.1f %% (%d of %d)", 100*worst, len(off), len(s.runs))
		}
		if loose {
			shown += ", proves nothing: busy machine"
		}
		middle := Timing{Low: time.Duration(median(lows) * 1e9), High: time.Duration(median(highs) * 1e9)}
		fmt.Fprintf(b, " %s | %s |", middle.truth(), shown)
	}
	b.WriteString("\n")
}

// sources are the names of the rows, in the order in which they first came.
func (s caseOutcomes) sources() []string {
	var names []string
	for _, o := range s.runs {
		for _, r := range o.Rows {
			if !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

func (s caseOutcomes) rows(name string) []Row {
	var rows []Row
	for _, o := range s.runs {
		for _, r := range o.Rows {
			if r.Name == name {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func worstOf(rows []Row) Verdict {
	worst := Good
	for _, r := range rows {
		if r.Verdict == Wrong || r.Verdict == CannotTell && worst == Good {
			worst = r.Verdict
		}
	}
	return worst
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// cell makes a text fit into a table or a list of Markdown.
func cell(text string, longest int) string {
	text = strings.NewReplacer("|", "/", "\n", " ", "<", "&lt;", "*", `\*`).Replace(text)
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-1]) + "…"
	}
	return text
}

func amount(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// String lists the troubles.
func (k Knobs) String() string {
	var parts []string
	add := func(share float64, what string) {
		if share > 0 {
			parts = append(parts, fmt.Sprintf("%.4g %% %s", 100*share, what))
		}
	}
	add(k.Resend, "sent again")
	add(k.LostAck, "acks lost")
	add(k.Fail, fmt.Sprintf("fail %d×", k.FailTimes))
	add(k.AlwaysFail, "always fail")
	add(k.Crash, "crash in mid-work")
	if k.Endless > 0 {
		parts = append(parts, fmt.Sprintf("%d loop on a marker without expiry", k.Endless))
	}
	if k.NoID {
		parts = append(parts, "no message ids")
	}
	if k.Bursts {
		parts = append(parts, "in bursts")
	}
	if k.ClaimTTL > 0 {
		parts = append(parts, fmt.Sprintf("claims live %s", k.ClaimTTL))
	}
	return strings.Join(append(parts, fmt.Sprintf("prefetch %d × %d, %s work of %s", k.Prefetch, k.Channels, k.Work, k.Median)), ", ")
}
