package demo

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A turn is what a pipeline was like between two ages, instead of what the mixed scene shows; from 0 is since ever.
type turn struct {
	pipeline    string
	from, until time.Duration
	change      func(*spec)
}

// atRate is a turn at another duplicate rate, atLatency one at another mean ack latency, in seconds.
func atRate(rate float64) func(*spec) {
	return func(sp *spec) { sp.low, sp.high = rate, rate }
}

func atLatency(seconds float64) func(*spec) { return func(sp *spec) { sp.mean = seconds } }

// turns are how the mixed scene came about, and what happened in the days before it; later ones override those before.
func turns() []turn {
	const day = 24 * time.Hour
	return []turn{
		{"inventory", 0, 96 * time.Minute, func(sp *spec) {
			sp.low, sp.high, sp.mean, sp.dead, sp.noExpiry, sp.findings = 0.006, 0.006, 0.041, 0, 0, nil
		}},
		{"inventory", 96 * time.Minute, 17 * time.Minute, func(sp *spec) { sp.low, sp.high, sp.dead = 0.042, 0.042, 96 }},
		{"inventory", 0, 5 * time.Minute, func(sp *spec) { sp.ready = 900 }},
		{"payments", 0, 55 * time.Minute, func(sp *spec) { sp.low, sp.high, sp.mean, sp.dead = 0.004, 0.004, 0.066, 0 }},
		{"orders", 0, 26 * time.Minute, func(sp *spec) { sp.low, sp.high, sp.dead = 0.006, 0.006, 0 }},
		{"points", 48 * time.Minute, 2 * time.Minute, atLatency(0.188)},
		{"mailings", 0, 3 * time.Hour, func(sp *spec) { sp.down, sp.dead, sp.quality, sp.source = "", 0, dedup.Measured, "reported counters" }},
		{"mailings", 3 * time.Hour, down, func(sp *spec) {
			sp.down, sp.quality, sp.source, sp.low, sp.high = "", dedup.Measured, "reported counters", 0.038, 0.038
		}},
		// What is over.
		{"payments", 3*day + 2*time.Hour, 3*day + 100*time.Minute, atRate(0.021)},
		{"payments", 3*day + 100*time.Minute, 3*day + 80*time.Minute, atRate(0.055)},
		{"inventory", 2*day + 5*time.Hour, 2*day + 4*time.Hour + 40*time.Minute, atRate(0.019)},
		{"orders", 2 * day, 2*day - 20*time.Minute, atLatency(0.14)},
		{"inventory", day + time.Hour, day + 30*time.Minute, atLatency(0.62)},
	}
}

// down is since when the store sessions does not answer.
const down = 8 * time.Minute

// Past returns the mixed scene as it was an age before now, so that one can see how it came about.
func Past(now time.Time, age time.Duration) *dedup.Snapshot {
	at := now.Add(-age)
	s := mixed(at)
	s.Pipelines = nil
	for _, sp := range mixedSpecs() {
		for _, t := range turns() {
			if t.pipeline == sp.name && age > t.until && (t.from == 0 || age <= t.from) {
				t.change(&sp)
			}
		}
		s.Pipelines = append(s.Pipelines, sp.status(at))
	}
	for _, list := range []*dedup.SourceHealth{&s.Stores[len(s.Stores)-1].Health, &s.Sources[len(s.Sources)-1]} {
		list.LastSuccess = now.Add(-down)
		if age > down {
			list.OK, list.Err, list.LastSuccess = true, "", s.At
		}
	}
	if age > 70*time.Minute {
		s.Brokers = s.Brokers[:1]
	}
	return s
}

// Ages are the ages at which rules are to be judged over the past, the oldest first: often enough for every turn to be seen.
func Ages() []time.Duration {
	var ages []time.Duration
	for _, t := range turns() {
		for _, edge := range []time.Duration{t.from, t.until} {
			for after := -time.Minute; after <= 8*time.Minute && edge > 0; after += time.Minute {
				ages = append(ages, max(edge-after, 0))
			}
		}
	}
	for age := 5 * time.Minute; age > 0; age -= interval {
		ages = append(ages, age)
	}
	slices.SortFunc(ages, func(a, b time.Duration) int { return int(b - a) })
	return slices.DeleteFunc(slices.Compact(ages), func(age time.Duration) bool { return age == 0 })
}
