package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestRowsFromBeforeTheFirstCountMayBeMet: the database was restarted while 40 messages were in work, whose rows stay. The count of inserts begins anew,
// and then the 40 come back, meet their own rows and are acked. Nobody sent anything twice.
func TestRowsFromBeforeTheFirstCountMayBeMet(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	p := &Pipeline{Config: dedup.Pipeline{MaxProcessing: 30 * time.Second}, Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: begin.Add(-time.Hour), Most: 10}}}}
	for i := -60; i < 60; i++ {
		at := begin.Add(time.Duration(i) * 10 * time.Second)
		f := sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: true, Redeliveries: 140}
		if i <= 0 {
			f.Depth, f.Redeliveries = 40, 100
		}
		p.Traffic.Frames.Add(f)
	}
	for i := range 31 {
		n, at := int64(i)*1000/30, begin.Add(time.Duration(i)*10*time.Second)
		p.Store.Inserts.Add(&dedup.InsertStats{At: at, Last: at, Epoch: 2, IDs: n + 40*min(1, int64(i)), Rows: n, Done: n})
	}
	v := View{Now: begin.Add(6 * time.Minute), Scheme: tableGap(func(*rate.IDGap) {}).Scheme, Stats: dedup.StoreStats{Health: dedup.StoreHealth{Version: "PostgreSQL 15.4"}}}
	f := p.idGap(v).figures(15 * time.Minute).Rate
	if f.Low > 0 || f.High < 0.038 {
		t.Errorf("%.2f %% to %.2f %% %s, want 0 to 3.85 %%", 100*f.Low, 100*f.High, f.Quality)
	}
}

// TestMessagesThatWaitAreNotTakenForNoneWhereNobodyLooked: the management API did not answer around the begin of a window, while live counts went on.
func TestMessagesThatWaitAreNotTakenForNoneWhereNobodyLooked(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	from, to := begin.Add(12*time.Minute), begin.Add(17*time.Minute)
	p := &Pipeline{Config: dedup.Pipeline{MaxProcessing: 30 * time.Second}, Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: begin, Most: 10}}}}
	p.Traffic.Capacities.Add(begin, 3)
	for i := range 120 {
		if at := begin.Add(time.Duration(i) * 10 * time.Second); at.Sub(from).Abs() >= 20*time.Second {
			p.Traffic.Frames.Add(sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: true, Depth: 60})
		}
	}
	s := rate.IDGap{Scheme: dedup.Scheme{OnFail: "keep", AcksEach: true}, Reach: dedup.InsertStats{At: from.Add(-10 * time.Minute)}, From: dedup.InsertStats{At: from, Undone: 40}, To: dedup.InsertStats{At: to, Last: to, Undone: 40}}
	if got := p.idGap(View{DeadKnown: true}).leftUndone(s, ""); got < 40 {
		t.Errorf("at most %v came back of 40 rows in work, whose messages wait", got)
	}
}

// TestWhatWaitedWhileNobodyReadIsNotTakenForNothing: 40 rows were left in work before inserts were counted; their messages come at once when that begins.
func TestWhatWaitedWhileNobodyReadIsNotTakenForNothing(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	for name, read := range map[string]func(second int) bool{
		"the broker is read later":           func(s int) bool { return s >= 180 },
		"the broker was not read for a time": func(s int) bool { return s < -600 || s >= 10 },
	} {
		p := &Pipeline{Config: dedup.Pipeline{MaxProcessing: 30 * time.Second}, Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: begin.Add(-time.Hour), Most: 10}}}}
		for s := -1200; s <= 700; s += 10 {
			if read(s) {
				at := begin.Add(time.Duration(s) * time.Second)
				f := sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: true, Redeliveries: 140}
				if s < 0 {
					f.Redeliveries = 100
				}
				p.Traffic.Frames.Add(f)
			}
		}
		for i := range 61 {
			n, at := int64(i)*2000/60, begin.Add(time.Duration(i)*10*time.Second)
			p.Store.Inserts.Add(&dedup.InsertStats{At: at, Last: at, Epoch: 2, IDs: n + 40*min(1, int64(i)), Rows: n, Done: n})
		}
		v := View{Now: begin.Add(11 * time.Minute), Scheme: tableGap(func(*rate.IDGap) {}).Scheme, Stats: dedup.StoreStats{Health: dedup.StoreHealth{Version: "PostgreSQL 15.4"}}}
		if f := p.idGap(v).figures(15 * time.Minute).Rate; f.Low > 0 {
			t.Errorf("%s: %.2f %% to %.2f %% %s, want from 0", name, 100*f.Low, 100*f.High, f.Quality)
		}
	}
}
