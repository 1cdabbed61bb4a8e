package series

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
)

// recent is the span in which nearly every series has a sample.
const recent = 10 * time.Minute

// Last returns the last stored value of every series of a metric, however old, so that counters go on after a restart.
// Stale markers do not count as values. Of a counter (its name ends in _total, _bucket, _sum or _count) it returns the
// largest of the newest values, which is the last one unless the clock was set back. Labels come without the metric name.
//
// Nearly every series is found in the newest minutes. Of the others only the last chunk that has a value is read.
func (db *DB) Last(ctx context.Context, metric string) ([]Value, error) {
	ctx, t, done, err := db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()

	pick := newest(isCounter(metric))
	s := scan{ctx: ctx, tsdb: t, metric: metric}
	found := make(map[string]reading)
	if err := s.addFromHead(found, pick); err != nil {
		return nil, err
	}
	blocks := slices.Clone(t.Blocks()) // the slice is the one that the TSDB and every query read
	slices.SortFunc(blocks, func(a, b *tsdb.Block) int { return cmp.Compare(b.MaxTime(), a.MaxTime()) })
	for _, b := range blocks { // the newest first
		if err := s.addFromBlock(b, found, pick); err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", metric, err)
		}
	}
	out := make([]Value, 0, len(found))
	for _, r := range found {
		out = append(out, Value{Labels: identity(r.labels), At: time.UnixMilli(r.at).UTC(), Value: r.value})
	}
	return out, nil
}

// addFromHead adds the series that have a sample in memory.
func (s scan) addFromHead(found map[string]reading, pick picker) error {
	head := s.tsdb.Head()
	oldest, newest := head.MinTime(), head.MaxTime()
	if oldest > newest {
		return nil // it is empty
	}
	span := recent
	if head.MaxOOOTime() > math.MinInt64 {
		// The clock was set back in the last hours, so that the largest value may be that far back.
		span, oldest = outOfOrderWindow, min(oldest, head.MinOOOTime())
	}
	for _, from := range []int64{newest - span.Milliseconds(), oldest} {
		missing := func(key string) bool { _, have := found[key]; return !have }
		if err := s.add(found, from, newest, pick, missing); err != nil {
			return err
		}
	}
	return nil
}

// addFromBlock adds the series of a block that are not found yet. It reads the labels of the others and nothing else:
// a block lists thousands of chunks, and there are many blocks.
func (s scan) addFromBlock(b *tsdb.Block, found map[string]reading, pick picker) error {
	hold, err := b.Chunks() // as long as it is in use the block is not deleted
	if err != nil {
		return fmt.Errorf("hold block %s: %w", b, err)
	}
	defer hold.Close()
	samples, err := passing{b}.Chunks()
	if err != nil {
		return err
	}
	defer samples.Close()
	index, err := passing{b}.Index()
	if err != nil {
		return err
	}
	defer index.Close()
	refs, err := index.Postings(s.ctx, nameLabel, s.metric)
	if err != nil {
		return fmt.Errorf("look up series in block %s: %w", b, err)
	}
	if err := s.addFrom(index, samples, refs, found, pick); err != nil {
		return fmt.Errorf("block %s: %w", b, err)
	}
	return nil
}

// addFrom adds the referred series of an index that are not found yet, with their chunks from samples.
func (s scan) addFrom(listed tsdb.IndexReader, samples tsdb.ChunkReader, refs index.Postings, found map[string]reading, pick picker) error {
	var (
		builder labels.ScratchBuilder
		key     []byte
		metas   []chunks.Meta
	)
	for refs.Next() {
		if s.ctx.Err() != nil {
			return queryError(context.Cause(s.ctx))
		}
		if err := listed.Series(refs.At(), &builder, nil); err != nil {
			return fmt.Errorf("read a series: %w", err)
		}
		l := builder.Labels()
		key = l.Bytes(key[:0])
		if _, have := found[string(key)]; have {
			continue
		}
		if err := listed.Series(refs.At(), &builder, &metas); err != nil {
			return fmt.Errorf("read a series: %w", err)
		}
		at, v, ok, err := lastChunk(samples, metas, pick)
		if err != nil {
			return fmt.Errorf("read a chunk: %w", err)
		}
		if ok {
			found[string(key)] = reading{labels: l, at: at, value: v}
		}
	}
	return refs.Err()
}

// lastChunk applies pick to the last chunk that has a value.
func lastChunk(r tsdb.ChunkReader, metas []chunks.Meta, pick picker) (at int64, v float64, ok bool, err error) {
	var it chunkenc.Iterator
	for _, m := range slices.Backward(metas) {
		chunk, several, err := r.ChunkOrIterable(m)
		if err != nil {
			return 0, 0, false, err
		}
		if chunk != nil {
			it = chunk.Iterator(it)
		} else {
			it = several.Iterator(it)
		}
		if at, v, ok = pick(it); ok {
			return at, v, true, it.Err()
		}
	}
	return 0, 0, false, nil
}

// newest chooses the last value, of a counter the largest.
func newest(counter bool) picker {
	return func(it chunkenc.Iterator) (at int64, v float64, ok bool) {
		for it.Next() == chunkenc.ValFloat {
			if t, f := it.At(); !math.IsNaN(f) && (!ok || !counter || f >= v) {
				at, v, ok = t, f, true
			}
		}
		return at, v, ok
	}
}

func isCounter(metric string) bool {
	return slices.ContainsFunc([]string{"_total", "_bucket", "_sum", "_count"}, func(suffix string) bool {
		return strings.HasSuffix(metric, suffix)
	})
}
