package collector

import (
	"math"
	"slices"
	"strconv"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/window"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// A reported is what the consumers of one pipeline report, as our counters. It belongs to the round.
type reported struct {
	outcomes  map[string]*counter.Tally
	raw       map[string]*sample.Counter
	ack, work histogram
	// present: counters were there at least once. bad are fields that could not be read.
	present bool
	bad     []string
	// dropped is when counts were last dropped.
	dropped time.Time
	// at is when the counters were last read, which the round that takes them does later.
	at time.Time
}

func newReported(b *counter.Book, pipeline string) reported {
	r := reported{
		outcomes: make(map[string]*counter.Tally), raw: make(map[string]*sample.Counter),
		ack:  newHistogram(b, series.ReportedAckBucket, series.ReportedAckSum, pipeline),
		work: newHistogram(b, series.ReportedWorkBucket, series.ReportedWorkSum, pipeline),
	}
	for _, o := range dedup.ReportedOutcomes() {
		r.outcomes[o] = b.Tally(series.ReportedOutcomes, "pipeline", pipeline, "outcome", o)
		r.raw[o] = &sample.Counter{}
	}
	return r
}

// observe takes one reading, and reports whether messages were acked since the one before, and whether counts were dropped.
func (r *reported) observe(x dedup.Reported, at time.Time) (acked, dropped bool) {
	r.present = r.present || x.Present
	r.bad, r.at = x.Bad, x.At
	for outcome, raw := range r.raw {
		var value *int64
		if v, ok := x.Outcomes[outcome]; ok && x.Present && !slices.Contains(x.Bad, outcome) {
			value = &v
		}
		st := raw.Observe(value)
		dropped = dropped || st.Dropped
		if value != nil {
			r.outcomes[outcome].Take(st)
			acked = acked || settles(outcome) && st.Delta > 0
		}
	}
	ack, work := x.Ack, x.Work
	if !x.Present {
		ack, work = dedup.LatencyCounts{}, dedup.LatencyCounts{}
	}
	droppedAck, droppedWork := r.ack.observe(ack), r.work.observe(work)
	if dropped = dropped || droppedAck || droppedWork; dropped {
		r.dropped = at
	}
	return acked, dropped
}

// asOf dates a gain of theirs by the reading that it is of.
func (r *reported) asOf(g sample.Increase) sample.Increase {
	if !r.at.IsZero() && r.at.Before(g.At) {
		g.At = r.at
	}
	return g
}

// settles reports whether a delivery with the reported outcome was acked in every scheme.
func settles(outcome string) bool { return outcome == "processed" || outcome == "duplicate_done" }

// duplicates is how many duplicates consumers have reported since the dashboard started.
func (r *reported) duplicates() float64 {
	if t := r.outcomes["duplicate_done"]; t != nil {
		return t.Total
	}
	return 0
}

// keep adds what is stored of them.
func (r *reported) keep(into counter.Batch) {
	for _, o := range dedup.ReportedOutcomes() {
		into.Tallies(r.outcomes[o])
	}
	r.ack.keep(into)
	r.work.keep(into)
}

// A histogram is a reported latency distribution as our counters: cumulated over its bounds.
type histogram struct {
	raw    []sample.Counter
	rawSum sample.Counter
	counts []*counter.Tally
	sum    *counter.Tally
}

func newHistogram(b *counter.Book, bucket, sum, pipeline string) histogram {
	h := histogram{raw: make([]sample.Counter, len(dedup.LatencyBounds())), sum: b.Tally(sum, "pipeline", pipeline)}
	for _, bound := range dedup.LatencyBounds() {
		h.counts = append(h.counts, b.Tally(bucket, "pipeline", pipeline, "le", boundLabel(bound)))
	}
	return h
}

// keep adds the counters.
func (h *histogram) keep(into counter.Batch) {
	into.Tallies(h.counts...)
	into.Tallies(h.sum)
}

// gains are what the histogram gained, of which gain tells of each counter.
func (h *histogram) gains(gain func(*counter.Tally) sample.Increase) window.Histogram {
	out := window.Histogram{Known: h.sum.Open, Sum: gain(h.sum)}
	for _, t := range h.counts {
		out.Buckets = append(out.Buckets, gain(t))
	}
	return out
}

// boundLabel writes an upper bound the way Prometheus does.
func boundLabel(bound float64) string {
	if math.IsInf(bound, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(bound, 'f', -1, 64)
}

// observe takes one reading; nil buckets mean that none was reported. It reports whether counts were dropped.
func (h *histogram) observe(c dedup.LatencyCounts) (dropped bool) {
	reported := len(c.Buckets) == len(h.raw)
	for i := range h.raw {
		var raw *int64
		if reported {
			raw = &c.Buckets[i]
		}
		st := h.raw[i].Observe(raw)
		dropped = dropped || st.Dropped
		if !reported {
			continue
		}
		for _, t := range h.counts[i:] {
			t.Take(st)
		}
	}
	var sum *int64
	if reported {
		sum = &c.Sum
	}
	st := h.rawSum.Observe(sum)
	if reported {
		h.sum.Open = true
		h.sum.Total += float64(st.Delta) / 1e6
	}
	return dropped || st.Dropped
}
