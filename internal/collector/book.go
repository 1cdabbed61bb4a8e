package collector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// A recorder keeps numbers over time.
type recorder interface {
	Append(ctx context.Context, at time.Time, samples []series.Sample) error
	MarkStale(ctx context.Context, at time.Time, samples []series.Sample) error
}

// A reader answers what the recorder kept.
type reader interface {
	Changes(ctx context.Context, counter string, at time.Time, window time.Duration) ([]series.Change, error)
	Last(ctx context.Context, metric string) ([]series.Value, error)
	QueryRange(ctx context.Context, promql string, from, to time.Time, step time.Duration) ([]series.Line, error)
}

// A history is what the collector needs of package series.
type history interface {
	recorder
	reader
}

// A tally is one monotonic counter of ours: it starts at 0 when its thing is first seen, only rises, and goes on after
// a restart. It is what the history holds instead of the raw counters of a source.
type tally struct {
	key    string
	metric string
	labels map[string]string
	total  float64
	// index is the tally's place in a recalled round. first is when it was first stored and zero when it was 0 then or
	// just before; both are unset if an earlier run stored it.
	index int
	first time.Time
	zero  time.Time
	// open: a baseline is known, so that the tally has a meaning. stored: the history holds a sample of it.
	open   bool
	stored bool
}

// take adds one step of a raw counter.
func (t *tally) take(s sample.Step) {
	t.open = true
	t.total += float64(s.Delta)
}

func (t *tally) sample() series.Sample {
	return series.Sample{Name: t.metric, Labels: t.labels, Value: t.total}
}

// A book holds every tally, so that all of them can be restored and stored without knowing what they count.
type book struct {
	tallies map[string]*tally
	// kept is what the history last held of late metrics, whose tallies are made only when their thing is seen.
	kept map[string]series.Value
}

// lateMetrics are the metrics of things that only a topology shows.
func lateMetrics() []string { return []string{series.SharedArrived} }

func newBook() *book { return &book{tallies: make(map[string]*tally)} }

// tally returns the tally of a metric with these labels, given as name, value, name, value.
func (b *book) tally(metric string, labels ...string) *tally {
	m := make(map[string]string, len(labels)/2)
	for i := 0; i+1 < len(labels); i += 2 {
		m[labels[i]] = labels[i+1]
	}
	key := seriesKey(metric, m)
	if t, ok := b.tallies[key]; ok {
		return t
	}
	t := &tally{key: key, metric: metric, labels: m, index: len(b.tallies)}
	if v, ok := b.kept[key]; ok {
		t.total, t.stored = v.Value, true
	}
	b.tallies[key] = t
	return t
}

// restore adds what the history last held to every tally, so that they go on where they stopped. It returns the time
// of the newest sample, zero when there is none.
func (b *book) restore(ctx context.Context, h reader) (time.Time, error) {
	metrics := make(map[string]bool)
	for _, t := range b.tallies {
		metrics[t.metric] = true
	}
	for _, metric := range lateMetrics() {
		metrics[metric] = true
	}
	last := make(map[string]series.Value)
	var newest time.Time
	for metric := range metrics {
		values, err := h.Last(ctx, metric)
		if err != nil {
			return time.Time{}, fmt.Errorf("read the last values of %s: %w", metric, err)
		}
		for _, v := range values {
			last[seriesKey(metric, v.Labels)] = v
			if v.At.After(newest) {
				newest = v.At
			}
		}
	}
	for key, t := range b.tallies {
		if v, ok := last[key]; ok {
			t.total += v.Value
			t.stored = true
		}
	}
	b.kept = last
	return newest, nil
}

// births returns a zero for each tally that the history does not hold and that has already counted something, to be
// stored before its first value: a window then sees the first increment too.
func (b *book) births() []series.Sample {
	var out []series.Sample
	for _, t := range b.tallies {
		if t.open && !t.stored && t.total > 0 {
			out = append(out, series.Sample{Name: t.metric, Labels: t.labels})
		}
	}
	return out
}

// seriesKey identifies a series.
func seriesKey(metric string, labels map[string]string) string {
	keys := make([]string, 0, len(labels))
	size := len(metric)
	for k, v := range labels {
		keys = append(keys, k)
		size += len(k) + len(v) + 2
	}
	slices.Sort(keys)
	var b strings.Builder
	b.Grow(size)
	b.WriteString(metric)
	for _, k := range keys {
		b.WriteByte(0)
		b.WriteString(k)
		b.WriteByte(1)
		b.WriteString(labels[k])
	}
	return b.String()
}

// A batch is what one round stores: samples by series, so that the series that ended since the round before are known.
type batch map[string]series.Sample

func (b batch) add(metric string, value float64, labels ...string) {
	m := make(map[string]string, len(labels)/2)
	for i := 0; i+1 < len(labels); i += 2 {
		m[labels[i]] = labels[i+1]
	}
	b[seriesKey(metric, m)] = series.Sample{Name: metric, Labels: m, Value: value}
}

func (b batch) figure(metric string, f dedup.Figure, labels ...string) {
	if f.Known() {
		b.add(metric, f.Value, labels...)
	}
}

func (b batch) tallies(ts ...*tally) {
	for _, t := range ts {
		if t.open {
			b[t.key] = t.sample()
		}
	}
}

func (b batch) list() []series.Sample {
	out := make([]series.Sample, 0, len(b))
	for _, s := range b {
		out = append(out, s)
	}
	return out
}

// ended returns the samples of old whose series are not in b.
func (b batch) ended(old batch) []series.Sample {
	var out []series.Sample
	for key, s := range old {
		if _, ok := b[key]; !ok {
			out = append(out, s)
		}
	}
	return out
}
