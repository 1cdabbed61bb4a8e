package rule

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

func TestTheTierOfADuplicateRateIsTheRowOfItsValueWhenTheEvidenceIsEnough(t *testing.T) {
	l := dedup.DefaultLimits()
	for _, tt := range []struct {
		name string
		hits float64
		n    float64
		want dedup.Tier
	}{
		{"nothing duplicated is normal", 0, 10_000, dedup.Normal},
		{"just below one percent is normal", 99, 10_000, dedup.Normal},
		{"exactly one percent is warning", 100, 10_000, dedup.Warning},
		{"150 of 10,000 is warning", 150, 10_000, dedup.Warning},
		{"just below three percent is warning", 299, 10_000, dedup.Warning},
		{"exactly three percent is severe", 300, 10_000, dedup.Severe},
		{"exactly ten percent is severe", 1000, 10_000, dedup.Severe},
		{"above ten percent is emergency", 1001, 10_000, dedup.Emergency},
		{"one of three is too few to tell", 1, 3, dedup.TierUnknown},
		{"49 messages are too few to tell", 49, 49, dedup.TierUnknown},
		{"two duplicates never make a warning", 2, 60, dedup.Normal},
		{"three of 100 is severe, since even its lower bound is above one percent", 3, 100, dedup.Severe},
		{"eleven of 100 is emergency, since its lower bound is above three percent", 11, 100, dedup.Emergency},
		{"six of 55 is emergency by value and by evidence", 6, 55, dedup.Emergency},
		{"three of 299 has too little evidence for warning", 3, 299, dedup.Normal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := DuplicateTier(tt.hits/tt.n, tt.n, l); got != tt.want {
				t.Errorf("DuplicateTier(%v of %v) = %v (lower bound %.4f), want %v", tt.hits, tt.n, got, WilsonLower(tt.hits, tt.n), tt.want)
			}
		})
	}
}

func TestTheLowerBoundMatchesPublishedValues(t *testing.T) {
	for _, tt := range []struct{ hits, n, want float64 }{
		{1, 3, 0.0615}, {3, 3, 0.4385}, {5, 100, 0.0215}, {50, 1000, 0.0381}, {500, 10_000, 0.0459}, {0, 0, 0},
	} {
		if got := WilsonLower(tt.hits, tt.n); math.Abs(got-tt.want) > 5e-4 {
			t.Errorf("WilsonLower(%v, %v) = %.4f, want %.4f", tt.hits, tt.n, got, tt.want)
		}
	}
}

func TestMoreDuplicatesNeverLowerATier(t *testing.T) {
	l := dedup.DefaultLimits()
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(50, 100_000).Draw(t, "n"))
		hits := float64(rapid.IntRange(0, int(n)-1).Draw(t, "hits"))
		if a, b := DuplicateTier(hits/n, n, l), DuplicateTier((hits+1)/n, n, l); b < a {
			t.Fatalf("%v of %v is %v, one more is %v", hits, n, a, b)
		}
		if WilsonLower(hits, n) > hits/n {
			t.Fatalf("the lower bound of %v of %v is above the rate", hits, n)
		}
	})
}

func TestTheTierOfALatencyHasInclusiveWarningLimits(t *testing.T) {
	l := dedup.DefaultLimits()
	for seconds, want := range map[float64]dedup.Tier{
		0: dedup.Normal, 0.0999: dedup.Normal, 0.1: dedup.Warning, 0.5: dedup.Warning, 0.5001: dedup.Severe, 60: dedup.Severe,
	} {
		if got := LatencyTier(seconds, l); got != want {
			t.Errorf("LatencyTier(%v) = %v, want %v", seconds, got, want)
		}
	}
}

func TestSpansAreWrittenAsPeopleSayThem(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5 m", time.Hour: "1 h", 24 * time.Hour: "24 h"} {
		if got := Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestAFigureSaysOverWhatItWasCounted(t *testing.T) {
	w := &dedup.WindowFigures{Window: 15 * time.Minute}
	for _, tt := range []struct {
		window, covered time.Duration
		want            string
	}{
		{15 * time.Minute, 15 * time.Minute, "15 m"}, {15 * time.Minute, 100 * time.Second, "100 s"}, {15 * time.Minute, 4 * time.Minute, "4 m"}, {0, 0, "15 m"},
	} {
		f := dedup.Exact(dedup.Measured, dedup.Ratio, 0.10, readAt, "")
		f.Window, f.Covered, f.N = tt.window, tt.covered, 430
		if got := SeenIn(w, f); got != tt.want {
			t.Errorf("%s of %s is %q, want %q", tt.covered, tt.window, got, tt.want)
		}
		w.FailureRate, w.DuplicateRate = f, f
		j := failureRate(&dedup.PipelineStatus{Windows: []dedup.WindowFigures{*w}}, Rule{MinCount: 50, Limits: Limits{Warning: Limit(0.05)}}, Judgement{})
		if said := "(43 of 430 attempts in " + tt.want + ")"; !strings.Contains(j.Why, said) {
			t.Errorf("it says %q, and not %s", j.Why, said)
		}
	}
}
