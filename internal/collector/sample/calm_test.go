package sample

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

var night = time.Date(2026, 3, 4, 3, 0, 0, 0, time.UTC)

// atSecond is a second of these tests.
func atSecond(s float64) time.Time { return night.Add(time.Duration(s * float64(time.Second))) }

// depthsOf is a broker with these numbers of messages: ready and unacked of the source queue, and a dead-letter queue.
func depthsOf(ready, unacked, dead int64, change func(map[dedup.QueueRef]*dedup.Queue)) map[dedup.QueueRef]*dedup.Queue {
	source := listed("orders", func(q *dedup.Queue) {
		q.Ready, q.Unacked, q.Messages = count(ready), count(unacked), count(ready+unacked)
	})
	dlq := listed("orders.dlq", func(q *dedup.Queue) { q.Messages = count(dead) })
	all := map[dedup.QueueRef]*dedup.Queue{source.QueueRef: &source, dlq.QueueRef: &dlq}
	if change != nil {
		change(all)
	}
	return all
}

func orders() dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: "orders"} }

func newCalms() *Calms {
	return &Calms{Sources: []dedup.QueueRef{orders()}, Dead: []dedup.QueueRef{{Vhost: "/", Name: "orders.dlq"}}}
}

func TestMomentsOfCalm(t *testing.T) {
	type reading struct {
		second               float64
		ready, unacked, dead int64
		change               func(map[dedup.QueueRef]*dedup.Queue)
		lagging              bool
	}
	quorum := func(q map[dedup.QueueRef]*dedup.Queue) { q[orders()].Type = "quorum" }
	hidden := func(q map[dedup.QueueRef]*dedup.Queue) { delete(q, orders()) }
	mute := func(q map[dedup.QueueRef]*dedup.Queue) { q[orders()].Unacked = nil }
	noDead := func(q map[dedup.QueueRef]*dedup.Queue) { delete(q, dedup.QueueRef{Vhost: "/", Name: "orders.dlq"}) }
	slowDead := func(q map[dedup.QueueRef]*dedup.Queue) {
		q[dedup.QueueRef{Vhost: "/", Name: "orders.dlq"}].Type = "quorum"
	}
	tests := map[string]struct {
		readings          []reading
		until             float64
		nothingOut, empty []float64 // newest first
		dead              *int64
	}{
		"nothing was read":                                            {nil, 100, nil, nil, nil},
		"the two newest readings count":                               {[]reading{{second: 1, ready: 1}, {second: 2, ready: 1}, {second: 3, ready: 1}}, 100, []float64{3, 2}, nil, count(0)},
		"something was out in between":                                {[]reading{{second: 1, ready: 1}, {second: 2, unacked: 1}, {second: 3, ready: 1}}, 100, []float64{3, 1}, nil, count(0)},
		"readings after the pass began do not count":                  {[]reading{{second: 1}, {second: 2}, {second: 3}, {second: 4}}, 3, []float64{2, 1}, []float64{1}, count(0)},
		"empty before the dead letters were read":                     {[]reading{{second: 1, dead: 2}, {second: 2, dead: 2}, {second: 3, dead: 2}}, 100, []float64{3, 2}, []float64{2, 1}, count(2)},
		"a hidden queue":                                              {[]reading{{second: 1, change: hidden}, {second: 2, change: hidden}}, 100, nil, nil, nil},
		"a queue that does not say":                                   {[]reading{{second: 1, change: mute}, {second: 2, change: mute}}, 100, nil, nil, nil},
		"dead letters that are not known":                             {[]reading{{second: 1, change: noDead}, {second: 2, change: noDead}}, 100, []float64{2, 1}, nil, nil},
		"a quorum queue lags, and two readings of one moment are one": {[]reading{{second: 20, change: quorum}, {second: 21, change: quorum}}, 100, []float64{10}, []float64{9}, count(0)},
		"a quorum queue that was read long apart":                     {[]reading{{second: 20, change: quorum}, {second: 40, change: quorum}}, 100, []float64{29, 9}, []float64{9}, count(0)},
		"the sample lags":                                             {[]reading{{second: 20, lagging: true}, {second: 22, lagging: true}}, 100, []float64{11}, nil, count(0)},
		"dead letters that lag behind the emptiness":                  {[]reading{{second: 10, change: slowDead}, {second: 11, change: slowDead}, {second: 23, change: slowDead}}, 100, []float64{23, 11}, []float64{11, 10}, count(0)},
		"the clock was set back":                                      {[]reading{{second: 50}, {second: 51}, {second: 20}}, 100, []float64{20}, nil, count(0)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newCalms()
			for _, r := range tt.readings {
				s.Take(depthsOf(r.ready, r.unacked, r.dead, r.change), atSecond(r.second), atSecond(r.second+0.1), r.lagging)
			}
			got := s.Until(atSecond(tt.until))
			compare(t, "nothing out", got.NothingOut, tt.nothingOut)
			compare(t, "empty", got.Empty, tt.empty)
			if (got.Dead == nil) != (tt.dead == nil) || (got.Dead != nil && *got.Dead != *tt.dead) {
				t.Errorf("dead letters %v, want %v", got.Dead, tt.dead)
			}
		})
	}
}

func compare(t *testing.T, what string, got [2]time.Time, want []float64) {
	t.Helper()
	for i := range got {
		switch {
		case i >= len(want) && !got[i].IsZero():
			t.Errorf("%s %d: %s, want none", what, i, got[i])
		case i < len(want) && (got[i].Before(atSecond(want[i]-0.2)) || got[i].After(atSecond(want[i]+0.01))):
			t.Errorf("%s %d: %s, want %s", what, i, got[i], atSecond(want[i]))
		}
	}
}

func TestCalmsThinOutButReachBack(t *testing.T) {
	s := newCalms()
	const hours = 3
	for second := range hours * 3600 {
		s.Take(depthsOf(0, 0, 0, nil), atSecond(float64(second)), atSecond(float64(second)+0.1), false)
	}
	if n := len(s.calms); n > 1200 {
		t.Errorf("%d calms are kept", n)
	}
	got := s.Until(atSecond(hours*3600 - 3600))
	if age := atSecond(hours*3600 - 3600).Sub(got.NothingOut[1]); got.NothingOut[1].IsZero() || age > 3*calmStep {
		t.Errorf("an hour ago the second newest calm is %s old", age)
	}
}

// listed is a queue as a broker lists it.
func listed(name string, change func(*dedup.Queue)) dedup.Queue {
	q := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: name}, Type: "classic", Messages: count(0), Ready: count(0), Unacked: count(0)}
	if change != nil {
		change(&q)
	}
	return q
}
