package rate

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

var gapNow = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

func statusScheme() dedup.Scheme {
	return dedup.Scheme{Preset: "sql-status-code", Mark: "before", OnInFlight: "ack", OnFail: "ack", OnFailed: "ack", InsertFirst: true}
}

// gapSample is an hour of inserts that end a minute ago.
func gapSample(change func(*IDGap)) IDGap {
	s := IDGap{Window: time.Hour, Scheme: statusScheme(), Server: "MariaDB 10.11.19", Now: gapNow,
		From: dedup.InsertStats{At: gapNow.Add(-61 * time.Minute), Epoch: 1, IDs: 100, Rows: 90, Done: 90},
		To: dedup.InsertStats{At: gapNow.Add(-time.Minute), Epoch: 1, IDs: 10_100, Rows: 9_940, Done: 9_940, Timed: 9_850,
			WorkSum: 985 * time.Second, Resolution: time.Second}}
	s.Reach, s.Back = s.From, UnboundedReturns()
	if change != nil {
		change(&s)
	}
	return s
}

func TestTheIDGapCountsBurnedIDs(t *testing.T) {
	undone := func(failed, stuck int64) func(*IDGap) {
		return func(s *IDGap) {
			s.To.Done -= failed + stuck
			s.To.Undone, s.To.Failed = failed+stuck, failed
		}
	}
	for _, c := range []struct {
		name            string
		change          func(*IDGap)
		low, high, of   float64
		quality         dedup.Quality
		swallowed, lost float64
		why             string
	}{
		{"exactly where all work was done", nil, 150, 150, 10_000, dedup.Measured, 0, 0, ""},
		{"as derived where nobody proved it", func(s *IDGap) { s.Server = "MySQL 8.0.40" }, 150, 150, 10_000, dedup.Derived, 0, 0, ""},
		// r = 150 / 9850; 100 · r = 1.52, and 3 · √(1.52 + 1) = 4.76 on top.
		{"less those that met failed rows", undone(100, 0), 143.713, 150, 10_000, dedup.Measured, 6.287, 100, ""},
		{"less those that met what was abandoned", undone(0, 20), 126.269, 150, 9_980, dedup.Derived, 23.731, 0, ""},
		// They went to a dead-letter queue and never came back: 198 · r = 3.02, and 3 · √(3.02 + 1) on top.
		{"less those that met rejected rows, as many as can have come back", func(s *IDGap) {
			undone(198, 0)(s)
			s.Scheme.OnFail, s.Back.All = "keep", 0
		}, 140.973, 150, 9_802, dedup.Measured, 9.027, 0, ""},
		{"less those that met rejected rows, and those that were sent from the dead-letter queue", func(s *IDGap) {
			undone(198, 0)(s)
			s.Scheme.OnFail, s.Back.All = "keep", 50
		}, 90.973, 150, 9_802, dedup.Derived, 59.027, 0, ""},
		// The dead-letter queues tell nothing before the window; of it live counts tell 20 redeliveries, and 5 letters were taken out.
		{"less those that met rejected rows, as many as live counts show", func(s *IDGap) {
			undone(198, 0)(s)
			s.Scheme.OnFail, s.Back.Redelivered, s.Back.Taken = "keep", 20, 5
		}, 115.973, 150, 9_802, dedup.Derived, 34.027, 0, ""},
		{"as wide as the rows where letters may go on their own way", func(s *IDGap) {
			undone(0, 20)(s)
			s.Back.Redelivered = 0
		}, 126.269, 150, 9_980, dedup.Derived, 23.731, 0, ""},
		{"less letters of rows that failed long ago", func(s *IDGap) {
			undone(0, 20)(s)
			s.Back.Taken = 7
		}, 119.269, 150, 9_980, dedup.Derived, 30.731, 0, ""},
		{"less letters that were taken out where nothing failed lately", func(s *IDGap) {
			undone(0, 0)(s)
			s.Back.Taken = 7
		}, 140, 150, 10_000, dedup.Measured, 10, 0, ""},
		{"not where too much was abandoned", undone(0, 300), 0, 150, 9_700, dedup.Derived, 150, 0, ""},
		{"and rows that were left undone just before the window", func(s *IDGap) { s.From.Undone, s.To.Undone = 20, 20; s.From.Done -= 20; s.To.Done -= 20 },
			126.269, 150, 10_000, dedup.Derived, 23.731, 0, ""},
		{"at most where failures leave no row", func(s *IDGap) { s.To.Lower, s.Scheme.OnFail = true, "delete" }, 0, 150, 10_000, dedup.Derived, 0, 0, "at most"},
		{"at most where ids of others may have found rows", func(s *IDGap) { s.Conflated = "ids differ in case alone" }, 0, 150, 10_000, dedup.Derived, 150, 0, "at most: ids differ in case alone"},
		{"and cannot tell where those may be many", func(s *IDGap) { s.Conflated = "ids differ in case alone"; s.To.Rows -= 400; s.To.Done -= 400 },
			0, 550, 10_000, dedup.QualityUnknown, 550, 0, "between 0.00 % and 5.50 %"},
		{"and cannot tell where the bounds are wide", func(s *IDGap) { s.To.Lower = true; s.To.Rows -= 400 }, 0, 550, 10_000, dedup.QualityUnknown, 0, 0, "at most 5.50 %"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := gapSample(c.change).Estimate()
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 0.01 {
					t.Errorf("%s %g, want %g", what, got, want)
				}
			}
			near("low", r.Rate.Low*c.of, c.low)
			near("high", r.Rate.High*c.of, c.high)
			near("swallowed", r.Swallowed.High, c.swallowed)
			near("lost", r.Lost.Value, c.lost)
			if r.Rate.Quality != c.quality || !strings.Contains(r.Rate.Why, c.why) || r.Rate.Covered != time.Hour || !r.Rate.At.Equal(gapNow.Add(-time.Minute)) {
				t.Errorf("rate %+v", r.Rate)
			}
		})
	}
}

func TestTheIDGapIsRefusedInWords(t *testing.T) {
	for words, change := range map[string]func(*IDGap){
		"rows were deleted":                  func(s *IDGap) { s.Why = "rows were deleted in the window" },
		"do not begin each delivery":         func(s *IDGap) { s.Scheme.InsertFirst = false },
		"each return burns an id":            func(s *IDGap) { s.Scheme.OnInFlight = "nack" },
		"do not ack deliveries that meet":    func(s *IDGap) { s.Scheme.OnFailed = "run" },
		"not counted for long enough":        func(s *IDGap) { s.From = s.To },
		"further apart than the window":      func(s *IDGap) { s.From.At = s.From.At.Add(-time.Second) },
		"could not be counted since":         func(s *IDGap) { s.Now = s.To.At.Add(2 * time.Hour) },
		"inserted with ids of their own":     func(s *IDGap) { s.To.Rows += 1000 },
		"nothing was inserted in the window": func(s *IDGap) { s.To.IDs, s.To.Rows = s.From.IDs, s.From.Rows },
		"no message was acked":               func(s *IDGap) { s.To.Done, s.To.IDs = s.From.Done, s.From.IDs+s.To.Rows-s.From.Rows },
	} {
		r := gapSample(change).Estimate()
		if r.Rate.Known() || r.Messages.Known() || r.Duplicates.Known() || r.Swallowed.Known() || r.Work.Known() || !strings.Contains(r.Rate.Why, words) || r.Rate.Better == "" {
			t.Errorf("want %q: %+v", words, r.Rate)
		}
	}
}

// TestTheMeanOfWholeSecondsHoldsTheTruthInStepWithTheClock: rows that begin in step with it cross its seconds always or never.
func TestTheMeanOfWholeSecondsHoldsTheTruthInStepWithTheClock(t *testing.T) {
	for _, gap := range []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 333 * time.Millisecond, time.Second, 1700 * time.Millisecond} {
		for work := time.Millisecond; work < 3*time.Second; work = work*3/2 + time.Millisecond {
			for phase := time.Duration(0); phase < gap; phase += gap/7 + 1 {
				for _, burst := range []int64{1, 20} {
					var n int64
					var sum time.Duration
					for at := phase; at < time.Minute; at += gap {
						n, sum = n+burst, sum+time.Duration(burst)*((at+work).Truncate(time.Second)-at.Truncate(time.Second))
					}
					if sum == 0 {
						continue // refused
					}
					f := gapSample(func(s *IDGap) {
						s.Window, s.From.At = time.Hour, s.To.At.Add(-time.Minute)
						s.From.Timed, s.From.WorkSum, s.To.Timed, s.To.WorkSum = 0, 0, n, sum
					}).Estimate().
						Work
					if truth := work.Seconds(); !f.IsInterval() || truth < f.Low || truth > f.High {
						t.Errorf("%d each %v, work of %v, phase %v: %v to %v", burst, gap, work, phase, f.Low, f.High)
					}
				}
			}
		}
	}
}

func TestTheMeanOfTheTimesInTheRowsSaysItsError(t *testing.T) {
	f := gapSample(nil).Estimate().Work
	// 0.1 s in whole seconds: one row in ten shows a second.
	if !f.AtMost() || f.High != 1.1 || math.Abs(f.Error-math.Sqrt(0.1*0.9/9850)) > 1e-9 || f.Quality != dedup.Derived || !strings.Contains(f.Why, "whole seconds") {
		t.Errorf("mean %+v", f)
	}
	for words, change := range map[string]func(*IDGap){
		"one resolution":   func(s *IDGap) { s.To.Resolution = 0 },
		"no row became":    func(s *IDGap) { s.To.Timed = 0 },
		"nothing sets the": func(s *IDGap) { s.To.WorkSum = 0 },
	} {
		if f := gapSample(change).Estimate().Work; f.Known() || !strings.Contains(f.Why, words) {
			t.Errorf("want %q: %+v", words, f)
		}
	}
}

// TestTimesOfPostgreSQLAreThoseOfTransactions: work that lies within the transaction that marks it done shows in no difference.
func TestTimesOfPostgreSQLAreThoseOfTransactions(t *testing.T) {
	f := gapSample(func(s *IDGap) {
		s.Server, s.To.Resolution, s.To.WorkSum = "PostgreSQL 15.4", time.Microsecond, time.Duration(s.To.Timed)*2*time.Millisecond
	}).Estimate().Work
	if !f.AtLeast || f.Value != 0.002 || f.High != f.Low || !strings.Contains(f.Why, "when a transaction began") {
		t.Errorf("%+v", f)
	}
}

// Whatever consumers of a scheme that acks what it finds do, the interval holds the truth, as long as undone messages are sent
// again no more often than others and an abandoned one comes back at most once.
func TestTheIntervalOfTheIDGapHoldsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := gapSample(nil)
		s.From = dedup.InsertStats{At: s.From.At, Epoch: 1}
		s.Reach = s.From
		to := dedup.InsertStats{At: s.To.At, Epoch: 1}
		s.Scheme.OnFail = rapid.SampledFrom([]string{"ack", "keep"}).Draw(t, "on_fail")
		share := rapid.Float64Range(0, 0.3).Draw(t, "resent")
		to.Done = rapid.Int64Range(1, 20_000).Draw(t, "done")
		to.Failed = rapid.Int64Range(0, 300).Draw(t, "failed")
		stuck := rapid.Int64Range(0, 100).Draw(t, "stuck")
		to.Undone = to.Failed + stuck
		to.Rows = to.Done + to.Undone
		duplicates := int64(math.Ceil(share * float64(to.Done)))
		returned := stuck
		if s.Scheme.OnFail == "keep" {
			returned += to.Failed
		}
		swallowed := rapid.Int64Range(0, returned).Draw(t, "came back") + int64(share*float64(to.Undone))
		to.IDs = to.Rows + duplicates + swallowed
		s.To = to
		messages := to.Done + duplicates + swallowed
		if s.Scheme.OnFail == "ack" {
			messages += to.Failed
		}
		if rapid.Bool().Draw(t, "the broker tells what came back") {
			s.Back.All = float64(swallowed - int64(share*float64(to.Undone)))
		}
		r, truth := s.Estimate(), float64(duplicates)/float64(messages)
		if truth < r.Rate.Low-1e-12 || truth > r.Rate.High+1e-12 || float64(swallowed) > r.Swallowed.High+1e-9 {
			t.Fatalf("truth %g, %d swallowed; interval [%g, %g], swallowed up to %g", truth, swallowed, r.Rate.Low, r.Rate.High, r.Swallowed.High)
		}
		if to.Undone == 0 && (r.Rate.Low != r.Rate.High || r.Rate.Quality != dedup.Measured) {
			t.Fatalf("nothing was left undone: %+v", r.Rate)
		}
		if width := r.Rate.High - r.Rate.Low; r.Rate.Quality == dedup.Measured && width > MeasuredWidest || r.Rate.Known() && width > Widest {
			t.Fatalf("a width of %g is %s", width, r.Rate.Quality)
		}
	})
}
