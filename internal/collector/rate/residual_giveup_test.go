package rate

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestAMessageThatIsGivenUpTwiceIsDatedOnceAndCountedUpToTwice(t *testing.T) {
	begin := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	from, to := Cut{At: begin, Store: begin}, Cut{At: begin.Add(time.Hour), Store: begin.Add(time.Hour)}
	for _, tt := range []struct {
		name    string
		again   int64
		earlier []PassNote
		want    [2]float64
	}{
		{"each was given up once", 0, nil, [2]float64{2, 2}},
		{"one was sent again and given up again, nobody knows when first", 1, nil, [2]float64{2, 3}},
		{"it had been given up again before the window", 1, []PassNote{{Ended: begin.Add(-time.Minute), GaveUpAgain: 1}}, [2]float64{2, 2}},
		{"a pass in the window tells nothing of the time before it", 1, []PassNote{{Ended: begin.Add(time.Minute), GaveUpAgain: 1}}, [2]float64{2, 3}},
		{"counters that expired since leave nothing to add", 1, []PassNote{{Ended: begin.Add(-time.Minute), GaveUpAgain: 5}}, [2]float64{2, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pass := &dedup.Pass{GaveUpAgain: tt.again}
			pass.GaveUp.Add(begin.Add(10 * time.Minute))
			pass.GaveUp.Add(begin.Add(20 * time.Minute))
			pass.GaveUp.Freeze()
			got := giveUps(Residual{Scheme: dedup.Scheme{GiveUp: 5}, Pass: pass, Earlier: tt.earlier}, from, to)
			if got != tt.want {
				t.Errorf("given up %v, want %v", got, tt.want)
			}
		})
	}
}
