package figure

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// A duplicateMeter bounds from above how many duplicates there were in a span: as many as consumers reported, or as acks.
type duplicateMeter struct {
	frames sample.Frames
	// reported: the duplicates are those that consumers report, so that no other can be in a span; newest is how many they are by now.
	reported bool
	newest   float64
	// slip is by how much the ends of two sources' spans may be apart that name the same times.
	slip time.Duration
	// own and meter bound the acks that closed channels took along uncounted: see rate.Residual.
	own   *sample.OwnClosures
	meter sample.LossReadings
}

// most returns the most duplicates from a to b, 0 where b does not come after a, and infinity where nothing tells.
func (m duplicateMeter) most(a, b time.Time) float64 {
	if !b.Add(m.slip).After(a) {
		return 0
	}
	before, okBefore := m.frames.Before(a.Add(-m.slip))
	after, okAfter := m.frames.Counted(b.Add(m.slip))
	switch {
	case m.reported && okBefore && !okAfter:
		return max(0, m.newest-before.ReportedDuplicates)
	case !okBefore || !okAfter:
		return math.Inf(1)
	case m.reported:
		return max(0, after.ReportedDuplicates-before.ReportedDuplicates)
	}
	return m.acked(before, after)
}

// acked bounds the acks between two readings: those that were counted, and those whose count went with a channel that was closed
// so shortly after them that its closing may not be counted before another sample.CounterLag. It is infinity where nothing bounds these.
func (m duplicateMeter) acked(before, after *sample.Frame) float64 {
	counted := max(0, after.Acks-before.Acks)
	later, ok := m.frames.Counted(after.Ended)
	if !ok || later.Gaps != before.Gaps {
		return math.Inf(1)
	}
	if closed, known := m.own.Most(before, later); known && closed == 0 {
		return counted
	}
	if _, lost, metered := m.meter.Lost(before.Ended, later.Began); metered {
		return counted + lost
	}
	return math.Inf(1)
}

// fitSplit makes the two origins parts of the duplicates that are shown. Acks and completions can be compared until the last pass
// over the store at most, whereas the duplicates may be counted until now: what lies in one of the spans alone may be of either
// origin, so that it widens both. No part is larger than the whole, and what is not of the one origin is of the other.
func (x Explanation) fitSplit(out *dedup.WindowFigures) {
	d, sent, again := out.Duplicates, &out.ProducerSent, &out.Redelivered
	if !d.Known() || d.AtLeast || !sent.Known() || !again.Known() {
		return
	}
	from, to, partFrom, partTo := d.At.Add(-d.Covered), d.At, sent.At.Add(-sent.Covered), sent.At
	m := duplicateMeter{frames: x.Frames, reported: d.Source == rate.ReportedSource, newest: x.ReportedDuplicates, slip: x.Slip, own: x.Own, meter: x.Meter}
	note := ""
	if d.Source == sent.Source && from.Equal(partFrom) && to.Equal(partTo) {
		m.slip = 0
	} else if gap := to.Sub(partTo) + partFrom.Sub(from).Abs(); gap > x.Slip {
		note = fmt.Sprintf("acks and completions were compared over %s, until %s before; what came besides may be of either origin", about(sent.Covered), about(to.Sub(partTo)))
	}
	outside := m.most(partFrom, from) + m.most(to, partTo)
	rest := m.most(from, partFrom) + m.most(partTo, to)
	s := [2]float64{max(0, sent.Low-outside), sent.High + rest}
	a := [2]float64{max(0, again.Low-outside), again.High + rest}
	s, a = [2]float64{max(s[0], d.Low-a[1]), min(s[1], d.High-a[0])}, [2]float64{max(a[0], d.Low-s[1]), min(a[1], d.High-s[0])}
	if s[0] > s[1]+1 || a[0] > a[1]+1 {
		why := fmt.Sprintf("acks and completions give at least %s and at most %s of them, which contradicts the duplicates that are shown", text.Grouped(text.Whole(sent.Low+again.Low)), text.Grouped(text.Whole(sent.High+again.High)))
		out.ProducerSent, out.Redelivered = unknownCount(out, why, ""), unknownCount(out, why, "")
		return
	}
	for f, bounds := range map[*dedup.Figure][2]float64{sent: s, again: a} {
		f.Low = min(max(bounds[0], 0), d.High)
		f.High = min(max(bounds[1], f.Low), d.High)
		f.Value, f.Hits, f.Covered, f.At, f.Why = f.Low, f.Low, d.Covered, d.At, text.Reasons(f.Why, note)
	}
}

// about writes a span that need not be exact.
func about(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", max(0, text.Whole(d.Seconds())))
	}
	return text.Span(d)
}
