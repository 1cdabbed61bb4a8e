package series

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Changes returns what every series of a counter gained in the window that ends at the given time. It never
// extrapolates: the delta is between two stored samples, c - c offset window, or from the first sample in the window
// when there is none before it. Labels come without the metric name.
//
// A series without a current value at the end of the window is left out, as it is from any query: what it gained is
// not known. So is one that fell, which a counter of ours never does: its samples are of two clocks.
//
// It reads a few samples at both ends of the window, and one in between of the series that are new in it; the cost does
// not grow with the window.
func (db *DB) Changes(ctx context.Context, counter string, at time.Time, window time.Duration) ([]Change, error) {
	if window < time.Millisecond {
		return nil, invalid("The window of a change must be at least 1 ms")
	}
	t, release, err := db.use()
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, stop := db.bound(ctx)
	defer stop()

	s := scan{ctx: ctx, tsdb: t, metric: counter}
	end, start := at.UnixMilli(), at.Add(-window).UnixMilli()
	lookback := db.cfg.Lookback().Milliseconds()
	last, err := s.readings(end-lookback+1, end, current)
	if err != nil {
		return nil, err
	}
	base, err := s.readings(start-lookback+1, start, current)
	if err != nil {
		return nil, err
	}
	if err := s.addBorn(base, last, start+1, end); err != nil {
		return nil, err
	}
	return changes(base, last), nil
}

// changes pairs what the counters were with what they are.
func changes(base, last map[string]reading) []Change {
	out := make([]Change, 0, len(last))
	for key, to := range last {
		from, ok := base[key]
		if !ok || to.value < from.value {
			continue
		}
		out = append(out, Change{
			Labels: identity(to.labels),
			Delta:  to.value - from.value,
			From:   time.UnixMilli(from.at).UTC(),
			To:     time.UnixMilli(to.at).UTC(),
		})
	}
	return out
}

// A reading is one stored sample and the series that it belongs to.
type reading struct {
	labels labels.Labels
	at     int64
	value  float64
}

// A picker chooses the sample of a series that a scan is after.
type picker func(chunkenc.Iterator) (at int64, v float64, ok bool)

// A scan reads single samples of the series of one metric.
type scan struct {
	ctx    context.Context
	tsdb   *tsdb.DB
	metric string
}

// readings returns the sample that pick chooses from each series, between two times, both included.
func (s scan) readings(from, to int64, pick picker) (map[string]reading, error) {
	found := make(map[string]reading)
	err := s.each(from, to, func(key string, series storage.Series, it chunkenc.Iterator) (chunkenc.Iterator, error) {
		it = series.Iterator(it)
		if at, v, ok := pick(it); ok {
			found[key] = reading{labels: series.Labels(), at: at, value: v}
		}
		return it, it.Err()
	})
	return found, err
}

// addBorn adds to base the first sample in the window of those series of last that have none before it.
func (s scan) addBorn(base, last map[string]reading, from, to int64) error {
	missing := false
	for key := range last {
		if _, ok := base[key]; !ok {
			missing = true
			break
		}
	}
	if !missing {
		return nil
	}
	return s.each(from, to, func(key string, series storage.Series, it chunkenc.Iterator) (chunkenc.Iterator, error) {
		if _, wanted := last[key]; !wanted {
			return it, nil
		}
		if _, have := base[key]; have {
			return it, nil
		}
		it = series.Iterator(it)
		if at, v, ok := first(it); ok {
			base[key] = reading{labels: series.Labels(), at: at, value: v}
		}
		return it, it.Err()
	})
}

// each visits the series of the metric. It hands on the iterator that visit returns, to be used again.
func (s scan) each(from, to int64, visit func(key string, series storage.Series, it chunkenc.Iterator) (chunkenc.Iterator, error)) error {
	q, err := s.tsdb.Querier(from, to)
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", s.metric, err)
	}
	defer q.Close()
	set := q.Select(s.ctx, false, &storage.SelectHints{Start: from, End: to}, nameIs(s.metric))
	var (
		it  chunkenc.Iterator
		key []byte
	)
	for n := 0; set.Next(); n++ {
		if n%256 == 0 && s.ctx.Err() != nil {
			return queryError(context.Cause(s.ctx))
		}
		series := set.At()
		key = series.Labels().Bytes(key[:0])
		if it, err = visit(string(key), series, it); err != nil {
			return fmt.Errorf("read the history of %s: %w", s.metric, err)
		}
	}
	if err := set.Err(); err != nil {
		return fmt.Errorf("read the history of %s: %w", s.metric, err)
	}
	return nil
}

func nameIs(metric string) *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, nameLabel, metric)
}

// current chooses the value of a counter: the largest, because a counter only rises. It is the last one, except in the
// hours after the clock was set back, when samples of before and after lie side by side. A stale marker at the end
// means that there is no value.
func current(it chunkenc.Iterator) (at int64, v float64, ok bool) {
	v = math.Inf(-1)
	for it.Next() == chunkenc.ValFloat {
		t, f := it.At()
		if math.IsNaN(f) { // a stale marker: nothing before it is current
			at, v, ok = 0, math.Inf(-1), false
			continue
		}
		if f >= v {
			at, v, ok = t, f, true
		}
	}
	return at, v, ok
}

// first chooses the first sample that is a number.
func first(it chunkenc.Iterator) (at int64, v float64, ok bool) {
	for it.Next() == chunkenc.ValFloat {
		if t, f := it.At(); !math.IsNaN(f) {
			return t, f, true
		}
	}
	return 0, 0, false
}
