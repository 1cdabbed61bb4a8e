package source

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// scriptedEvents answers with a completion for each second since an epoch began, up to the time that is certain.
type scriptedEvents struct {
	began, certain time.Time
	epoch          int64
	// late is the second around which it heard late.
	late int64
}

func (s *scriptedEvents) EventsAt(when time.Time) (dedup.EventCounts, bool) {
	seconds := int64(when.Sub(s.began) / time.Second)
	return dedup.EventCounts{Epoch: s.epoch, Completions: seconds, Again: 1, GaveUp: 10, Late: s.late != 0 && seconds == s.late}, !when.After(s.certain) && !when.Before(s.began)
}

func TestCountsOfTheBrokerAreJoinedWithWhatTheStoreCameToAtTheSameMoment(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	ref, other := dedup.QueueRef{Vhost: "/", Name: "orders"}, dedup.QueueRef{Vhost: "/", Name: "orders.eu"}
	counts := func(second int, change func(*dedup.LiveCounts)) *dedup.LiveCounts {
		at := day.Add(time.Duration(second) * time.Second)
		c := &dedup.LiveCounts{Began: at.Add(-5 * time.Millisecond), Ended: at.Add(5 * time.Millisecond), Queues: map[dedup.QueueRef]dedup.LiveCount{
			ref: {Since: day, Acked: float64(2 * second)}, other: {Since: day, Acked: 100, Unsure: 1, Open: 2, Redelivered: 3}}}
		if change != nil {
			change(c)
		}
		return c
	}
	set := func(change func(*dedup.LiveCount)) func(*dedup.LiveCounts) {
		return func(c *dedup.LiveCounts) {
			q := c.Queues[ref]
			change(&q)
			c.Queues[ref] = q
		}
	}
	for _, tt := range []struct {
		name   string
		change func(second int) func(*dedup.LiveCounts)
		store  func(second int, s *scriptedEvents)
		// runs are those of the readings that are joined, of seconds 1 to 4.
		runs []int
	}{
		{"all in one run", nil, nil, []int{1, 1, 1, 1}},
		{"not before the store is certain", nil, func(second int, s *scriptedEvents) { s.certain = day.Add(2*time.Second + 5*time.Millisecond) }, []int{1, 1}},
		{"in another run after events were missed", nil, func(second int, s *scriptedEvents) { s.epoch = int64(second / 3) }, []int{1, 1, 2, 2}},
		{"but for those around which it heard late", nil, func(second int, s *scriptedEvents) { s.late = 3602 }, []int{1, 1, 1}},
		{"in another run after the broker counted anew", func(second int) func(*dedup.LiveCounts) {
			return set(func(q *dedup.LiveCount) { q.Since = day.Add(time.Duration(second/3) * time.Minute) })
		}, nil, []int{1, 1, 2, 2}},
		{"in another run after an automatic ack", func(second int) func(*dedup.LiveCounts) {
			return set(func(q *dedup.LiveCount) { q.Automatic = float64(second / 4) })
		}, nil, []int{1, 1, 1, 2}},
		{"but for those of which a queue is not known", func(second int) func(*dedup.LiveCounts) {
			return func(c *dedup.LiveCounts) {
				if second == 2 {
					delete(c.Queues, other)
				}
			}
		}, nil, []int{1, 1, 1}},
		{"but for those whose acks have no bound", func(second int) func(*dedup.LiveCounts) {
			return set(func(q *dedup.LiveCount) {
				if second == 2 {
					q.Open = math.Inf(1)
				}
			})
		}, nil, []int{1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := &scriptedEvents{began: day.Add(-time.Hour), certain: day.Add(time.Hour)}
			p := &Flow{refs: []dedup.QueueRef{ref, other}, joint: &jointPair{store: store, giveUp: true}}
			for second := 1; second <= 4; second++ {
				var change func(*dedup.LiveCounts)
				if tt.change != nil {
					change = tt.change(second)
				}
				if tt.store != nil {
					tt.store(second, store)
				}
				p.take(counts(second, change))
				p.joint.join(day.Add(time.Duration(second) * time.Second))
			}
			var runs []int
			for _, j := range p.joint.drain() {
				second := j.At.Sub(day).Seconds()
				if runs = append(runs, j.Run); j.Acked != 100+2*second || j.Settled != 3600+second+1+10 || j.Unsure != 1 || j.Open != 2 || j.Redelivered != 3 {
					t.Errorf("second %g: %+v", second, j)
				}
			}
			if !slices.Equal(runs, tt.runs) || len(p.joint.drain()) != 0 {
				t.Errorf("runs %v, want %v", runs, tt.runs)
			}
		})
	}
	t.Run("and are calm where the store saw nothing for a moment before, nor meanwhile", func(t *testing.T) {
		t.Parallel()
		p := &Flow{refs: []dedup.QueueRef{ref, other}, joint: &jointPair{store: &scriptedEvents{began: day, certain: day.Add(time.Hour)}}}
		var calm []bool
		for _, ms := range []time.Duration{1000, 2030, 3300, 3998, 5100} {
			c := counts(1, nil)
			c.Began, c.Ended = day.Add((ms-5)*time.Millisecond), day.Add((ms+5)*time.Millisecond)
			p.take(c)
		}
		p.joint.join(day.Add(6 * time.Second))
		for _, j := range p.joint.drain() {
			calm = append(calm, j.Calm)
		}
		if !slices.Equal(calm, []bool{false, false, true, false, true}) {
			t.Errorf("%v", calm)
		}
	})
	t.Run("and are given up when the store is not certain in time, while later ones count on", func(t *testing.T) {
		t.Parallel()
		store := &scriptedEvents{began: day.Add(2 * time.Second), certain: day.Add(time.Hour)}
		p := &Flow{refs: []dedup.QueueRef{ref, other}, joint: &jointPair{store: store}}
		p.take(counts(1, nil))
		p.take(counts(3, nil))
		if p.joint.join(day.Add(4 * time.Second)); len(p.joint.drain()) != 0 {
			t.Error("a later reading overtook an earlier one")
		}
		p.joint.join(day.Add(time.Second + jointPatience))
		if got := p.joint.drain(); len(got) != 1 || got[0].Settled != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// unanswered is a broker whose plugin is off.
type unanswered struct{}

func (unanswered) Watch(...dedup.QueueRef) {}

func (unanswered) Live(context.Context) (dedup.LiveCounts, error) {
	return dedup.LiveCounts{}, &dedup.Error{Kind: dedup.Unavailable, Public: "it answers 404"}
}

// answers are what a broker tells of its live counts.
type answers struct {
	counts dedup.LiveCounts
	err    error
}

func (answers) Watch(...dedup.QueueRef) {}

func (a answers) Live(context.Context) (dedup.LiveCounts, error) { return a.counts, a.err }

func TestWhyABrokerTellsNothingIsHandedOn(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	for _, tt := range []struct {
		name   string
		reader answers
		why    string
		off    bool
	}{
		{"it answers too slowly", answers{dedup.LiveCounts{Why: "live counts took 300 ms"}, nil}, "live counts took 300 ms", false},
		{"its plugin is off", answers{dedup.LiveCounts{Off: true}, refused}, "", true},
		{"it is away, and its plugin is on", answers{dedup.LiveCounts{}, refused}, "", false},
		{"it tells", answers{}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := NewLiveSource("main", tt.reader, 15*time.Second, 5*time.Second, func() {})
			_ = w.read(t.Context())
			if why, off := w.Told(); why != tt.why || off != tt.off {
				t.Errorf("%q, off %v", why, off)
			}
		})
	}
}

func TestABrokerWithoutLiveCountsIsAskedAgainAndJoinsNothing(t *testing.T) {
	t.Parallel()
	w := NewLiveSource("main", unanswered{}, 15*time.Second, 5*time.Second, func() {})
	w.flows = []*Flow{{joint: &jointPair{store: &scriptedEvents{}}}}
	if err := w.read(t.Context()); err == nil || len(w.flows[0].joint.drain()) != 0 {
		t.Errorf("%v", err)
	}
}
