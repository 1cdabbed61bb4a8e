package figure

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestFailedRowsAreShownAsFailures(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	pass := func(failed, done, undated int64) *dedup.Pass {
		p := &dedup.Pass{Started: now, Ended: now, UndatedFailures: undated, ClockOffset: time.Hour}
		for i := range failed {
			p.FailedAt.Add(now.Add(time.Hour - time.Duration(1+i)*time.Second))
		}
		for range done {
			p.Completions.Add(now.Add(time.Hour - time.Minute))
		}
		p.FailedAt.Add(now.Add(time.Hour - 20*time.Minute)) // before the window
		p.FailedAt.Freeze()
		p.Completions.Freeze()
		return p
	}
	base := dedup.Scheme{Kind: "sql-table", Mark: "before", OnInFlight: "ack", OnFailed: "ack", OnFail: "ack", States: []dedup.State{dedup.Processing, dedup.Done, dedup.Failed}}
	with := func(change func(*dedup.Scheme)) dedup.Scheme { s := base; change(&s); return s }
	for name, c := range map[string]struct {
		scheme  dedup.Scheme
		pass    *dedup.Pass
		partner string
		// failed is the number, rate its share of 100; -1 where nothing is known.
		failed, rate float64
		atLeast      bool
		why          string
	}{
		"each leaves its row":                         {base, pass(72, 28, 0), "", 72, 72, false, ""},
		"each is kept, and its message dead-lettered": {with(func(s *dedup.Scheme) { s.OnFail = "keep" }), pass(88, 12, 0), "", 88, 88, false, ""},
		"none has failed":                             {base, pass(0, 100, 0), "", 0, 0, false, ""},
		"nothing ended":                               {base, pass(0, 0, 0), "", 0, -1, false, ""},
		"some are taken again":                        {with(func(s *dedup.Scheme) { s.OnFailed = "run" }), pass(72, 28, 0), "", 72, -1, true, "take failed rows again"},
		"some have no time":                           {base, pass(72, 28, 3), "", 72, -1, true, "3 failed rows have no time"},
		"most are rolled back, and a few rows stand all the same": {with(func(s *dedup.Scheme) { s.OnFail = "delete" }), pass(2, 98, 0), "", 2, -1, true, "takes its row away"},
		"each is rolled back":         {with(func(s *dedup.Scheme) { s.OnFail = "delete" }), pass(0, 100, 0), "", -1, -1, false, "takes its row away"},
		"rows of two pipelines":       {base, pass(72, 28, 0), "other\x1b", -1, -1, false, "shared with pipeline other"},
		"no pass yet":                 {base, nil, "", -1, -1, false, "no source"},
		"rows that know no failure":   {with(func(s *dedup.Scheme) { s.States = s.States[:2] }), pass(72, 28, 0), "", -1, -1, false, "no source"},
		"rows of the business itself": {with(func(s *dedup.Scheme) { s.Business = true }), pass(72, 28, 0), "", -1, -1, false, "no source"},
	} {
		t.Run(name, func(t *testing.T) {
			out := UnknownWindow(15*time.Minute, "no source of this pipeline tells")
			x := Explanation{Now: now, Scheme: c.scheme, Stats: dedup.StoreStats{Pass: c.pass}, Vouched: now.Add(-time.Hour), Partner: c.partner}
			x.failedRows(&out)
			f, r := out.Failures, out.FailureRate
			if f.Known() != (c.failed >= 0) || f.Known() && (f.Value != c.failed || f.AtLeast != c.atLeast || f.Source != FailedRowsSource || f.Covered != 15*time.Minute) {
				t.Errorf("failures %+v, want %g", f, c.failed)
			}
			if r.Known() != (c.rate >= 0) || r.Known() && (100*r.Value < c.rate-0.01 || 100*r.Value > c.rate+0.01) {
				t.Errorf("rate %+v, want %g %%", r, c.rate)
			}
			if !strings.Contains(f.Why, c.why) || strings.Contains(f.Why, "\x1b") {
				t.Errorf("why %q, want %q", f.Why, c.why)
			}
		})
	}
}

func TestReportedFailuresStandBeforeFailedRows(t *testing.T) {
	out := UnknownWindow(time.Minute, "")
	out.Failures = dedup.Exact(dedup.Measured, dedup.Count, 7, time.Unix(1_800_000_000, 0), "reported")
	x := Explanation{Now: time.Unix(1_800_000_000, 0), Scheme: dedup.Scheme{Kind: "sql-table", States: []dedup.State{dedup.Failed}}, Stats: dedup.StoreStats{Pass: &dedup.Pass{Started: time.Unix(1_800_000_000, 0)}}}
	if x.failedRows(&out); out.Failures.Value != 7 || out.Failures.Source != "reported" {
		t.Errorf("%+v", out.Failures)
	}
}
