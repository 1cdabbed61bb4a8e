package deadletter

import (
	"testing"
	"time"
)

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
