package window

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// An oddShop is a queue whose consumers insert first: each second 20.4 inserts write a row, 1 of these fails, takes its row back and is returned, and 0.6
// meet a done row and are acked, so that 3 % of 20 acks are duplicates.
type oddShop struct {
	seconds int
	live    bool              // the broker has live counts
	fail    func(int) float64 // inserts that fail in a second for another cause, as a lock that is waited for too long: they are returned
	reject  bool              // they are not returned but dead-lettered
}

func (s oddShop) pipeline() (*Pipeline, View) {
	at := func(second int) time.Time { return time.Unix(1000+int64(second), 0) }
	p := &Pipeline{Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: at(0), Most: 10}}}}
	p.Traffic.Capacities.Add(at(0), 3)
	odd := make([]float64, s.seconds+1)
	for i := range s.seconds {
		odd[i+1] = odd[i]
		if s.fail != nil {
			odd[i+1] += s.fail(i)
		}
		n := float64(i)
		acked, back := 20*n, n+odd[i]
		delivered := acked + back
		if s.reject {
			back = n
		}
		if s.live {
			p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at(i), Acked: sample.LiveSum{Count: acked}, Delivered: sample.LiveSum{Count: delivered}, Redelivered: back})
		}
		if i%5 != 0 {
			continue
		}
		p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at(i), Ended: at(i), DepthFrom: at(i), Whole: true, Depth: 3, Unacked: 2, Acks: acked, Deliveries: delivered, Redeliveries: back})
		last := int64(21*n + odd[i])
		p.Store.Statements.Readings = append(p.Store.Statements.Readings, dedup.StatementStats{At: at(i).Add(time.Second / 2), Epoch: 1, Unfailed: int64(20.4 * n), IDs: &[2]int64{last, last}})
		if i >= 60 {
			then, ids := n-60, int64(21*(n-60)+odd[i-60])
			p.Store.Inserts.Readings = append(p.Store.Inserts.Readings, dedup.InsertStats{At: at(i - 60), Last: at(i - 60), Epoch: 1, IDs: ids, Next: ids + 1,
				Rows: int64(19.4 * then), Done: int64(19.4 * then)})
		}
	}
	p.Store.Statements.Told = true
	v := plainView()
	v.Stats.Pass = &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 100_000}}
	return p, v
}

// TestInsertsThatFailForAnotherCauseAreNoDuplicates: they take an id and write no row, as those that meet one do.
func TestInsertsThatFailForAnotherCauseAreNoDuplicates(t *testing.T) {
	each := func(x float64) func(int) float64 { return func(int) float64 { return x } }
	lately := func(i int) float64 {
		if i >= 850 {
			return 10
		}
		return 0
	}
	for name, c := range map[string]struct {
		shop   oddShop
		widest float64 // in points
	}{
		"none":                                {oddShop{seconds: 900, live: true}, 1.8},
		"none, and no live counts":            {oddShop{seconds: 900}, 3.2},
		"one a second, no live counts":        {oddShop{seconds: 900, fail: each(1)}, 8.5},
		"ten a second, no live counts":        {oddShop{seconds: 900, fail: each(10)}, 55},
		"one in five seconds":                 {oddShop{seconds: 900, live: true, fail: each(0.2)}, 3},
		"one in three seconds":                {oddShop{seconds: 900, live: true, fail: each(0.3)}, 3.6},
		"ten a second for the last 50":        {oddShop{seconds: 900, live: true, fail: lately}, 11},
		"two a second, shortly after a start": {oddShop{seconds: 120, live: true, fail: each(2)}, 18},
		"one a second that are dead-lettered": {oddShop{seconds: 900, live: true, fail: each(1), reject: true}, 8},
	} {
		p, v := c.shop.pipeline()
		span, gain, ok := p.hits(v).span(p.hits(v).statements(), 5*time.Minute)
		if !ok {
			t.Fatalf("%s: nothing is counted", name)
		}
		f := p.hits(v).judge(span, gain, 5*time.Minute).Rate
		const truth = 0.03
		if f.Low > truth || f.High < truth || 100*(f.High-f.Low) > c.widest || f.N == 0 {
			t.Errorf("%s: %.2f %% to %.2f %% of %v %s, the truth is %.2f %%: %s", name, 100*f.Low, 100*f.High, f.N, f.Quality, 100*truth, f.Why)
		}
	}
}

// TestRowsThatTheServerDoesNotCountInsertsOfRefuse: what a function writes, or a role whose statements are not counted.
func TestRowsThatTheServerDoesNotCountInsertsOfRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		counted float64 // of what is written
		refuses bool
	}{"all are counted": {1, false}, "one in ten is not": {0.9, true}, "half are not": {0.5, true}} {
		p, v := oddShop{seconds: 900, live: true}.pipeline()
		for i := range p.Store.Statements.Readings {
			r := &p.Store.Statements.Readings[i]
			r.Unfailed = int64(c.counted * float64(r.Unfailed))
		}
		span, gain, _ := p.hits(v).span(p.hits(v).statements(), 5*time.Minute)
		f := p.hits(v).judge(span, gain, 5*time.Minute).Rate
		if refused := f.N == 0 && strings.Contains(f.Why, "more than the server counted inserts"); refused != c.refuses {
			t.Errorf("%s: %.2f %% to %.2f %% %s %s", name, 100*f.Low, 100*f.High, f.Quality, f.Why)
		}
	}
}

// TestChannelsThatCloseAfterASpanLeaveNothingInIt: at rest rows are counted up to the present.
func TestChannelsThatCloseAfterASpanLeaveNothingInIt(t *testing.T) {
	p, span := plainShop{ids: 21, wrote: 20.4, rows: 20.4, done: 20.4, acked: 20.6}.pipeline()
	rows := p.Store.Inserts.Readings
	rows[len(rows)-1].At, rows[len(rows)-1].Next = span.To.Add(3*time.Second), span.LastIDs[1]+1
	v := plainView()
	v.Scheme.AcksEach = false
	v.Stats.Pass = &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 100_000}}
	least := func() float64 {
		gain, _ := p.Traffic.between(span.From, span.To)
		return p.hits(v).leastByRows(span, gain, p.hits(v).comeAgain(span, gain, 0, heldRows(p, v, span)))
	}
	before := least()
	raiseFlows(p, func(r *sample.LiveReading) {
		if r.At.After(span.To.Add(time.Second)) {
			r.Closed = 3
		}
	})
	if after := least(); after > before {
		t.Errorf("at least %v, and %v where channels are closed later", before, after)
	}
}

// TestCopiesMeetWorkThatFailedLately: a table with a long history of done work tells nothing of an incident.
func TestCopiesMeetWorkThatFailedLately(t *testing.T) {
	p, span := plainShop{ids: 21, wrote: 20.4, rows: 20.4, done: 14.28, acked: 21}.pipeline()
	v := plainView()
	v.Scheme.OnFail = "ack"
	v.Stats.Pass = &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 1_000_000, dedup.Failed: 5000}}
	gain, _ := p.Traffic.between(span.From, span.To)
	if again := p.hits(v).comeAgain(span, gain, 0, heldRows(p, v, span)); again.Undone < 0.29 || again.Undone > 0.31 {
		t.Errorf("%v of the rows that were written lately, want 0.3", again.Undone)
	}
	p.Store.Inserts.Readings = nil // what two passes tell is all that is known
	p.Store.Growth.Take(&dedup.Pass{Ended: span.From, States: map[dedup.State]int64{dedup.Failed: 4000}})
	if again := p.hits(v).comeAgain(span, gain, 0, heldRows(p, v, span)); again.Undone < 1000/span.Asked[1]-0.01 {
		t.Errorf("%v of %v questions", again.Undone, span.Asked[1])
	}
}
