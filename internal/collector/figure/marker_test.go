package figure

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

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
			f := Markers{Now: now, Scheme: dedup.Scheme{OnInFlight: "nack", DoneTTL: 24 * time.Hour, GiveUp: 5}, Stats: dedup.StoreStats{Pass: p}, Since: now.Add(-tt.since)}.GaveUp(time.Hour)
			if f.Value != 1 || f.Covered != tt.covered || f.N != 700 || f.AtLeast != tt.atLeast || f.Low != f.Value {
				t.Errorf("got %+v, want 1 of 700 markers over %s, at least %v", f, tt.covered, tt.atLeast)
			}
		})
	}
}
