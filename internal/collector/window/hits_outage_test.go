package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestWorkTakenOverFromBeforeTheSpanIsNoDuplicate: 20 messages a second, on_inflight nack. No message is sent
// twice. "outage": on_fail keep, retakes not never; batch consumers were killed for longer than a row stays processing: 300 messages have a row of before the span,
// wait ready, are redelivered in the span, and their stale row is taken over. "requeue": on_fail keep, on_failed ack: 300 dead letters with a failed
// row are moved back in the span, and acked without work (swallowed). The truth is 0 duplicates.
func TestWorkTakenOverFromBeforeTheSpanIsNoDuplicate(t *testing.T) {
	for _, name := range []string{"outage", "requeue", "outage, MySQL"} {
		at := func(s int) time.Time { return time.Unix(100_000+int64(s), 0) }
		p := &Pipeline{Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: at(0), Most: 5}}}}
		p.Traffic.Capacities.Add(at(0), 15)
		const begin, backlog = 660, 300.0
		for i := range 960 {
			n := 20 * float64(i)
			again := min(backlog, max(0, float64(i-begin)*5)) // those that came again
			depth, redelivered, settled := 2.0, 0.0, 0.0
			if name != "requeue" {
				redelivered = again
				if i > 300 {
					depth += backlog - again
				}
			} else if i > begin {
				settled = backlog
				depth += backlog - again
			}
			p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at(i), Began: at(i), Ended: at(i), Acked: sample.LiveSum{Count: n + again}, Delivered: sample.LiveSum{Count: n + again}, Redelivered: redelivered})
			if i%5 != 0 {
				continue
			}
			p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at(i), Ended: at(i), DepthFrom: at(i), Whole: true, Depth: depth, Unacked: 2, Consumers: 3, ConsumersKnown: true, DeadSettled: settled})
			ids := int64(n + again + backlog)
			p.Store.Statements.Add(&dedup.StatementStats{At: at(i).Add(time.Second / 2), Epoch: 1, Unfailed: int64(n + 10 + backlog), IDs: &[2]int64{ids + 10, ids + 20}})
			if name == "outage, MySQL" {
				p.Store.Statements.Readings[len(p.Store.Statements.Readings)-1] = dedup.StatementStats{At: at(i).Add(time.Second / 2), Epoch: 1, Inserts: ids + 10, Met: int64(again)}
				continue
			}
			if i >= 60 {
				then := 20 * float64(i-60)
				given := int64(then + backlog + min(backlog, max(0, float64(i-60-begin)*5)))
				rows, undone := int64(then+backlog), int64(0)
				if name == "outage" && i-60 >= 400 { // when they were counted, a minute later, their work was not done
					undone = backlog
				}
				c := dedup.InsertStats{At: at(i - 60), Last: at(i - 60), Epoch: 1, IDs: given, Next: given + 1, Rows: rows, Done: rows - undone, Undone: undone}
				p.Store.Inserts.Add(&c)
			}
		}
		v := View{DeadKnown: true, Scheme: dedup.Scheme{Kind: "sql-table", Mark: "before", OnInFlight: "nack", OnFail: "keep", OnFailed: "nack", InsertFirst: true,
			States: []dedup.State{dedup.Processing, dedup.Done}}}
		if name == "requeue" {
			v.Scheme.OnFail, v.Scheme.OnFailed, v.Scheme.States = "keep", "ack", []dedup.State{dedup.Processing, dedup.Done, dedup.Failed}
		}
		if why := v.Scheme.Refuses(dedup.MethodStoreHits); why != "" {
			t.Fatal(why)
		}
		v.Stats.Pass = &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 19_000}}
		span, gain, ok := p.hits(v).span(p.hits(v).statements(), 5*time.Minute)
		if !ok {
			t.Fatal("nothing is counted")
		}
		held := heldRows(p, v, span)
		again := p.hits(v).comeAgain(span, gain, 0, held)
		f := p.hits(v).judge(span, gain, 5*time.Minute).Rate
		t.Logf("%s: span %v to %v, byIDs %v, asked %v hits %v written %v, acked %v delivered %v redelivered %v taken %v, again %+v", name, span.From.Unix(), span.To.Unix(), span.ByIDs, span.Asked, span.Hits, span.Written, gain.Acked, gain.Delivered, gain.Redelivered, gain.Taken, again)
		if f.Low > 0 {
			t.Errorf("%s: %.2f %% to %.2f %% %s (%s), the truth is 0", name, 100*f.Low, 100*f.High, f.Quality, f.Why)
		}
	}
}
