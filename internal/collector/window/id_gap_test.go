package window

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestTheIDGapIsTheRateWhereNothingIsReported(t *testing.T) {
	s := tableGap(nil)
	p := &Pipeline{Store: &Store{}, Traffic: Traffic{Loss: &sample.LossMeter{}}}
	before := s.From // else nobody knows what was left undone before
	before.At = before.At.Add(-rate.UndoneReach)
	for _, counted := range []dedup.InsertStats{before, s.From, s.To} {
		p.Store.Inserts.Add(&counted)
	}
	v := View{Now: tableNow, Scheme: s.Scheme, Stats: dedup.StoreStats{Health: dedup.StoreHealth{Version: s.Server}}}
	window := func(reported rate.ReportedResult) dedup.WindowFigures {
		gap := p.idGap(v).figures(time.Hour)
		out := figure.UnknownWindow(time.Hour, "no source of this pipeline tells")
		out.Messages, out.Duplicates = reported.Messages, reported.Duplicates
		out.Estimates = []dedup.Estimate{{Method: dedup.MethodReported, Rate: reported.Rate}, {Method: dedup.MethodIDGap, Rate: gap.Rate}}
		figure.Choose(&out)
		p.explain(&out, v, figure.Explanation{Gap: gap, Reported: reported})
		return out
	}
	silent := rate.Unreported(time.Hour, "consumers report no counters")
	if out := window(silent); out.DuplicateRate.Value != 0.015 || out.Duplicates.Value != 150 || out.Messages.Known() || !out.WorkMean.Known() {
		t.Errorf("nothing reported: %+v", out)
	}
	telling := silent
	telling.Rate = dedup.Exact(dedup.Measured, dedup.Ratio, 0.02, tableNow, rate.ReportedSource)
	if out := window(telling); out.DuplicateRate.Value != 0.02 || out.CrossCheck.Value != 0.015 || out.Messages.Known() {
		t.Errorf("what is reported gave way: %+v", out.DuplicateRate)
	}
	p.Partner = "invoices"
	out := window(silent)
	if why := out.DuplicateRate.Why; out.DuplicateRate.Known() || !strings.Contains(why, "consumers report no counters; ") || !strings.Contains(why, "shared with pipeline invoices") {
		t.Errorf("shared: %q", why)
	}
	p.Store = &Store{}
	if out := window(silent); out.DuplicateRate.Why != "consumers report no counters" {
		t.Errorf("a store without inserts: %+v", out.DuplicateRate)
	}
}

// While the store is down nothing is read, but consumers go on: what they inserted meanwhile is of no short window.
func TestTheIDGapNeverCountsMoreThanItsWindow(t *testing.T) {
	at := func(after time.Duration, ids int64) *dedup.InsertStats {
		return &dedup.InsertStats{At: tableNow.Add(after), Epoch: 1, IDs: ids, Rows: ids * 4 / 5, Done: ids * 4 / 5}
	}
	readings := []*dedup.InsertStats{at(-2*time.Hour, 100), at(-2*time.Hour+15*time.Second, 200)}
	watch := &Store{}
	figure := func(w time.Duration, now time.Time) dedup.Figure {
		v := View{Now: now, Scheme: tableScheme(), Stats: dedup.StoreStats{Health: dedup.StoreHealth{Version: "MariaDB 10.11.19"}}}
		return (&Pipeline{Store: watch}).idGap(v).figures(w).Messages
	}
	for _, s := range append(readings, at(0, 50_200)) {
		watch.Inserts.Add(s)
	}
	if f := figure(5*time.Minute, tableNow); f.Known() || !strings.Contains(f.Why, "fewer than two counts") {
		t.Errorf("of two hours: %+v", f)
	}
	if f := figure(24*time.Hour, tableNow); f.Value != 50_100 || f.Covered != 2*time.Hour {
		t.Errorf("of the day: %+v", f)
	}
	watch.Inserts.Add(at(15*time.Second, 50_300))
	if f := figure(5*time.Minute, tableNow.Add(15*time.Second)); f.Value != 100 || f.Covered != 15*time.Second {
		t.Errorf("after the outage: %+v", f)
	}
}

func TestTheSpanOfTheIDGapIsAtMostTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		watch, now := &Store{}, tableNow
		for _, seconds := range rapid.SliceOfN(rapid.IntRange(1, 7200), 1, 100).Draw(t, "pauses") {
			now = now.Add(time.Duration(seconds) * time.Second)
			ids := int64(now.Sub(tableNow) / time.Second)
			watch.Inserts.Add(&dedup.InsertStats{At: now, Epoch: 1, IDs: ids, Rows: ids, Done: ids})
		}
		w := time.Duration(rapid.IntRange(60, 86_400).Draw(t, "window")) * time.Second
		v := View{Now: now, Scheme: tableScheme(), Stats: dedup.StoreStats{Health: dedup.StoreHealth{Version: "MariaDB 10.11.19"}}}
		f := (&Pipeline{Store: watch}).idGap(v).figures(w).Messages
		// One insert a second: the messages are the seconds that they came in.
		if f.Known() && (f.Covered > w || f.Covered <= 0 || f.Value != f.Covered.Seconds()) {
			t.Fatalf("%s cover %s with %g messages", w, f.Covered, f.Value)
		}
	})
}

var tableNow = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

func tableScheme() dedup.Scheme {
	return dedup.Scheme{Preset: "sql-status-code", Mark: "before", OnInFlight: "ack", OnFail: "ack", OnFailed: "ack", InsertFirst: true}
}

// tableGap is an hour of inserts that end a minute ago.
func tableGap(change func(*rate.IDGap)) rate.IDGap {
	s := rate.IDGap{Window: time.Hour, Scheme: tableScheme(), Server: "MariaDB 10.11.19", Now: tableNow,
		From: dedup.InsertStats{At: tableNow.Add(-61 * time.Minute), Epoch: 1, IDs: 100, Rows: 90, Done: 90},
		To: dedup.InsertStats{At: tableNow.Add(-time.Minute), Epoch: 1, IDs: 10_100, Rows: 9_940, Done: 9_940, Timed: 9_850,
			WorkSum: 985 * time.Second, Resolution: time.Second}}
	s.Reach, s.Back = s.From, rate.UnboundedReturns()
	if change != nil {
		change(&s)
	}
	return s
}
