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
	ctx, t, done, err := db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()

	s := scan{ctx: ctx, tsdb: t, metric: counter}
	end, start := at.UnixMilli(), at.Add(-window).UnixMilli()
	lookback := db.cfg.Lookback().Milliseconds()
	last, base := map[string]reading{}, map[string]reading{}
	if err := s.add(last, end-lookback+1, end, current, anySeries); err != nil {
		return nil, err
	}
	if err := s.add(base, start-lookback+1, start, current, anySeries); err != nil {
		return nil, err
	}
	born := func(key string) bool { // it has no sample before the window
		_, now := last[key]
		_, before := base[key]
		return now && !before
	}
	for key := range last {
		if born(key) {
			if err := s.add(base, start+1, end, first, born); err != nil {
				return nil, err
			}
			break
		}
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

func anySeries(string) bool { return true }

// add adds to found the sample that pick chooses of each series that is wanted, between two times, both included.
func (s scan) add(found map[string]reading, from, to int64, pick picker, wanted func(key string) bool) error {
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
		if !wanted(string(key)) {
			continue
		}
		it = series.Iterator(it)
		if at, v, ok := pick(it); ok {
			found[string(key)] = reading{labels: series.Labels(), at: at, value: v}
		}
		if err := it.Err(); err != nil {
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
