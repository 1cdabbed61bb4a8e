package series

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// counter writes a counter: step n holds its value at round n, and a negative one is a gap.
func counter(t *testing.T, db *DB, name string, steps ...float64) {
	t.Helper()
	for n, v := range steps {
		if v >= 0 {
			mustAppend(t, db, round(n), sample(name, v))
		}
	}
}

func TestChangesCountsBetweenTwoStoredSamples(t *testing.T) {
	const gap = -1
	for name, test := range map[string]struct {
		steps    []float64
		window   int // in intervals, ending at the last step
		want     float64
		from, to int
	}{
		"the window is full":                           {[]float64{5, 6, 7, 10}, 2, 4, 1, 3},
		"the window begins before the history":         {[]float64{5, 6, 7, 10}, 100, 5, 0, 3},
		"the counter was born at nought in the window": {[]float64{gap, gap, 0, 150}, 3, 150, 2, 3},
		"the counter was born at 150 in the window":    {[]float64{gap, gap, 150, 150}, 3, 0, 2, 3},
		"the counter did not move":                     {[]float64{7, 7, 7}, 2, 0, 0, 2},
		"one round is missing where the window begins": {[]float64{5, 6, gap, 8, 9}, 2, 3, 1, 4},
		"the window begins in a long gap":              {[]float64{5, gap, gap, gap, gap, gap, gap, 9, 12}, 3, 3, 7, 8},
		"the last round is missing":                    {[]float64{5, 6, 9, gap}, 3, 4, 0, 2},
		"there is one sample only":                     {[]float64{gap, gap, 42}, 2, 0, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t, tempDir(t))
			counter(t, db, BrokerAcks, test.steps...)
			cs, err := db.Changes(t.Context(), BrokerAcks, round(len(test.steps)-1), time.Duration(test.window)*interval)
			if err != nil || len(cs) != 1 {
				t.Fatalf("%+v, %v", cs, err)
			}
			c := cs[0]
			if c.Delta != test.want || !c.From.Equal(round(test.from)) || !c.To.Equal(round(test.to)) {
				t.Errorf("got %v from %s to %s, want %v from %s to %s", c.Delta, c.From, c.To, test.want, round(test.from), round(test.to))
			}
		})
	}
}

func TestChangesLeavesOutWhatIsNotKnown(t *testing.T) {
	for name, write := range map[string]func(t *testing.T, db *DB){
		"the counter ended long ago": func(t *testing.T, db *DB) { counter(t, db, BrokerAcks, 1, 2, 3) },
		"its source failed": func(t *testing.T, db *DB) {
			for n := range 10 {
				mustAppend(t, db, round(n), sample(BrokerAcks, float64(n)))
			}
			if err := db.MarkStale(t.Context(), round(10), []Sample{sample(BrokerAcks, 0)}); err != nil {
				t.Fatal(err)
			}
		},
		"it fell": func(t *testing.T, db *DB) { counter(t, db, BrokerAcks, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t, tempDir(t))
			write(t, db)
			cs, err := db.Changes(t.Context(), BrokerAcks, round(10), 8*interval)
			if err != nil || len(cs) != 0 {
				t.Errorf("want nothing, got %+v, %v", cs, err)
			}
		})
	}
}

// Adjacent windows add up to their union, except where they meet in a gap: what was gained over the gap belongs to
// neither of them, so their sum is less, never more.
func TestAdjacentWindowsAddUp(t *testing.T) {
	db := openDB(t, tempDir(t))
	metrics := 0
	rapid.Check(t, func(rt *rapid.T) {
		metrics++
		name := fmt.Sprintf("test_%d_total", metrics)
		n := rapid.IntRange(3, 60).Draw(rt, "rounds")
		born := rapid.IntRange(0, n-1).Draw(rt, "born")
		v, gaps, stored := 0.0, 0, make([]bool, n)
		for i := born; i < n; i++ {
			v += float64(rapid.IntRange(0, 20).Draw(rt, "gain"))
			if gaps == 0 && rapid.IntRange(0, 9).Draw(rt, "gap") == 0 {
				gaps = rapid.IntRange(1, 8).Draw(rt, "gap length")
			}
			if gaps > 0 && i > born && i < n-1 {
				gaps--
				continue
			}
			stored[i] = true
			if err := db.Append(t.Context(), round(i), []Sample{sample(name, v)}); err != nil {
				rt.Fatal(err)
			}
		}
		middle := rapid.IntRange(1, n-2).Draw(rt, "middle")
		first := rapid.IntRange(0, middle-1).Draw(rt, "first")
		delta := func(from, to int) float64 {
			cs, err := db.Changes(t.Context(), name, round(to), time.Duration(to-from)*interval)
			if err != nil || len(cs) > 1 {
				rt.Fatalf("%v, %v", cs, err)
			}
			if len(cs) == 0 {
				return 0
			}
			return cs[0].Delta
		}
		sum, union := delta(first, middle)+delta(middle, n-1), delta(first, n-1)
		meetInGap := middle > born
		for i := max(0, middle-lookbackIntervals+1); i <= middle; i++ {
			meetInGap = meetInGap && !stored[i]
		}
		if sum > union || !meetInGap && sum != union {
			rt.Fatalf("windows %d-%d-%d of %d: sum %v, union %v", first, middle, n-1, n, sum, union)
		}
	})
}

func TestLastFindsEverySeriesHoweverOld(t *testing.T) {
	dir := tempDir(t)
	db := openDB(t, dir)
	mustAppend(t, db, start, sample(BrokerAcks, 11, "pipeline=gone"), sample(DeadLetters, 4, "queue=gone"))
	mustAppend(t, db, round(1), sample(BrokerAcks, 12, "pipeline=gone"), sample(DeadLetters, 3, "queue=gone"))
	if err := db.MarkStale(t.Context(), round(2), []Sample{sample(BrokerAcks, 0, "pipeline=gone")}); err != nil {
		t.Fatal(err)
	}
	fillHours(t, db, 9)
	if n := len(db.tsdb.Blocks()); n == 0 {
		t.Fatal("the history has no block, so the test is not about old series")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	db = openDB(t, dir)
	blocks := slices.Clone(db.tsdb.Blocks())
	if len(blocks) < 2 {
		t.Fatalf("%d blocks have no order", len(blocks))
	}
	want := map[string]float64{"gone": 12, "here": 9*60 - 1}
	vs, err := db.Last(t.Context(), BrokerAcks)
	if err != nil || len(vs) != len(want) {
		t.Fatalf("%+v, %v", vs, err)
	}
	for _, v := range vs {
		if v.Value != want[v.Labels["pipeline"]] {
			t.Errorf("%v: got %v", v.Labels, v.Value)
		}
		if v.Labels["pipeline"] == "gone" && !v.At.Equal(round(1)) {
			t.Errorf("the old series is of %s, want %s", v.At, round(1))
		}
	}
	if vs, err := db.Last(t.Context(), DeadLetters); err != nil || len(vs) != 1 || vs[0].Value != 3 {
		t.Errorf("a gauge has its last value, not its largest: %+v, %v", vs, err)
	}
	if vs, err := db.Last(t.Context(), "never_stored"); err != nil || len(vs) != 0 {
		t.Errorf("%+v, %v", vs, err)
	}
	if !slices.Equal(db.tsdb.Blocks(), blocks) {
		t.Error("Last changed the order of the blocks, which queries read at the same time")
	}
}

// fillHours appends a sample a minute and does the upkeep as it falls due.
func fillHours(t *testing.T, db *DB, hours int) {
	t.Helper()
	for n := range hours * 60 {
		mustAppend(t, db, start.Add(time.Duration(n)*time.Minute).Add(time.Second), sample(BrokerAcks, float64(n), "pipeline=here"))
		if n%30 == 0 {
			db.maintain()
		}
	}
	if err := db.Err(); err != nil {
		t.Fatal(err)
	}
}
