package estimate

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A workload is traffic whose ack latencies are known: bursts of size messages arrive perSecond times a second, by chance or
// on a beat, and each message is held for a time by chance around mean seconds. With a prefetch of 1 and one consumer the messages of
// a burst are held one after the other, else all at once.
type workload struct {
	name                  string
	perSecond, size, mean float64
	beat                  bool
	// shape of the times: 1 by an exponential distribution, 0 all the same, 2 log-normal with a long tail.
	shape int
	// lined lets the messages of a burst wait in the consumer's buffer for those before them.
	lined bool
}

func (w workload) time(r *rand.Rand) float64 {
	switch w.shape {
	case 1:
		return w.mean * r.ExpFloat64()
	case 2:
		return w.mean * math.Exp(r.NormFloat64()-0.5)
	}
	return w.mean
}

type delivery struct{ from, to float64 }

// deliveries returns those of so many seconds, in the order of their beginnings.
func (w workload) deliveries(r *rand.Rand, seconds float64) []delivery {
	var all []delivery
	phase := r.Float64()
	for t := 0.0; ; {
		if w.beat {
			t += 1 / w.perSecond
		} else {
			t += r.ExpFloat64() / w.perSecond
		}
		if t > seconds {
			return all
		}
		begin := t + phase/w.perSecond
		end := begin
		for range int(w.size) {
			if w.lined {
				end += w.time(r)
			} else {
				end = begin + w.time(r)
			}
			all = append(all, delivery{begin, end})
		}
	}
}

// ends is a heap of the times at which what is held will be acked.
type ends []float64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(float64)) }
func (e *ends) Pop() any          { old := *e; x := old[len(old)-1]; *e = old[:len(old)-1]; return x }

// A run is what the dashboard sees of a workload, and the truth.
type run struct {
	tape reel
	all  []delivery
}

// simulate samples a workload about once a second, as the collector does, and reads counters as old as 0 to 5 s each 15 s.
func (w workload) simulate(r *rand.Rand, seconds float64) run {
	return simulate(r, w.deliveries(r, seconds), seconds)
}

func simulate(r *rand.Rand, all []delivery, seconds float64) run {
	return simulateMet(r, all, nil, seconds, sampling{})
}

// A sampling says how samples differ from what is held when they are taken. They come late by up to so many seconds where a burst is held, as on a machine
// that has its hands full with it; and the broker renews what they say each so many seconds alone, as it does of quorum queues.
type sampling struct{ late, renewed float64 }

// simulateMet is simulate with a store that tells of works, in the order of their ends; it hears of a sample a little later.
func simulateMet(r *rand.Rand, all []delivery, works []worked, seconds float64, how sampling) run {
	out := run{all: all}
	next, acked, sample, read := 0, 0.0, r.Float64(), 15.0
	var held ends
	old, renew := 0.0, 0.0
	if how.renewed > 0 {
		renew = how.renewed * r.Float64()
	}
	var m Moment
	var meets meeting
	var counts []Moment // as of each 5 s: what the broker's counters say
	for sample < seconds {
		now := sample
		for tick := float64(len(counts)) * 5; tick <= now; tick += 5 {
			next, acked = advance(out.all, &held, next, acked, tick)
			counts = append(counts, Moment{Deliveries: float64(next), Acks: acked})
		}
		for ; how.renewed > 0 && renew <= now; renew += how.renewed {
			next, acked = advance(out.all, &held, next, acked, renew)
			old = float64(len(held))
		}
		next, acked = advance(out.all, &held, next, acked, now)
		if how.late > 0 && len(held) >= 20 {
			slip := how.late * r.Float64()
			now += slip
			m.Held = m.Held.Slip(time.Duration(slip * 1e9))
			next, acked = advance(out.all, &held, next, acked, now)
		}
		if at := noon.Add(time.Duration(now * 1e9)); how.renewed > 0 {
			m.Held = m.Held.TakeOld(old, at, time.Millisecond, time.Duration(how.renewed*1e9))
		} else {
			m.Held = m.Held.Take(float64(len(held)), at, time.Millisecond)
		}
		if works != nil {
			m.Held = m.Held.Meet(meets.sampled(m.Held.Span, now+0.01*r.Float64(), works), true)
		}
		if now >= read {
			c := counts[len(counts)-1]
			m.At, m.Deliveries, m.Acks = noon.Add(time.Duration(now*1e9)), c.Deliveries, c.Acks
			out.tape = append(out.tape, m)
			read += 15
		}
		sample += 0.8 + 0.4*r.Float64()
	}
	return out
}

func advance(all []delivery, held *ends, next int, acked, now float64) (int, float64) {
	for {
		switch {
		case next < len(all) && all[next].from <= now && (len(*held) == 0 || all[next].from <= (*held)[0]):
			heap.Push(held, all[next].to)
			next++
		case len(*held) > 0 && (*held)[0] <= now:
			heap.Pop(held)
			acked++
		default:
			return next, acked
		}
	}
}

// A meeting is what samples meet of works, found by looking at each of them.
type meeting struct {
	sum    dedup.WorkMet
	lines  []float64 // the sampler's time of each sample
	heard  []float64 // when the store heard of it
	ended  int       // how many works have ended
	behind float64   // how many of the last ones met the newest sample
}

func (m *meeting) sampled(at, now float64, works []worked) dedup.WorkMet {
	if n := len(m.lines); n > 0 {
		for ; m.ended < len(works) && works[m.ended].completed < now; m.ended++ {
			w := works[m.ended]
			m.sum.Took += w.took
			for k := n - 1; k >= 0 && m.heard[k] > w.completed-w.took; k-- {
				if m.heard[k] >= w.completed {
					continue
				}
				next := at
				if k < n-1 {
					next = m.lines[k+1]
				}
				m.sum.Met += (next - m.lines[max(0, k-1)]) / 2
			}
		}
	}
	m.lines, m.heard = append(m.lines, at), append(m.heard, now)
	return m.sum
}

// truth is the mean of what was acked in a span, and the share of it that took longer than so many seconds.
func (r run) truth(from, to time.Time, than float64) (mean, longer float64) {
	n := 0.0
	a, b := from.Sub(noon).Seconds(), to.Sub(noon).Seconds()
	for _, d := range r.all {
		if d.to > a && d.to <= b {
			mean, n = mean+d.to-d.from, n+1
			if d.to-d.from > than {
				longer++
			}
		}
	}
	return mean / n, longer / n
}

// workloads are those that the coverage is simulated with.
func workloads() []workload {
	var all []workload
	for _, perSecond := range []float64{0.2, 1, 10, 50} {
		for _, mean := range []float64{0.005, 0.05, 0.5} {
			for shape, word := range []string{"of one time", "of chance times", "of times with a long tail"} {
				all = append(all, workload{fmt.Sprintf("%v/s of %v s, %s", perSecond, mean, word), perSecond, 1, mean, false, shape, false})
			}
		}
	}
	return append(all,
		workload{"long work", 1, 1, 30, false, 1, false},
		workload{"long work on a beat", 1, 1, 8, true, 2, false},
		workload{"bursts of 50 at once", 0.1, 50, 0.05, false, 1, false},
		workload{"bursts of 50 at once, each 10 s", 0.1, 50, 0.02, true, 0, false},
		workload{"bursts of 50 in line", 0.1, 50, 0.05, false, 1, true},
		workload{"bursts of 20 in line, each 5 s", 0.2, 20, 0.02, true, 2, true},
		workload{"bursts of 200 at once, each minute", 1.0 / 60, 200, 0.3, true, 2, false},
		workload{"bursts of 10 at once, each second", 1, 10, 0.005, true, 0, false},
		workload{"one message each second, on the beat of the samples", 1, 1, 0.1, true, 0, false},
		workload{"one message each minute", 1.0 / 60, 1, 0.2, false, 1, false},
	)
}

// A coverage counts disjoint windows and those whose truth an answer held.
type coverage struct{ held, n float64 }

func (c *coverage) add(held bool) {
	c.n++
	if held {
		c.held++
	}
}

// low is the lower end of the 95 % Wilson interval of the share that was held.
func (c coverage) low() float64 {
	const z = 1.96
	p := c.held / c.n
	return (p + z*z/(2*c.n) - z*math.Sqrt(p*(1-p)/c.n+z*z/(4*c.n*c.n))) / (1 + z*z/c.n)
}

// windowsOf calls for each disjoint window of a run with the tape up to its end, but for the first one.
func (r run) windowsOf(window time.Duration, each func(tape reel)) {
	from := r.tape[0].At.Add(window)
	for i, m := range r.tape {
		if m.At.After(from.Add(window)) {
			each(r.tape[:i+1])
			from = m.At
		}
	}
}

// meanAnd95 are the two figures that samples alone give.
func meanAnd95(l Latency) (mean, p95 dedup.Figure) {
	f := l.Estimate()
	return f.Mean, f.P95
}
