package series

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/util/annotations"
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
	vs, err := values(res.Value)
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
		"X offset -15m", "X / on (pipeline) group_left Y", "X > 3 or Y", "absent(X)", "timestamp(X)", "-X",
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
	ask := db.At(start.Add(interval))
	value := func(ask Ask, expr string) float64 {
		t.Helper()
		vs, err := ask(t.Context(), expr)
		if err != nil || len(vs) != 1 {
			t.Fatalf("%s: %v, %v", expr, vs, err)
		}
		return vs[0].Value
	}
	if got := value(ask, "sum("+BrokerAcks+")"); got != 1 {
		t.Errorf("got %v, want 1", got)
	}
	mustAppend(t, db, start.Add(interval), sample(BrokerAcks, 5, "pipeline=a"))
	if got := value(ask, BrokerAcks+" * 2"); got != 2 {
		t.Errorf("another expression of the same moment read it again, and gave %v instead of 2", got)
	}
	if got := value(ask, BrokerAcks+`{pipeline="a"}`); got != 5 {
		t.Errorf("another selector gave %v instead of 5", got)
	}
	if got := value(db.At(start.Add(interval)), BrokerAcks); got != 5 {
		t.Errorf("a later moment gave %v instead of 5", got)
	}
}

func TestAMomentAnswersManyAtOnce(t *testing.T) {
	db := openDB(t, tempDir(t))
	for i := range 100 {
		mustAppend(t, db, start, sample(BrokerAcks, 1, fmt.Sprintf("pipeline=%d", i)))
	}
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
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), BrokerAcks); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestAReadingThatPanicsIsAnErrorForAllWhoAsk(t *testing.T) {
	n := new(newest)
	set := func() *readings {
		return &readings{of: n, read: func() ([]reading, annotations.Annotations, error) {
			return newestOf(t.Context(), nil, selection{}, nil) // without a TSDB it panics
		}}
	}
	for range 2 {
		if r := set(); r.Next() || r.Err() == nil {
			t.Errorf("next and error %v; want none, and an error", r.Err())
		}
	}
}
