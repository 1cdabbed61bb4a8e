package collector

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

func TestLatency(t *testing.T) {
	n := len(dedup.LatencyBounds())
	cumulated := func(counts map[int]float64) []float64 {
		out, sum := make([]float64, n), 0.0
		for i := range out {
			sum += counts[i]
			out[i] = sum
		}
		return out
	}
	r := latency(latencySample{Bounds: dedup.LatencyBounds(), Buckets: cumulated(map[int]float64{1: 50, 4: 50}), Sum: 5, N: 100})
	for what, got := range map[string][2]float64{
		"mean is sum / count":              {r.Mean.Value, 0.05},
		"p50 is the end of the lower half": {r.P50.Value, 0.01},
		"p95 is linear in its bucket":      {r.P95.Value, 0.05 + 0.05*0.9},
	} {
		if math.Abs(got[0]-got[1]) > 1e-9 {
			t.Errorf("%s: got %v, want %v", what, got[0], got[1])
		}
	}
	slow := latency(latencySample{Bounds: dedup.LatencyBounds(), Buckets: cumulated(map[int]float64{n - 1: 10}), Sum: 500, N: 10})
	if slow.P95.Value != 10 || !strings.Contains(slow.P95.Why, "at least") {
		t.Errorf("beyond the last bound: %+v, want at least 10 s", slow.P95)
	}
	if mean := latency(latencySample{Sum: 5, N: 100}); mean.Mean.Value != 0.05 || mean.P95.Known() {
		t.Errorf("of a sum and a count alone: %+v", mean)
	}
	if none := latency(latencySample{}); none.Mean.Known() || none.Mean.Why == "" {
		t.Errorf("without buckets: %+v", none.Mean)
	}
	if empty := latency(latencySample{Buckets: make([]float64, n)}); empty.Mean.Known() {
		t.Errorf("without observations: %+v", empty.Mean)
	}
}

func TestInflow(t *testing.T) {
	type reading struct{ messages, settled float64 }
	tests := map[string]struct {
		readings []reading
		want     float64
	}{
		"what was there before is no arrival":  {[]reading{{5, 0}, {5, 0}}, 0},
		"a growing queue":                      {[]reading{{0, 0}, {3, 0}, {7, 0}}, 7},
		"consumed as fast as it comes":         {[]reading{{2, 0}, {2, 5}, {2, 5}}, 5},
		"an ack seen before the depth follows": {[]reading{{5, 0}, {5, 3}, {2, 3}, {2, 3}}, 0},
		"a depth seen before its ack":          {[]reading{{5, 0}, {2, 0}, {2, 3}, {2, 3}}, 0},
		"a purge is no negative arrival":       {[]reading{{9, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {2, 0}}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var f inflow
			at, sum := time.Unix(0, 0), 0.0
			for _, r := range tt.readings {
				sum += f.observe(int64(r.messages), r.settled, at)
				at = at.Add(15 * time.Second)
			}
			if sum != tt.want {
				t.Errorf("%v arrived, want %v", sum, tt.want)
			}
		})
	}
}

func TestHostileTextIsBoundedAndPlain(t *testing.T) {
	for _, s := range []string{strings.Repeat("é", 1<<20), "a\x1b[31m\u202eb\x00", "\xff\xfe", strings.Repeat("x", 299) + "é"} {
		got := plain(s, 300)
		if len(got) > 3*300+3 || strings.ContainsAny(got, "\x1b\x00\u202e") {
			t.Errorf("%.20q became %.40q of %d bytes", s, got, len(got))
		}
	}
}

func TestLatencyFieldsThatCannotBeReadAreAFinding(t *testing.T) {
	if got := finding.ReportUnreadable("orders", nil); len(got) != 0 {
		t.Errorf("without bad fields there is a finding: %v", got)
	}
	got := finding.ReportUnreadable("orders", []string{"ack_le_1", "ack_le_<b>", "a", "b", "c", "d"})
	if len(got) != 1 || got[0].Tier != dedup.Warning || !strings.Contains(got[0].Text, "6 latency fields") || strings.Contains(got[0].Evidence, "\"d\"") {
		t.Errorf("six bad fields give %+v", got)
	}
}

func TestGivenUpCoversOnlyWhatThePassCanVouchFor(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		since   time.Duration
		change  func(*dedup.Pass)
		covered time.Duration
		atLeast bool
	}{
		"a store followed for a day":      {25 * time.Hour, func(*dedup.Pass) {}, time.Hour, false},
		"a store followed for 10 minutes": {10 * time.Minute, func(*dedup.Pass) {}, 9 * time.Minute, false},
		"a pass from before":              {0, func(*dedup.Pass) {}, 0, false},
		"retry counters without expiry":   {25 * time.Hour, func(p *dedup.Pass) { p.UndatedGaveUp = 3 }, time.Hour, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &dedup.Pass{Started: now.Add(-time.Minute), Ended: now, Matched: 700}
			p.GaveUp.Add(now.Add(-2 * time.Minute))
			p.GaveUp.Freeze()
			tt.change(p)
			f := gaveUp(markerSample{Now: now, Scheme: nackScheme, Stats: dedup.StoreStats{Pass: p}, Since: now.Add(-tt.since)}, time.Hour)
			if f.Value != 1 || f.Covered != tt.covered || f.N != 700 || f.AtLeast != tt.atLeast || f.Low != f.Value {
				t.Errorf("got %+v, want 1 of 700 markers over %s, at least %v", f, tt.covered, tt.atLeast)
			}
		})
	}
}
