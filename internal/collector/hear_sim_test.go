package collector

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// simEars says how the events of a simulated store are listened to.
type simEars struct {
	interval time.Duration // between two readings
	skew     time.Duration // at most, from the count of the calls to that of the claims
	gap      time.Duration // when events are missed; zero when never
}

// within counts the times of a list in (from, to].
func within(list []time.Duration, from, to time.Duration) (n float64) {
	for _, at := range list {
		if at > from && at <= to {
			n++
		}
	}
	return n
}

// hear reads the simulated store and broker, and what the events of the store told.
func (s *simShop) hear(ears simEars) (r simReading, told sample.Events) {
	r = s.read()
	epoch := simEpoch()
	calls := append([]time.Duration(nil), s.asked...)
	if s.strange > 0 {
		for at := time.Duration(0); at < s.now; at += time.Duration(s.r.ExpFloat64() / s.strange * float64(time.Second)) {
			calls = append(calls, at)
		}
	}
	for _, list := range []*[]time.Duration{&calls, &s.claimed, &s.done, &s.failed, &s.givenUp, &s.expired} {
		sort.Slice(*list, func(i, j int) bool { return (*list)[i] < (*list)[j] })
	}
	total := func(list []time.Duration, from, at time.Duration) int64 {
		upTo := func(t time.Duration) int { return sort.Search(len(list), func(i int) bool { return list[i] > t }) }
		return int64(upTo(at) - upTo(from))
	}
	for at := s.upTo(ears.interval); at < s.now; at += ears.interval {
		e := &dedup.StoreEvents{At: epoch.Add(at), Listening: true, Epoch: 1, Since: epoch, Command: "SETNX"}
		since := -time.Second
		if ears.gap > 0 && at >= ears.gap {
			since, e.Epoch, e.Since = ears.gap, 2, epoch.Add(ears.gap)
		}
		asked := total(calls, since, at)
		if ears.skew > 0 {
			asked = total(calls, since, at-s.upTo(ears.skew))
		}
		e.Asked, e.Claims, e.Completions = &asked, total(s.claimed, since, at), total(s.done, since, at)
		e.Failures, e.GaveUp = total(s.failed, since, at), total(s.givenUp, since, at)
		e.InFlight = e.Claims - e.Completions - e.Failures - total(s.expired, since, at)
		told.Add(e)
	}
	r.Scheme.Preset, r.Scheme.Kind = "redis-text-status", "redis-string"
	return r, told
}

// simTold is the truth of the span of an estimate.
type simTold struct{ duplicates, settled, returned float64 }

func (s *simShop) told(f dedup.Figure) simTold {
	to := f.At.Sub(simEpoch())
	from := to - f.Covered
	d := within(s.duplicates, from, to)
	return simTold{d, d + within(s.done, from, to) + within(s.givenUp, from, to), within(s.returned, from, to)}
}
