package window

import (
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	// exportPatience is how long one waits for what store and broker came to by the time of a reading.
	exportPatience = 45 * time.Second
	// exportsCompared are the newest readings, of which each is compared with each.
	exportsCompared = 200
	// The ages at which readings thin out: all of them for exportNew, then one a minute, and from exportOld on one in exportStep.
	exportNew  = 20 * time.Minute
	exportOld  = 2 * time.Hour
	exportStep = 5 * time.Minute
)

// An exportReading is what the consumers' framework counted by a time, and what store and broker came to by then.
type exportReading struct {
	estimate.Handled
	// Duplicates are those that the framework tells.
	Duplicates float64
	Ack, Work  *dedup.Distribution
	first, end time.Time // when its processes were read
	marks      []dedup.ExportMark
}

// Exports are what the consumers' framework of one pipeline counted, in time order. They belong to the round.
type Exports struct {
	latest *dedup.Exports
	// pending await what store and broker came to by their time.
	pending  []exportReading
	readings []exportReading
	agrees   estimate.Agreement
	compared bool
}

// Observe takes one reading of what the consumers' framework counts.
func (e *Exports) Observe(x *dedup.Exports) {
	e.latest = x
	if x == nil || len(x.Marks) == 0 {
		return
	}
	r := exportReading{Duplicates: x.Duplicates, Ack: x.Ack, Work: x.Work, marks: x.Marks, first: x.Marks[0].At, end: x.Marks[0].At}
	for _, m := range x.Marks {
		if m.At.Before(r.first) {
			r.first = m.At
		}
		if m.At.After(r.end) {
			r.end = m.At
		}
	}
	r.At = r.first.Add(r.end.Sub(r.first) / 2)
	r.Handled.Handled, r.Failed, r.Unsure = x.Handled, x.Failed, x.Unsure
	e.pending = append(e.pending, r)
}

// SettleExports completes the readings for whose time store and broker are known, or will not be; scheme is the store's.
func (p *Pipeline) SettleExports(now time.Time, scheme dedup.Scheme) {
	s := settling{traffic: &p.Traffic, giveUp: scheme.GiveUp > 0}
	if p.Store != nil && p.Partner == "" && scheme.Refuses(dedup.MethodExports) == "" {
		s.events = p.Store.Source
	}
	p.Exports.settle(now, s)
}

func (e *Exports) settle(now time.Time, s settling) {
	done := 0
	for i := range e.pending {
		r := &e.pending[i]
		late := now.Sub(r.end) > exportPatience
		if r.Run == 0 {
			s.completions(r)
		}
		if r.AckRun == 0 {
			s.acks(r)
		}
		if !late && (r.AckRun == 0 || r.Run == 0 && s.events != nil) {
			break
		}
		e.add(*r, now)
		done++
	}
	e.pending = e.pending[done:]
}

func (e *Exports) add(r exportReading, now time.Time) {
	if n := len(e.readings); n > 0 && !r.At.After(e.readings[n-1].At) {
		if e.readings[n-1].Handled.Handled <= r.Handled.Handled { // no process was read again
			return
		}
		e.readings = e.readings[:0] // the clock was set back
	}
	e.readings = append(e.readings, r)
	e.readings = sample.Thin(e.readings, now, func(r *exportReading) time.Time { return r.At },
		sample.OlderThan(exportNew, sample.OldStep), sample.OlderThan(exportOld, exportStep))
	e.agrees, e.compared = estimate.Compare(handledOf(e.readings[max(0, len(e.readings)-exportsCompared):]))
}

func handledOf(readings []exportReading) []estimate.Handled {
	out := make([]estimate.Handled, len(readings))
	for i := range readings {
		out[i] = readings[i].Handled
	}
	return out
}

// A settling knows what store and broker came to by the time of a reading.
type settling struct {
	traffic *Traffic
	// events are those of the store; nil where they do not tell what it came to.
	events EventSource
	// giveUp: what was given up is settled, too.
	giveUp bool
}

// completions adds what the store came to by the time of each process: weighted by its share of the work, since a completion
// does not tell whose it is.
func (s settling) completions(r *exportReading) {
	if s.events == nil {
		return
	}
	total, settled := 0.0, make([]float64, len(r.marks))
	for _, m := range r.marks {
		total += m.Weight
	}
	middle, epoch := 0.0, int64(0)
	for i, at := range append([]dedup.ExportMark{{At: r.At}}, r.marks...) {
		c, ok := s.events.EventsAt(at.At)
		if !ok || c.Late || i > 0 && c.Epoch != epoch {
			return
		}
		epoch = c.Epoch
		n := float64(c.Completions + c.Again)
		if s.giveUp {
			n += float64(c.GaveUp)
		}
		if i == 0 {
			middle = n
		} else {
			settled[i-1] = n
		}
	}
	r.Settled, r.Spread = 0, 0
	for i, m := range r.marks {
		w := 1 / float64(len(r.marks))
		if total > 0 {
			w = m.Weight / total
		}
		r.Settled += w * settled[i]
		r.Spread += w * (1 - w) * math.Abs(settled[i]-middle)
	}
	r.Run = int(epoch) + 1
}

// acks bounds the acks that the broker had counted when the processes were read: by live counts where there are any, else by its
// counters, which come late. What was handled may be unacked for a while more.
func (s settling) acks(r *exportReading) {
	frames := s.traffic.Frames
	low, okLow := frames.Before(r.first)
	high, okHigh := frames.Counted(r.end)
	if !okLow || !okHigh || low.Gaps != high.Gaps || high.Blind {
		return
	}
	r.AckedLow, r.AckedHigh = low.Acks+low.AutoAcks, high.Acks+high.AutoAcks+high.Unacked
	r.RedeliveredLow, r.RedeliveredHigh = low.Redeliveries, high.Redeliveries
	r.AckRun = 2 + 2*int(low.Gaps)
	if live := s.traffic.Joints.Readings; high.AutoAcks == 0 && len(live) > 0 {
		i := sort.Search(len(live), func(i int) bool { return live[i].At.After(r.first) }) - 1
		j := sort.Search(len(live), func(i int) bool { return !live[i].At.Before(r.end) })
		if i >= 0 && j < len(live) && live[i].Run == live[j].Run && live[j].At.Sub(live[i].At) < sample.CounterLag {
			r.AckedLow, r.AckedHigh = live[i].Acked, live[j].Acked+live[j].Unsure+live[j].Open+high.Unacked
			r.RedeliveredLow, r.RedeliveredHigh = live[i].Redelivered, live[j].Redelivered
			r.AckRun = 1 + 2*live[j].Run
		}
	}
}
