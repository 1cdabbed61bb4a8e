package series

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestOneRefusedSampleDoesNotTakeTheOthersWithIt(t *testing.T) {
	for name, bad := range map[string]Sample{
		"not a metric name":     sample("dedup rate", 1),
		"no name":               sample("", 1),
		"not a label name":      sample(Markers, 1, "a-b=c"),
		"the reserved label":    sample(Markers, 1, "__name__=x"),
		"a label of a megabyte": sample(Markers, 1, "state="+strings.Repeat("x", 1<<20)),
		"not a number":          sample(Markers, math.NaN()),
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t, tempDir(t))
			err := db.Append(t.Context(), start, []Sample{sample(StoreKeys, 1, "pipeline=before"), bad, sample(StoreKeys, 2, "pipeline=after")})
			if err == nil || !strings.Contains(err.Error(), "1 of 3") || len(err.Error()) > 500 {
				t.Errorf("want a short error that counts one of three, got %v", err)
			}
			if db.Err() == nil {
				t.Error("Err is silent")
			}
			wantValue(t, db, selector(StoreKeys, "pipeline", "before"), start, 1)
			wantValue(t, db, selector(StoreKeys, "pipeline", "after"), start, 2)
			mustAppend(t, db, round(1), sample(StoreKeys, 3))
			if err := db.Err(); err != nil {
				t.Errorf("Err after a good round: %v", err)
			}
		})
	}
}

func TestASecondRoundAtTheSameTimeIsRefusedWhereItDiffers(t *testing.T) {
	db := openDB(t, tempDir(t))
	mustAppend(t, db, start, sample(StoreKeys, 1, "pipeline=a"), sample(StoreKeys, 2, "pipeline=b"))
	err := db.Append(t.Context(), start, []Sample{
		sample(StoreKeys, 1, "pipeline=a"), sample(StoreKeys, 99, "pipeline=b"), sample(StoreKeys, 3, "pipeline=c"),
	})
	if err == nil || !strings.Contains(err.Error(), "1 of 3") {
		t.Errorf("want one of three refused, got %v", err)
	}
	for pipeline, want := range map[string]float64{"a": 1, "b": 2, "c": 3} {
		wantValue(t, db, selector(StoreKeys, "pipeline", pipeline), start, want)
	}
}

func TestSamplesAreKeptWhenTheClockStepsBack(t *testing.T) {
	db := openDB(t, tempDir(t))
	for n := range 2 * 240 { // two hours
		mustAppend(t, db, round(n), sample(BrokerAcks, float64(n)))
	}
	now := round(479)
	step := now.Add(-time.Hour).Add(7 * time.Second)
	for n := range 40 { // ten minutes on the new clock
		mustAppend(t, db, step.Add(time.Duration(n)*interval), sample(BrokerAcks, 1000+float64(n)))
	}
	newest := step.Add(39 * interval)
	wantValue(t, db, BrokerAcks, newest, 1039)

	// The counter had 1000 at the step and gained 20 in the last five minutes, even at the instants when the newest
	// stored sample is one from before the step.
	for _, at := range []time.Time{newest, newest.Add(10 * time.Second)} {
		cs, err := db.Changes(t.Context(), BrokerAcks, at, 5*time.Minute)
		if err != nil || len(cs) != 1 || cs[0].Delta != 20 {
			t.Errorf("changes at %s: %+v, %v", at, cs, err)
		}
	}
	if vs, err := db.Last(t.Context(), BrokerAcks); err != nil || len(vs) != 1 || vs[0].Value != 1039 {
		t.Errorf("last: %+v, %v; want the counter where it was, so that it never falls", vs, err)
	}

	err := db.Append(t.Context(), now.Add(-2*time.Hour-time.Minute), []Sample{sample(BrokerAcks, 2000)})
	if !errors.Is(err, ErrTooOld) || !strings.Contains(err.Error(), "clock") {
		t.Errorf("beyond the window: %v", err)
	}
}

func TestAStaleSeriesHasNoValueUntilItIsBack(t *testing.T) {
	db := openDB(t, tempDir(t))
	up := sample(SourceUp, 1, "source=store orders")
	mustAppend(t, db, round(0), up)
	if err := db.MarkStale(t.Context(), round(1), []Sample{up, sample(SourceUp, 1, "source=never seen")}); err != nil {
		t.Fatal(err)
	}
	wantValue(t, db, SourceUp, round(0), 1)
	wantNone(t, db, SourceUp, round(1))
	wantNone(t, db, SourceUp, round(2))
	mustAppend(t, db, round(3), up)
	wantValue(t, db, SourceUp, round(3), 1)

	lines, err := db.QueryRange(t.Context(), SourceUp, round(0), round(3), interval)
	if err != nil || len(lines) != 1 || len(lines[0].Points) != 2 {
		t.Fatalf("want one line of two points around the gap, got %+v, %v", lines, err)
	}
	if s := db.Status(); s.Series != 1 {
		t.Errorf("a stale marker made a series: %d", s.Series)
	}
}

func TestAValueIsCurrentForFourIntervals(t *testing.T) {
	db := openDB(t, tempDir(t))
	mustAppend(t, db, round(0), sample(StoreKeys, 5))
	wantValue(t, db, StoreKeys, round(4).Add(-time.Millisecond), 5)
	wantNone(t, db, StoreKeys, round(4))
}
