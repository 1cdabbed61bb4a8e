package counter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/series"
)

// A History keeps numbers over time, and answers what it kept.
type History interface {
	Append(ctx context.Context, at time.Time, samples []series.Sample) error
	MarkStale(ctx context.Context, at time.Time, samples []series.Sample) error
	Changes(ctx context.Context, counter string, at time.Time, window time.Duration) ([]series.Change, error)
	Last(ctx context.Context, metric string) ([]series.Value, error)
	QueryRange(ctx context.Context, promql string, from, to time.Time, step time.Duration) ([]series.Line, error)
}

// A Tally is one monotonic counter of ours: it starts at 0 when its thing is first seen, only rises, and goes on after
// a restart. It is what the history holds instead of the raw counters of a source.
type Tally struct {
	key    string
	metric string
	labels map[string]string
	Total  float64
	// index is the tally's place in a recalled round. first is when it was first stored and zero when it was 0 then or
	// just before; both are unset if an earlier run stored it.
	index int
	first time.Time
	zero  time.Time
	// Open: a baseline is known, so that the tally has a meaning. stored: the history holds a sample of it.
	Open   bool
	stored bool
}

// Take adds one step of a raw counter.
func (t *Tally) Take(s sample.Step) {
	t.Open = true
	t.Total += float64(s.Delta)
}

func (t *Tally) sample() series.Sample {
	return series.Sample{Name: t.metric, Labels: t.labels, Value: t.Total}
}

// A Book holds every tally, so that all of them can be restored and stored without knowing what they count.
type Book struct {
	tallies map[string]*Tally
	// kept is what the history last held of late metrics, whose tallies are made only when their thing is seen.
	kept map[string]series.Value
}

// lateMetrics are the metrics of things that only a topology shows.
func lateMetrics() []string { return []string{series.SharedArrived} }

// NewBook returns a book without tallies.
func NewBook() *Book { return &Book{tallies: make(map[string]*Tally)} }

// Tally returns the tally of a metric with these labels, given as name, value, name, value.
func (b *Book) Tally(metric string, labels ...string) *Tally {
	m := make(map[string]string, len(labels)/2)
	for i := 0; i+1 < len(labels); i += 2 {
		m[labels[i]] = labels[i+1]
	}
	key := Key(metric, m)
	if t, ok := b.tallies[key]; ok {
		return t
	}
	t := &Tally{key: key, metric: metric, labels: m, index: len(b.tallies)}
	if v, ok := b.kept[key]; ok {
		t.Total, t.stored = v.Value, true
	}
	b.tallies[key] = t
	return t
}

// restore adds what the history last held to every tally, so that they go on where they stopped. It returns the time
// of the newest sample, zero when there is none.
func (b *Book) restore(ctx context.Context, h History) (time.Time, error) {
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
			last[Key(metric, v.Labels)] = v
			if v.At.After(newest) {
				newest = v.At
			}
		}
	}
	for key, t := range b.tallies {
		if v, ok := last[key]; ok {
			t.Total += v.Value
			t.stored = true
		}
	}
	b.kept = last
	return newest, nil
}

// births returns a zero for each tally that the history does not hold and that has already counted something, to be
// stored before its first value: a window then sees the first increment too.
func (b *Book) births() []series.Sample {
	var out []series.Sample
	for _, t := range b.tallies {
		if t.Open && !t.stored && t.Total > 0 {
			out = append(out, series.Sample{Name: t.metric, Labels: t.labels})
		}
	}
	return out
}

// Key identifies a series.
func Key(metric string, labels map[string]string) string {
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
