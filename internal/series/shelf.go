package series

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

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
