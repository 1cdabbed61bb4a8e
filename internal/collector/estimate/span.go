package estimate

import (
	"math"
	"slices"
	"sort"
	"time"
)

// A Moment is what was known of one pipeline at one time. Its counts are cumulative and count manual acks only, but for AutoAcks.
type Moment struct {
	At                                       time.Time
	Deliveries, Redeliveries, Acks, AutoAcks float64
	// Gaps counts the times at which the broker's counters were reset.
	Gaps float64
	Held Held
	// Unsure is how many more deliveries or acks there may be, Open how many more until later counts tell.
	Unsure, Open float64
	// Less and More are by how much the deliveries or acks of the moment may be too high and too low, as it lies between two counts.
	Less, More float64
}

// A Tape is the moments of one pipeline in time order.
type Tape interface {
	Len() int
	Moment(i int) Moment
}

// late is how late the counters of the management API come; a pipeline where nothing was delivered nor held for rest is at rest.
const (
	late = 5 * time.Second
	rest = 2 * late
)

// sparsest is the longest mean time between two samples that still gives a figure.
const sparsest = 6 * time.Second

// steadyFold is how many times the unacked messages may differ between parts of a window.
const steadyFold = 3

// parts is the number of parts of a window that are compared.
const parts = 12

// A step is what happened between two moments that follow one another.
type step struct {
	from, to time.Time
	seconds  float64
	// Counted.
	delivered, redelivered, acked float64
	// Sampled.
	sampled
	// unborn is how many messages were held since the first sample of all, so many seconds before.
	unborn, old float64
	// cut is true where part of it was not sampled, or where the counters were reset: neither side of it counts then.
	cut bool
}

// sampled is what the samples of a time came to: see Held.
type sampled struct {
	area, span, sum, count, noise, took, slipped, seen, blocks, blockArea, blockSquares float64
	met                                                                                 Met
}

func sampledBetween(a, b *Held) sampled {
	return sampled{b.Area - a.Area, b.Span - a.Span, b.Sum - a.Sum, b.Count - a.Count, b.Noise - a.Noise, b.Took - a.Took, b.Slipped - a.Slipped, b.Seen - a.Seen,
		b.Blocks - a.Blocks, b.BlockArea - a.BlockArea, b.BlockSquares - a.BlockSquares, b.Met.since(a.Met)}
}

func (s *sampled) add(more *sampled) {
	s.area, s.span, s.sum, s.count = s.area+more.area, s.span+more.span, s.sum+more.sum, s.count+more.count
	s.noise, s.took, s.seen = s.noise+more.noise, s.took+more.took, s.seen+more.seen
	s.blocks, s.blockArea, s.blockSquares = s.blocks+more.blocks, s.blockArea+more.blockArea, s.blockSquares+more.blockSquares
	s.met = s.met.plus(more.met)
}

// each is the mean time between two samples, in seconds.
func (s *sampled) each() float64 { return s.span / s.count }

// A stretch is a window of a tape, with what lies in it and could be both counted and sampled.
type stretch struct {
	steps    []step
	from, to Moment
	sampled
	late                                time.Duration
	delivered, redelivered, acked, auto float64
	// unsure is how many more deliveries or acks there may be, open how many fewer.
	unsure, open              float64
	seconds, cutSeconds, cuts float64
	// floor is how many messages every sample of the window showed at least. pile is the most waiting, in message seconds, of those who are
	// held still when the window ends: none of it is of acks. older is the most that those had waited before the window began who can have been
	// acked in it: what was held then and did not stay.
	floor, pile, older float64
	// missed is the most waiting, in message seconds, that samples which came late did not meet: that of what was delivered about then.
	missed float64
	// busy is the number of steps in which anything was delivered.
	busy float64
	// unseen is the longest time that a message can have been held without a sample of it, in seconds; +Inf where it is not known.
	unseen float64
}

// stretchOf cuts a window, which ends with the tape, out of it. It is not ok with fewer than two moments.
func stretchOf(t Tape, window, lag time.Duration) (stretch, bool) {
	n := t.Len()
	if n < 2 {
		return stretch{}, false
	}
	from := t.Moment(n - 1).At.Add(-window)
	// The window begins with the last moment before it, so that it is covered as a whole.
	first := max(0, sort.Search(n, func(i int) bool { return t.Moment(i).At.After(from) })-1)
	first = min(first, n-2)
	s := stretch{from: t.Moment(first), to: t.Moment(n - 1), late: lag}
	if lag <= 0 {
		s.late = late
	}
	s.steps = stepsOf(t, first, n-1)
	s.total()
	return s, true
}

// stepsOf returns the steps from one moment to another.
func stepsOf(t Tape, first, last int) []step {
	steps := make([]step, 0, last-first)
	a := t.Moment(first)
	for i := first + 1; i <= last; i++ {
		b := t.Moment(i)
		steps = append(steps, stepOf(&a, &b))
		if b.Held.Lost > a.Held.Lost {
			cutBack(steps, b.Held.LostFrom)
		}
		a = b
	}
	if a.At.Sub(a.Held.At) > longestLine+a.Held.Age { // nobody has sampled it since
		cutBack(steps, a.Held.At)
	}
	return steps
}

// cutBack cuts what ended after a time, and what is newest.
func cutBack(steps []step, from time.Time) {
	for i := len(steps) - 1; i >= 0 && (i == len(steps)-1 || steps[i].to.After(from)); i-- {
		steps[i].cut = true
	}
}

func stepOf(a, b *Moment) step {
	return step{
		from: a.At, to: b.At, seconds: b.At.Sub(a.At).Seconds(),
		delivered: b.Deliveries - a.Deliveries, redelivered: b.Redeliveries - a.Redeliveries, acked: b.Acks - a.Acks,
		sampled: sampledBetween(&a.Held, &b.Held),
		unborn:  b.Held.unborn(), old: b.At.Sub(b.Held.First).Seconds(),
		cut: a.Gaps != b.Gaps || a.Held.At.IsZero(),
	}
}

// covered is the part of the window that its figures are of: what is cut is in none of them.
func (s *stretch) covered() time.Duration {
	return s.to.At.Sub(s.from.At) - time.Duration(s.cutSeconds*float64(time.Second))
}

// total adds up what was both counted and sampled.
func (s *stretch) total() {
	for i, p := range s.steps {
		if p.cut {
			s.cutSeconds += p.seconds
			continue
		}
		s.delivered += p.delivered
		s.redelivered += p.redelivered
		s.acked += p.acked
		s.seconds += p.seconds
		s.sampled.add(&p.sampled)
		s.missed += min(p.slipped, p.seconds) * s.deliveredAbout(i)
		s.pile += min(p.area, s.to.Held.under(p.from, p.to, 0))
		if p.delivered > 0 {
			s.busy++
		}
	}
	for i, p := range s.steps {
		if p.cut && (i == 0 || !s.steps[i-1].cut) {
			s.cuts++
		}
	}
	a, b := &s.from, &s.to
	s.auto, s.unsure, s.open = b.AutoAcks-a.AutoAcks, max(0, b.Unsure-a.Unsure)+a.Open+b.Open, a.Open
	s.floor = b.Held.stood(a.At)
	stays := s.floor
	if min(s.delivered, s.acked) <= s.floor { // each of the acks may be of one of them
		stays = 0
	}
	s.older = a.Held.under(time.Time{}, a.At, stays) + s.unborn(stays)
	s.unseen = math.Inf(1)
	for i := len(unseenBounds) - 1; i >= 0 && s.cuts == 0 && a.Held.Longer[i] == b.Held.Longer[i]; i-- {
		s.unseen = unseenBounds[i]
	}
}

// deliveredAbout is the most that was delivered in a step, or one beside it: counts come later than samples.
func (s *stretch) deliveredAbout(i int) float64 {
	most := 0.0
	for _, p := range s.steps[max(0, i-1):min(len(s.steps), i+2)] {
		most = max(most, p.delivered)
	}
	return most
}

// unborn is what messages may have waited before the first sample of all, that can have been acked in the window: as long again as they were seen.
func (s *stretch) unborn(stays float64) float64 {
	most := 0.0
	for _, p := range s.steps {
		most = max(most, (p.unborn-stays)*p.old)
	}
	return most
}

// followed reports whether there are samples enough of what was counted.
func (s *stretch) followed() bool {
	return s.count > 0 && s.span > 0 && s.seconds <= s.count*(sparsest+s.to.Held.Age).Seconds()
}

// heldIn is the mean of the unacked messages over steps that were sampled, and false where none was.
func heldIn(steps []step) (float64, bool) {
	var sum, count float64
	for _, p := range steps {
		if !p.cut {
			sum, count = sum+p.sum, count+p.count
		}
	}
	return sum / count, count > 0
}

// between returns the steps that lie within two times.
func (s *stretch) between(from, to time.Time) []step {
	i := sort.Search(len(s.steps), func(i int) bool { return !s.steps[i].from.Before(from) })
	j := sort.Search(len(s.steps), func(j int) bool { return s.steps[j].to.After(to) })
	return s.steps[min(i, j):j]
}

// part returns the steps of one of n equal parts of the window.
func (s *stretch) part(i, n int) []step {
	long := s.to.At.Sub(s.from.At) / time.Duration(n)
	from := s.from.At.Add(time.Duration(i) * long)
	return s.between(from, from.Add(long))
}

// ends returns the steps of the first and the last bit of the window, which are at least as long as that.
func (s *stretch) ends(bit time.Duration) (first, last []step) {
	i := sort.Search(len(s.steps), func(i int) bool { return s.steps[i].to.Sub(s.from.At) >= bit })
	j := sort.Search(len(s.steps), func(j int) bool { return s.to.At.Sub(s.steps[j].from) < bit })
	return s.steps[:min(i+1, len(s.steps))], s.steps[max(0, j-1):]
}

// unsteady reports whether the mean of the unacked samples in the first third of the window and that in the last third
// differ more than steadyFold times. Little's law holds for a system that ends as it began; after an outage it
// counts the waiting of a pile whose deliveries lie before the window, or deliveries whose waiting lies after it.
func (s *stretch) unsteady() bool {
	begin, beginKnown := heldIn(s.part(0, 3))
	end, endKnown := heldIn(s.part(2, 3))
	return beginKnown && endKnown && max(begin, end) > steadyFold*min(begin, end)
}

// restedAtEnds reports whether the pipeline was at rest where the window begins and where it ends. Then every wait that its samples
// saw is that of a delivery that was counted, from the first moment to the last, however unsteady it was in between.
func (s *stretch) restedAtEnds() bool {
	first, last := s.ends(rest)
	return atRest(first) && atRest(last)
}

// atRest reports whether nothing was delivered and nothing held, as far as samples tell that are as frequent as a figure needs.
func atRest(steps []step) bool {
	var seconds, count, sum, delivered float64
	for _, p := range steps {
		if p.cut {
			return false
		}
		seconds, count, sum, delivered = seconds+p.seconds, count+p.count, sum+p.sum, delivered+p.delivered
	}
	return count > 0 && seconds >= rest.Seconds() && seconds <= count*2 && sum == 0 && delivered == 0
}

// humps returns the share of the waiting that lies in humps: what was held in a part of the window beyond steadyFold times as much
// as in the median one of those in which anything was held. Little's law holds for a hump too, but what was held in it may have been
// taken back instead of acked.
func (s *stretch) humps() float64 {
	var areas []float64
	for i := range parts {
		area := 0.0
		for _, p := range s.part(i, parts) {
			area += p.area
		}
		if area > 0 {
			areas = append(areas, area)
		}
	}
	if len(areas) == 0 {
		return 0
	}
	slices.Sort(areas)
	typical, all, hump := areas[(len(areas)-1)/2], 0.0, 0.0
	for _, area := range areas {
		all += area
		hump += max(0, area-steadyFold*typical)
	}
	return hump / all
}
