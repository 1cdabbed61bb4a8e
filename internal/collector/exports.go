package collector

import (
	"fmt"
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	betterRecipe = "Correct reported.prometheus of the pipeline: dashboard check shows what the recipe finds (docs/consumers.md)."
	// exportStale is the age from which on the newest reading says nothing of the present, exportPatience how long one waits for what store
	// and broker came to by then.
	exportStale    = 5 * time.Minute
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

// An exportTape is the readings of one pipeline in time order. It belongs to the round.
type exportTape struct {
	latest *dedup.Exports
	// pending await what store and broker came to by their time.
	pending  []exportReading
	readings []exportReading
	agrees   estimate.Agreement
	compared bool
}

// absorbExports takes one reading of what the consumers' framework counts.
func (p *pipeline) absorbExports(e *dedup.Exports) {
	p.exports.latest = e
	if e == nil || len(e.Marks) == 0 {
		return
	}
	r := exportReading{Duplicates: e.Duplicates, Ack: e.Ack, Work: e.Work, marks: e.Marks, first: e.Marks[0].At, end: e.Marks[0].At}
	for _, m := range e.Marks {
		if m.At.Before(r.first) {
			r.first = m.At
		}
		if m.At.After(r.end) {
			r.end = m.At
		}
	}
	r.At = r.first.Add(r.end.Sub(r.first) / 2)
	r.Handled.Handled, r.Failed, r.Unsure = e.Handled, e.Failed, e.Unsure
	p.exports.pending = append(p.exports.pending, r)
}

// settleExports completes the readings for whose time store and broker are known, or will not be.
func (p *pipeline) settleExports(now time.Time) {
	t := &p.exports
	done := 0
	for i := range t.pending {
		r := &t.pending[i]
		late := now.Sub(r.end) > exportPatience
		if r.Run == 0 {
			p.settleCompletions(r)
		}
		if r.AckRun == 0 {
			p.settleAcks(r)
		}
		if !late && (r.AckRun == 0 || r.Run == 0 && p.tellsCompletions()) {
			break
		}
		t.add(*r, now)
		done++
	}
	t.pending = t.pending[done:]
}

func (t *exportTape) add(r exportReading, now time.Time) {
	if n := len(t.readings); n > 0 && !r.At.After(t.readings[n-1].At) {
		if t.readings[n-1].Handled.Handled <= r.Handled.Handled { // no process was read again
			return
		}
		t.readings = t.readings[:0] // the clock was set back
	}
	t.readings = append(t.readings, r)
	t.readings = sample.Thin(t.readings, now, func(r *exportReading) time.Time { return r.At },
		sample.OlderThan(exportNew, sample.OldStep), sample.OlderThan(exportOld, exportStep))
	t.agrees, t.compared = estimate.Compare(handledOf(t.readings[max(0, len(t.readings)-exportsCompared):]))
}

func handledOf(readings []exportReading) []estimate.Handled {
	out := make([]estimate.Handled, len(readings))
	for i := range readings {
		out[i] = readings[i].Handled
	}
	return out
}

// tellsCompletions reports whether the store tells what it came to at a moment.
func (p *pipeline) tellsCompletions() bool {
	if p.store == nil || p.partner != "" || p.store.store.Scheme().Refuses(dedup.MethodExports) != "" {
		return false
	}
	_, ok := p.store.store.(eventful)
	return ok
}

// settleCompletions adds what the store came to by the time of each process: weighted by its share of the work, since a completion
// does not tell whose it is.
func (p *pipeline) settleCompletions(r *exportReading) {
	if !p.tellsCompletions() {
		return
	}
	store, giveUp := p.store.store.(eventful), p.store.store.Scheme().GiveUp > 0
	total, settled := 0.0, make([]float64, len(r.marks))
	for _, m := range r.marks {
		total += m.Weight
	}
	middle, epoch := 0.0, int64(0)
	for i, at := range append([]dedup.ExportMark{{At: r.At}}, r.marks...) {
		c, ok := store.EventsAt(at.At)
		if !ok || i > 0 && c.Epoch != epoch {
			return
		}
		epoch = c.Epoch
		n := float64(c.Completions + c.Again)
		if giveUp {
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

// settleAcks bounds the acks that the broker had counted when the processes were read: by live counts where there are any, else by its
// counters, which come late. What was handled may be unacked for a while more.
func (p *pipeline) settleAcks(r *exportReading) {
	frames := p.frames
	low, okLow := frames.Before(r.first)
	high, okHigh := frames.After(r.end.Add(sample.CounterLag))
	if !okLow || !okHigh || low.Gaps != high.Gaps || high.Blind {
		return
	}
	r.AckedLow, r.AckedHigh = low.Acks+low.AutoAcks, high.Acks+high.AutoAcks+high.Unacked
	r.RedeliveredLow, r.RedeliveredHigh = low.Redeliveries, high.Redeliveries
	r.AckRun = 2 + 2*int(low.Gaps)
	if live := p.joints.Readings; high.AutoAcks == 0 && len(live) > 0 {
		i := sort.Search(len(live), func(i int) bool { return live[i].At.After(r.first) }) - 1
		j := sort.Search(len(live), func(i int) bool { return !live[i].At.Before(r.end) })
		if i >= 0 && j < len(live) && live[i].Run == live[j].Run && live[j].At.Sub(live[i].At) < sample.CounterLag {
			r.AckedLow, r.AckedHigh = live[i].Acked, live[j].Acked+live[j].Unsure+live[j].Open+high.Unacked
			r.RedeliveredLow, r.RedeliveredHigh = live[i].Redelivered, live[j].Redelivered
			r.AckRun = 1 + 2*live[j].Run
		}
	}
}

// exportRefusal says why nothing that the framework counts can be used, and what would help.
func (c *Collector) exportRefusal(p *pipeline, v view) (why, better string) {
	t := &p.exports
	switch {
	case p.report == nil || t.latest == nil:
		return "no recipe reads what the consumers' framework counts", ""
	case v.reportDown != "":
		return v.reportDown, betterBack
	case t.latest.Why != "":
		return t.latest.Why, betterRecipe
	case v.brokerDown != "":
		return v.brokerDown, betterBack
	case !t.compared:
		return "what consumers handled could not be compared with the broker's acks yet", rate.BetterReport
	case t.agrees.Refuted:
		return rate.ExportsRefuted(t.agrees, t.latest, v.now), betterRecipe
	}
	return "", ""
}

// exportEstimate estimates the rate from the deliveries that the consumers' framework counts.
func (c *Collector) exportEstimate(p *pipeline, v view, w time.Duration, live rate.LiveResult) dedup.Figure {
	why, better := c.exportRefusal(p, v)
	if why != "" {
		return rate.Refused(w, rate.ExportsSource, rate.ExportsFormula, why, better)
	}
	t := &p.exports
	exact := t.latest.HasDuplicates
	f := dedup.Figure{Unit: dedup.Ratio, Source: rate.ExportsSource, Formula: rate.ExportsFormula, Window: w, Better: rate.BetterReport}
	readings := handledOf(t.readings)
	if exact {
		f.Formula = rate.ExportsExactFormula
		for i := range readings {
			readings[i].Settled, readings[i].Spread, readings[i].Run = readings[i].Handled-t.readings[i].Duplicates, 0, 1
		}
	} else if why := exportless(p, v); why != "" {
		return rate.Refused(w, rate.ExportsSource, rate.ExportsFormula, why, "")
	}
	r, ok := estimate.SentOf(readings, w)
	switch {
	case !ok:
		f.Why = "consumers and store were not counted together often enough yet"
		return f
	case v.now.Sub(r.To) > exportStale:
		f.Why = "nothing that consumers handle was read since " + clock(r.To, v.now)
		return f
	}
	f.Covered, f.At = min(r.Covered, w), r.To
	switch over := -(r.Sent + r.Band + r.Unsure); {
	case !exact && p.store.disturbed.After(r.From):
		f.Why = p.store.disturbedWhy + untilAbout(p.store.disturbed.Add(w), v.now)
	case r.Acked <= 0:
		f.Why = "no message was handled in the window"
	case over > 3*math.Sqrt(r.Acked):
		f.Why = fmt.Sprintf("the store shows %s more than consumers handled: it holds markers of other work", counted(whole(over), "completed message"))
	default:
		if !exact {
			r.Doubled = p.doubledUnseen(r.From)
			r = r.Widened(t.agrees.Slack)
		}
		f = rate.JudgeExports(f, r, v.scheme, exact, live)
	}
	return f
}

// exportless says why deliveries alone tell no duplicates of the pipeline.
func exportless(p *pipeline, v view) string {
	switch {
	case p.store == nil || v.storeDown != "":
		return v.storeDown
	case v.scheme.Refuses(dedup.MethodExports) != "":
		return v.scheme.Refuses(dedup.MethodExports)
	case p.partner != "":
		return fmt.Sprintf("the store is shared with pipeline %s", name(p.partner))
	case v.stats.Events == nil:
		return "store events are off"
	}
	return ""
}

// exportLatency is what a distribution of the framework tells of one window.
func (c *Collector) exportLatency(p *pipeline, v view, w time.Duration, of func(*exportReading) *dedup.Distribution) figure.Latencies {
	t := &p.exports
	if why, _ := c.exportRefusal(p, v); why != "" {
		if t.latest == nil {
			why = "consumers report no latencies"
		}
		return figure.UnknownLatency(w, why)
	}
	n := len(t.readings)
	if n == 0 {
		return figure.UnknownLatency(w, "consumers report no latencies")
	}
	last := &t.readings[n-1]
	first := n - 1
	for first > 0 && !t.readings[first-1].At.Before(last.At.Add(-w)) {
		first--
	}
	from, to := of(&t.readings[first]), of(last)
	if to == nil {
		return figure.UnknownLatency(w, t.latest.Framework+" publishes none")
	}
	if from == nil {
		from = &dedup.Distribution{}
	}
	s := figure.Latency{Window: w, Covered: last.At.Sub(t.readings[first].At), At: last.At, Sum: to.Sum - from.Sum, N: to.Count - from.Count,
		Source: "exported by " + t.latest.Framework}
	if len(from.Bounds) == len(to.Bounds) {
		for i, bound := range to.Bounds {
			s.Bounds, s.Buckets = append(s.Bounds, bound), append(s.Buckets, to.Counts[i]-from.Counts[i])
		}
	}
	return s.Figures()
}
