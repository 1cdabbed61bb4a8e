package series

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Ask evaluates a PromQL expression at a time that was settled before, as Query does.
type Ask func(ctx context.Context, promql string) ([]Value, error)

// At returns what evaluates expressions at one time, for many of them and by several callers at once: a selector that stands in more
// than one, as in numerators and denominators over several windows, is read once. That is so for selectors of one value for each series;
// a range, as in increase(x[1h]), is read for each expression.
func (db *DB) At(at time.Time) Ask {
	m := &moment{db: db, at: at, began: db.writes.Load(), shelf: newShelf()}
	return m.ask
}

// A moment is one time, and what was read of it.
type moment struct {
	db    *DB
	at    time.Time
	began uint64 // what DB.writes was
	shelf *shelf
}

// ask shares what is read for as long as nothing is written. After that an expression could see of one selector what was there before a
// round, and of another one what was there after it: it is evaluated by itself, over one state of the TSDB.
func (m *moment) ask(ctx context.Context, promql string) ([]Value, error) {
	if m.still() {
		values, err := m.db.query(ctx, promql, m.at, func(t *tsdb.DB) storage.Queryable { return m.shelf.over(t, m.db.cfg.Lookback()) })
		if m.still() {
			return values, err
		}
	}
	return m.db.Query(ctx, promql, m.at)
}

// still reports whether nothing was written since the moment began, and nothing was being written then.
func (m *moment) still() bool { return m.began%2 == 0 && m.db.writes.Load() == m.began }

// A shelf keeps what selectors read, for others that ask for the same.
type shelf struct {
	mu   sync.Mutex
	kept map[selection]*shared
}

func newShelf() *shelf { return &shelf{kept: make(map[selection]*shared)} }

// A selection is what a selector of one value for each series asks for: matchers, and a time in milliseconds that its sample is not
// older and not newer than.
type selection struct {
	matchers string
	from, to int64
}

// of returns the place of a selection.
func (s *shelf) of(sel selection) *shared {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := s.kept[sel]
	if place == nil {
		place = new(shared)
		s.kept[sel] = place
	}
	return place
}

// over returns the shelf before a TSDB, for queries that look back this far.
func (s *shelf) over(t *tsdb.DB, lookback time.Duration) storage.Queryable {
	return storage.QueryableFunc(func(from, to int64) (storage.Querier, error) {
		return &sharing{shelf: s, tsdb: t, lookback: lookback, from: from, to: to, LabelQuerier: storage.NoopQuerier()}, nil
	})
}

// sharing reads for one expression. The engine asks it for samples alone, not for the names of labels.
type sharing struct {
	storage.LabelQuerier
	shelf    *shelf
	tsdb     *tsdb.DB
	lookback time.Duration
	// whole reads everything else, from one time to another; nil before it is needed.
	from, to int64
	whole    storage.Querier
}

// Select implements storage.Querier.
func (s *sharing) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if s.isSingle(hints) {
		sel := selection{matchers: written(matchers), from: hints.Start, to: hints.End}
		return &readingSet{of: s.shelf.of(sel), read: func() ([]reading, error) { return readNewest(ctx, s.tsdb, sel, matchers) }}
	}
	if s.whole == nil {
		whole, err := s.tsdb.Querier(s.from, s.to)
		if err != nil {
			return storage.ErrSeriesSet(err)
		}
		s.whole = whole
	}
	return s.whole.Select(ctx, sorted, hints, matchers...)
}

// isSingle reports whether a selector asks for one value of each series: then its span is the lookback without its oldest millisecond,
// by getTimeRangesForSelector in promql/engine.go, which tells it from one in a subquery. timestamp may look past the newest sample.
func (s *sharing) isSingle(hints *storage.SelectHints) bool {
	return hints.Range == 0 && hints.End-hints.Start == s.lookback.Milliseconds()-1 && hints.Func != "timestamp"
}

// Close implements storage.Querier.
func (s *sharing) Close() error {
	if s.whole == nil {
		return nil
	}
	return s.whole.Close()
}

// written writes matchers so that only the same ones give the same.
func written(matchers []*labels.Matcher) string {
	var b strings.Builder
	for _, m := range matchers {
		b.WriteString(m.String())
		b.WriteByte(',')
	}
	return b.String()
}

// readNewest reads the newest sample of each series, a stale marker too: it says that there is no value.
func readNewest(ctx context.Context, t *tsdb.DB, sel selection, matchers []*labels.Matcher) (out []reading, err error) {
	q, err := t.Querier(sel.from, sel.to)
	if err != nil {
		return nil, fmt.Errorf("open a querier: %w", err)
	}
	defer q.Close() // it was read to its end
	// The samples outside are passed over below, which is faster than having them trimmed.
	set := q.Select(ctx, false, &storage.SelectHints{Start: sel.from, End: sel.to, DisableTrimming: true}, matchers...)
	var it chunkenc.Iterator
	for n := 0; set.Next(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		series := set.At()
		it = series.Iterator(it)
		last, have := reading{}, false
		for kind := it.Seek(sel.from); kind == chunkenc.ValFloat && it.AtT() <= sel.to; kind = it.Next() {
			last.at, last.value = it.At()
			have = true
		}
		if err := it.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", series.Labels(), err)
		}
		if have {
			last.labels = series.Labels()
			out = append(out, last)
		}
	}
	return out, set.Err()
}

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
