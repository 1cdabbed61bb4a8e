package shoptest

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A Listener says how the events of a simulated store are listened to.
type Listener struct {
	Interval time.Duration // between two readings
	Skew     time.Duration // at most, from the count of the calls to that of the claims
	gap      time.Duration // when events are missed; zero when never
}

// Within counts the times of a list in (from, to].
func Within(list []time.Duration, from, to time.Duration) (n float64) {
	for _, at := range list {
		if at > from && at <= to {
			n++
		}
	}
	return n
}

// Hear reads the simulated store and broker, and what the events of the store told.
func (s *Shop) Hear(by Listener) (r Reading, told sample.Events) {
	r = s.Read()
	epoch := Epoch()
	calls := append([]time.Duration(nil), s.asked...)
	if s.Strange > 0 {
		for at := time.Duration(0); at < s.Now; at += time.Duration(s.r.ExpFloat64() / s.Strange * float64(time.Second)) {
			calls = append(calls, at)
		}
	}
	for _, list := range []*[]time.Duration{&calls, &s.claimed, &s.Done, &s.Failed, &s.GivenUp, &s.expired} {
		sort.Slice(*list, func(i, j int) bool { return (*list)[i] < (*list)[j] })
	}
	total := func(list []time.Duration, from, at time.Duration) int64 {
		upTo := func(t time.Duration) int { return sort.Search(len(list), func(i int) bool { return list[i] > t }) }
		return int64(upTo(at) - upTo(from))
	}
	for at := s.upTo(by.Interval); at < s.Now; at += by.Interval {
		e := &dedup.StoreEvents{At: epoch.Add(at), Listening: true, Epoch: 1, Since: epoch, Command: "SETNX"}
		since := -time.Second
		if by.gap > 0 && at >= by.gap {
			since, e.Epoch, e.Since = by.gap, 2, epoch.Add(by.gap)
		}
		asked := total(calls, since, at)
		if by.Skew > 0 {
			asked = total(calls, since, at-s.upTo(by.Skew))
		}
		e.Asked, e.Claims, e.Completions = &asked, total(s.claimed, since, at), total(s.Done, since, at)
		e.Failures, e.GaveUp = total(s.Failed, since, at), total(s.GivenUp, since, at)
		e.InFlight = e.Claims - e.Completions - e.Failures - total(s.expired, since, at)
		told.Add(e)
	}
	r.Scheme.Preset, r.Scheme.Kind = "redis-text-status", "redis-string"
	return r, told
}

// Truth is what truly happened in the span of an estimate.
type Truth struct{ Duplicates, Settled, Returned float64 }

// TruthOf is the truth of the span of a figure.
func (s *Shop) TruthOf(f dedup.Figure) Truth {
	to := f.At.Sub(Epoch())
	from := to - f.Covered
	d := Within(s.duplicates, from, to)
	return Truth{d, d + Within(s.Done, from, to) + Within(s.GivenUp, from, to), Within(s.returned, from, to)}
}
