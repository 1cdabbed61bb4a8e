package markers

import (
	"errors"
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// An exposition is what one endpoint told: the series of the pipeline, and when its process began, 0 where it does not say.
type exposition struct {
	series scraped
	start  float64
}

// scraped are the counters of one reading by their series.
type scraped map[string]point

// A point is one counter: the field of the Redis contract that it stands for, and its value.
type point struct {
	field string
	value float64
}

// totals are counts by the field of the Redis contract.
type totals map[string]float64

// reported gives totals the shape of the counters in Redis.
func (t totals) reported(at time.Time) dedup.Reported {
	r := dedup.Reported{At: at, Present: len(t) > 0, Outcomes: map[string]int64{}}
	for _, outcome := range dedup.ReportedOutcomes() {
		if v, ok := t[outcome]; ok {
			r.Outcomes[outcome] = int64(math.Round(v))
		}
	}
	r.Ack, r.Work = t.latency("ack"), t.latency("work")
	return r
}

func (t totals) latency(what string) dedup.LatencyCounts {
	sum, ok := t[what+"_sum_us"]
	if !ok {
		return dedup.LatencyCounts{}
	}
	out := dedup.LatencyCounts{Sum: int64(math.Round(sum))}
	for _, bound := range dedup.LatencyBounds() {
		out.Buckets = append(out.Buckets, int64(math.Round(t[bucketField(what, bound)])))
	}
	return out
}

const (
	// clocksApart is how far the clock of a process may be behind ours.
	clocksApart = time.Minute
	// fallsApart is the fewest readings between two restarts of a process that does not tell when it began.
	fallsApart = 10
	// seriesKept is for how many readings a series that is gone is remembered.
	seriesKept = 20
)

// A scrapeTarget follows the series of one endpoint, whose counters begin anew with each start of its process.
type scrapeTarget struct {
	// readings counts them; at and start are those of the last one.
	readings int
	at       time.Time
	start    float64
	// fell is the reading at which a counter last fell without a start being told.
	fell int
	last map[string]lastPoint
	// counted is what the fields gained since the first reading.
	counted totals
}

type lastPoint struct {
	value   float64
	reading int
}

func newScrapeTarget() *scrapeTarget {
	return &scrapeTarget{last: map[string]lastPoint{}, counted: totals{}}
}

// restarted tells whether the process of a reading is another one than that of the last reading.
func (t *scrapeTarget) restarted(now exposition) bool {
	return t.readings > 0 && now.start > 0 && t.start > 0 && math.Abs(now.start-t.start) > 1
}

// refuse says why a reading cannot be counted: the metric is gone, or several processes answer in turn at one address.
func (t *scrapeTarget) refuse(now exposition, metric string) error {
	const several = "several processes answer in turn at this address, and their counters cannot be told apart; list each process by itself"
	again := t.restarted(now)
	switch {
	case again && time.UnixMilli(int64(now.start*1e3)).Before(t.at.Add(-clocksApart)):
		return errors.New(several) // it had begun before the other one was read
	case len(t.last) > 0 && len(now.series) == 0 && !again:
		return fmt.Errorf("it has no metric %s any more; see whether it was renamed", metric)
	case !again && t.falls(now) && (now.start > 0 && t.start > 0 || t.fell > 0 && t.readings-t.fell < fallsApart):
		return errors.New(several)
	}
	return nil
}

// falls tells whether a counter is smaller than it was.
func (t *scrapeTarget) falls(now exposition) bool {
	for series, p := range now.series {
		if was, known := t.last[series]; known && p.value < was.value {
			return true
		}
	}
	return false
}

// take counts what each series gained. The first reading is the baseline. A series that is new afterwards was born at 0, and one of
// a process that began anew too: what it shows was counted since, as Prometheus takes it for increase().
func (t *scrapeTarget) take(now exposition, at time.Time) {
	if t.restarted(now) {
		clear(t.last)
	}
	if t.falls(now) {
		t.fell = t.readings
	}
	first := t.readings == 0
	t.readings++
	t.at, t.start = at, now.start
	for series, p := range now.series {
		gained := p.value
		if was, known := t.last[series]; known && p.value >= was.value {
			gained = p.value - was.value
		} else if first {
			gained = 0
		}
		t.counted[p.field] += gained
		t.last[series] = lastPoint{p.value, t.readings}
	}
	for series, was := range t.last {
		if t.readings-was.reading > seriesKept {
			delete(t.last, series)
		}
	}
}
