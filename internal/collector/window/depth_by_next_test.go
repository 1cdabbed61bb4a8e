package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// TestWhatWasOutAndWhatWasReadyBothWaited: at 100 s 300 messages are out (prefetched) and 200 ready. The 300 are
// acked, then the 200 are delivered and acked, before the first reading of the queues at 110 s.
func TestWhatWasOutAndWhatWasReadyBothWaited(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(100_000+int64(s), 0) }
	var tr Traffic
	tr.Capacities.Add(at(0), 300)
	for i := range 120 {
		delivered, acked := 300.0, 0.0
		if i > 101 {
			acked = 300
		}
		if i > 103 {
			delivered, acked = 500, 500
		}
		tr.Flows.Readings = append(tr.Flows.Readings, sample.LiveReading{At: at(i), Acked: sample.LiveSum{Count: acked}, Delivered: sample.LiveSum{Count: delivered}})
	}
	tr.Frames = append(tr.Frames, sample.Frame{Began: at(110), Ended: at(110), DepthFrom: at(110), Whole: true})
	if most := tr.waitingAround(at(100)); most < 500 {
		t.Errorf("at most %v of 500 that waited", most)
	}
	if most := tr.depthAt(at(100)); most < 500 {
		t.Errorf("the queues held at most %v of 500", most)
	}
}
