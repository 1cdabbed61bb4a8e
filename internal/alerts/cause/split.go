package cause

import (
	"math"
	"strconv"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A split is the share of a window's duplicates that are redeliveries, as an interval; the others are second messages. Without a
// window nothing is known.
type split struct {
	window    *dedup.WindowFigures
	low, high float64
	// counted is true where only the channels that were closed tell, and most is how many can be redeliveries then.
	counted bool
	most    float64
}

// parts bound the duplicates of each origin: what is not the one is the other. Of duplicates that are at least so many no part is
// bounded by the other.
func parts(w *dedup.WindowFigures) (sent, again [2]float64, known bool) {
	d := w.Duplicates
	if !sound(d) || d.High <= 0 || d.AtLeast || !sound(w.ProducerSent) && !sound(w.Redelivered) {
		return sent, again, false
	}
	sent, again = within(w.ProducerSent, d), within(w.Redelivered, d)
	sent, again = [2]float64{max(sent[0], d.Low-again[1]), min(sent[1], d.High-again[0])},
		[2]float64{max(again[0], d.Low-sent[1]), min(again[1], d.High-sent[0])}
	if sent[0] > sent[1]+1 || again[0] > again[1]+1 { // they contradict each other by more than a message
		return sent, again, false
	}
	sent[1], again[1] = max(sent[0], sent[1]), max(again[0], again[1])
	return sent, again, true
}

// within bounds a part of the duplicates by its figure.
func within(f, d dedup.Figure) [2]float64 {
	switch {
	case !sound(f):
		return [2]float64{0, d.High}
	case f.AtLeast:
		return [2]float64{min(f.Low, d.High), d.High}
	}
	return [2]float64{min(f.Low, d.High), min(f.High, d.High)}
}

// splitOf is what the figures of a window say.
func splitOf(w *dedup.WindowFigures) split {
	sent, again, known := parts(w)
	if !known {
		return split{}
	}
	low, high := again[0]/w.Duplicates.High, 1-sent[0]/w.Duplicates.High
	return split{window: w, low: math.Max(0, math.Min(low, high)), high: math.Min(1, math.Max(low, high))}
}

// splitOf is the split of the judged window, or where that leaves open where most duplicates come from, of the longest shorter one
// that does not: it speaks for the judged one as long as duplicates come in it at half the pace or more. Failing that the channels
// that were closed tell.
func (s scene) splitOf(p *dedup.PipelineStatus) split {
	first := splitOf(s.window)
	for _, look := range []func(*dedup.WindowFigures) split{splitOf, eliminated} {
		for i := len(p.Windows) - 1; i >= 0; i-- {
			w := &p.Windows[i]
			if !s.speaksFor(w, p.Pipeline.Limits) {
				continue
			}
			x := look(w)
			decides := x.producer(s.least(Producer)) || x.redelivered(mostly)
			if decides && splitOf(w).low <= x.high {
				return x
			}
		}
	}
	return first
}

// speaksFor reports whether what is true of a window's duplicates is of the judged one's.
func (s scene) speaksFor(w *dedup.WindowFigures, l dedup.Limits) bool {
	if w.Window >= s.window.Window {
		return w == s.window
	}
	return w.Duplicates.Low >= l.MinDuplicates && perMinute(w.Duplicates.Low, w) >= mostly*perMinute(s.window.Duplicates.High, s.window)
}

// eliminated bounds the redeliveries among the duplicates of a window by the channels that were closed: what was done and is delivered
// again was left behind by one. It tells nothing where these are not known.
func eliminated(w *dedup.WindowFigures) split {
	d, closed := w.Duplicates, w.MostClosed
	if !sound(d) || d.Low <= 0 || d.AtLeast || w.LostPerChannel <= 0 || closed == nil || !rule.Finite(*closed) {
		return split{}
	}
	most := math.Ceil(math.Max(0, *closed)*float64(w.LostPerChannel) - 1e-9)
	return split{window: w, high: math.Min(1, most/d.Low), counted: true, most: most}
}

func perMinute(n float64, w *dedup.WindowFigures) float64 {
	over := w.Duplicates.Covered
	if over <= 0 {
		over = w.Window
	}
	return n / max(over, time.Second).Minutes()
}

// producer and redelivered report whether this share of the duplicates or more is certainly of the origin.
func (s split) producer(least float64) bool    { return s.window != nil && 1-s.high >= least }
func (s split) redelivered(least float64) bool { return s.window != nil && s.low >= least }

// producerShare says how many duplicates are second messages: "at least 238 of 391 duplicates in 5 m (61 %)".
func (s split) producerShare() string {
	if s.counted {
		return "at most " + rule.Number(s.most) + s.of() + " can be redeliveries"
	}
	sent, _, _ := parts(s.window)
	return s.share(sent)
}

// redeliveredShare says how many duplicates are redeliveries.
func (s split) redeliveredShare() string { return s.share(s.again()) + " came from redeliveries" }

func (s split) again() [2]float64 {
	_, again, _ := parts(s.window)
	return again
}

func (s split) share(part [2]float64) string {
	return s.amount(part) + s.of() + " (" + percentOf(math.Floor(part[0]+1e-9)/s.window.Duplicates.High) + ")"
}

func (s split) of() string {
	return " of " + rule.CountText(s.window.Duplicates) + " duplicates in " + rule.SeenIn(s.window, s.window.DuplicateRate)
}

// amount is the part that is certain: "at least 238".
func (s split) amount(part [2]float64) string {
	low := math.Floor(part[0] + 1e-9)
	if low < math.Floor(part[1]+1e-9) || s.window.Duplicates.IsInterval() {
		return "at least " + rule.Number(low)
	}
	return rule.Number(low)
}

// percentOf writes a share in whole percent; what is not all of them never reads as all.
func percentOf(share float64) string {
	percent := math.Round(100 * share)
	if share < 1 {
		percent = min(percent, 99)
	}
	return strconv.Itoa(int(percent)) + " %"
}

// origins says of duplicates that nothing explains what is known of where they come from.
func (s scene) origins() string {
	_, again, known := parts(s.window)
	if !known || again[1] >= s.window.Duplicates.High && again[0] < 1 {
		return ""
	}
	said := "at most " + rule.Number(math.Ceil(again[1]-1e-9))
	if again[0] >= 1 {
		said = rule.Number(math.Floor(again[0]+1e-9)) + " to " + rule.Number(math.Ceil(again[1]-1e-9))
	}
	if math.Round(again[0]) == math.Round(again[1]) {
		said = rule.Number(again[0])
	}
	return "; " + said + " of " + s.all() + " came from redeliveries"
}
