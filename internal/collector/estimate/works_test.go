package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A worker is a consumer whose deliveries and works are known: each delivery waits in its buffer, is worked on or is a hit, and is acked a little later.
type worker struct {
	name                  string
	perSecond, work, hits float64
	prefetch              int
	// early acks before the work.
	early bool
}

type worked struct{ completed, took float64 }

// deliveries returns those of so many seconds and the works among them.
func (w worker) deliveries(r *rand.Rand, seconds float64) (all []delivery, works []worked) {
	free, free50 := 0.0, make([]float64, w.prefetch)
	for t, i := 0.0, 0; t < seconds; t, i = t+r.ExpFloat64()/w.perSecond, i+1 {
		from := max(t, free50[i%w.prefetch]) // the broker delivers once there is room
		claim := max(from, free) + 0.001*r.Float64()
		end := claim
		if r.Float64() >= w.hits {
			took := w.work * (0.5 + r.ExpFloat64()/2)
			end += took
			works = append(works, worked{end, took})
		}
		acked := end + 0.001*r.Float64()
		free = acked
		if w.early {
			acked = claim
		}
		free50[i%w.prefetch] = acked
		all = append(all, delivery{from, acked})
	}
	return all, works
}

// between are the works that ended between two readings of the store, one each 15 s.
func between(works []worked) func(from, to time.Time) (Works, bool) {
	return func(from, to time.Time) (Works, bool) {
		const each = 15 * time.Second
		first, last := noon.Add((from.Sub(noon)+each-1)/each*each), noon.Add(to.Sub(noon)/each*each)
		w := Works{From: first, To: last}
		at := func(t time.Time) int {
			return sort.Search(len(works), func(i int) bool { return works[i].completed > t.Sub(noon).Seconds() })
		}
		if !first.Before(last) {
			return w, false
		}
		for _, k := range works[at(first):at(last)] {
			w.Times.Add(time.Duration(k.took * 1e9))
		}
		return w, w.Times.Count() > 0
	}
}

func workers() (all []worker) {
	for _, prefetch := range []int{1, 50} {
		for _, w := range []worker{
			{"2 ms", 20, 0.002, 0, 0, false}, {"26 ms, rarely", 0.5, 0.026, 0, 0, false}, {"50 ms", 5, 0.05, 0, 0, false}, {"50 ms, one in three a hit", 5, 0.05, 0.33, 0, false},
			{"500 ms", 1, 0.5, 0.1, 0, false}, {"2 s", 0.3, 2, 0.1, 0, false}, {"2 s, rarely", 0.05, 2, 0, 0, false},
		} {
			w.prefetch = prefetch
			all = append(all, w)
		}
	}
	return all
}

// TestWorkNarrowsLatenciesAroundTheTruth holds means and percentiles of disjoint windows against what was acked in them.
func TestWorkNarrowsLatenciesAroundTheTruth(t *testing.T) {
	const window = 5 * time.Minute
	means, percentiles := judge{t: t, window: window, what: "means"}, judge{t: t, window: window, what: "percentiles"}
	raised, all := 0, 0
	for i, w := range workers() {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		deliveries, works := w.deliveries(r, 60*window.Seconds())
		run := simulate(r, deliveries, 60*window.Seconds())
		run.windowsOf(window, func(tape reel) {
			f := Latency{Window: window, Tape: tape, Work: between(works), Slip: time.Millisecond}.Estimate()
			from, to := f.Mean.At.Add(-f.Mean.Covered).Sub(noon).Seconds(), f.Mean.At.Sub(noon).Seconds()
			var held []float64
			sum := 0.0
			for _, d := range deliveries {
				if d.to > from && d.to <= to {
					held, sum = append(held, d.to-d.from), sum+d.to-d.from
				}
			}
			if len(held) == 0 || !f.Mean.Known() {
				return
			}
			slices.Sort(held)
			truth := sum / float64(len(held))
			means.add(f.Mean.Low <= truth && truth <= f.Mean.High)
			if all++; f.Mean.Low > 0 && f.Mean.Low > truth/3 {
				raised++
			}
			for q, p := range map[float64]dedup.Figure{0.5: f.P50, 0.95: f.P95, 0.99: f.P99} {
				if at := held[min(len(held)-1, int(q*float64(len(held))))]; p.Known() {
					percentiles.add(p.Low <= at && at <= p.High)
				}
			}
		})
		means.end(w.name)
		percentiles.end(w.name)
	}
	means.all()
	percentiles.all()
	if raised < all/2 {
		t.Errorf("%d of %d means have a low end that says anything", raised, all)
	}
}

// TestSamplesThatMeetWorksTellTheRest holds means whose samples stand for what was not worked on against the truth: few stay bounds.
func TestSamplesThatMeetWorksTellTheRest(t *testing.T) {
	for _, window := range []time.Duration{time.Minute, 5 * time.Minute} {
		numbers, bounds := judge{t: t, window: window, what: "numbers"}, judge{t: t, window: window, what: "bounds"}
		for i, w := range workers() {
			r := rand.New(rand.NewPCG(uint64(i), 17))
			deliveries, works := w.deliveries(r, 60*window.Seconds())
			run := simulateMet(r, deliveries, works, 60*window.Seconds(), sampling{})
			var wide, plain, n float64
			run.windowsOf(window, func(tape reel) {
				f := Latency{Window: window, Tape: tape, Work: between(works), Slip: time.Millisecond}.Estimate()
				truth, _ := run.truth(f.Mean.At.Add(-f.Mean.Covered), f.Mean.At, 0)
				if math.IsNaN(truth) || !f.Mean.Known() {
					return
				}
				if f.Mean.InBand() {
					numbers.add(f.Mean.Low <= truth && truth <= f.Mean.High)
				} else {
					bounds.add(f.Mean.Low <= truth && truth <= f.Mean.High)
				}
				bare := bare(tape)
				g := Latency{Window: window, Tape: bare, Work: between(works), Slip: time.Millisecond}.Estimate()
				wide, plain, n = wide+(f.Mean.High-f.Mean.Low)/2/truth, plain+(g.Mean.High-g.Mean.Low)/2/truth, n+1
			})
			if testing.Verbose() {
				t.Logf("%v %s prefetch %d: numbers %v of %v, half width %.2f of the truth, %.2f without", window, w.name, w.prefetch, numbers.one.n, n, wide/n, plain/n)
			}
			if wide > 1.02*plain || w.name == "50 ms" && wide > 0.85*plain {
				t.Errorf("%v %s prefetch %d: half width %.2f of the truth, %.2f without the works", window, w.name, w.prefetch, wide/n, plain/n)
			}
			numbers.end(w.name)
			bounds.end(w.name)
		}
		numbers.all()
		bounds.all()
	}
}

// bare is a tape whose samples met no works.
func bare(tape reel) reel {
	out := slices.Clone(tape)
	for i := range out {
		out[i].Held.Met = Met{}
	}
	return out
}

// TestWhoAcksBeforeTheWorkIsNotSaidToHoldForIt: consumers that ack early are held for a moment, whatever their work takes.
func TestWhoAcksBeforeTheWorkIsNotSaidToHoldForIt(t *testing.T) {
	for i, w := range []worker{{"26 ms", 0.5, 0.026, 0, 1, true}, {"500 ms", 1, 0.5, 0, 1, true}} {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		deliveries, works := w.deliveries(r, 6000)
		simulate(r, deliveries, 6000).windowsOf(5*time.Minute, func(tape reel) {
			f := Latency{Window: 5 * time.Minute, Tape: tape, Work: between(works), Slip: time.Millisecond}.Estimate()
			if f.Mean.Low > 0.002 {
				t.Errorf("%s: acked after a millisecond, said to be at least %v", w.name, f.Mean.Low)
			}
		})
	}
}

// TestWhoseConsumersHaveBegunToAckEarlyIsNotSaidToHoldForTheWork: what was held long ago proves nothing once samples should have met work since.
func TestWhoseConsumersHaveBegunToAckEarlyIsNotSaidToHoldForTheWork(t *testing.T) {
	const changed = 3600.0
	looked := 0
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 11))
		deliveries, works := worker{"late", 0.6, 0.05, 0, 50, false}.deliveries(r, changed)
		since, later := worker{"early", 0.03, 0.05, 0, 50, true}.deliveries(r, 3*changed)
		for _, d := range since {
			deliveries = append(deliveries, delivery{d.from + changed, d.to + changed})
		}
		for _, w := range later {
			works = append(works, worked{w.completed + changed, w.took})
		}
		simulate(r, deliveries, 4*changed).windowsOf(15*time.Minute, func(tape reel) {
			if tape.Moment(tape.Len() - 1).At.Before(noon.Add(3*time.Hour + 15*time.Minute)) {
				return
			}
			looked++
			f := Latency{Window: 15 * time.Minute, Tape: tape, Work: between(works), Slip: time.Millisecond}.Estimate()
			if f.Mean.Low > 0.005 {
				t.Errorf("all have acked early for two hours: at least %v", f.Mean.Low)
			}
		})
	}
	if looked == 0 {
		t.Error("no window was looked at")
	}
}

func TestAMeanIsNeverBelowTheWork(t *testing.T) {
	bound := dedup.Figure{Quality: dedup.Derived, Unit: dedup.Seconds, High: 0.33}
	if f := above(bound, 0.0268); !f.Bounded() || math.Abs(f.Low-0.026) > 1e-9 || f.Value != f.Low || f.High != 0.33 {
		t.Errorf("a bound above the work: %+v", f)
	}
	if f := above(bound, 0.25); !f.InBand() || f.Low != 0.25 || f.Error <= 0 {
		t.Errorf("bounds close to each other are a number: %+v", f)
	}
	number := dedup.Figure{Quality: dedup.Estimated, Unit: dedup.Seconds, Low: 0.08, Value: 0.1, High: 0.11}
	if f := above(number, 0.07); f.Low != 0.08 || f.Value != 0.1 {
		t.Errorf("work below the band: %+v", f)
	}
	if f := above(number, 0.105); f.Low != 0.105 || f.Value <= f.Low || f.Value >= f.High {
		t.Errorf("work above the number: %+v", f)
	}
}

// TestFewAcksAtAnEndAreNotTakenForAll: of a burst at the begin of the window no more works may be believed than acks.
func TestFewAcksAtAnEndAreNotTakenForAll(t *testing.T) {
	s := stretch{from: Moment{Less: 3, More: 4}, to: Moment{Less: 2, More: 1}, delivered: 20, acked: 20, seconds: 60}
	if got := s.most(); got != 24 {
		t.Errorf("at most %v were acked, want 24", got)
	}
	if got := s.settled(); got != 14 {
		t.Errorf("at least %v were acked, want 14", got)
	}
}

func TestASampleAfterAGapIsNotComparedWithTheOneBefore(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	var h Held
	take := func(second int) {
		h = h.Take(1, begin.Add(time.Duration(second)*time.Second), 0)
		h = h.Meet(dedup.WorkMet{Epoch: 1, Met: float64(second)}, true)
	}
	take(0)
	take(1)
	take(2)
	if h.Met.Gaps != 1 || h.Met.Area != 2 {
		t.Errorf("after three samples: %+v", h.Met)
	}
	h = h.Miss()
	take(4) // no line leads here
	take(5)
	if h.Met.Gaps != 2 || h.Met.Area != 3 {
		t.Errorf("after a gap: %+v", h.Met)
	}
}
