package estimate

import (
	"testing"
	"time"
)

// TestAResidualEndsNoEarlierThanItMay: at a calm reading within reach, else at the newest one, and it says that a calm one is a little too old.
func TestAResidualEndsNoEarlierThanItMay(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	for name, tt := range map[string]struct {
		calm   func(int) bool
		reach  time.Duration
		age    time.Duration
		calmer bool
	}{
		"the newest is calm":       {func(int) bool { return true }, 3 * time.Second, 0, false},
		"one within reach is":      {func(i int) bool { return i <= 117 }, 3 * time.Second, 3 * time.Second, false},
		"one that is out of reach": {func(i int) bool { return i <= 116 }, 3 * time.Second, 0, true},
		"none since long":          {func(i int) bool { return i <= 100 }, 3 * time.Second, 0, false},
		"hardly any ever":          {func(i int) bool { return i%10 == 6 }, 3 * time.Second, 0, false},
		"as far as one may look":   {func(i int) bool { return i <= 110 }, calmReach, 10 * time.Second, false},
	} {
		readings := make([]Joint, 0, 121)
		for i := range 121 {
			readings = append(readings, Joint{At: begin.Add(time.Duration(i) * time.Second), Acked: 10 * float64(i), Settled: 9 * float64(i), Calm: tt.calm(i)})
		}
		r, ok := ResidualUpTo(readings, time.Minute, tt.reach, Unacked{})
		if age := readings[120].At.Sub(r.To); !ok || age != tt.age || r.Calmer != tt.calmer {
			t.Errorf("%s: ends %v before the newest, calmer %v", name, age, r.Calmer)
		}
	}
}
