package truth

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestJudge(t *testing.T) {
	figure := func(q dedup.Quality, low, high float64) dedup.Figure {
		return dedup.Figure{Quality: q, Unit: dedup.Ratio, Value: low, Low: low, High: high, N: 10_000}
	}
	atLeast := figure(dedup.Derived, 0.02, 0.02)
	atLeast.AtLeast = true
	band := func(low, value, high float64) dedup.Figure {
		f := figure(dedup.Derived, low, high)
		f.Value = value
		return f
	}
	few := func(low, high float64) dedup.Figure {
		f := figure(dedup.Derived, low, high)
		f.N = 200
		return f
	}
	falseAtLeast := figure(dedup.Derived, 0.04, 0.04)
	falseAtLeast.AtLeast = true
	for _, c := range []struct {
		name   string
		figure dedup.Figure
		want   Verdict
	}{
		{"the truth itself is good", figure(dedup.Measured, 0.03, 0.03), Good},
		{"a measured figure may be off by a tenth of a point", figure(dedup.Measured, 0.031, 0.031), Good},
		{"a measured figure that is off by more is wrong", figure(dedup.Measured, 0.0311, 0.0311), Wrong},
		{"a measured figure that is off by more below is wrong", figure(dedup.Measured, 0.0289, 0.0289), Wrong},
		{"a measured interval that misses the truth by more than a message above is wrong", figure(dedup.Measured, 0.03011, 0.032), Wrong},
		{"a measured interval that misses the truth by more than a message below is wrong", figure(dedup.Measured, 0.028, 0.02989), Wrong},
		{"a measured interval whose end is the truth is good", figure(dedup.Measured, 0.028, 0.03), Good},
		{"a derived point may be off by a tenth of a point", figure(dedup.Derived, 0.0309, 0.0309), Good},
		{"an interval of one point that holds the truth is good", figure(dedup.Derived, 0.025, 0.035), Good},
		{"an interval whose end is the truth is good", figure(dedup.Derived, 0.03, 0.04), Good},
		{"a wider one cannot tell", figure(dedup.Derived, 0.0249, 0.035), CannotTell},
		{"of few messages two on each side are good", few(0.02, 0.04), Good},
		{"an interval that misses the truth by more than a message is wrong", figure(dedup.Derived, 0.03011, 0.04), Wrong},
		{"one that misses it by less cannot tell", figure(dedup.Derived, 0.03009, 0.04), CannotTell},
		{"a wide interval that misses the truth is wrong", figure(dedup.Derived, 0.04, 0.5), Wrong},
		{"an interval that is shown though it is no figure cannot tell", figure(dedup.QualityUnknown, 0, 0.5), CannotTell},
		{"and is wrong when it misses the truth", figure(dedup.QualityUnknown, 0.04, 0.5), Wrong},
		{"a refusal cannot tell", dedup.Unknown(dedup.Ratio, "no counters"), CannotTell},
		{"an estimate never is good", figure(dedup.Estimated, 0.03, 0.03), CannotTell},
		{"a number in its band is good", band(0.029, 0.0295, 0.03), Good},
		{"one that misses the truth by less than its band cannot tell: one of twenty does", band(0.031, 0.032, 0.033), CannotTell},
		{"one that misses it by more is wrong", band(0.0311, 0.032, 0.033), Wrong},
		{"a lower bound below the truth cannot tell", atLeast, CannotTell},
		{"a lower bound above it is wrong", falseAtLeast, Wrong},
	} {
		if got := judge(0.03, 0.03, c.figure); got.Verdict != c.want {
			t.Errorf("%s: got %+v, want %s", c.name, got, c.want)
		}
	}
	if got := judge(0.029, 0.03, figure(dedup.Derived, 0.02, 0.0295)); got.Verdict != Good || got.Miss != 0 {
		t.Errorf("an interval that meets the bounds of the truth: %+v", got)
	}
}

// staged returns a case that has come to rest with 300 duplicates of 10,000 messages, and the snapshot of it.
func staged(shown dedup.Figure, all ...dedup.Estimate) (*lane, *dedup.Snapshot) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	l := &lane{c: Case{Name: "staged", Scheme: R3}, tally: newTally(), witness: newWitness(0)}
	for i, n := range []Counts{{}, {Acked: 10_000, Duplicates: 300}} {
		at := began.Add(time.Duration(i) * time.Minute)
		l.witness.notes = append(l.witness.notes, note{at, at, n})
		l.tally.counts = n
	}
	place := func(f dedup.Figure) dedup.Figure {
		f.At, f.Covered, f.N = began.Add(2*time.Minute), 4*time.Minute, 10_000
		return f
	}
	w := dedup.WindowFigures{DuplicateRate: place(shown)}
	for _, e := range all {
		w.Estimates = append(w.Estimates, dedup.Estimate{Method: e.Method, Rate: place(e.Rate)})
	}
	p := dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "staged"}, Windows: []dedup.WindowFigures{w, w, w, w}}
	l.witness.take(&p)
	return l, &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{p}}
}

func TestARunFails(t *testing.T) {
	exact := dedup.Exact(dedup.Measured, dedup.Ratio, 0.03, time.Time{}, "events")
	off := dedup.Exact(dedup.Measured, dedup.Ratio, 0.032, time.Time{}, "events")
	wide := dedup.Figure{Quality: dedup.Derived, Low: 0, High: 0.04}
	for _, c := range []struct {
		name  string
		shown dedup.Figure
		other dedup.Figure
		want  Verdict
		fails int
	}{
		{"not when the figure is the truth", exact, exact, Good, 0},
		{"when a figure is wrong that is not shown", exact, off, Wrong, 2},
		{"when the figure that is shown is wrong", off, exact, Wrong, 2},
		{"when too few rows are good", wide, exact, CannotTell, 1},
	} {
		l, snapshot := staged(c.shown, dedup.Estimate{Method: dedup.MethodStoreEvents, Rate: c.other})
		o := l.outcome(snapshot)
		if o.Verdict() != c.want {
			t.Errorf("%s: verdict %s, want %s", c.name, o.Verdict(), c.want)
		}
		r := Result{Options: Options{Cases: []Case{l.c}}, Outcomes: []Outcome{o}}
		if got := r.Failures(); len(got) != c.fails {
			t.Errorf("%s: failures %q, want %d", c.name, got, c.fails)
		}
		off := dedup.Exact(dedup.Measured, dedup.Seconds, 0.200, time.Time{}, "events")
		o.Timings = []Timing{timed("work p95", 100*time.Millisecond, 101*time.Millisecond, off, workTolerance)}
		o.Tallies = []Tally{{Name: "messages"}}
		r.Outcomes[0] = o
		if got := r.Failures(); len(got) != c.fails+2 {
			t.Errorf("%s, with a wrong latency and a wrong count: failures %q, want %d", c.name, got, c.fails+2)
		}
	}
}

func TestWhatWasShownInMidRunIsJudgedByItsOwnSpan(t *testing.T) {
	l, _ := staged(dedup.Exact(dedup.Measured, dedup.Ratio, 0.03, time.Time{}, "events"))
	began := l.witness.notes[0].began
	half := note{began.Add(30 * time.Second), began.Add(30 * time.Second), Counts{Acked: 5_000, Duplicates: 0}}
	l.witness.notes = []note{l.witness.notes[0], half, l.witness.notes[1]}
	early := dedup.Exact(dedup.Measured, dedup.Ratio, 0, began.Add(45*time.Second), "events")
	early.Covered, early.N = 3*time.Minute, 5_000
	l.witness.shown = []dedup.Figure{early}
	if got := l.witness.violations(); len(got) != 0 {
		t.Errorf("no duplicate had come by then: %q", got)
	}
	early.At = began.Add(65 * time.Second)
	early.Source, l.witness.lag = reportedSource, 15*time.Second
	l.witness.shown = []dedup.Figure{early}
	if got := l.witness.violations(); len(got) != 0 {
		t.Errorf("what consumers report may be as old as its reading: %q", got)
	}
	l.witness.lag = 0
	early.At = began.Add(70 * time.Second)
	l.witness.shown = []dedup.Figure{early}
	if got := l.witness.violations(); len(got) != 1 {
		t.Errorf("all 300 had come by then: %q", got)
	}
}

func TestDisjointWindowsAreCounted(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	w := newWitness(0)
	for i := range 401 { // ten messages a second, of which each tenth is a duplicate
		at := began.Add(time.Duration(i) * time.Second)
		w.notes = append(w.notes, note{at, at, Counts{Acked: int64(10 * i), Duplicates: int64(i)}})
	}
	shown := func(window, at time.Duration, low, value, high float64) []dedup.WindowFigures {
		f := dedup.Figure{Quality: dedup.Derived, Unit: dedup.Ratio, Low: low, Value: value, High: high, N: 600, At: began.Add(at), Covered: window}
		return []dedup.WindowFigures{{Window: window, DuplicateRate: f}}
	}
	w.follow(shown(time.Minute, time.Minute, 0.1, 0.1, 0.1)) // before the traffic nothing is counted
	w.traffic = began
	for _, f := range [][]dedup.WindowFigures{
		shown(time.Minute, 50*time.Second, 0.1, 0.1, 0.1),         // begins before the traffic
		shown(time.Minute, 60*time.Second, 0.095, 0.1, 0.105),     // holds
		shown(time.Minute, 90*time.Second, 0.5, 0.5, 0.5),         // overlaps the one before
		shown(time.Minute, 120*time.Second, 0.119, 0.120, 0.1215), // wrong by far
		shown(time.Minute, 180*time.Second, 0.08, 0.1, 0.12),      // holds, and is not usable
		shown(5*time.Minute, 310*time.Second, 0.098, 0.1, 0.102),  // holds
	} {
		w.follow(f)
	}
	if got, want := w.short.coverage(w.of), (Coverage{Windows: 3, Held: 2, Usable: 2, Wrong: 1}); got != want {
		t.Errorf("windows of a minute: %+v, want %+v", got, want)
	}
	if got, want := w.long.coverage(w.of), (Coverage{Windows: 1, Held: 1, Usable: 1}); got != want {
		t.Errorf("windows of five minutes: %+v, want %+v", got, want)
	}
	if w.usable == 0 {
		t.Error("a usable rate was shown, and its time was not noted")
	}
	for _, at := range []time.Duration{310, 315, 320} { // the first once more
		w.follow(shown(5*time.Minute, at*time.Second, 0.098, 0.1, 0.102))
	}
	if got, want := w.ends, (Ends{Rounds: 3, Moved: 2}); got != want {
		t.Errorf("ends of windows of five minutes: %+v, want %+v", got, want)
	}
	if got := (Coverage{Windows: 200, Held: 196}).Least(); math.Abs(got-0.9497) > 0.0005 {
		t.Errorf("the lower limit of 196 of 200 is %v", got) // Wilson: 0.9497
	}
	r := Result{Outcomes: []Outcome{{Short: Coverage{Windows: 100, Held: 90}}}}
	if got := r.Failures(); len(got) != 1 || !strings.Contains(got[0], "rates over 1 m: 90 of 100") {
		t.Errorf("90 of 100 are too few: %q", got)
	}
}

func TestTimings(t *testing.T) {
	truth := Latencies{WorkLeast: Distribution{Mean: 20 * time.Millisecond, P95: 100 * time.Millisecond},
		WorkMost: Distribution{Mean: 25 * time.Millisecond, P95: 110 * time.Millisecond},
		Held:     Distribution{Mean: 50 * time.Millisecond}, Acked: Distribution{Mean: 40 * time.Millisecond}}
	seconds := func(v float64) dedup.Figure { return dedup.Exact(dedup.Measured, dedup.Seconds, v, time.Time{}, "s") }
	w := dedup.WindowFigures{WorkP95: seconds(0.116), WorkMean: seconds(0.0195), AckMean: seconds(0.056)}
	for i, want := range []bool{false, true, true} {
		if got := timings(w, truth)[i]; got.OK != want {
			t.Errorf("%+v: within its limit %v, want %v", got, got.OK, want)
		}
	}
	w.AckMean = seconds(0.0661) // 15 % above 50 ms and 7.5 ms on its two ways
	if got := timings(w, truth)[2]; got.OK {
		t.Errorf("held for 50 ms, shown as 66: %+v", got)
	}
	for _, f := range []struct {
		low, value, high float64
		held             bool
	}{{0.04, 0.06, 0.07, true}, {0.055, 0.06, 0.07, false}, {0, 0, 0.05, true}, {0, 0, 0.049, false}} {
		bounded := w
		bounded.AckMean.Low, bounded.AckMean.Value, bounded.AckMean.High = f.low, f.value, f.high
		if got := timings(bounded, truth)[2]; got.OK != f.held {
			t.Errorf("held for 50 ms, shown as %v to %v: %+v", f.low, f.high, got)
		}
	}
	truth.Ways.Mean = 7500 * time.Microsecond
	if got := timings(w, truth)[2]; !got.OK || got.Loose {
		t.Errorf("held for 50 ms and 7.5 ms on its two ways, shown as 66: %+v", got)
	}
	truth.WorkMost.P95 = 170 * time.Millisecond
	if got := timings(w, truth)[0]; !got.OK || !got.Loose {
		t.Errorf("a truth between 100 and 170 ms proves nothing: %+v", got)
	}
	w.AckP50 = seconds(0.03)
	if got := timings(w, truth)[2]; got.OK {
		t.Errorf("a reported latency is that of acks, which took 40 ms: %+v", got)
	}
}

func TestAcksInMidRunAreJudgedByTheirOwnSpan(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var w witness
	for i := range 11 { // ten deliveries a second, held for 50 ms, and from the fifth second on for 100 ms
		slow := max(0, i-5)
		at := began.Add(time.Duration(i) * time.Second)
		w.notes = append(w.notes, note{at, at, Counts{Ended: int64(10 * i), HeldFor: time.Duration(i-slow)*500*time.Millisecond + time.Duration(slow)*time.Second}})
	}
	shown := func(value float64, at, covered time.Duration) dedup.WindowFigures {
		f := dedup.Exact(dedup.Estimated, dedup.Seconds, value, began.Add(at), "Little's law")
		f.Covered = covered
		return dedup.WindowFigures{AckMean: f}
	}
	if got := w.acksInMidRun(0); got.Figure.Known() {
		t.Errorf("nothing was shown: %+v", got)
	}
	for _, f := range []dedup.WindowFigures{shown(0.051, 4500*time.Millisecond, 4*time.Second), shown(0.099, 9500*time.Millisecond, 4*time.Second)} {
		w.takeAck(f)
		w.takeAck(f)
	}
	reported := shown(1, 4*time.Second, 4*time.Second)
	reported.AckP50 = dedup.Exact(dedup.Measured, dedup.Seconds, 1, began, "reported histogram")
	w.takeAck(reported)
	if got := w.acksInMidRun(0); !got.OK || math.Abs(got.Error-0.02) > 1e-9 || len(w.acks) != 2 {
		t.Errorf("two were shown, off by 2 %% and -1 %%: %+v of %d", got, len(w.acks))
	}
	w.takeAck(shown(0.051, 9500*time.Millisecond, 4*time.Second))
	if got := w.acksInMidRun(0); got.OK || got.High != 100*time.Millisecond {
		t.Errorf("51 ms were shown where it was 100: %+v", got)
	}
}

func TestABoundOfNinetyFiveInAHundredIsJudgedByItsCoverage(t *testing.T) {
	for name, tt := range map[string]struct {
		timing Timing
		held   int
		fails  int
	}{
		"a bound that was missed once":         {Timing{Name: ackInMidRun, Error: -0.3}, 99, 0},
		"a bound that was missed too often":    {Timing{Name: ackInMidRun, Error: -0.3}, 90, 2},
		"a bound that was missed by far":       {Timing{Name: ackInMidRun, Error: -0.6}, 99, 1},
		"a figure at rest that was missed":     {Timing{Name: "ack mean", Error: -0.3}, 99, 1},
		"the mean of the work that was missed": {Timing{Name: workMean, Error: -0.3}, 99, 0},
	} {
		tt.timing.Figure = dedup.Exact(dedup.Estimated, dedup.Seconds, 0.05, time.Time{}, "Little's law")
		all := Coverage{Windows: 100, Held: tt.held}
		o := Outcome{Case: Case{Name: "a"}, Timings: []Timing{tt.timing}, Held: all, HeldLong: all}
		r := Result{Options: Options{Cases: []Case{o.Case}}, Outcomes: []Outcome{o}}
		if got := r.Failures(); len(got) != tt.fails {
			t.Errorf("%s: %q, want %d failures", name, got, tt.fails)
		}
	}
}

func TestProofsCountTimes(t *testing.T) {
	seconds := dedup.Exact(dedup.Measured, dedup.Seconds, 1, time.Time{}, "s")
	outcome := func(t Timing) Outcome { t.Name = "work p95"; return Outcome{Timings: []Timing{t}} }
	r := Result{Outcomes: []Outcome{
		outcome(Timing{Figure: seconds, OK: true, Error: 0.01}), outcome(Timing{Figure: seconds, OK: true, Loose: true}),
		outcome(Timing{Figure: seconds, Error: -0.2}), outcome(Timing{Figure: dedup.Unknown(dedup.Seconds, "none")}), outcome(Timing{Figure: seconds, OK: true}),
	}}
	if got, want := r.proofs(), (proof{"work p95", 2, 1, 1, 1, -0.2}); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
