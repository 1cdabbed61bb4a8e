package demo

import (
	"context"
	"hash/fnv"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// History answers the range queries of the pages from formulas. It is safe for concurrent use.
type History struct {
	// Starting makes every query answer series.ErrStarting.
	Starting bool
}

var selector = regexp.MustCompile(`(\w+)\{pipeline="([^"]+)"\}`)

// QueryRange evaluates the shapes of query that pages ask: a metric of one pipeline, its highest value, its sum, or its
// difference over one step.
func (h History) QueryRange(_ context.Context, promql string, from, to time.Time, step time.Duration) ([]series.Line, error) {
	if h.Starting {
		return nil, series.ErrStarting
	}
	m := selector.FindStringSubmatch(promql)
	if m == nil {
		return nil, nil
	}
	sp, ok := specOf(m[2])
	if !ok {
		return nil, nil
	}
	var lines []series.Line
	for _, l := range labelsOf(m[1]) {
		line := series.Line{Labels: l}
		for at := from; !at.After(to); at = at.Add(step) {
			v := valueAt(sp, m[1], l, at, to)
			if strings.Contains(promql, " offset ") {
				v = math.Max(0, math.Round(v-valueAt(sp, m[1], l, at.Add(-step), to)))
			}
			if !math.IsNaN(v) {
				line.Points = append(line.Points, dedup.Point{At: at, Value: v})
			}
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// specOf finds the pipeline; those of the scene with many carry a suffix.
func specOf(name string) (spec, bool) {
	for _, sp := range append(mixedSpecs(), explainedSpecs()...) {
		if name == sp.name || strings.HasPrefix(name, sp.name+"-") {
			return sp, true
		}
	}
	return spec{}, false
}

func labelsOf(metric string) []map[string]string {
	switch metric {
	case series.AckLatency:
		return []map[string]string{{"quantile": "mean"}, {"quantile": "0.5"}, {"quantile": "0.95"}, {"quantile": "0.99"}}
	case series.Markers:
		return []map[string]string{{"state": "processing"}, {"state": "done"}, {"state": "failed"}}
	default:
		return []map[string]string{nil}
	}
}

// valueAt is one value of one series, seen at now; NaN is a gap.
func valueAt(sp spec, metric string, labels map[string]string, at, now time.Time) float64 {
	level := 1 + 0.25*wave(sp.name+metric, at, 23*time.Minute) + 0.08*noise(sp.name+metric+labels["quantile"]+labels["state"], at)
	switch metric {
	case series.DuplicateRate:
		return sp.rateAt(at, now)
	case series.DuplicateRateHigh:
		return sp.rateAt(at, now) + (sp.high-sp.low)*level
	case series.AckLatency:
		return latencyAt(sp, labels["quantile"], level)
	case series.DeadLetters:
		return math.Round(sp.dead * grown(at))
	case series.DeadLettersArrived:
		return math.Round(sp.dead*float64(at.Unix()%(1<<20))/3600 + 3*noise(sp.name, at))
	case dedup.Ready.Metric():
		return math.Round(sp.ready * math.Max(0, level))
	case dedup.Unacked.Metric():
		return math.Round(sp.unacked * math.Max(0, level))
	case series.Markers:
		count := map[string]float64{"processing": sp.processing, "done": sp.done, "failed": sp.failed}[labels["state"]]
		if sp.down != "" {
			return math.NaN()
		}
		return math.Round(count * level)
	default:
		return math.NaN()
	}
}

func latencyAt(sp spec, quantile string, level float64) float64 {
	if sp.mean == 0 || (!sp.percentiles) != (quantile == "mean") {
		return math.NaN()
	}
	scale := map[string]float64{"mean": 1, "0.5": 0.7, "0.95": 2.6, "0.99": 5.1}[quantile]
	return sp.mean * scale * level
}

// rateAt is the duplicate rate: steady around its value with a gap of five minutes, or low until it rose.
func (sp spec) rateAt(at, now time.Time) float64 {
	if sp.quality == dedup.QualityUnknown {
		return math.NaN()
	}
	if sp.rose > 0 {
		steady := 1 + 0.06*noise(sp.name, at)
		if at.Before(now.Add(-sp.rose)) {
			steady /= 8
		}
		return sp.low * steady
	}
	if m := at.Unix() / 60 % 60; m >= 12 && m < 17 {
		return math.NaN()
	}
	return math.Max(0, sp.low*(0.8+0.3*wave(sp.name, at, 41*time.Minute)+0.12*noise(sp.name, at)))
}

func grown(at time.Time) float64 { return 0.55 + 0.45*math.Floor(float64(at.Unix()%7200)/600)/12 }

func wave(seed string, at time.Time, period time.Duration) float64 {
	phase := float64(hash(seed)%1000) / 1000
	return math.Sin(2 * math.Pi * (float64(at.Unix())/period.Seconds() + phase))
}

// noise is between -1 and 1 and the same for the same seed and quarter of a minute.
func noise(seed string, at time.Time) float64 {
	return float64(hash(seed+strconv.FormatInt(at.Unix()/15, 10))%2001)/1000 - 1
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash never fails to write
	return h.Sum64()
}
