package truth

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dedup-dashboard/internal/dedup"

	"dedup-dashboard/lab/servers/serverstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestNoFigureIsWrong runs real consumers of three schemes and compares what is shown with what they counted. In so short a time on a
// busy machine some may not be told, but none may be wrong. It is no faster than a starved broker keeps up with (docs/figures.md). One case is shown half a point too high on purpose, and must be found
// wrong.
func TestNoFigureIsWrong(t *testing.T) {
	serverstest.Needed(t)
	t.Parallel()
	const falsified = "r3-resends"
	cases, err := Select([]string{"r3-shared-living-1-bursts", "r1-shared-dying-50-bursts", "d1-own-living-50-bursts", falsified})
	if err != nil {
		t.Fatal(err)
	}
	log := testLog{t}
	r, err := Run(t.Context(), Options{
		Cases: cases, Seeds: 1, Messages: messages, Over: 24 * time.Second, Interval: 2 * time.Second, Quiet: 25 * time.Second, Settle: 20 * time.Second,
		Notes: log, Log: slog.New(slog.DiscardHandler), Each: func(o Outcome) { o.Print(log) },
		Falsify: func(s *dedup.Snapshot) *dedup.Snapshot { return falsify(s, falsified, halfPoint) },
	})
	r.Print(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outcomes {
		if got := o.Truth.expected(); got != o.Expected {
			t.Errorf("%s: the consumers counted %+v, the knobs ask for %+v", o.Case.Name, got, o.Expected)
		}
		if wrong := o.Verdict() == Wrong; wrong != (o.Case.Name == falsified) {
			t.Errorf("%s: verdict %s", o.Case.Name, o.Verdict())
		}
	}
	if len(r.Outcomes) != len(cases) {
		t.Errorf("%d outcomes of %d cases", len(r.Outcomes), len(cases))
	}
}

// messages is how many each case sends.
const messages = 900

// halfPoint is by how much the broken source is off.
const halfPoint = 0.005

// falsify shows a measured rate of a pipeline that is too high.
func falsify(s *dedup.Snapshot, pipeline string, by float64) *dedup.Snapshot {
	changed := *s
	changed.Pipelines = slices.Clone(s.Pipelines)
	for i := range changed.Pipelines {
		p := &changed.Pipelines[i]
		if p.Pipeline.Name != pipeline {
			continue
		}
		p.Windows = slices.Clone(p.Windows)
		for j := range p.Windows {
			rate := Expect(Cases()[0], 1, messages)
			value := float64(rate.Duplicates)/float64(rate.Completions+rate.Duplicates) + by
			f := dedup.Exact(dedup.Measured, dedup.Ratio, value, s.At, "a broken source")
			f.N, f.Covered = float64(rate.Published), 5*time.Minute
			p.Windows[j].DuplicateRate = f
		}
	}
	return &changed
}

// testLog writes into the log of a test.
type testLog struct{ t *testing.T }

func (l testLog) Write(text []byte) (int, error) {
	l.t.Helper()
	l.t.Logf("%s", text)
	return len(text), nil
}
