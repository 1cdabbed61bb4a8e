package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestWhatClosedChannelsLeftBehindIsBoundedOverTheSpanOfTheRate(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	p := &Pipeline{Traffic: Traffic{Prefetches: sample.Bounds{{At: ago(20 * time.Hour), Most: 100}, {At: ago(2 * time.Hour), Most: 1}}}}
	for _, f := range []struct {
		ago    time.Duration
		closed float64
	}{{20 * time.Hour, 0}, {19 * time.Hour, 10}, {30 * time.Minute, 40}, {17 * time.Minute, 50}, {10 * time.Minute, 70}, {0, 90}} {
		at := ago(f.ago)
		p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at, Ended: at, Closures: f.closed})
	}
	for _, tt := range []struct {
		name       string
		covered    time.Duration
		scheme     dedup.Scheme
		several    string
		perChannel int64
		closed     float64
		known      bool
	}{
		{"15 m, since the prefetch is 1", 15 * time.Minute, dedup.Scheme{AcksEach: true}, "several claims are open", 1, 50, true},
		{"a day, of which most had a prefetch of 100", 19 * time.Hour, dedup.Scheme{AcksEach: true}, "several claims are open", 100, 90, true},
		{"longer than the dashboard runs", 24 * time.Hour, dedup.Scheme{AcksEach: true}, "several claims are open", 0, 0, false},
		{"consumers that return several at once", 15 * time.Minute, dedup.Scheme{}, "", 0, 0, false},
		{"longer than the dashboard runs, of consumers that settle each", 24 * time.Hour, dedup.Scheme{AcksEach: true}, "", 1, 0, false},
	} {
		out := dedup.WindowFigures{Window: 24 * time.Hour, DuplicateRate: dedup.Figure{Quality: dedup.Measured, Covered: tt.covered, At: now}}
		p.leftBehind(&out, View{Now: now, Scheme: tt.scheme, Several: tt.several})
		if n := out.MostClosed; out.LostPerChannel != tt.perChannel || (n != nil) != tt.known || n != nil && *n != tt.closed {
			t.Errorf("%s: %d of each, %v", tt.name, out.LostPerChannel, n)
		}
	}
	p.Traffic.Frames[5].ClosuresBlind = true
	out := dedup.WindowFigures{DuplicateRate: dedup.Figure{Quality: dedup.Measured, Covered: time.Minute, At: now}}
	if p.leftBehind(&out, View{Now: now, Scheme: dedup.Scheme{AcksEach: true}}); out.MostClosed != nil {
		t.Errorf("where the broker does not count them: %v", *out.MostClosed)
	}
}
