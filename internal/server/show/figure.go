// Package show turns figures, times, sources and sentences into what pages say of them.
package show

import (
	"math"
	"regexp"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// Figure turns a figure into what pages show. The word stands in for the value of an unknown figure.
func Figure(f dedup.Figure, word string, now time.Time) templates.Figure {
	v := templates.Figure{
		Text: word, Quality: f.Quality.String(), Known: f.Known(),
		Facts: FigureFacts(f, now),
	}
	if !f.Known() {
		v.Note = templates.Sentence(Brief(f.Why)).Short
		if f.Unit == dedup.Ratio && Bounds(f) != "" { // the ends are known all the same
			v.Text, v.Note = templates.PercentBand((f.Low+f.High)/2, f.Low, f.High), FigureNote(f)
		}
		return v
	}
	v.Text = FigureText(f)
	v.Note = FigureNote(f)
	return v
}

// Reading is a figure that says why it is unknown, also where nobody has filled it in.
func Reading(f dedup.Figure, now time.Time) templates.Figure {
	return Figure(Blameless(f), "unknown", now)
}

// PipelineFigure is figureView of a figure of a pipeline: that a source is down is said at length once on a page, and in a
// word beside each figure that it takes away.
func PipelineFigure(p *dedup.PipelineStatus, f dedup.Figure, word string, now time.Time) templates.Figure {
	f = Blameless(f)
	if !f.Known() {
		f.Why = ShortWhy(p, f.Why)
	}
	return Figure(f, word, now)
}

// FigureText writes a known figure in its unit: a number with its band, a bound as one, a count that is only bounded with both ends.
func FigureText(f dedup.Figure) string {
	switch {
	case f.AtLeast && f.Value == 0 && (f.Unit == dedup.Count || f.Unit == dedup.PerHour):
		return "none seen"
	case f.AtLeast && f.Unit == dedup.PerHour && f.N > 0 && f.Window > 0: // a few events make no pace
		return "≥ " + templates.Number(f.N) + " in " + templates.Window(f.Window)
	case f.AtLeast:
		return "≥ " + Value(f.Value, f.Unit)
	}
	switch {
	case f.Unit == dedup.Ratio:
		return templates.PercentBand(numberOf(f), f.Low, f.High)
	case f.Unit == dedup.Seconds && (f.InBand() || f.AtMost()):
		return templates.LatencyBand(f.Value, f.Low, f.High)
	case f.Unit == dedup.Count && f.InBand():
		return templates.NumberBand(f.Value, f.Low, f.High)
	}
	low := Value(f.Low, f.Unit)
	if high := Value(f.High, f.Unit); f.IsInterval() && high != low {
		return low + "–" + high
	}
	return Value(f.Value, f.Unit)
}

// Value writes a number in its unit.
func Value(v float64, u dedup.Unit) string {
	switch u {
	case dedup.Ratio:
		return templates.Percent(v)
	case dedup.Seconds:
		return templates.Latency(v)
	case dedup.PerHour:
		return templates.Rate(v) + "/h"
	case dedup.Bytes:
		return templates.Bytes(v)
	default:
		return templates.Number(v)
	}
}

// FigureNote is the window and the sample size in one short line.
func FigureNote(f dedup.Figure) string {
	var parts []string
	if f.Window > 0 {
		parts = append(parts, windowText(f))
	}
	if f.N > 0 {
		parts = append(parts, "n\u00a0"+templates.Number(f.N)) // not torn apart at the end of a line
	}
	return strings.Join(parts, " · ")
}

// bandText is the band of a number: both ends, for it may reach further on one side, or its half width.
func bandText(f dedup.Figure) string {
	switch low, high := Value(f.Low, f.Unit), Value(f.High, f.Unit); {
	case f.Unit == dedup.Ratio && Bounds(f) != "":
		return templates.PercentRange(f.Low, f.High)
	case !f.IsInterval() || f.AtLeast || low == high:
	case f.Unit == dedup.Ratio:
		return templates.PercentRange(f.Low, f.High)
	default:
		return low + "–" + high
	}
	if f.Error > 0 {
		return "± " + Value(f.Error, f.Unit)
	}
	return ""
}

func windowText(f dedup.Figure) string {
	if Short(f) {
		return templates.Span(f.Covered) + " of " + templates.Window(f.Window)
	}
	return templates.Window(f.Window)
}

// RoughWindow is the same for a narrow column: of minutes no seconds.
func RoughWindow(f dedup.Figure) string {
	if f.Covered >= time.Minute {
		f.Covered = f.Covered.Round(time.Minute)
	}
	return windowText(f)
}

// Short reports whether so much less than the whole window has data that readers must know.
func Short(f dedup.Figure) bool { return f.Partial() && f.Window-f.Covered > f.Window/20 }

// FigureFacts is the provenance of a figure, known or not.
func FigureFacts(f dedup.Figure, now time.Time) []templates.Fact {
	facts := Facts{{Label: "Quality", Value: f.Quality.String()}}
	add := func(label, value string) { facts.Add(label, templates.Sentence(value).Short) }
	add("Source", f.Source)
	add("Formula", f.Formula)
	if f.Window > 0 {
		add("Window", windowText(f))
	}
	if f.Known() && f.N > 0 {
		add("Sample size", templates.Number(f.N))
	}
	add("Band", bandText(f))
	if !f.At.IsZero() {
		m := Moment(f.At, now)
		add("Newest sample", m.Text+", "+Ago(f.At, now))
	}
	if f.Known() {
		add("Bear in mind", f.Why)
	} else {
		add("Why unknown", f.Why)
	}
	add("To know better", f.Better)
	return facts
}

// Moment shows a time in the zone of now, with its day unless that is today, and to the second unless it is a day away: what happened just
// before midnight is read as precisely as what happened after. A zero time is no time.
func Moment(at, now time.Time) templates.Moment {
	if at.IsZero() {
		return templates.Moment{}
	}
	at = at.In(now.Location())
	text := at.Format("15:04:05")
	switch today := at.Format(time.DateOnly) == now.Format(time.DateOnly); {
	case !today && at.Sub(now).Abs() < 24*time.Hour:
		text = at.Format("2 Jan 15:04:05")
	case !today:
		text = at.Format("2 Jan 15:04")
	}
	return templates.Moment{Text: text, Full: at.Format("2006-01-02 15:04:05 MST"), RFC: at.Format(time.RFC3339)}
}

// Since shows a time as its age, with the time itself in the title.
func Since(at, now time.Time) templates.Moment {
	m := Moment(at, now)
	if m.RFC != "" {
		m.Text = Ago(at, now)
	}
	return m
}

// Ago writes how long before now a time was.
func Ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case d < -2*time.Second:
		return "in " + templates.Span(-d)
	case d < time.Second:
		return "now"
	default:
		return templates.Span(d) + " ago"
	}
}

// Late says since when no round has ended, once three intervals have passed without one; empty while rounds are on time.
func Late(snap *dedup.Snapshot, now time.Time) string {
	age := now.Sub(snap.At)
	if snap.Round == 0 || snap.Interval <= 0 || age <= 3*snap.Interval {
		return ""
	}
	return "Stale since " + Moment(snap.At, now).Text + " (" + templates.Span(age) + "): no reading has ended since then"
}

// LivePage is the head of a page that shows a snapshot; self is its address.
func LivePage(frame templates.Frame, self string, snap *dedup.Snapshot, now time.Time) templates.LivePage {
	return templates.LivePage{
		Frame: frame, Self: self, AsOf: Moment(snap.At, now), Every: templates.Span(snap.Interval), Seconds: int(snap.Interval.Seconds()), Late: Late(snap, now),
	}
}

// Figures returns the figures of the window, or of the first one.
func Figures(p *dedup.PipelineStatus, window time.Duration) *dedup.WindowFigures {
	for i := range p.Windows {
		if p.Windows[i].Window == window {
			return &p.Windows[i]
		}
	}
	if len(p.Windows) > 0 {
		return &p.Windows[0]
	}
	return &dedup.WindowFigures{}
}

// Points converts stored points for drawing and leaves out the gaps.
func Points(in []dedup.Point, zone *time.Location) []templates.Point {
	out := make([]templates.Point, 0, len(in))
	for _, p := range in {
		if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
			out = append(out, templates.Point{At: p.At.In(zone), Value: p.Value})
		}
	}
	return out
}

// Blameless returns the unknown figure of a value that nobody has filled in, so that pages say something.
func Blameless(f dedup.Figure) dedup.Figure {
	if !f.Known() && f.Why == "" {
		f.Why = "no reading yet"
	}
	return f
}

// Bounds is what is certain of a rate that cannot be told: an interval too wide to judge by.
func Bounds(f dedup.Figure) string {
	if f.Known() || f.N <= 0 || f.High <= f.Low {
		return ""
	}
	return "within " + templates.PercentRange(f.Low, f.High)
}

// Brief says in a few words why a figure is not known: the first part of the reason that is short enough. That consumers report nothing is
// the reason only where there is no other, for they need not.
func Brief(why string) string {
	last := ""
	for part := range strings.SplitSeq(why, "; ") {
		part = bySource.ReplaceAllString(part, "")
		for _, clause := range append([]string{part}, strings.Split(part, ": ")...) {
			clause = strings.TrimRight(strings.TrimSpace(clause), ".")
			switch {
			case clause == "" || len(strings.Fields(clause)) > MostWords:
			case strings.HasPrefix(clause, "consumers report no"):
				last = "consumers report nothing"
			default:
				return clause
			}
		}
	}
	if last == "" && why != "" {
		return "no source can tell yet"
	}
	return last
}

// numberOf is the one number that stands for a figure: what is between the ends of an interval where no better one is known.
func numberOf(f dedup.Figure) float64 {
	if f.IsInterval() && !f.InBand() && !f.AtLeast && !f.AtMost() && !math.IsInf(f.High, 0) {
		return (f.Low + f.High) / 2
	}
	return f.Value
}

// bySource is how a reason begins that names its source.
var bySource = regexp.MustCompile(`^by the [a-z ]+: `)

// MostWords is how many words stand beside a figure that is not known; the whole reason is one click away.
const MostWords = 8
