package series

import (
	"sync"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// shared is the newest sample of each series of a selection, once somebody has read them.
type shared struct {
	mu       sync.Mutex // held by who reads; the others wait
	done     bool
	readings []reading
}

// get returns what was read. An error is the asker's own, who may have been cancelled: the next one reads again.
func (s *shared) get(read func() ([]reading, error)) ([]reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return s.readings, nil
	}
	readings, err := read()
	if err == nil {
		s.done, s.readings = true, readings
	}
	return readings, err
}

// readingSet is a set of series of one sample. It reads them on the first Next: there the engine expects a slow or a failing disk.
type readingSet struct {
	of       *shared
	read     func() ([]reading, error)
	begun    bool
	readings []reading
	next     int
	err      error
}

// Next implements storage.SeriesSet.
func (r *readingSet) Next() bool {
	if !r.begun {
		r.begun = true
		r.readings, r.err = r.of.get(r.read)
	}
	r.next++
	return r.err == nil && r.next <= len(r.readings)
}

// At implements storage.SeriesSet.
func (r *readingSet) At() storage.Series { return oneSample{&r.readings[r.next-1]} }

// Err implements storage.SeriesSet.
func (r *readingSet) Err() error { return r.err }

// Warnings implements storage.SeriesSet: the TSDB has none.
func (r *readingSet) Warnings() annotations.Annotations { return nil }

// oneSample is a series of one sample, which is never a histogram: there are none in the history.
type oneSample struct{ *reading }

// Labels implements storage.Series.
func (s oneSample) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s oneSample) Iterator(used chunkenc.Iterator) chunkenc.Iterator {
	if it, ok := used.(interface{ Reset(storage.Samples) }); ok {
		it.Reset(s)
		return used
	}
	return storage.NewListSeriesIterator(s)
}

// Len implements storage.Samples.
func (oneSample) Len() int { return 1 }

// Get implements storage.Samples.
func (s oneSample) Get(int) chunks.Sample { return s }

// T implements chunks.Sample, as all below.
func (s oneSample) T() int64                    { return s.at }
func (s oneSample) F() float64                  { return s.value }
func (oneSample) ST() int64                     { return 0 }
func (oneSample) H() *histogram.Histogram       { return nil }
func (oneSample) FH() *histogram.FloatHistogram { return nil }
func (oneSample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s oneSample) Copy() chunks.Sample         { return s }
