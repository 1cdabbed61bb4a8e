package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestCopiesThatWereReturnedAndWaitAreNoDuplicates: a burst of 100 messages comes twice at once. The copies meet their originals in flight and are
// returned; then the consumers are cancelled for a deployment, so that the copies wait, ready. None of them was acked.
func TestCopiesThatWereReturnedAndWaitAreNoDuplicates(t *testing.T) {
	for name, sampled := range map[string]bool{"the queues were sampled": true, "the queues were not sampled": false} {
		at := func(s int) time.Time { return time.Unix(100_000+int64(s), 0) }
		p := &Pipeline{Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: at(0), Most: 50}}}}
		p.Traffic.Capacities.Add(at(0), 250)
		var samples []sample.OutSample
		for i := range 300 {
			acked, copies := 20*float64(min(i, 288)), 0.0
			if i >= 287 {
				copies = 100
			}
			p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at(i), Began: at(i), Ended: at(i), Acked: sample.LiveSum{Count: acked}, Delivered: sample.LiveSum{Count: acked + copies}})
			samples = append(samples, sample.OutSample{Began: at(i).Add(-100 * time.Millisecond), Ended: at(i).Add(-90 * time.Millisecond), Unacked: 0})
			if i%5 == 0 {
				p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at(i), Ended: at(i), DepthFrom: at(i), Whole: true, Depth: copies})
				p.Store.Statements.Add(&dedup.StatementStats{At: at(i).Add(time.Second / 2), Epoch: 1, Inserts: int64(acked + copies), Met: int64(copies)})
			}
		}
		if sampled {
			p.Traffic.Flows.AddOut(samples)
		}
		v := View{Scheme: dedup.Scheme{Kind: "sql-table", Mark: "before", OnInFlight: "nack", OnFail: "delete", InsertFirst: true, AcksEach: true}}
		span, gain, ok := p.hits(v).span(p.hits(v).statements(), 4*time.Minute)
		if !ok {
			t.Fatal("nothing is counted")
		}
		if f := p.hits(v).judge(span, gain, 4*time.Minute).Rate; f.Low > 0 {
			t.Errorf("%s: %.2f %% to %.2f %% %s, none was acked", name, 100*f.Low, 100*f.High, f.Quality)
		}
	}
}
