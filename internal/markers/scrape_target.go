package markers

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// scraped are the series of one reading, or what was counted of them so far.
type scraped map[string]point

// A point is one counter: the field of the Redis contract that it stands for, and its value.
type point struct {
	field string
	value float64
}

// add sums another set into this one by field.
func (s scraped) add(other scraped) {
	for _, p := range other {
		sum := s[p.field]
		s[p.field] = point{p.field, sum.value + p.value}
	}
}

// reported gives sums by field the shape of the counters in Redis.
func (s scraped) reported(at time.Time) dedup.Reported {
	r := dedup.Reported{At: at, Present: len(s) > 0, Outcomes: map[string]int64{}}
	for _, outcome := range dedup.ReportedOutcomes() {
		if p, ok := s[outcome]; ok {
			r.Outcomes[outcome] = int64(math.Round(p.value))
		}
	}
	r.Ack, r.Work = s.latency("ack"), s.latency("work")
	return r
}

func (s scraped) latency(what string) dedup.LatencyCounts {
	sum, ok := s[what+"_sum_us"]
	if !ok {
		return dedup.LatencyCounts{}
	}
	out := dedup.LatencyCounts{Sum: int64(math.Round(sum.value))}
	for _, bound := range dedup.LatencyBounds() {
		out.Buckets = append(out.Buckets, int64(math.Round(s[bucketField(what, bound)].value)))
	}
	return out
}

// A scrapeTarget follows the series of one endpoint, whose counters begin anew with each start of its process.
type scrapeTarget struct {
	read bool
	// last are the values of the last reading in which each series stood, counted what they gained since the first.
	last    scraped
	counted scraped
}

func newScrapeTarget() *scrapeTarget {
	return &scrapeTarget{last: scraped{}, counted: scraped{}}
}

// vanished tells whether the endpoint had series of the pipeline, and has none now.
func (t *scrapeTarget) vanished(now scraped) bool { return len(t.last) > 0 && len(now) == 0 }

// take counts what each series gained. The first reading is the baseline. A series that is new afterwards was born at 0, and one
// that fell has begun anew at 0: what it shows was counted since, as Prometheus takes it for increase().
func (t *scrapeTarget) take(now scraped) {
	for series, p := range now {
		gained := p.value
		if was, known := t.last[series]; known && p.value >= was.value {
			gained = p.value - was.value
		} else if !known && !t.read {
			gained = 0
		}
		t.counted[series] = point{p.field, t.counted[series].value + gained}
		t.last[series] = p
	}
	t.read = true
}
