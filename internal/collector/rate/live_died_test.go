package rate

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/dedup"
)

// TestAChannelThatDiedInMidWorkLostNoAck as its claim shows, which nobody ended since. Claims that are left behind in other ways are not mistaken
// for those.
func TestAChannelThatDiedInMidWorkLostNoAck(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		// born and gone are when claims were born that are open, and when rows of channels went, in seconds from the first reading of 200.
		born, gone []int
		// ended is how often work of 50 ms was seen to end.
		ended int
		died  float64
	}{
		{"none", nil, []int{40}, 0, 0},
		{"one that died", []int{36}, []int{40}, 0, 1},
		{"one of two", []int{36}, []int{40, 41}, 0, 1},
		{"two at once", []int{36, 37}, []int{40, 40}, 0, 2},
		{"long before another that lost its ack", []int{36}, []int{40, 140}, 0, 1},
		{"a claim that no channel can have left behind", []int{60}, []int{40, 100}, 0, 0},
		{"one beside a claim that no channel can have left behind", []int{36, 90}, []int{40}, 0, 0},
		{"more claims than channels", []int{36, 37}, []int{40}, 0, 0},
		{"work that may still go on", []int{175}, []int{180}, 0, 0},
		{"one beside work that may still go on", []int{36, 175}, []int{40, 180}, 0, 1},
		{"one from before the window", []int{12}, []int{15}, 0, 0},
		{"one from before the readings", []int{1}, []int{40}, 0, 0},
		{"work that is far too long for those consumers", []int{175}, []int{180}, 100, 1},
		{"one whose row is not cleared away yet, beside another", []int{36, 192}, []int{40}, 100, 1},
		{"one just after the first reading, beside another", []int{3, 36}, []int{40}, 0, 1},
		{"one whose row went before another was left behind", []int{3, 36}, []int{5, 40}, 0, 1},
		{"work that may still go on, though most is shorter", []int{196}, []int{197}, 100, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var readings []estimate.Joint
			began := now.Add(-200 * time.Second)
			for i := range 201 {
				j := estimate.Joint{At: began.Add(time.Duration(i) * time.Second)}
				for _, gone := range tt.gone {
					if i >= gone {
						j.Closed++
					}
				}
				readings = append(readings, j)
			}
			e := &dedup.StoreEvents{At: now}
			for range tt.ended {
				e.Work.Add(50 * time.Millisecond)
			}
			for _, born := range tt.born {
				e.OpenSince = append(e.OpenSince, began.Add(time.Duration(born)*time.Second-300*time.Millisecond))
			}
			if got := DiedAtWork(readings, estimate.Residual{From: began.Add(20 * time.Second), To: now}, e, 30*time.Second); got != tt.died {
				t.Errorf("%g died at work, want %g", got, tt.died)
			}
		})
	}
}
