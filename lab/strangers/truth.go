package main

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// truth is a ledger that can be asked.
type truth struct {
	record
	acks []event
	by   map[string][]event
	levels
}

func newTruth(r record) *truth {
	t := &truth{record: r, by: map[string][]event{}}
	slices.SortStableFunc(r.Events, func(a, b event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range r.Events {
		if e.Kind == kindAck || e.Kind == kindAuto {
			t.acks = append(t.acks, e)
		}
		t.by[e.Kind] = append(t.by[e.Kind], e)
	}
	t.levels = newLevels(r.Events)
	return t
}

// bounds are between what a truth lies that is not known exactly.
type bounds struct{ low, high float64 }

// nothing holds no number; include widens it.
func nothing() bounds { return bounds{math.Inf(1), math.Inf(-1)} }

func (b *bounds) include(v float64) { b.low, b.high = min(b.low, v), max(b.high, v) }

// share is part/(part+rest), of bounds; between 0 and 1 where there is nothing.
func share(part, rest bounds) bounds {
	b := bounds{0, 1}
	if n := part.low + rest.high; n > 0 {
		b.low = part.low / n
	}
	if n := part.high + rest.low; n > 0 {
		b.high = part.high / n
	}
	return b
}

// A test tells events apart.
type test func(event) bool

func always(event) bool                { return true }
func isDup(e event) bool               { return e.How == howDup && !e.Lost }
func isSwallowed(e event) bool         { return e.How == howSwallowed }
func isEarly(e event) bool             { return e.How == howEarly }
func isLost(e event) bool              { return e.Lost }
func isMessage(e event) bool           { return !e.Lost && e.How != howMoved }
func isSent(e event) bool              { return isDup(e) && e.Sent }
func isRedelivered(e event) bool       { return isDup(e) && !e.Sent }
func maybePlain(e event) bool          { return !isDup(e) }
func maybeSwallowed(e event) bool      { return isSwallowed(e) || isEarly(e) }
func (t *truth) maybeDup(e event) bool { return e.How == howDup || isEarly(e) && t.Done[e.ID] > 0 }
func (t *truth) isPlain(e event) bool  { return !t.maybeDup(e) && isMessage(e) }
func (t *truth) maybeSent(e event) bool {
	return t.maybeDup(e) && (e.Sent || isEarly(e))
}
func (t *truth) maybeRedelivered(e event) bool { return t.maybeDup(e) && !e.Sent }

// in are the events of a span.
func in(events []event, from, to int64) []event {
	i := sort.Search(len(events), func(i int) bool { return events[i].At >= from })
	j := sort.Search(len(events), func(i int) bool { return events[i].At > to })
	if j < i {
		return nil
	}
	return events[i:j]
}

func count(events []event, is test) float64 {
	n := 0.0
	for _, e := range events {
		if is(e) {
			n++
		}
	}
	return n
}

// counts are how many events a figure may have seen: the sure ones within its span, and all that are possible a grace beyond its ends.
func counts(f figure, grace time.Duration, events []event, sure, perhaps test) bounds {
	from, to := f.span()
	g := grace.Microseconds()
	return bounds{count(in(events, from+g, to-g), sure), count(in(events, from-g, to+g), perhaps)}
}

// of returns between what the truth of a figure lies; ok is false for what is not judged.
func (t *truth) of(name string, f figure, grace time.Duration) (b bounds, ok bool) {
	if f.At == nil {
		return b, false
	}
	acks := func(sure, perhaps test) bounds { return counts(f, grace, t.acks, sure, perhaps) }
	all := func(kind string) bounds { return counts(f, grace, t.by[kind], always, always) }
	switch name {
	case "duplicate_rate", "cross_check":
		return share(acks(isDup, t.maybeDup), acks(t.isPlain, maybePlain)), true
	case "messages":
		return acks(isMessage, always), true
	case "duplicates":
		return acks(isDup, t.maybeDup), true
	case "producer_sent":
		return acks(isSent, t.maybeSent), true
	case "redelivered":
		return acks(isRedelivered, t.maybeRedelivered), true
	case "swallowed":
		return acks(isSwallowed, maybeSwallowed), true
	case "failures":
		return all(kindFail), true
	case "in_flight_hits", "looping":
		return all(kindHit), true
	case "double_effects":
		return all(kindAgain), true
	case "failure_rate":
		return share(all(kindFail), all(kindWork)), true
	case "dead_letter_inflow":
		return t.inflow(f)
	}
	return t.times(name, f, grace)
}

// times is the truth of a statistic of times: of deliveries until their ack, or of work.
func (t *truth) times(name string, f figure, grace time.Duration) (bounds, bool) {
	what, kind, _ := strings.Cut(name, "_")
	of := statistic(kind)
	if of == nil || what != "ack" && what != "work" {
		return bounds{}, false
	}
	b := nothing()
	take := func(x []float64) {
		if len(x) > 0 {
			b.include(of(x))
		}
	}
	from, to := f.span()
	g := grace.Microseconds()
	for _, from := range []int64{from - g, from, from + g} {
		for _, to := range []int64{to - g, to, to + g} {
			if what == "work" {
				take(t.worked(from, to))
				continue
			}
			take(t.held(from, to, kindAck))
			if kind == "mean" { // which may be of all that ended
				take(t.held(from, to, kindAck, kindRequeued, kindRejected, kindDied))
			}
		}
	}
	if math.IsInf(b.low, 0) {
		return b, false
	}
	if what == "work" { // percentiles are within 2 %, and the commands of the store take their time
		return bounds{b.low * 0.98, b.high*1.02 + 0.02}, true
	}
	return bounds{b.low - 0.001, b.high + 0.003}, true
}

// held are the times for which deliveries were held that ended in a span.
func (t *truth) held(from, to int64, kinds ...string) []float64 {
	var all []float64
	for _, kind := range kinds {
		for _, e := range in(t.by[kind], from, to) {
			if e.Came > 0 && isMessage(e) {
				all = append(all, float64(e.At-e.Came)/1e6)
			}
		}
	}
	return all
}

// worked are the times of the work that was done in a span.
func (t *truth) worked(from, to int64) []float64 {
	var all []float64
	for _, e := range in(t.by[kindWork], from, to) {
		all = append(all, float64(e.Dur)/1e6)
	}
	return all
}

// statistic is what a name ends with; nil for one that is not judged.
func statistic(name string) func([]float64) float64 {
	switch name {
	case "mean":
		return mean
	case "p50":
		return quantile(0.5)
	case "p95":
		return quantile(0.95)
	case "p99":
		return quantile(0.99)
	}
	return nil
}

func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}

func quantile(q float64) func([]float64) float64 {
	return func(x []float64) float64 {
		return slices.Sorted(slices.Values(x))[min(len(x), int(math.Ceil(q*float64(len(x)))))-1]
	}
}
