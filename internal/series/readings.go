package series

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// readings hands out what a selection reads, which it does on the first Next: there the engine expects a slow or a failing disk.
type readings struct {
	of   *newest
	read func() ([]reading, annotations.Annotations, error)
	next int
}

// Next implements storage.SeriesSet.
func (r *readings) Next() bool {
	r.of.once.Do(func() { r.of.readings, r.of.warnings, r.of.err = r.read() })
	r.next++
	return r.of.err == nil && r.next <= len(r.of.readings)
}

// At implements storage.SeriesSet.
func (r *readings) At() storage.Series { return alone{&r.of.readings[r.next-1]} }

// Err implements storage.SeriesSet.
func (r *readings) Err() error { return r.of.err }

// Warnings implements storage.SeriesSet.
func (r *readings) Warnings() annotations.Annotations { return r.of.warnings }

// alone is a series of one sample, which is never a histogram: there are none in the history.
type alone struct{ *reading }

// Labels implements storage.Series.
func (a alone) Labels() labels.Labels { return a.labels }

// Iterator implements storage.Series.
func (a alone) Iterator(used chunkenc.Iterator) chunkenc.Iterator {
	if it, ok := used.(interface{ Reset(storage.Samples) }); ok {
		it.Reset(a)
		return used
	}
	return storage.NewListSeriesIterator(a)
}

// Len implements storage.Samples.
func (alone) Len() int { return 1 }

// Get implements storage.Samples.
func (a alone) Get(int) chunks.Sample { return a }

// T implements chunks.Sample, as all below.
func (a alone) T() int64                    { return a.at }
func (a alone) F() float64                  { return a.value }
func (alone) ST() int64                     { return 0 }
func (alone) H() *histogram.Histogram       { return nil }
func (alone) FH() *histogram.FloatHistogram { return nil }
func (alone) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (a alone) Copy() chunks.Sample         { return a }
