package exports

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// clocksApart is how far the clock of a process may be behind ours.
	clocksApart = time.Minute
	// fallsApart is the fewest readings between two restarts of a process that does not tell when it began.
	fallsApart = 10
	// seriesKept is for how many readings a series that is gone is remembered.
	seriesKept = 20
	// paceKept is over how many readings the fastest pace of an instance is known.
	paceKept = 8
)

// An instance follows the series of one process, whose counters begin anew with each start.
type instance struct {
	// readings counts them; at and start are those of the last one, gap is the time between the last two.
	readings int
	at       time.Time
	gap      time.Duration
	start    float64
	// fell is the reading at which a counter last fell without a start being told.
	fell int
	last map[string]lastValue
	// counted is what each place gained since the first reading.
	counted map[place]float64
	// gained is what each of the last readings added to the deliveries, weight what it lately came to.
	gained []float64
	weight float64
	// gone: it is not read any more, and risk is counted for what it may have done since its last reading.
	gone bool
	risk float64
	// merged: it stands for several that are forgotten.
	merged bool
}

type lastValue struct {
	value   float64
	reading int
}

func newInstance() *instance {
	return &instance{last: map[string]lastValue{}, counted: map[place]float64{}}
}

// restarted tells whether the process of a reading is another one than that of the last reading.
func (i *instance) restarted(now *reading) bool {
	return i.readings > 0 && now.start > 0 && i.start > 0 && math.Abs(now.start-i.start) > 1
}

// refuse says why a reading of an endpoint cannot be counted: the metric is gone, or several processes answer in turn at one address.
func (i *instance) refuse(now *reading, what string) error {
	const several = "several processes answer in turn at this address, and their counters cannot be told apart; list each process by itself"
	again := i.restarted(now)
	switch {
	case again && time.UnixMilli(int64(now.start*1e3)).Before(i.at.Add(-clocksApart)):
		return errors.New(several) // it had begun before the other one was read
	case len(i.last) > 0 && len(now.found) == 0 && !again:
		return fmt.Errorf("it has no metric %s any more; see whether it was renamed", what)
	case !again && i.falls(now) && (now.start > 0 && i.start > 0 || i.fell > 0 && i.readings-i.fell < fallsApart):
		return errors.New(several)
	}
	return nil
}

// falls tells whether a counter is smaller than it was.
func (i *instance) falls(now *reading) bool {
	for _, f := range now.found {
		if was, known := i.last[f.series]; known && f.value < was.value {
			return true
		}
	}
	return false
}

// take counts what each series gained. The first reading is the baseline unless the process is known to have begun since others were read.
// A series that is new afterwards was born at 0, and one of a process that began anew too: what it shows was counted since, as Prometheus
// takes it for increase(). It returns at most how many deliveries the process that ended may have handled since its last reading.
func (i *instance) take(p *program, now *reading, born bool) (lost float64) {
	before := i.deliveries(p)
	if i.restarted(now) || i.falls(now) {
		lost = i.atRisk()
	}
	if i.restarted(now) {
		clear(i.last)
	}
	if i.falls(now) {
		i.fell = i.readings
	}
	baseline := i.readings == 0 && !born
	if i.readings > 0 {
		i.gap = now.at.Sub(i.at)
	}
	i.readings++
	i.at, i.start = now.at, now.start
	for _, f := range now.found {
		gained := f.value
		if was, known := i.last[f.series]; known && f.value >= was.value {
			gained = f.value - was.value
		} else if baseline {
			gained = 0
		}
		for _, at := range f.places {
			i.counted[at] += gained
		}
		i.last[f.series] = lastValue{f.value, i.readings}
	}
	for series, was := range i.last {
		if i.readings-was.reading > seriesKept {
			delete(i.last, series)
		}
	}
	i.pace(i.deliveries(p) - before)
	return lost
}

// pace notes what a reading added.
func (i *instance) pace(gained float64) {
	const fading = 0.7
	i.weight = fading*i.weight + max(0, gained)
	if i.gained = append(i.gained, max(0, gained)); len(i.gained) > paceKept {
		i.gained = i.gained[1:]
	}
}

// atRisk bounds what the instance may have handled since its last reading without anybody reading it: twice as much as in the fastest of
// its last readings.
func (i *instance) atRisk() float64 {
	const least = 3
	most := 0.0
	for _, g := range i.gained {
		most = max(most, g)
	}
	return 2*most + least
}

func (i *instance) deliveries(p *program) float64 {
	handled, _ := i.value(p, fieldHandled)
	failed, _ := i.value(p, fieldFailed)
	return handled + failed
}

// alternatives are those of an expression that count: the first of which the instance has a series, or all of them where instances were
// merged that may have had different ones. There are none where it has no series.
func (i *instance) alternatives(p *program, field string) []int {
	var out []int
	for a, terms := range p.fields[field] {
		if i.has(field, a, len(terms)) && (len(out) == 0 || i.merged) {
			out = append(out, a)
		}
	}
	return out
}

func (i *instance) has(field string, alternative, terms int) bool {
	for t := range terms {
		for _, part := range []part{"", partCount} {
			if _, ok := i.counted[place{field, alternative, t, part}]; ok {
				return true
			}
		}
	}
	return false
}

// value is what a field came to; false where the instance has no series of it.
func (i *instance) value(p *program, field string) (float64, bool) {
	sum, counts := 0.0, i.alternatives(p, field)
	for _, a := range counts {
		for t, term := range p.fields[field][a] {
			sum += term.sign * i.counted[place{field, a, t, ""}]
		}
	}
	return sum, len(counts) > 0
}

// retire adds what the instance counted to what is kept of all that are forgotten: of each field the places that counted there.
func (i *instance) retire(p *program, into *instance) {
	for at, value := range i.counted {
		if slices.Contains(i.alternatives(p, at.field), at.alternative) {
			into.counted[at] += value
		}
	}
}
