package window

import (
	"math"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestLatencyCountsByTheBrokersLiveCounts: traffic of 20 a second that is held for 300 ms each is three times as much in the last seconds, which the
// counters of the management API do not tell yet; channels that were closed took counts along.
func TestLatencyCountsByTheBrokersLiveCounts(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	work := func(live bool, lost float64, until int) dedup.Figure {
		p := &Pipeline{}
		var held estimate.Held
		delivered := 0.0
		for second := range 121 {
			at, pace := began.Add(time.Duration(second)*time.Second), 20.0
			if second > 108 {
				pace = 60
			}
			now := pace * 0.3 * 10 / 9
			if second%10 == 9 {
				now = 0
			}
			held = held.Take(now, at, 0)
			if delivered += pace; live && second <= until {
				p.Traffic.Flows.Add([]sample.LiveReading{{At: at.Add(-100 * time.Millisecond), Since: began, Quiet: at, Acked: sample.LiveSum{Count: delivered, Unsure: lost * delivered}, Delivered: sample.LiveSum{Count: delivered, Unsure: lost * delivered}}}, at)
			}
			if second%15 == 0 && second > 0 {
				counted := delivered - 5*pace // as old as counters are
				p.Traffic.Frames.Add(sample.Frame{Began: at, Ended: at, Deliveries: counted, Acks: counted, Held: held})
			}
		}
		f := p.latency(View{Now: began.Add(121 * time.Second)}).estimated(100 * time.Second).Mean
		return f
	}
	slow, quick, lossy := work(false, 0, 120), work(true, 0, 120), work(true, 0.02, 120)
	ended := work(true, 0, 104) // the newest frame is of second 120
	if truth := 0.3; !quick.InBand() || math.Abs(quick.Value/truth-1) > 0.05 {
		t.Errorf("by live counts %v (%v to %v, %s), want about %v", quick.Value, quick.Low, quick.High, quick.Why, truth)
	}
	if truth := 0.3; ended.Known() && (ended.Low > truth || ended.High < truth) {
		t.Errorf("by live counts that have ended within %v to %v, want %v", ended.Low, ended.High, truth)
	}
	if !slow.InBand() || slow.Width() < quick.Width()+0.04*quick.Value {
		t.Errorf("by late counters within %v to %v, by live ones %v to %v", slow.Low, slow.High, quick.Low, quick.High)
	}
	if !lossy.InBand() || lossy.Width() < quick.Width()+0.03*quick.Value {
		t.Errorf("with a fiftieth lost within %v to %v, with none %v to %v", lossy.Low, lossy.High, quick.Low, quick.High)
	}
}

// TestLiveCountsTellOfTheirOwnTimeAlone: where they begin within a window, count anew, or have ended, the counters of the management API are used.
