package series

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

var hostile = []string{
	`"} or vector(1) #`, `a\`, "`", "a\nb\x00", "\u202egnp.exe", "\xff\xfe", "<script>", "日本語", `{{`, "$1", " ", "a,b=c",
}

func TestHostileLabelValuesComeBackAsTheyWere(t *testing.T) {
	db := openDB(t, tempDir(t))
	for i, v := range hostile {
		mustAppend(t, db, start, Sample{Name: DeadLetters, Labels: map[string]string{"queue": v}, Value: float64(i)})
	}
	for i, v := range hostile {
		vs, err := db.Query(t.Context(), Selector(DeadLetters, map[string]string{"queue": v}), start)
		if err != nil || len(vs) != 1 || vs[0].Value != float64(i) {
			t.Errorf("%q: %+v, %v", v, vs, err)
			continue
		}
		if got, want := vs[0].Labels["queue"], strings.ToValidUTF8(v, "\uFFFD"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSelectorFindsAnyLabelValue(t *testing.T) {
	db := openDB(t, tempDir(t))
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		v := string(rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(rt, "value"))
		n++
		s := Sample{Name: Markers, Labels: map[string]string{"state": v}, Value: float64(n)}
		if err := db.Append(t.Context(), start.Add(time.Duration(n)*time.Millisecond), []Sample{s}); err != nil {
			rt.Fatal(err)
		}
		vs, err := db.Query(t.Context(), Selector(Markers, s.Labels), start.Add(time.Duration(n)*time.Millisecond))
		if err != nil || len(vs) != 1 || vs[0].Value != float64(n) {
			rt.Fatalf("%q: %+v, %v", v, vs, err)
		}
	})
}

func FuzzSelectorIsAlwaysOneSelector(f *testing.F) {
	for _, v := range hostile {
		f.Add("dedup_markers", "state", v)
		f.Add(v, v, v)
	}
	f.Fuzz(func(t *testing.T, name, label, value string) {
		if name == "" || label == "" || label == "__name__" {
			return
		}
		expr := Selector(name, map[string]string{label: value})
		if err := CheckQuery(expr); err != nil {
			t.Fatal(err)
		}
		if err := CheckQuery("last_over_time(" + expr + "[5m:15s])"); err != nil { // it is one operand, not an expression that happens to parse
			t.Fatal(err)
		}
	})
}

func TestResultsThatAreNotNumbersAreLeftOut(t *testing.T) {
	db := openDB(t, tempDir(t))
	mustAppend(t, db, start, sample(BrokerAcks, 0, "pipeline=idle"), sample(BrokerAcks, 2, "pipeline=busy"))
	ratio := BrokerAcks + "/" + BrokerAcks
	wantValue(t, db, ratio, start, 1)
	lines, err := db.QueryRange(t.Context(), ratio, start, start, interval)
	if err != nil || len(lines) != 1 || lines[0].Labels["pipeline"] != "busy" {
		t.Errorf("lines: %+v, %v", lines, err)
	}
	wantNone(t, db, "0/0", start)
	wantValue(t, db, "1+1", start, 2)
}

func TestAQueryThatCannotBeAnsweredSaysWhy(t *testing.T) {
	db := openDB(t, tempDir(t))
	mustAppend(t, db, start, sample(StoreKeys, 1))
	for name, call := range map[string]func() error{
		"a wrong expression": func() error { _, err := db.Query(t.Context(), "sum(", start); return err },
		"a range vector":     func() error { _, err := db.Query(t.Context(), StoreKeys+"[5m]", start); return err },
		"a string":           func() error { _, err := db.Query(t.Context(), `"x"`, start); return err },
		"a zero step":        func() error { _, err := db.QueryRange(t.Context(), StoreKeys, start, start, 0); return err },
		"a range that ends before it begins": func() error {
			_, err := db.QueryRange(t.Context(), StoreKeys, start, round(-1), interval)
			return err
		},
		"a million steps": func() error {
			_, err := db.QueryRange(t.Context(), StoreKeys, start, round(1_000_000), interval)
			return err
		},
		"a window of nothing": func() error { _, err := db.Changes(t.Context(), StoreKeys, start, 0); return err },
		"CheckQuery":          func() error { return CheckQuery("sum(") },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); dedup.KindOf(err) != dedup.Invalid {
				t.Errorf("want an error of kind invalid, got %v", err)
			}
		})
	}
}

func TestDownsampleKeepsExtremesAndOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var points []dedup.Point
		at := start
		for range rapid.IntRange(0, 300).Draw(rt, "n") {
			at = at.Add(time.Duration(rapid.IntRange(1, 5000).Draw(rt, "gap")) * time.Second)
			v := rapid.OneOf(rapid.Float64Range(-5, 5), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)})).Draw(rt, "v")
			points = append(points, dedup.Point{At: at, Value: v})
		}
		columns := rapid.IntRange(1, 50).Draw(rt, "columns")
		got, clean := Downsample(points, columns), finite(points)

		known := make(map[dedup.Point]bool)
		for _, p := range clean {
			known[p] = true
		}
		perColumn := make(map[int64]int)
		for i, p := range got {
			if !known[p] {
				rt.Fatalf("%v was made up", p)
			}
			if i > 0 && !p.At.After(got[i-1].At) {
				rt.Fatalf("out of order at %d", i)
			}
			width := clean[len(clean)-1].At.Sub(clean[0].At)/time.Duration(columns) + 1
			c := int64(p.At.Sub(clean[0].At) / width)
			if perColumn[c]++; perColumn[c] > 2 || c >= int64(columns) {
				rt.Fatalf("column %d of %d has %d points", c, columns, perColumn[c])
			}
		}
		if lo, hi := extremes(clean); len(clean) > 0 {
			if l, h := extremes(got); l != lo || h != hi {
				rt.Fatalf("extremes %v..%v became %v..%v", lo, hi, l, h)
			}
		} else if len(got) != 0 {
			rt.Fatal("points from nothing")
		}
	})
}

func extremes(ps []dedup.Point) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, p := range ps {
		lo, hi = min(lo, p.Value), max(hi, p.Value)
	}
	return lo, hi
}

func TestSplitCutsAtGapsAndAtValuesThatAreNotFinite(t *testing.T) {
	ps := func(ns ...int) (out []dedup.Point) {
		for _, n := range ns {
			out = append(out, dedup.Point{At: round(n), Value: float64(n)})
		}
		return out
	}
	broken := append(ps(0, 1), dedup.Point{At: round(2), Value: math.NaN()})
	broken = append(broken, ps(3, 4)...)
	for name, test := range map[string]struct {
		in   []dedup.Point
		want []int
	}{
		"nothing":                        {nil, nil},
		"an unbroken line":               {ps(0, 1, 2), []int{3}},
		"a gap":                          {ps(0, 1, 5, 6, 7), []int{2, 3}},
		"single points":                  {ps(0, 5, 10), []int{1, 1, 1}},
		"a value that is not a number":   {broken, []int{2, 2}},
		"only values that are not known": {[]dedup.Point{{At: start, Value: math.NaN()}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Split(test.in, interval)
			if len(got) != len(test.want) {
				t.Fatalf("got %d parts, want %d", len(got), len(test.want))
			}
			for i, part := range got {
				if len(part) != test.want[i] {
					t.Errorf("part %d has %d points, want %d", i, len(part), test.want[i])
				}
			}
		})
	}
}
