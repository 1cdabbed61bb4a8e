package window

import (
	"math"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A plainShop is fifteen minutes of a queue whose consumers insert first, by the second.
type plainShop struct{ ids, wrote, rows, done, acked, closed float64 }

const shopSeconds = 900

func (s plainShop) pipeline() (*Pipeline, rate.HitsSpan) {
	at := func(second int) time.Time { return time.Unix(1000+int64(second), 0) }
	p := &Pipeline{Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: at(0), Most: 10}}}}
	p.Traffic.Capacities.Add(at(0), 3)
	for i := range shopSeconds {
		n := float64(i)
		p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at(i), Acked: sample.LiveSum{Count: s.acked * n}, Delivered: sample.LiveSum{Count: s.ids * n}, Closed: math.Floor(s.closed * n)})
		if i%5 != 0 {
			continue
		}
		p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at(i), Ended: at(i), DepthFrom: at(i), Whole: true, Depth: 3, Unacked: 2})
		now := int64(s.ids * n)
		p.Store.Statements.Readings = append(p.Store.Statements.Readings, dedup.StatementStats{At: at(i).Add(time.Second / 2), Epoch: 1, Unfailed: int64(s.wrote * n), IDs: &[2]int64{now, now}})
		if i >= 60 {
			then := n - 60
			p.Store.Inserts.Readings = append(p.Store.Inserts.Readings, dedup.InsertStats{At: at(i - 60), Last: at(i - 60), Epoch: 1, IDs: int64(s.ids * then), Next: int64(s.ids*then) + 1,
				Rows: int64(s.rows * then), Done: int64(s.done * then), Undone: int64(s.rows*then) - int64(s.done*then)})
		}
	}
	r := p.Store.Statements.Readings
	return p, rate.StatementHits(plainView().Scheme, &r[len(r)-62], &r[len(r)-2], 0)
}

func plainView() View {
	return View{DeadKnown: true, Scheme: dedup.Scheme{Kind: "sql-table", Mark: "before", OnInFlight: "ack", OnFail: "delete", InsertFirst: true, AcksEach: true}}
}

// TestWhatWasAckedAndWroteNoRowThatStayedMetOne: less those that may have met a row whose work was not done.
func TestWhatWasAckedAndWroteNoRowThatStayedMetOne(t *testing.T) {
	shop := plainShop{ids: 21, wrote: 20.4, rows: 19.4, done: 19.38, acked: 19.9, closed: 0.1}
	least := func(change func(*Pipeline, *View)) float64 {
		p, span := shop.pipeline()
		v := plainView()
		v.Stats.Pass = &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 100_000}}
		gain, _ := p.Traffic.between(span.From, span.To)
		change(p, &v)
		if again, known := p.Traffic.between(span.From, span.To); known {
			gain = again
		}
		return p.hits(v).leastByRows(span, gain, p.hits(v).comeAgain(span, gain, 2, heldRows(p, v, span)))
	}
	all := least(func(*Pipeline, *View) {})
	if truth := 0.5 * 300; all > truth || all < 30 { // 0.5 a second are acked and write no row that stays; of a minute the rows are not counted
		t.Errorf("at least %v of %v", all, truth)
	}
	none := -all
	for name, c := range map[string]struct {
		change func(*Pipeline, *View)
		more   float64
	}{
		// In 300 s 30 channels are closed, 6 of them since rows were counted. 4 messages waited when it began.
		"a row may be left by all that a channel held": {func(p *Pipeline, v *View) { v.Scheme.AcksEach = false }, max(none, -9*6)},
		"no channel was closed":                        {func(p *Pipeline, v *View) { raiseFlows(p, func(r *sample.LiveReading) { r.Closed = 0 }) }, 6},
		"failures keep their rows": {func(p *Pipeline, v *View) {
			v.Scheme.OnFail = "keep"
			for i := range p.Store.Inserts.Readings { // one in ten seconds of those that were not done
				r := &p.Store.Inserts.Readings[i]
				r.Failed, r.Rows, r.Undone = int64(i)/2, r.Rows+int64(i)/2, r.Undone+int64(i)/2
			}
		}, -24 + 16}, // each may have come back, and copies met no rows of work that failed but these
		"nobody counts rows":                      {func(p *Pipeline, v *View) { p.Store.Inserts.Readings = nil }, none},
		"no row was read yet":                     {func(p *Pipeline, v *View) { v.Stats.Pass = nil }, none},
		"rows are counted since the window began": {func(p *Pipeline, v *View) { p.Store.Inserts.Readings = p.Store.Inserts.Readings[125:] }, none},
		"rows are counted since shortly before":   {func(p *Pipeline, v *View) { p.Store.Inserts.Readings = p.Store.Inserts.Readings[117:] }, 0},
		"nothing waited": {func(p *Pipeline, v *View) {
			p.Traffic.Capacities = nil
			p.Traffic.Capacities.Add(time.Unix(1000, 0), 1)
			raise(p.Traffic.Frames, func(f *sample.Frame) { f.Depth, f.Unacked = 0, 0 })
		}, 4},
		"nothing bounds what a channel held":      {func(p *Pipeline, v *View) { v.Scheme.AcksEach, p.Traffic.Prefetches = false, nil }, none},
		"not every way of a dead letter is known": {func(p *Pipeline, v *View) { v.DeadKnown = false }, none},
		"dead letters were taken out and sent again": {func(p *Pipeline, v *View) {
			raise(p.Traffic.Frames[150:], func(f *sample.Frame) { f.DeadSettled += 20 })
		}, -20},
		"what the broker did at last is not known, yet": {func(p *Pipeline, v *View) { p.Traffic.Flows.Readings = p.Traffic.Flows.Readings[:800] }, -24},
	} {
		if got := least(c.change); math.Abs(got-all-c.more) > 3 {
			t.Errorf("%s: %v more than %v, want %v", name, got-all, all, c.more)
		}
	}
}

func raiseFlows(p *Pipeline, by func(*sample.LiveReading)) {
	for i := range p.Traffic.Flows.Readings {
		by(&p.Traffic.Flows.Readings[i])
	}
}

func TestWhatMetUndoneRowsCameBack(t *testing.T) {
	v := plainView()
	v.Stats.Pass = &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 10_000}}
	span, gain := rate.HitsSpan{Hits: [2]float64{200, 200}, ByIDs: true}, sample.Gain{Redelivered: 90, Closed: 4}
	if got := rate.UndoneRows(v.Scheme, v.Stats.Pass, span, gain, rate.HitsAgain{Strange: 6}); got != [2]float64{0, 90 + 6 + 3} {
		t.Errorf("what came back, and what failed otherwise: %v", got)
	}
	v.Scheme.Transactional, v.Scheme.OnInFlight = true, "wait"
	if got := rate.UndoneRows(v.Scheme, v.Stats.Pass, span, gain, rate.HitsAgain{Died: 4, Returned: 95, Strange: 6}); got != [2]float64{0, 95 + 4 + 6} {
		t.Errorf("a wait that failed comes back: %v", got)
	}
}

// TestRatesByIDsAreNeverMeasured: however narrow, and with schemes for which others of the same source are.
func TestRatesByIDsAreNeverMeasured(t *testing.T) {
	p, _ := plainShop{ids: 20.6, wrote: 20, rows: 20, done: 20, acked: 20.6}.pipeline()
	v := plainView()
	r := p.Store.Statements.Readings
	span := rate.StatementHits(v.Scheme, &r[14], &r[len(r)-2], 0)
	v.Scheme.Transactional, v.Scheme.OnInFlight, v.Stats.Health.Version = true, "wait", "PostgreSQL 15.4"
	gain, _ := p.Traffic.between(span.From, span.To)
	f := p.hits(v).judge(span, gain, 15*time.Minute).Rate
	if f.Quality != dedup.Derived || f.Width() > rate.MeasuredWidest || f.High < 0.6/20.6 {
		t.Errorf("%v to %v %s: %s", f.Low, f.High, f.Quality, f.Why)
	}
	if v.Scheme.Preset = "sql-unique-row"; !rate.ProvenHits(v.Scheme, v.Stats.Health.Version) {
		t.Error("the test itself: nothing of this scheme is measured")
	}
}

func heldRows(p *Pipeline, v View, span rate.HitsSpan) rate.RowsHeld {
	return span.HoldRows(v.Scheme, p.Store.Inserts.Readings, p.Store.Statements.Readings)
}
