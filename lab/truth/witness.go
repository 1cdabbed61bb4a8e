package truth

import (
	"fmt"
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A witness writes down ten times a second what truly happened in one case, and every duplicate rate that was shown of it
// meanwhile, so that each can be held against the truth of its own span.
type witness struct {
	// lag is how old a reading of reported counters can be when it is shown.
	lag   time.Duration
	notes []note
	shown []dedup.Figure
	// traffic is when the first message was published; zero before that, and once all were worked off.
	traffic time.Time
	// short and long are the rates of disjoint windows in mid-run, held and heldLong the mean ack latencies.
	short, long, held, heldLong disjoint
	// usable is how long after the first message a rate was usable first; zero where none was.
	usable time.Duration
	// ends are the ends of the windows that were shown, end is the last of them, which was shown at looked.
	ends        Ends
	end, looked time.Time
	// round is the time between two rounds. What is shown between, out of turn, is not counted.
	round time.Duration
	// acks are the mean ack latencies that were shown by Little's law.
	acks []dedup.Figure
}

// A note is what was counted between two times.
type note struct {
	began, ended time.Time
	counts       Counts
}

// acksFollow is by how much the counts can lie behind what the store already shows, or the other way around.
const acksFollow = time.Second

// newWitness returns a witness of what consumers report so seldom.
func newWitness(lag time.Duration) witness {
	return witness{lag: lag, short: disjoint{length: liveShort}, long: disjoint{length: liveLong}, held: disjoint{length: liveShort}, heldLong: disjoint{length: liveLong}}
}

// look takes a note.
func (w *witness) look(t *tally) {
	began := time.Now()
	counts := t.read()
	w.notes = append(w.notes, note{began, time.Now(), counts})
}

// take writes down what a snapshot shows of a pipeline, and what each source says that is not shown. An interval that is too wide
// to be a figure must be true all the same.
func (w *witness) take(p *dedup.PipelineStatus) {
	recent := w.shown[max(0, len(w.shown)-8*len(p.Windows)):]
	w.follow(p.Windows)
	for _, figures := range p.Windows {
		w.takeAck(figures)
		for _, e := range append(estimates(figures), dedup.Estimate{Rate: figures.DuplicateRate}) {
			f := e.Rate
			f.Window, f.Why, f.Better = 0, "", "" // several windows often show the same span
			if claims(f) && !slices.Contains(recent, f) {
				w.shown = append(w.shown, f)
				recent = append(recent, f)
			}
		}
	}
}

// follow keeps what is shown of disjoint windows while traffic flows.
func (w *witness) follow(windows []dedup.WindowFigures) {
	if w.traffic.IsZero() {
		return
	}
	inTraffic := func(f dedup.Figure) bool { return !f.At.Add(-f.Covered).Before(w.traffic) }
	for _, figures := range windows {
		rate, acks := figures.DuplicateRate, figures.AckMean
		rates, waits := &w.short, &w.held
		switch figures.Window {
		case liveShort:
		case liveLong:
			rates, waits = &w.long, &w.heldLong
			w.moves(rate)
			if w.usable == 0 && usable(rate) && rate.At.After(w.traffic) {
				w.usable = time.Since(w.traffic)
			}
		default:
			continue
		}
		if inTraffic(rate) {
			rates.add(rate)
		}
		if inTraffic(acks) && !reportsAcks(figures) {
			waits.add(acks)
		}
	}
}

// moves counts a round once a rate is told.
func (w *witness) moves(rate dedup.Figure) {
	const early = time.Second / 2
	if time.Since(w.looked) < w.round-early {
		return
	}
	w.looked = time.Now()
	if !claims(rate) || !rate.At.After(w.traffic) {
		return
	}
	if !w.end.IsZero() {
		w.ends.Rounds++
		if rate.At.After(w.end) {
			w.ends.Moved++
		}
	}
	w.end = rate.At
}

// claims says whether a figure says anything that could be false.
func claims(f dedup.Figure) bool { return f.Known() || f.N > 0 && f.High > f.Low }

// Figures that consumers report are those of the last reading, whatever their time; live counts are those of a moment, and by then the
// broker has what consumers sent just before.
const (
	reportedSource = "reported counters"
	liveSource     = "live counts"
	liveFollows    = 300 * time.Millisecond
)

// grace is how far the counts of a figure can lie behind its time, and before it.
func (w *witness) grace(f dedup.Figure) (behind, ahead time.Duration) {
	switch f.Source {
	case reportedSource:
		return acksFollow + w.lag, acksFollow
	case liveSource:
		return liveFollows, liveFollows
	}
	return acksFollow, acksFollow
}

// known returns what had certainly, and what had possibly, been counted by a time, of which a figure may lie so far behind or ahead.
func (w *witness) known(at time.Time, behind, ahead time.Duration) (least, most Counts) {
	most = w.notes[len(w.notes)-1].counts
	for i := len(w.notes) - 1; i >= 0; i-- {
		n := w.notes[i]
		if !n.began.Before(at.Add(ahead)) {
			most = n.counts
		}
		if !n.ended.After(at.Add(-behind)) {
			return n.counts, most
		}
	}
	return Counts{}, most
}

// bounds returns the least and the largest rate that can be the truth of a span; at rest they are the bounds of Counts.Rate.
func (w *witness) bounds(from, to time.Time, behind, ahead time.Duration) (low, high float64) {
	fromLeast, fromMost := w.known(from, behind, ahead)
	toLeast, toMost := w.known(to, behind, ahead)
	span := func(a, b int64) float64 { return math.Max(0, float64(a-b)) }
	if all := span(toMost.Acked+toMost.LostAcks, fromLeast.Acked+fromLeast.LostAcks); all > 0 {
		low = span(toLeast.Duplicates, fromMost.Duplicates) / all
	}
	if fewest := span(toLeast.Acked, fromMost.Acked); fewest > 0 {
		return low, math.Min(1, span(toMost.Duplicates+toMost.Early, fromLeast.Duplicates+fromLeast.Early)/fewest)
	}
	return low, 1
}

// count returns the least and the largest number that something can have risen by in the span that a figure covers.
func (w *witness) count(f dedup.Figure, of func(Counts) int64) (low, high float64) {
	behind, ahead := w.grace(f)
	fromLeast, fromMost := w.known(f.At.Add(-f.Covered), behind, ahead)
	toLeast, toMost := w.known(f.At, behind, ahead)
	return math.Max(0, float64(of(toLeast)-of(fromMost))), float64(of(toMost) - of(fromLeast))
}

// of returns the truth of the span that a figure covers.
func (w *witness) of(f dedup.Figure) (low, high float64) {
	behind, ahead := w.grace(f)
	return w.bounds(f.At.Add(-f.Covered), f.At, behind, ahead)
}

// violations says which of the rates that were shown are false.
func (w *witness) violations() (wrong []string) {
	for _, f := range w.shown {
		low, high := w.of(f)
		if v := judge(low, high, f); v.Verdict == Wrong {
			wrong = append(wrong, fmt.Sprintf("at %s over %s [%s, %s] %% %s of %.0f messages was shown by %s, the truth is in [%s, %s] %%",
				f.At.Format(time.TimeOnly), f.Covered.Round(time.Second), points(f.Low), points(f.High), f.Quality, f.N, f.Source, points(low), points(high)))
		}
	}
	return wrong
}

// points writes a ratio as a number of percentage points.
func points(ratio float64) string { return fmt.Sprintf("%.3f", 100*ratio) }
