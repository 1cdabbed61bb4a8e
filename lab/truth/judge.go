package truth

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A Verdict is what a figure is worth, now that the truth is known.
type Verdict string

// The verdicts, best first.
const (
	// Good is a single number that is off by at most tolerance, or an interval that holds the truth and is usable.
	Good Verdict = "good"
	// CannotTell is a refusal, or a wider interval that holds the truth.
	CannotTell Verdict = "cannot tell"
	// Wrong is a single number that is off by more, or an interval that misses the truth.
	Wrong Verdict = "wrong"
)

// The limits of a good figure.
const (
	tolerance = 0.001
	rounding  = 1e-9
	// oneMessage is by how many messages an interval may miss: acks and markers are counted a moment apart.
	oneMessage = 1.0
)

// A Judgement is a verdict on one duplicate rate.
type Judgement struct {
	Verdict Verdict
	// Miss is how far the figure lies from the truth: 0 for an interval that holds it.
	Miss float64
	// Refused is true for a figure that claims nothing at all.
	Refused bool
}

// judge holds a duplicate rate against the truth of its span, which is known to lie in [low, high].
func judge(low, high float64, f dedup.Figure) Judgement {
	if !claims(f) {
		return Judgement{Verdict: CannotTell, Refused: true}
	}
	miss := math.Max(0, f.Low-high)
	if !f.AtLeast {
		miss = math.Max(miss, low-f.High)
	}
	allowed := rounding
	if f.N > oneMessage {
		allowed = oneMessage / f.N
	}
	if f.Low == f.High { // an interval allows for its error itself
		allowed = tolerance
	}
	if f.InBand() { // which holds 95 % of the truth: one that lies beyond two of them is wrong
		allowed = f.Width() / 2
	}
	v := Judgement{Verdict: Good, Miss: miss}
	switch {
	case math.IsNaN(miss) || miss > allowed+rounding:
		v.Verdict = Wrong
	case f.Low < f.High && miss > rounding, f.AtLeast || f.Quality == dedup.Estimated || !usable(f):
		v.Verdict = CannotTell
	}
	return v
}

// The limits of latencies: relative errors.
const (
	workTolerance = 0.05
	ackTolerance  = 0.15
)

// The latencies of which a miss alone fails no run. The mean of the work has an error of the size of the limit where rows are dated to the
// second. The bands and bounds of mean ack latencies are those of 95 in 100: how many of disjoint windows hold says whether they are.
const (
	workMean    = "work mean"
	ackInMidRun = "ack mean, mid-run"
)

// wildly is the relative error from which on a mean ack latency in mid-run is wrong however seldom that is.
const wildly = 0.5

// fails reports whether the latency fails the run.
func (t Timing) fails() bool {
	switch {
	case t.OK || !t.Figure.Known() || t.Name == workMean:
		return false
	case t.Name == ackInMidRun:
		return math.Abs(t.Error) > wildly
	}
	return true
}

// A Timing is one latency figure held against the truth, which lies between two times.
type Timing struct {
	Name      string
	Low, High time.Duration
	Figure    dedup.Figure
	// Error is relative to the nearer end of the truth, and OK says whether it is within the limit. Both mean nothing where the
	// figure is unknown.
	Error float64
	OK    bool
	// Loose is true where the ends of the truth differ by more than the limit, as on a machine that is too busy: then it proves
	// nothing that a figure lies between them.
	Loose bool
}

func timed(name string, low, high time.Duration, f dedup.Figure, limit float64) Timing {
	t := Timing{Name: name, Low: low, High: high, Figure: f}
	if !f.Known() || low <= 0 {
		return t
	}
	switch {
	case f.Bounded() && f.High < low.Seconds():
		t.Error = f.High/low.Seconds() - 1
	case f.Bounded() && f.Low > high.Seconds():
		t.Error = f.Low/high.Seconds() - 1
	case f.Bounded():
	case f.Value < low.Seconds():
		t.Error = f.Value/low.Seconds() - 1
	case f.Value > high.Seconds():
		t.Error = f.Value/high.Seconds() - 1
	}
	t.OK = math.Abs(t.Error) <= limit
	if f.IsInterval() { // it says itself how far it may be off
		t.OK = f.Low <= high.Seconds() && low.Seconds() <= f.High
	}
	t.Loose = t.OK && high.Seconds() > (1+2*limit)*low.Seconds()
	return t
}

// reportsAcks reports whether the ack latencies are those that consumers report: percentiles that lie between bounds follow from samples.
func reportsAcks(w dedup.WindowFigures) bool { return w.AckP50.Known() && !w.AckP50.IsInterval() }

// timings holds the latency figures of a window against the truth. The processing time that a store can show is that from the
// claim to the mark: longer than the work alone, and shorter than all that the consumer does for the message. A reported ack
// latency is that of acked deliveries; what follows from the number of unacked messages is the time that any delivery is held, and
// with it at most its ways from the broker to the consumer and back.
func timings(w dedup.WindowFigures, l Latencies) []Timing {
	low, high := l.Held.Mean, l.Held.Mean+l.Ways.Mean
	if reportsAcks(w) {
		low, high = l.Acked.Mean, l.Acked.Mean
	}
	return []Timing{
		timed("work p95", l.WorkLeast.P95, l.WorkMost.P95, w.WorkP95, workTolerance),
		timed(workMean, l.WorkLeast.Mean, l.WorkMost.Mean, w.WorkMean, workTolerance),
		timed("ack mean", low, high, w.AckMean, ackTolerance),
	}
}
