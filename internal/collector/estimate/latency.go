package estimate

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// littleWidest is the largest share of the mean that the half width of its band may be.
const littleWidest = 0.25

// littleRedelivered is the share of redeliveries among the deliveries from which on there is no number: messages that
// are held and returned wait in the mean although nobody acks them.
const littleRedelivered = 0.05

// littleHump is the share of the waiting in humps from which on there is no number where anything was redelivered.
const littleHump = 0.15

// A Latency is what an ack latency is estimated from: the tape of a pipeline, which ends now.
type Latency struct {
	Window time.Duration
	Tape   Tape
	// Capacity is the most messages that the consumers can hold at once; 0 where that is not known.
	Capacity float64
	// Late is how late the counts of the tape come; 0 where they are the management API's, which come up to 5 s late.
	Late time.Duration
	// Pace is how deliveries come, where somebody counts each second.
	Pace Pace
	// AllAck is true where every channel that holds messages acked some in the window.
	AllAck bool
	// Channels is the most channels that the consumers may have; +Inf where that is not known.
	Channels float64
	// Single is true where no channel can hold more than one message.
	Single bool
	// Work tells the works that a store saw from claim to completion; nil where none does, or where counts may be missing that nobody knows of.
	Work func(from, to time.Time) (Works, bool)
	// Slip is how late or early the store may tell of a claim or a completion.
	Slip time.Duration
}

// Latencies are the figures of ack latency of one window.
type Latencies struct{ Mean, P50, P95, P99 dedup.Figure }

// Estimate returns the mean ack latency and percentiles. The mean is a number by Little's law where its band is narrow enough, else
// an upper bound, which is known wherever anything was delivered, acked and sampled. Work, where it is known, bounds it from below. The
// percentiles lie between bounds, or are unknown.
func (l Latency) Estimate() Latencies {
	mean := dedup.Unknown(dedup.Seconds, "the broker was not read often enough yet")
	mean.Window, mean.Source = l.Window, "samples of unacked messages"
	mean.Better = "Let the consumers report ack latencies (docs/consumers.md)."
	s, ok := stretchOf(l.Tape, l.Window, l.Late)
	if !ok {
		return Latencies{mean, mean, mean, mean}
	}
	mean.Covered, mean.At, mean.Why = s.covered(), s.to.At, s.unknown()
	if mean.Why != "" {
		return Latencies{mean, mean, mean, mean}
	}
	out := Latencies{P50: mean, P95: mean, P99: mean}
	why := s.noNumber()
	if why == "" {
		n := s.little(&l)
		if n.half() <= littleWidest {
			mean.Quality, mean.N, mean.Source, mean.Why = dedup.Estimated, s.delivered, "Little's law", "mean, includes prefetch wait"
			mean.Formula = "mean unacked / rate of manual deliveries and gets"
			mean.Value, mean.Low, mean.High, mean.Error = n.mean, n.mean*(1-n.below), n.mean*(1+n.above), n.mean*n.half()
		} else {
			why = "too few in flight for a number, or held too unevenly"
			if n.half() < 1 {
				why += fmt.Sprintf(": it is only known within %.0f %%", 100*n.half())
			}
		}
	}
	if !mean.Known() {
		high, formula := s.bound(l.Capacity)
		mean = atMost(mean, high, s.settled(), formula, why)
	}
	out.Mean, out.P50.Why, out.P95.Why, out.P99.Why = mean, meanAlone, meanAlone, meanAlone
	if high, ok := s.most95(); ok {
		formula := "Δ, the longest time between two samples: fewer than 5 % of the messages were in one"
		if by := roundUp(mean.High / 0.05); by < high {
			high, formula = by, "20 times the high end of the mean: a twentieth that took longer would make the mean higher"
		}
		out.P95 = atMost(out.P95, high, s.settled(), formula, "the samples tell no distribution")
	}
	l.withWork(&s, &out)
	return out
}

// meanAlone is why a percentile is unknown.
const meanAlone = "the samples bound the mean alone"

// atMost returns a figure of which an upper bound is known, and why no more.
func atMost(f dedup.Figure, high, n float64, formula, why string) dedup.Figure {
	f.Quality, f.Value, f.Low, f.High, f.N = dedup.Derived, 0, 0, high, math.Ceil(n)
	f.Formula, f.Why = formula, "at most: "+why
	return f
}

// unknown says why nothing is known of how long deliveries wait; empty where something is.
func (s *stretch) unknown() string {
	switch {
	case s.auto > 0 && s.delivered <= 0:
		return "automatic acks: there is no ack to wait for"
	case s.seconds == 0 && s.from.Gaps != s.to.Gaps:
		return "the broker's counters were just reset"
	case !s.followed():
		return "samples of the unacked messages are missing"
	case s.delivered <= 0 || s.acked <= 0:
		return s.idle()
	}
	return ""
}

// idle says for how long nothing was delivered, or what is out was held.
func (s *stretch) idle() string {
	if stairs := s.to.Held.Stairs; len(stairs) > 0 {
		return "held for " + span(s.to.At.Sub(stairs[0].Since))
	}
	what, counted := "delivery", func(p step) float64 { return p.delivered }
	if s.delivered > 0 {
		what, counted = "ack", func(p step) float64 { return p.acked }
	}
	quiet := s.to.At.Sub(s.from.At)
	for i := len(s.steps) - 1; i >= 0; i-- {
		if counted(s.steps[i]) > 0 {
			quiet = s.to.At.Sub(s.steps[i].to)
			break
		}
	}
	return "no " + what + " for " + span(quiet)
}

// span writes a duration for people: "40 s", "4 m", "3 h".
func span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f m", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}

// noNumber says why what was held does not tell how long deliveries waited that were acked; empty where it does.
func (s *stretch) noNumber() string {
	if s.redelivered >= littleRedelivered*s.delivered {
		return fmt.Sprintf("%.0f %% of deliveries were redelivered, whose waiting would be counted in", 100*min(s.redelivered/s.delivered, 1))
	}
	if !s.restedAtEnds() && s.unsteady() {
		return "the unacked messages were not steady in the window, as after an outage: their first and last third differ more than threefold"
	}
	if share := s.humps(); s.redelivered > 0 && share > littleHump {
		return fmt.Sprintf("%.0f %% of the waiting lies in a short part of the window, as during an outage, and some of it is of deliveries that were redelivered instead of acked", 100*share)
	}
	return ""
}

// A number is a mean with its band, whose ends are shares of it.
type number struct{ mean, below, above float64 }

// half is the half width of the band.
func (n number) half() float64 { return (n.below + n.above) / 2 }

// asking is the share of the time of asking for the unacked messages that is taken off a wait, and that the wait may err by
// in turn. What waits on a busy broker because it is being asked is in every sample, and in none of the seconds between: a queue
// is asked half way through on average, and by then nothing that arrived since may have been acked, or all of it.
const asking = 0.25

// ways is the share of the mean that the ways between broker and consumer, and what the broker holds back itself, were seen to
// add to it. Nobody measures them, so that the band reaches so much lower.
const ways = 0.16

// little estimates the mean ack latency by Little's law: mean unacked over time / rate of manual deliveries, without those that hang. Its band has
// parts that are added: the samples, what was held at the ends of the window, counters that come late, and the asking itself. It reaches lower by what may
// hang, and higher by what had waited before the window and what samples that came late did not meet.
func (s *stretch) little(l *Latency) number {
	w := s.waiting()
	if w.area <= 0 {
		return number{below: 1, above: math.Inf(1)}
	}
	wait := w.area / s.span * s.seconds / s.delivered
	// At most half of the wait, so that something stays: such a band is refused.
	asked := min(wait/2, asking*s.took/s.count)
	wait -= asked
	band := w.twice/w.area + s.atEnds(wait)*s.area/w.area + s.counting() + asked/wait
	return number{mean: wait, below: min(1, band+ways+s.hung(l)*s.span/w.area), above: band + (s.older+s.missed)/w.area}
}

// atEnds is what the waiting can have too much from before the window and lack after it: what is held at either end has
// the mean still before it, or behind it, if waits end by chance; by two standard deviations, which weigh where waits are long.
func (s *stretch) atEnds(wait float64) float64 {
	first, last := s.ends(rest)
	begin, _ := heldIn(first)
	end, _ := heldIn(last)
	if math.IsNaN(begin) || math.IsNaN(end) {
		return math.Inf(1)
	}
	return wait * (math.Abs(end-begin) + 2*math.Sqrt(2*(begin+end))) / s.area
}

// counting is what counters that come late can lack at the end of the window or have too much from before its
// beginning: nothing, where as much was delivered at both ends. At a cut each side has an end. What closed channels may have taken along is added.
func (s *stretch) counting() float64 {
	first, last := s.ends(rest)
	lacking := s.late.Seconds()*math.Abs(rateIn(last)-rateIn(first)) + s.unsure
	return lacking/s.delivered + s.cuts*s.late.Seconds()/s.seconds
}

// rateIn is that of deliveries in steps, each second.
func rateIn(steps []step) float64 {
	var delivered, seconds float64
	for _, p := range steps {
		if !p.cut {
			delivered, seconds = delivered+p.delivered, seconds+p.seconds
		}
	}
	if seconds == 0 {
		return 0
	}
	return delivered / seconds
}
