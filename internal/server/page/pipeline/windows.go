package pipeline

import (
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// A measure is one line of the window table. Measures of one group stand together.
type measure struct {
	label, hint string
	group       int
	figure      func(*dedup.WindowFigures) dedup.Figure
}

// rateLabel is the measure that stays in the table even when nobody knows it: it is what a pipeline is watched for.
const rateLabel = "Duplicate rate"

func measures() []measure {
	return []measure{
		{"Messages", "deliveries that were acked", 0, func(w *dedup.WindowFigures) dedup.Figure { return w.Messages }},
		{"Duplicates", "acked without work, work was done", 0, func(w *dedup.WindowFigures) dedup.Figure { return w.Duplicates }},
		{rateLabel, "duplicates / messages", 0, func(w *dedup.WindowFigures) dedup.Figure { return w.DuplicateRate }},
		{"Cross-check", "the next valid source, over a span of its own", 0, func(w *dedup.WindowFigures) dedup.Figure { return w.CrossCheck }},
		{"of them producer-sent", "a second message with the same id", 0, func(w *dedup.WindowFigures) dedup.Figure { return w.ProducerSent }},
		{"of them redelivered", "the same message again", 0, func(w *dedup.WindowFigures) dedup.Figure { return w.Redelivered }},
		{"Redelivery ratio", "a loop signal, not duplicates", 0, func(w *dedup.WindowFigures) dedup.Figure { return w.Redeliveries }},
		{"Ack latency, mean", "delivery to ack", 1, func(w *dedup.WindowFigures) dedup.Figure { return w.AckMean }},
		{"Ack latency, p50", "", 1, func(w *dedup.WindowFigures) dedup.Figure { return w.AckP50 }},
		{"Ack latency, p95", "", 1, func(w *dedup.WindowFigures) dedup.Figure { return w.AckP95 }},
		{"Ack latency, p99", "", 1, func(w *dedup.WindowFigures) dedup.Figure { return w.AckP99 }},
		{"Processing time, mean", "the work alone", 1, func(w *dedup.WindowFigures) dedup.Figure { return w.WorkMean }},
		{"Processing time, p95", "", 1, func(w *dedup.WindowFigures) dedup.Figure { return w.WorkP95 }},
		{"Swallowed", "acked, work not done", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.Swallowed }},
		{"Looping", "redelivered, cannot proceed", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.Looping }},
		{"Double effects", "work done twice", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.DoubleEffects }},
		{"Lost messages", "left without their work", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.Lost }},
		{"In-flight hits", "marker was processing", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.InFlightHits }},
		{"Failures", "", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.Failures }},
		{"Failure rate", "failed / (processed + failed)", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.FailureRate }},
		{"Gave up", "acked without work: lost", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.GaveUp }},
		{"Mean retries", "of messages that failed and are not done", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.MeanRetries }},
		{"Ack timeouts", "", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.AckTimeouts }},
		{"Consumer restarts", "", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.ConsumerRestarts }},
		{"Dead-letter inflow", "arrived: died, or published there", 2, func(w *dedup.WindowFigures) dedup.Figure { return w.DeadLetterInflow }},
	}
}

// windowTable fills the table of the windows. Windows that hold no more data than a shorter one are left out, and what is
// unknown in all of them is folded into one line: neither may hide the figures that there are.
func windowTable(v *templates.PipelineView, p *dedup.PipelineStatus, now time.Time) {
	kept, out := splitWindows(p)
	for _, w := range kept {
		v.Windows = append(v.Windows, windowHead(w))
	}
	v.WindowsOut = windowsOutText(kept, out)
	group := 0
	var unknown []measure
	for _, m := range measures() {
		if m.label != rateLabel && !slices.ContainsFunc(kept, func(w *dedup.WindowFigures) bool { return m.figure(w).Known() }) {
			unknown = append(unknown, m)
			continue
		}
		row := templates.Measure{Label: m.label, Hint: m.hint, Group: m.group != group && len(v.Measures) > 0}
		group = m.group
		for _, w := range kept {
			row.Figures = append(row.Figures, windowFigure(p, m, w, now))
		}
		v.Measures = append(v.Measures, row)
	}
	if len(kept) > 0 {
		v.Unknown = foldUnknown(p, unknown, kept[0])
	}
}

func windowFigure(p *dedup.PipelineStatus, m measure, w *dedup.WindowFigures, now time.Time) templates.Figure {
	word := "unknown"
	if m.label == rateLabel {
		word = show.RateWord(p)
	}
	f := m.figure(w)
	view := show.Figure(show.Blameless(f), word, now)
	part := strings.HasPrefix(m.label, "of them") && f.Covered != w.Duplicates.Covered // of another span than its whole
	if f.Known() && (f.Unit == dedup.PerHour || part) && show.Short(f) {
		view.Since = "from " + templates.Span(f.Covered)
	}
	return view
}

// splitWindows keeps the windows that say something of their own. A window says no more than the one before if its data
// do not reach further back, give or take a twentieth, and none of its figures is known that is unknown there.
func splitWindows(p *dedup.PipelineStatus) (kept, out []*dedup.WindowFigures) {
	for i := range p.Windows {
		w := &p.Windows[i]
		if i == 0 {
			kept = append(kept, w)
			continue
		}
		last := kept[len(kept)-1]
		if reach(w) <= reach(last)+reach(last)/20 && !knowsMore(w, last) {
			out = append(out, w)
		} else {
			kept = append(kept, w)
		}
	}
	return kept, out
}

func knowsMore(w, than *dedup.WindowFigures) bool {
	return slices.ContainsFunc(measures(), func(m measure) bool { return m.figure(w).Known() && !m.figure(than).Known() })
}

// reach is how much of a window has data, by the figure that has the most.
func reach(w *dedup.WindowFigures) time.Duration { return fullest(w).Covered }

func fullest(w *dedup.WindowFigures) dedup.Figure {
	var best dedup.Figure
	for _, f := range []dedup.Figure{w.Messages, w.DuplicateRate, w.Redeliveries, w.AckMean, w.InFlightHits, w.Failures, w.GaveUp, w.DeadLetterInflow} {
		if f.Known() && f.Window > 0 && f.Covered > best.Covered {
			best = f
		}
	}
	return best
}

func windowHead(w *dedup.WindowFigures) templates.WindowHead {
	head := templates.WindowHead{Label: templates.Window(w.Window)}
	if best := fullest(w); show.Short(best) {
		head.Covered = templates.Span(best.Covered) + " so far"
	}
	return head
}

// windowsOutText says which windows are left out and why; empty when none is.
func windowsOutText(kept, out []*dedup.WindowFigures) string {
	if len(out) == 0 {
		return ""
	}
	var labels []string
	for _, w := range out {
		labels = append(labels, templates.Window(w.Window))
	}
	text := show.Listed(labels) + " " + show.Plural(len(labels), "is", "are") + " left out: "
	for _, w := range slices.Backward(kept) {
		if reach(w) > 0 {
			return text + "the data go back " + templates.Span(reach(w)) + " only, which " + templates.Window(w.Window) + " shows whole."
		}
	}
	return text + "there are no data in any window yet."
}

// foldUnknown puts the measures that nobody knows into one line, with their reasons in groups.
func foldUnknown(p *dedup.PipelineStatus, unknown []measure, w *dedup.WindowFigures) templates.Unknowns {
	var u templates.Unknowns
	counts := map[string]int{}
	var reasons []string
	for _, m := range unknown {
		f := show.Blameless(m.figure(w))
		why, better := show.Statement(f.Why), show.Statement(f.Better)
		short := show.ShortWhy(p, f.Why)
		if counts[short]++; counts[short] == 1 {
			reasons = append(reasons, short)
		}
		i := slices.IndexFunc(u.Groups, func(g templates.UnknownGroup) bool { return g.Why == why && g.Better == better })
		if i < 0 {
			u.Groups = append(u.Groups, templates.UnknownGroup{Why: why, Better: better})
			i = len(u.Groups) - 1
		}
		u.Groups[i].Names = append(u.Groups[i].Names, m.label)
	}
	if len(unknown) == 0 {
		return u
	}
	// The reason of most of them stands in the line; the others are one click away.
	slices.SortStableFunc(reasons, func(a, b string) int { return counts[b] - counts[a] })
	u.Line = show.Counted(len(unknown), "more figure") + " " + show.Plural(len(unknown), "is", "are") + " unknown: "
	if len(reasons) > 1 {
		u.Line += "for the most part, "
	}
	u.Line += templates.Sentence(strings.TrimSuffix(reasons[0], ".")).Short
	return u
}
