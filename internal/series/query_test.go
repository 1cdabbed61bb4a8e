package series

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

var hostile = []string{
	`"} or vector(1) #`, `a\`, "`", "a\nb\x00", "\u202egnp.exe", "\xff\xfe", "<script>", "日本語", `{{`, "$1", " ", "a,b=c",
}

// selector selects the series of a metric whose label has a value.
func selector(metric, label, value string) string {
	return metric + "{" + label + "=" + Quote(value) + "}"
}

func TestHostileLabelValuesComeBackAsTheyWere(t *testing.T) {
	db := openDB(t, tempDir(t))
	for i, v := range hostile {
		mustAppend(t, db, start, Sample{Name: DeadLetters, Labels: map[string]string{"queue": v}, Value: float64(i)})
	}
	for i, v := range hostile {
		vs, err := db.Query(t.Context(), selector(DeadLetters, "queue", v), start)
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
		vs, err := db.Query(t.Context(), selector(Markers, "state", v), start.Add(time.Duration(n)*time.Millisecond))
		if err != nil || len(vs) != 1 || vs[0].Value != float64(n) {
			rt.Fatalf("%q: %+v, %v", v, vs, err)
		}
	})
}

func FuzzAQuotedValueIsAlwaysOneValue(f *testing.F) {
	for _, v := range hostile {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value string) {
		expr := selector("dedup_markers", "state", value)
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
