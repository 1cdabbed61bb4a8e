package series

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// Ask evaluates a PromQL expression at a time that was settled before. Series that are stale, and results that are not a number, as
// 0/0, are left out. Labels come without the metric name. An expression that cannot be evaluated is an error of kind invalid.
type Ask func(ctx context.Context, promql string) ([]Value, error)

// At returns what evaluates expressions at one time, for many of them and by several callers at once: a selector that stands in more
// than one, as in numerators and denominators over several windows, is read once. What is appended afterwards may be missing.
func (db *DB) At(at time.Time) Ask {
	m := &moment{db: db, at: at, known: make(map[selection]*newest)}
	return m.ask
}

// A moment is one time, and what was read of it.
type moment struct {
	db *DB
	at time.Time

	mu    sync.Mutex
	known map[selection]*newest
}

func (m *moment) ask(ctx context.Context, promql string) ([]Value, error) {
	t, release, err := m.db.use()
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, stop := m.db.bound(ctx)
	defer stop()
	q, err := m.db.engine.NewInstantQuery(ctx, &present{m, t}, nil, promql, m.at)
	if err != nil {
		return nil, queryError(err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return nil, queryError(res.Err)
	}
	return values(res.Value)
}

// of returns what a selection reads, by everybody who asks for the same.
func (m *moment) of(s selection) *newest {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.known[s]
	if n == nil {
		n = new(newest)
		m.known[s] = n
	}
	return n
}

// present is a moment while the TSDB is in use.
type present struct {
	*moment
	tsdb *tsdb.DB
}

// Querier implements storage.Queryable.
func (p *present) Querier(from, to int64) (storage.Querier, error) {
	return &sharing{present: p, LabelQuerier: storage.NoopQuerier(), from: from, to: to}, nil
}

// sharing reads for one expression. The engine asks it for samples alone, not for the names of labels.
type sharing struct {
	*present
	storage.LabelQuerier
	from, to int64
	// whole reads what is not shared; nil before it is needed.
	whole storage.Querier
}

// Select implements storage.Querier. A selector of one value for each series is shared; the samples of ranges and subqueries are not.
func (s *sharing) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	single := hints.Range == 0 && hints.End-hints.Start == s.db.cfg.Lookback().Milliseconds()-1
	if single && !sorted {
		sel := selection{matchers: written(matchers), from: hints.Start, to: hints.End}
		return &readings{of: s.of(sel), read: func() ([]reading, annotations.Annotations, error) {
			return newestOf(ctx, s.tsdb, sel, matchers)
		}}
	}
	if s.whole == nil {
		whole, err := s.tsdb.Querier(s.from, s.to)
		if err != nil {
			return storage.ErrSeriesSet(promql.ErrStorage{Err: err})
		}
		s.whole = whole
	}
	return s.whole.Select(ctx, sorted, hints, matchers...)
}

// Close implements storage.Querier.
func (s *sharing) Close() error {
	if s.whole == nil {
		return nil
	}
	return s.whole.Close()
}

// A selection is what a selector of one value for each series asks for: matchers, and a time in milliseconds that its sample is not
// older and not newer than.
type selection struct {
	matchers string
	from, to int64
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

// newest are the newest samples of a selection, once they were read.
type newest struct {
	once     sync.Once
	readings []reading
	warnings annotations.Annotations
	err      error
}

// newestOf reads the newest sample of each series, a stale marker too: it says that there is no value.
func newestOf(ctx context.Context, t *tsdb.DB, sel selection, matchers []*labels.Matcher) (
	out []reading, warnings annotations.Annotations, err error,
) {
	defer func() {
		if err != nil {
			err = promql.ErrStorage{Err: err}
		}
	}()
	defer recoverTo(&err, "read the newest samples") // or others would take what was read so far for the whole
	q, err := t.Querier(sel.from, sel.to)
	if err != nil {
		return nil, nil, fmt.Errorf("open a querier: %w", err)
	}
	defer q.Close() // it was read to its end
	// The samples outside are passed over below, which is faster than having them trimmed.
	set := q.Select(ctx, false, &storage.SelectHints{Start: sel.from, End: sel.to, DisableTrimming: true}, matchers...)
	var it chunkenc.Iterator
	for set.Next() {
		series := set.At()
		it = series.Iterator(it)
		last, have := reading{}, false
		for kind := it.Seek(sel.from); kind == chunkenc.ValFloat && it.AtT() <= sel.to; kind = it.Next() {
			last.at, last.value = it.At()
			have = true
		}
		if err := it.Err(); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", series.Labels(), err)
		}
		if have {
			last.labels = series.Labels()
			out = append(out, last)
		}
	}
	return out, set.Warnings(), set.Err()
}
