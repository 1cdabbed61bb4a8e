package collector

import (
	"math"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// A plainShop is fifteen minutes of a queue whose consumers insert first, by the second.
type plainShop struct{ ids, wrote, rows, done, acked, closed float64 }

const shopSeconds = 900

func (s plainShop) pipeline() (*pipeline, rate.HitsSpan) {
	at := func(second int) time.Time { return time.Unix(1000+int64(second), 0) }
	p := &pipeline{broker: &brokerWatch{}, store: &storeWatch{}, found: topology.Discovery{Complete: true}, prefetches: []prefetchNote{{at: at(0), bound: 10}}}
	p.capacities.add(at(0), 3)
	for i := range shopSeconds {
		n := float64(i)
		p.flows.Readings = append(p.flows.Readings, sample.LiveReading{At: at(i), Acked: sample.LiveSum{Count: s.acked * n}, Delivered: sample.LiveSum{Count: s.ids * n}, Closed: math.Floor(s.closed * n)})
		if i%5 != 0 {
			continue
		}
		p.frames = append(p.frames, sample.Frame{Began: at(i), Ended: at(i), DepthFrom: at(i), Whole: true, Depth: 3, Unacked: 2})
		now := int64(s.ids * n)
		p.store.statements.Readings = append(p.store.statements.Readings, dedup.StatementStats{At: at(i).Add(time.Second / 2), Epoch: 1, Unfailed: int64(s.wrote * n), IDs: &[2]int64{now, now}})
		if i >= 60 {
			then := n - 60
			p.store.inserts.Readings = append(p.store.inserts.Readings, dedup.InsertStats{At: at(i - 60), Last: at(i - 60), Epoch: 1, IDs: int64(s.ids * then), Next: int64(s.ids*then) + 1,
				Rows: int64(s.rows * then), Done: int64(s.done * then), Undone: int64(s.rows*then) - int64(s.done*then)})
		}
	}
	r := p.store.statements.Readings
	return p, rate.StatementHits(plainView().scheme, &r[len(r)-62], &r[len(r)-2], 0)
}

func plainView() view {
	return view{scheme: dedup.Scheme{Kind: "sql-table", Mark: "before", OnInFlight: "ack", OnFail: "delete", InsertFirst: true, AcksEach: true}}
}

// TestRowsThatWereLeftUndoneBoundWhatMetThem: nobody acked work that was not done more often than there are such rows.
func TestRowsThatWereLeftUndoneBoundWhatMetThem(t *testing.T) {
	shop := plainShop{ids: 21, wrote: 20.4, rows: 19.4, done: 19.38, acked: 19.9, closed: 0.1}
	for name, c := range map[string]struct {
		change func(*pipeline, *view)
		most   float64
	}{
		// In 300 s 30 channels are closed; of 240 s the rows are counted, 5 undone, and 6 channels are closed since. 4 messages waited.
		"rows left undone, channels closed since, and died": {func(*pipeline, *view) {}, 5 + 4 + 6 + 2},
		"a row may be left by all that a channel held":      {func(p *pipeline, v *view) { v.scheme.AcksEach = false }, 5 + 4 + 10*6 + 2},
		"no channel was closed":                             {func(p *pipeline, v *view) { raiseFlows(p, func(r *sample.LiveReading) { r.Closed = 0 }) }, 4},
		"failures keep their rows and come back":            {func(p *pipeline, v *view) { v.scheme.OnFail = "keep" }, math.Inf(1)},
		"nobody counts rows":                                {func(p *pipeline, v *view) { p.store.inserts.Readings = nil }, math.Inf(1)},
		"rows are counted since the window began":           {func(p *pipeline, v *view) { p.store.inserts.Readings = p.store.inserts.Readings[125:] }, math.Inf(1)},
		"rows are counted since shortly before":             {func(p *pipeline, v *view) { p.store.inserts.Readings = p.store.inserts.Readings[117:] }, 5 + 3 + 6 + 2},
		"rows are counted since then, and nothing waited": {func(p *pipeline, v *view) {
			p.store.inserts.Readings = p.store.inserts.Readings[117:]
			p.capacities = nil
			p.capacities.add(time.Unix(1000, 0), 1)
			raise(p.frames, func(f *sample.Frame) { f.Depth, f.Unacked = 0, 0 })
		}, 5 + 0 + 6 + 2},
		"nothing bounds what a channel held":            {func(p *pipeline, v *view) { v.scheme.AcksEach, p.prefetches = false, nil }, math.Inf(1)},
		"not every way of a dead letter is known":       {func(p *pipeline, v *view) { p.found.Complete = false }, math.Inf(1)},
		"dead letters were taken out and sent again":    {func(p *pipeline, v *view) { raise(p.frames[150:], func(f *sample.Frame) { f.DeadSettled += 40 }) }, 5 + 4 + 6 + 2 + 40},
		"what the broker did at last is not known, yet": {func(p *pipeline, v *view) { p.flows.Readings = p.flows.Readings[:800] }, 4 + 30},
	} {
		p, span := shop.pipeline()
		v := plainView()
		gain, ok := p.brokerBetween(span.From, span.To)
		c.change(p, &v)
		if again, known := p.brokerBetween(span.From, span.To); known {
			gain = again
		}
		if got := p.leftRows(v, span, gain, 2); !ok || math.IsInf(got, 1) != math.IsInf(c.most, 1) || math.Abs(got-c.most) > 1.5 {
			t.Errorf("%s: at most %v, want %v", name, got, c.most)
		}
	}
}

func raiseFlows(p *pipeline, by func(*sample.LiveReading)) {
	for i := range p.flows.Readings {
		by(&p.flows.Readings[i])
	}
}

func TestWhatMetUndoneRowsIsTheLessOfBothBounds(t *testing.T) {
	v := plainView()
	v.stats.Pass = &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 10_000}}
	span, gain := rate.HitsSpan{Hits: [2]float64{200, 200}, ByIDs: true}, sample.Gain{Redelivered: 90, Closed: 4}
	for left, most := range map[float64]float64{math.Inf(1): 90 + 3, 7: 7 + 3, 300: 90 + 3} {
		if got := rate.UndoneRows(v.scheme, v.stats.Pass, span, gain, rate.HitsAgain{Left: left, Strange: 6}); got != [2]float64{0, most + 6} {
			t.Errorf("%v were left: %v, want %v", left, got, most)
		}
	}
	v.scheme.Transactional, v.scheme.OnInFlight = true, "wait"
	if got := rate.UndoneRows(v.scheme, v.stats.Pass, span, gain, rate.HitsAgain{Died: 4, Returned: 95, Strange: 6}); got != [2]float64{0, 95 + 4 + 6} {
		t.Errorf("a wait that failed comes back: %v", got)
	}
}

// TestRatesByIDsAreNeverMeasured: however narrow, and with schemes for which others of the same source are.
func TestRatesByIDsAreNeverMeasured(t *testing.T) {
	p, _ := plainShop{ids: 20.6, wrote: 20, rows: 20, done: 20, acked: 20.6}.pipeline()
	v := plainView()
	r := p.store.statements.Readings
	span := rate.StatementHits(v.scheme, &r[14], &r[len(r)-2], 0)
	v.scheme.Transactional, v.scheme.OnInFlight, v.stats.Health.Version = true, "wait", "PostgreSQL 15.4"
	gain, _ := p.brokerBetween(span.From, span.To)
	f := p.judgeHits(v, span, gain, 15*time.Minute).Rate
	if f.Quality != dedup.Derived || f.Width() > rate.MeasuredWidest || f.High < 0.6/20.6 {
		t.Errorf("%v to %v %s: %s", f.Low, f.High, f.Quality, f.Why)
	}
	if v.scheme.Preset = "sql-unique-row"; !rate.ProvenHits(v.scheme, v.stats.Health.Version) {
		t.Error("the test itself: nothing of this scheme is measured")
	}
}
