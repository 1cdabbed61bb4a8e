package series

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// Last returns the last stored value of every series of a metric, however old, so that counters go on after a restart.
// Stale markers do not count as values. Of a counter (its name ends in _total, _bucket, _sum or _count) it returns the
// largest of the newest values, which is the last one unless the clock was set back. Labels come without the metric name.
func (db *DB) Last(ctx context.Context, metric string) ([]Value, error) {
	t, release, err := db.use()
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, stop := db.bound(ctx)
	defer stop()

	pick := latest
	if isCounter(metric) {
		pick = largest
	}
	s := scan{ctx: ctx, tsdb: t, metric: metric}
	// Nearly every series has a sample in the newest hours. Only the others are looked for in the whole history, and
	// there only in the last chunk that has a value.
	newest := max(t.Head().MaxTime(), t.Head().MaxOOOTime())
	found := make(map[string]reading)
	if newest != math.MinInt64 {
		if found, err = s.readings(newest-outOfOrderWindow.Milliseconds(), newest, pick); err != nil {
			return nil, err
		}
	}
	if err := s.addOld(found, pick); err != nil {
		return nil, err
	}
	out := make([]Value, 0, len(found))
	for _, r := range found {
		out = append(out, Value{Labels: identity(r.labels), At: time.UnixMilli(r.at).UTC(), Value: r.value})
	}
	return out, nil
}

// addOld adds the series that have no sample in the newest hours.
func (s scan) addOld(found map[string]reading, pick picker) error {
	q, err := s.tsdb.ChunkQuerier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", s.metric, err)
	}
	defer q.Close()
	set := q.Select(s.ctx, false, nil, nameIs(s.metric))
	var (
		it  chunks.Iterator
		key []byte
	)
	for set.Next() {
		if s.ctx.Err() != nil {
			return queryError(context.Cause(s.ctx))
		}
		series := set.At()
		key = series.Labels().Bytes(key[:0])
		if _, have := found[string(key)]; have {
			continue
		}
		it = series.Iterator(it)
		if at, v, ok := lastChunk(it, pick); ok {
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

// lastChunk applies pick to the last chunk that has a value, without unpacking the ones before.
func lastChunk(it chunks.Iterator, pick picker) (at int64, v float64, ok bool) {
	var metas []chunks.Meta
	for it.Next() {
		metas = append(metas, it.At())
	}
	var samples chunkenc.Iterator
	for _, m := range slices.Backward(metas) {
		samples = m.Chunk.Iterator(samples)
		if at, v, ok = pick(samples); ok {
			return at, v, true
		}
	}
	return 0, 0, false
}

func latest(it chunkenc.Iterator) (at int64, v float64, ok bool) {
	for it.Next() == chunkenc.ValFloat {
		if t, f := it.At(); !math.IsNaN(f) {
			at, v, ok = t, f, true
		}
	}
	return at, v, ok
}

func largest(it chunkenc.Iterator) (at int64, v float64, ok bool) {
	for it.Next() == chunkenc.ValFloat {
		if t, f := it.At(); !math.IsNaN(f) && (!ok || f >= v) {
			at, v, ok = t, f, true
		}
	}
	return at, v, ok
}

func isCounter(metric string) bool {
	return slices.ContainsFunc([]string{"_total", "_bucket", "_sum", "_count"}, func(suffix string) bool {
		return strings.HasSuffix(metric, suffix)
	})
}
