package series

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// plainly evaluates an expression as the engine does over the TSDB itself, with nothing shared.
func plainly(t *testing.T, db *DB, promql string, at time.Time) []Value {
	t.Helper()
	q, err := db.engine.NewInstantQuery(t.Context(), db.tsdb, nil, promql, at)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	res := q.Exec(t.Context())
	if res.Err != nil {
		t.Fatalf("%s: %v", promql, res.Err)
	}
	vs, err := values(res)
	if err != nil {
		t.Fatal(err)
	}
	return vs
}

// sorted sorts values by their labels, which the engine leaves in any order.
func sorted(vs []Value) []Value {
	return slices.SortedFunc(slices.Values(vs), func(a, b Value) int { return strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)) })
}

// ragged fills three hours of a few series with gaps, ends, late samples and times of their own.
func ragged(t *rapid.T, db *DB) (end time.Time) {
	series := []Sample{
		{Name: BrokerAcks, Labels: map[string]string{"pipeline": "a"}}, {Name: BrokerAcks, Labels: map[string]string{"pipeline": "b"}},
		{Name: BrokerAcks, Labels: map[string]string{"pipeline": "b", "queue": "2"}}, {Name: BrokerPublishes, Labels: map[string]string{"pipeline": "a"}},
	}
	end = start
	taken := make(map[time.Time]bool)
	for range rapid.IntRange(1, 60).Draw(t, "rounds") {
		at := end.Add(rapid.SampledFrom([]time.Duration{
			time.Millisecond, interval - time.Millisecond, interval, interval, interval, db.cfg.Lookback(), db.cfg.Lookback() + time.Millisecond,
			-time.Minute, 40 * time.Minute,
		}).Draw(t, "pause"))
		if taken[at] {
			continue // a sample is never written twice
		}
		taken[at] = true
		var alive, ended []Sample
		for _, s := range series {
			switch s.Value = float64(at.Sub(start) / interval); rapid.IntRange(0, 9).Draw(t, "fate") {
			case 0:
				ended = append(ended, s)
			case 1:
			default:
				alive = append(alive, s)
			}
		}
		if err := errors.Join(db.Append(t.Context(), at, alive), db.MarkStale(t.Context(), at, ended)); err != nil {
			t.Fatal(err)
		}
		if at.After(end) {
			end = at
		}
	}
	return end
}

func TestWhatIsReadOnceGivesWhatReadingEachTimeGives(t *testing.T) {
	exprs := []string{
		"X", `X{pipeline="b"}`, `X{pipeline!="b"}`, `{__name__=~"dedup_.+"}`, "nothing", "1", "vector(2)",
		"sum by (pipeline) (X) - sum by (pipeline) (X offset 15m)", "sum by (pipeline) (X) - sum by (pipeline) (X offset 1h)",
		"X offset -15m", "X / on (pipeline) group_left Y", "X > 3 or Y", "absent(X)", "timestamp(X)", "timestamp(X @ end() offset -30s)", "-X",
		"X @ start()", fmt.Sprintf("X @ %d", start.Add(time.Minute).Unix()), "X @ 0",
		"max_over_time(X[5m])", "increase(X[1h])", "max_over_time(X[1h:15s])", "max_over_time(X[" + fmt.Sprint(int(testConfig("").Lookback().Seconds())) + "s])",
		"max_over_time((X - X offset 5m)[1h:1m] offset 15m)",
	}
	rapid.Check(t, func(rt *rapid.T) {
		db, err := openReady(testConfig(tempDir(t)))
		if err != nil {
			rt.Fatal(err)
		}
		defer db.Close()
		end := ragged(rt, db)
		for range 3 {
			at := end.Add(-rapid.SampledFrom([]time.Duration{0, time.Millisecond, interval, time.Hour, -db.cfg.Lookback(), 1 - db.cfg.Lookback()}).Draw(rt, "ago"))
			ask := db.At(at)
			for _, expr := range rapid.SliceOfN(rapid.SampledFrom(exprs), 1, 20).Draw(rt, "expressions") {
				expr = strings.NewReplacer("X", BrokerAcks, "Y", BrokerPublishes).Replace(expr)
				got, err := ask(t.Context(), expr)
				if err != nil {
					rt.Fatalf("%s: %v", expr, err)
				}
				if diff := cmp.Diff(sorted(plainly(t, db, expr, at)), sorted(got)); diff != "" {
					rt.Fatalf("%s at %s (- plainly, + shared):\n%s", expr, at, diff)
				}
			}
		}
	})
}

func TestASelectorOfSeveralExpressionsIsReadOnce(t *testing.T) {
	db := openDB(t, tempDir(t))
	mustAppend(t, db, start, sample(BrokerAcks, 1, "pipeline=a"))
	m := &moment{db: db, at: start, began: db.writes.Load(), shelf: newShelf()}
	value := func(expr string) float64 {
		t.Helper()
		vs, err := m.ask(t.Context(), expr)
		if err != nil || len(vs) != 1 {
			t.Fatalf("%s: %v, %v", expr, vs, err)
		}
		return vs[0].Value
	}
	if got := value("sum(" + BrokerAcks + ")"); got != 1 || len(m.shelf.kept) != 1 {
		t.Fatalf("got %v with %d selections kept, want 1 and 1", got, len(m.shelf.kept))
	}
	for _, kept := range m.shelf.kept {
		kept.readings[0].value = 5
	}
	if got := value(BrokerAcks + " * 2"); got != 10 {
		t.Errorf("another expression did not take what is kept, and gave %v", got)
	}
	if got := value(BrokerAcks + `{pipeline="a"}`); got != 1 {
		t.Errorf("another selector took what is kept, and gave %v", got)
	}
	mustAppend(t, db, start.Add(time.Millisecond), sample(BrokerAcks, 3, "pipeline=a"))
	m.at = start.Add(time.Millisecond)
	if got := value(BrokerAcks); got != 3 {
		t.Errorf("after a round was written what is kept was taken still, and gave %v", got)
	}
	m.began = db.writes.Add(1)
	if m.still() {
		t.Error("a moment that began while a round was being written shares what it reads")
	}
}

// TestAnExpressionSeesARoundWholeOrNotAtAll: two metrics that are always written together, and asked for beside the writing.
func TestAnExpressionSeesARoundWholeOrNotAtAll(t *testing.T) {
	db := openDB(t, tempDir(t))
	write := func(n int) error {
		var both []Sample
		for i := range 100 {
			of := fmt.Sprintf("pipeline=%d", i)
			both = append(both, sample(BrokerAcks, float64(n), of), sample(BrokerPublishes, float64(n), of))
		}
		return db.Append(t.Context(), start.Add(time.Duration(n)*time.Millisecond), both)
	}
	must(t, write(0))
	written := make(chan error, 1)
	go func() {
		for n := 1; n <= 150; n++ {
			if err := write(n); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for {
		ask := db.At(start.Add(30 * time.Second))
		for _, expr := range []string{"sum(A) - sum(B)", "sum(B) - sum(A)"} {
			vs, err := ask(t.Context(), strings.NewReplacer("A", BrokerAcks, "B", BrokerPublishes).Replace(expr))
			if err != nil || len(vs) != 1 || vs[0].Value != 0 {
				t.Fatalf("%s beside the writing: %v, %v; want 0", expr, vs, err)
			}
		}
		select {
		case err := <-written:
			must(t, err)
			return
		default:
		}
	}
}

func TestSelectorsOfBlocksOnDiskAreSharedToo(t *testing.T) {
	db := openDB(t, tempDir(t))
	fillHours(t, db, 8)
	if n := len(db.tsdb.Blocks()); n < 2 {
		t.Fatalf("%d blocks on disk have no edge", n)
	}
	end := start.Add(8 * time.Hour)
	ask := db.At(end)
	for range 2 {
		for back := time.Duration(0); back < 9*time.Hour; back += 29 * time.Minute {
			expr := fmt.Sprintf("sum by (pipeline) (%s offset %dm)", BrokerAcks, int(back.Minutes()))
			got, err := ask(t.Context(), expr)
			if err != nil {
				t.Fatalf("%s: %v", expr, err)
			}
			if diff := cmp.Diff(plainly(t, db, expr, end), got); diff != "" {
				t.Errorf("%s (- plainly, + shared):\n%s", expr, diff)
			}
		}
	}
}

func TestAMomentAnswersManyAtOnce(t *testing.T) {
	db := openDB(t, tempDir(t))
	var samples []Sample
	for i := range 100 {
		samples = append(samples, sample(BrokerAcks, 1, fmt.Sprintf("pipeline=%d", i)))
	}
	mustAppend(t, db, start, samples...)
	ask := db.At(start)
	var asking sync.WaitGroup
	for i := range 16 {
		asking.Go(func() {
			expr := []string{"sum(" + BrokerAcks + ")", "count(" + BrokerAcks + ")", "count(max_over_time(" + BrokerAcks + "[5m]))"}[i%3]
			if vs, err := ask(t.Context(), expr); err != nil || len(vs) != 1 || vs[0].Value != 100 {
				t.Errorf("%s: %v, %v; want 100", expr, vs, err)
			}
		})
	}
	asking.Wait()
}

func TestWhoIsCancelledFailsAlone(t *testing.T) {
	db := openDB(t, tempDir(t))
	mustAppend(t, db, start, sample(BrokerAcks, 1, "pipeline=a"))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := readNewest(cancelled, db.tsdb, selection{to: start.UnixMilli()}, []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, nameLabel, BrokerAcks)}); !errors.Is(err, context.Canceled) {
		t.Errorf("a reading that was cancelled read on: %v, %v", out, err)
	}
	shelf := newShelf()
	over := func(*tsdb.DB) storage.Queryable { return stubborn{shelf.over(db.tsdb, db.cfg.Lookback())} }
	if vs, err := db.query(t.Context(), BrokerAcks, start, over); dedup.KindOf(err) != dedup.Unavailable {
		t.Errorf("got %v, %v from a reading that was cancelled", vs, err)
	}
	over = func(t *tsdb.DB) storage.Queryable { return shelf.over(t, db.cfg.Lookback()) }
	if vs, err := db.query(t.Context(), BrokerAcks, start, over); err != nil || len(vs) != 1 {
		t.Errorf("the next one got %v, %v; want its value", vs, err)
	}
}

// stubborn selects with a context that has ended.
type stubborn struct{ storage.Queryable }

func (s stubborn) Querier(from, to int64) (storage.Querier, error) {
	q, err := s.Queryable.Querier(from, to)
	return stubbornQuerier{q}, err
}

type stubbornQuerier struct{ storage.Querier }

func (q stubbornQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return q.Querier.Select(ctx, sorted, hints, matchers...)
}

func TestAMomentOfAClosedHistorySaysSo(t *testing.T) {
	db := openDB(t, tempDir(t))
	mustAppend(t, db, start, sample(BrokerAcks, 1, "pipeline=a"))
	ask := db.At(start)
	if _, err := ask(t.Context(), BrokerAcks); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), "("); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("got %v, want an invalid expression", err)
	}
	must(t, db.Close())
	if _, err := ask(t.Context(), BrokerAcks); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
