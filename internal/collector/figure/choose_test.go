package figure

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

func TestTheBestValidSourceIsShownAndTheNextIsItsCrossCheck(t *testing.T) {
	rate := func(q dedup.Quality, source string, low, high float64) dedup.Figure {
		return dedup.Figure{Quality: q, Unit: dedup.Ratio, Value: low, Low: low, High: high, N: 1000, Hits: 1000 * low, Source: source}
	}
	no := func(why, better string) dedup.Figure {
		f := dedup.Unknown(dedup.Ratio, why)
		f.Better = better
		return f
	}
	wide := rate(dedup.QualityUnknown, "wide", 0.01, 0.06)
	wide.Why, wide.Better = "the interval is too wide", "report"
	wider := rate(dedup.QualityUnknown, "wider", 0, 0.2)
	wider.Why, wider.Better = "wider still", "report"
	events, res := rate(dedup.Measured, "events", 0.02, 0.021), rate(dedup.Derived, "residual", 0.01, 0.025)
	bound, higher := rate(dedup.Derived, "bound", 0, 0.012), rate(dedup.Derived, "higher", 0, 0.07)
	guess := rate(dedup.Estimated, "guess", 0.5, 0.5)
	tests := map[string]struct {
		estimates   []dedup.Figure // by rank
		rate, cross string         // source, or the reason when unknown
		duplicates  float64
	}{
		"all are valid":                     {[]dedup.Figure{rate(dedup.Measured, "reported", 0.015, 0.015), no("no recipe", ""), no("no table", ""), no("no hits", ""), no("no live counts", ""), events, res}, "reported", "events", 0},
		"nobody reports":                    {[]dedup.Figure{no("nobody reports", "report"), no("no recipe", ""), no("no table", ""), no("no hits", ""), no("no live counts", ""), events, res}, "events", "residual", 20},
		"only the residual is narrow":       {[]dedup.Figure{no("nobody reports", "report"), no("no recipe", ""), no("no table", ""), no("no hits", ""), no("no live counts", ""), no("events are off", "on"), res}, "residual", "nobody reports; events are off", 10},
		"the narrowest is shown":            {[]dedup.Figure{no("nobody reports", "report"), no("no recipe", ""), no("no table", ""), rate(dedup.Derived, "hits", 0.02, 0.0202), no("no live counts", ""), events, res}, "hits", "events", 20},
		"the first of two that are as wide": {[]dedup.Figure{no("nobody reports", "report"), no("no recipe", ""), rate(dedup.Measured, "gap", 0.02, 0.0202), rate(dedup.Derived, "hits", 0.02, 0.0202), no("no live counts", ""), events, res}, "gap", "hits", 20},
		"an estimate is neither":            {[]dedup.Figure{guess, no("no recipe", ""), no("no table", ""), no("no hits", ""), no("no live counts", ""), no("events are off", "on"), res}, "residual", "events are off", 10},
		"none is valid, the narrower stays": {[]dedup.Figure{no("nobody reports", "report"), no("no recipe", ""), no("no table", ""), no("no hits", ""), no("no live counts", ""), wider, wide}, "nobody reports; by the wider: wider still; by the wide: the interval is too wide", "no second source", 0},
		"a bound gives way to an interval":  {[]dedup.Figure{no("nobody reports", "report"), no("no recipe", ""), no("no table", ""), wider, higher, wide, no("no pass", "")}, "nobody reports; by the wider: wider still; by the wide: the interval is too wide", "no second source", 0},
		"a bound below all of an interval":  {[]dedup.Figure{no("nobody reports", "report"), no("no recipe", ""), no("no table", ""), wider, bound, wide, no("no pass", "")}, "bound", "nobody reports; by the wider: wider still; by the wide: the interval is too wide", 0},
		"none says anything":                {[]dedup.Figure{no("nobody reports", "report"), no("no recipe", ""), no("no table", ""), no("no hits", ""), no("no live counts", ""), no("events are off", "on"), no("no pass", "report")}, "nobody reports; events are off; no pass", "no second source", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out := UnknownWindow(15*time.Minute, "nothing")
			for i, m := range dedup.Methods() {
				out.Estimates = append(out.Estimates, dedup.Estimate{Method: m, Rate: tt.estimates[i]})
			}
			Choose(&out)
			for what, f := range map[string][2]string{
				"rate":        {word(out.DuplicateRate), tt.rate},
				"cross-check": {word(out.CrossCheck), tt.cross},
			} {
				if f[0] != f[1] {
					t.Errorf("%s: %q, want %q", what, f[0], f[1])
				}
			}
			if out.Duplicates.Value != tt.duplicates {
				t.Errorf("%v duplicates, want %v", out.Duplicates.Value, tt.duplicates)
			}
			if !out.DuplicateRate.Known() && out.DuplicateRate.N > 0 && (out.DuplicateRate.Low != 0.01 || out.DuplicateRate.High != 0.06) {
				t.Errorf("the interval shown is %v", out.DuplicateRate)
			}
		})
	}
}

// TestANarrowRateOfThePresentIsShownInPlaceOfAnOlderOne, which may be narrower still.
func TestANarrowRateOfThePresentIsShownInPlaceOfAnOlderOne(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	rate := func(source string, q dedup.Quality, age time.Duration, low, high float64) dedup.Figure {
		return dedup.Figure{Quality: q, Unit: dedup.Ratio, Value: (low + high) / 2, Low: low, High: high, N: 3000, Source: source, At: now.Add(-age)}
	}
	bound := rate("live", dedup.Derived, 2*time.Second, 0, 0.001)
	bound.Value = 0
	for name, tt := range map[string]struct {
		hits, live, events dedup.Figure
		want               string
	}{
		"narrow, and well after the other": {rate("hits", dedup.Derived, 4*time.Second, 0, 0.01), rate("live", dedup.Derived, 2*time.Second, 0.0295, 0.031), rate("events", dedup.Measured, 17*time.Second, 0.03, 0.03), "live"},
		"the narrowest of two":             {rate("hits", dedup.Derived, 4*time.Second, 0.0297, 0.0304), rate("live", dedup.Derived, 2*time.Second, 0.0295, 0.031), rate("events", dedup.Measured, 17*time.Second, 0.03, 0.03), "hits"},
		"hardly newer":                     {rate("hits", dedup.Derived, 4*time.Second, 0, 0.01), rate("live", dedup.Derived, 2*time.Second, 0.0295, 0.031), rate("events", dedup.Measured, 12*time.Second, 0.03, 0.03), "events"},
		"wide":                             {rate("hits", dedup.Derived, 4*time.Second, 0, 0.01), rate("live", dedup.Derived, 2*time.Second, 0.0285, 0.032), rate("events", dedup.Measured, 17*time.Second, 0.03, 0.03), "events"},
		"a bound alone":                    {rate("hits", dedup.Derived, 4*time.Second, 0, 0.01), bound, rate("events", dedup.Measured, 17*time.Second, 0, 0), "events"},
		"a model":                          {rate("hits", dedup.Derived, 4*time.Second, 0, 0.01), rate("live", dedup.Estimated, 2*time.Second, 0.0295, 0.031), rate("events", dedup.Measured, 17*time.Second, 0.03, 0.03), "events"},
	} {
		out := UnknownWindow(5*time.Minute, "nothing")
		out.Estimates = []dedup.Estimate{{Method: dedup.MethodStoreHits, Rate: tt.hits}, {Method: dedup.MethodLive, Rate: tt.live}, {Method: dedup.MethodStoreEvents, Rate: tt.events}}
		if Choose(&out); out.DuplicateRate.Source != tt.want || out.CrossCheck.Source == tt.want {
			t.Errorf("%s: %s is shown and %s its cross-check, want %s", name, out.DuplicateRate.Source, out.CrossCheck.Source, tt.want)
		}
		out.Estimates = []dedup.Estimate{{Method: dedup.MethodReported, Rate: rate("reported", dedup.Measured, time.Minute, 0.02, 0.02)}, {Method: dedup.MethodLive, Rate: tt.live}}
		if Choose(&out); out.DuplicateRate.Source != "reported" {
			t.Errorf("%s: %s is shown in place of what consumers report", name, out.DuplicateRate.Source)
		}
	}
}

// TestARateOfFewMomentsTakesNoPlaceOfOneOfTheWholeWindow: live counts that have just begun, or began anew, know some messages of it.
func TestARateOfFewMomentsTakesNoPlaceOfOneOfTheWholeWindow(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	whole := dedup.Figure{Quality: dedup.Derived, Unit: dedup.Ratio, Value: 0.04, Low: 0.0395, High: 0.0405, N: 10_000, Source: "events", Window: 15 * time.Minute, Covered: 15 * time.Minute, At: now.Add(-17 * time.Second)}
	few := dedup.Figure{Quality: dedup.Derived, Unit: dedup.Ratio, Value: 0.3, Low: 0, High: 1, N: 3, Source: "live", Window: 15 * time.Minute, Covered: 20 * time.Second, At: now}
	out := UnknownWindow(15*time.Minute, "nothing")
	out.Estimates = []dedup.Estimate{{Method: dedup.MethodLive, Rate: few}, {Method: dedup.MethodStoreEvents, Rate: whole}}
	if Choose(&out); out.DuplicateRate.Source != "events" {
		t.Errorf("of 10,000 messages 3.95 %% to 4.05 %% were duplicates, and shown is %v of %v messages", out.DuplicateRate, out.DuplicateRate.N)
	}
}

func TestARateWithinBoundsGivesTheDuplicatesTheirs(t *testing.T) {
	out := UnknownWindow(time.Hour, "nobody tells")
	out.Estimates = []dedup.Estimate{{Method: dedup.MethodResidual, Rate: dedup.Figure{Unit: dedup.Ratio, Low: 0.01, High: 0.05, N: 2000, Why: "too wide", Better: "x"}}}
	Choose(&out)
	if f := out.Duplicates; f.Known() || f.Low != 20 || f.High != 100 || f.N != 2000 {
		t.Errorf("duplicates %+v, want unknown between 20 and 100", f)
	}
}

// TestFiguresKeepOneMeaningWhateverTheirSource: messages are the acked ones of the window, of which an id gap may count a part alone.
func TestFiguresKeepOneMeaningWhateverTheirSource(t *testing.T) {
	minute := func(n float64, covered time.Duration) dedup.Figure {
		f := dedup.Exact(dedup.Measured, dedup.Count, n, time.Time{}, "a source")
		f.Window, f.Covered = 5*time.Minute, covered
		return f
	}
	acks := minute(4532, 5*time.Minute)
	if d := OfPart(minute(20, 40*time.Second), acks); !d.AtLeast || d.Value != 20 || d.High != 20 || !strings.Contains(d.Why, "only 40 s of the window") {
		t.Errorf("%+v", d)
	}
	if d := OfPart(minute(20, 4*time.Minute), acks); d.AtLeast || d.Why != "" {
		t.Errorf("%+v", d)
	}
	live := rate.LiveResult{Told: true, Residual: estimate.Residual{Acked: 4600}, Rate: dedup.Figure{Covered: 5 * time.Minute}}
	none := dedup.Unknown(dedup.Count, "the broker gives no counters")
	for name, tt := range map[string]struct {
		live       rate.LiveResult
		acks, rows dedup.Figure
		want       float64
	}{
		"live counts lose no ack":                    {live, acks, minute(687, 40*time.Second), 4600},
		"live counts that have just begun":           {rate.LiveResult{Told: true, Residual: estimate.Residual{Acked: 9}, Rate: dedup.Figure{Covered: time.Second}}, acks, none, 4532},
		"the broker's acks, not the rows of a part":  {rate.LiveResult{}, acks, minute(687, 40*time.Second), 4532},
		"rows where the broker tells nothing at all": {rate.LiveResult{}, none, minute(687, 40*time.Second), 687},
	} {
		if f := Messages(tt.live, tt.acks, tt.rows); f.Value != tt.want || !f.Known() || f.Unit != dedup.Count {
			t.Errorf("%s: %+v", name, f)
		}
	}
	estimates := []dedup.Estimate{{Rate: dedup.Figure{Hits: 29.9999999, N: 1000.4}}, {Rate: dedup.Figure{Hits: 2.7, N: 52.5}}}
	WholeCounts(estimates)
	if a, b := estimates[0].Rate, estimates[1].Rate; a.Hits != 30 || a.N != 1000 || b.Hits != 2 || b.N != 53 {
		t.Errorf("%v of %v, %v of %v", a.Hits, a.N, b.Hits, b.N)
	}
}

func word(f dedup.Figure) string {
	if f.Known() {
		return f.Source
	}
	return f.Why
}
