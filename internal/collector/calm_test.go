package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

var calmStart = time.Date(2026, 3, 4, 3, 0, 0, 0, time.UTC)

// at is a second of these tests.
func at(s float64) time.Time { return calmStart.Add(time.Duration(s * float64(time.Second))) }

// depths is a broker with these numbers of messages: ready and unacked of the source queue, and a dead-letter queue.
func brokerWith(ready, unacked, dead int64, change func(map[dedup.QueueRef]*dedup.Queue)) map[dedup.QueueRef]*dedup.Queue {
	source := queue("orders", func(q *dedup.Queue) { q.Ready, q.Unacked, q.Messages = ptr(ready), ptr(unacked), ptr(ready+unacked) })
	dlq := queue("orders.dlq", func(q *dedup.Queue) { q.Messages = ptr(dead) })
	all := map[dedup.QueueRef]*dedup.Queue{source.QueueRef: &source, dlq.QueueRef: &dlq}
	if change != nil {
		change(all)
	}
	return all
}

func ordersRef() dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: "orders"} }

func newShore() *shore {
	return &shore{sources: []dedup.QueueRef{ordersRef()}, dead: []dedup.QueueRef{{Vhost: "/", Name: "orders.dlq"}}}
}

func TestMomentsOfCalm(t *testing.T) {
	type reading struct {
		second               float64
		ready, unacked, dead int64
		change               func(map[dedup.QueueRef]*dedup.Queue)
		lagging              bool
	}
	quorum := func(q map[dedup.QueueRef]*dedup.Queue) { q[ordersRef()].Type = "quorum" }
	hidden := func(q map[dedup.QueueRef]*dedup.Queue) { delete(q, ordersRef()) }
	mute := func(q map[dedup.QueueRef]*dedup.Queue) { q[ordersRef()].Unacked = nil }
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
		"the two newest readings count":                               {[]reading{{second: 1, ready: 1}, {second: 2, ready: 1}, {second: 3, ready: 1}}, 100, []float64{3, 2}, nil, ptr(0)},
		"something was out in between":                                {[]reading{{second: 1, ready: 1}, {second: 2, unacked: 1}, {second: 3, ready: 1}}, 100, []float64{3, 1}, nil, ptr(0)},
		"readings after the pass began do not count":                  {[]reading{{second: 1}, {second: 2}, {second: 3}, {second: 4}}, 3, []float64{2, 1}, []float64{1}, ptr(0)},
		"empty before the dead letters were read":                     {[]reading{{second: 1, dead: 2}, {second: 2, dead: 2}, {second: 3, dead: 2}}, 100, []float64{3, 2}, []float64{2, 1}, ptr(2)},
		"a hidden queue":                                              {[]reading{{second: 1, change: hidden}, {second: 2, change: hidden}}, 100, nil, nil, nil},
		"a queue that does not say":                                   {[]reading{{second: 1, change: mute}, {second: 2, change: mute}}, 100, nil, nil, nil},
		"dead letters that are not known":                             {[]reading{{second: 1, change: noDead}, {second: 2, change: noDead}}, 100, []float64{2, 1}, nil, nil},
		"a quorum queue lags, and two readings of one moment are one": {[]reading{{second: 20, change: quorum}, {second: 21, change: quorum}}, 100, []float64{10}, []float64{9}, ptr(0)},
		"a quorum queue that was read long apart":                     {[]reading{{second: 20, change: quorum}, {second: 40, change: quorum}}, 100, []float64{29, 9}, []float64{9}, ptr(0)},
		"the sample lags":                                             {[]reading{{second: 20, lagging: true}, {second: 22, lagging: true}}, 100, []float64{11}, nil, ptr(0)},
		"dead letters that lag behind the emptiness":                  {[]reading{{second: 10, change: slowDead}, {second: 11, change: slowDead}, {second: 23, change: slowDead}}, 100, []float64{23, 11}, []float64{11, 10}, ptr(0)},
		"the clock was set back":                                      {[]reading{{second: 50}, {second: 51}, {second: 20}}, 100, []float64{20}, nil, ptr(0)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShore()
			for _, r := range tt.readings {
				s.take(brokerWith(r.ready, r.unacked, r.dead, r.change), at(r.second), at(r.second+0.1), r.lagging)
			}
			got := s.until(at(tt.until))
			compare(t, "nothing out", got.nothingOut, tt.nothingOut)
			compare(t, "empty", got.empty, tt.empty)
			if (got.dead == nil) != (tt.dead == nil) || (got.dead != nil && *got.dead != *tt.dead) {
				t.Errorf("dead letters %v, want %v", got.dead, tt.dead)
			}
		})
	}
}

// What people are told of the dead-letter queues is of now, whenever it was that nothing was out.
func TestTheNewestDepthOfTheDeadLetterQueuesIsTold(t *testing.T) {
	s := &storeShore{broker: &brokerWatch{}, shore: newShore()}
	s.shore.take(brokerWith(0, 0, 34, nil), at(1), at(1.1), false)
	for second, dead := range []int64{122, 208} {
		s.shore.take(brokerWith(675, 12, dead, nil), at(float64(10+second)), at(float64(10+second)+0.1), false)
		e := dedup.Evidence{At: at(100)}
		s.testify(&e, true)
		if e.DeadLetters == nil || *e.DeadLetters != 34 || e.DeadLettersNow == nil || *e.DeadLettersNow != dead || *e.Ready != 675 {
			t.Errorf("with %d dead letters: %v then, %v now", dead, e.DeadLetters, e.DeadLettersNow)
		}
		if s.testify(&e, false); *e.DeadLettersNow != 2*dead {
			t.Errorf("with a second broker: %d", *e.DeadLettersNow)
		}
	}
	s.shore.take(brokerWith(0, 1, 0, func(q map[dedup.QueueRef]*dedup.Queue) {
		delete(q, dedup.QueueRef{Vhost: "/", Name: "orders.dlq"})
	}), at(20), at(20.1), false)
	if s.shore.last.dead != nil {
		t.Errorf("a queue that does not show holds %d", *s.shore.last.dead)
	}
}

func compare(t *testing.T, what string, got [2]time.Time, want []float64) {
	t.Helper()
	for i := range got {
		switch {
		case i >= len(want) && !got[i].IsZero():
			t.Errorf("%s %d: %s, want none", what, i, got[i])
		case i < len(want) && (got[i].Before(at(want[i]-0.2)) || got[i].After(at(want[i]+0.01))):
			t.Errorf("%s %d: %s, want %s", what, i, got[i], at(want[i]))
		}
	}
}

func TestCalmsThinOutButReachBack(t *testing.T) {
	s := newShore()
	const hours = 3
	for second := range hours * 3600 {
		s.take(brokerWith(0, 0, 0, nil), at(float64(second)), at(float64(second)+0.1), false)
	}
	if n := len(s.calms); n > 1200 {
		t.Errorf("%d calms are kept", n)
	}
	got := s.until(at(hours*3600 - 3600))
	if age := at(hours*3600 - 3600).Sub(got.nothingOut[1]); got.nothingOut[1].IsZero() || age > 3*calmStep {
		t.Errorf("an hour ago the second newest calm is %s old", age)
	}
}

// consuming is a topology in which connections consume from queues; "-" opens one that does not.
func consuming(second float64, consumers map[string]string, opened map[string]float64) *dedup.Topology {
	t := &dedup.Topology{At: at(second), Consumers: []dedup.Consumer{}, Connections: []dedup.Connection{}}
	for connection, queue := range consumers {
		if queue != "-" {
			t.Consumers = append(t.Consumers, dedup.Consumer{Queue: dedup.QueueRef{Vhost: "/", Name: queue}, Connection: connection, AckRequired: true})
		}
		c := dedup.Connection{Name: connection}
		if s, ok := opened[connection]; ok {
			c.Opened = at(s)
		}
		if connection != "" {
			t.Connections = append(t.Connections, c)
		}
	}
	return t
}

func TestClosings(t *testing.T) {
	type reading struct {
		second    float64
		consumers map[string]string // connection: queue
		opened    map[string]float64
		count     int64 // what the queue says
	}
	a, b := map[string]string{"a": "orders"}, map[string]string{"b": "orders"}
	tests := map[string]struct {
		readings []reading
		until    float64
		since    float64 // negative: no closing
	}{
		"the only consumer goes on since before all":  {[]reading{{100, a, map[string]float64{"a": 5}, 1}}, 200, 5},
		"the consumer was replaced":                   {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, map[string]float64{"b": 150}, 1}}, 300, 150},
		"not known when the pass began":               {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, map[string]float64{"b": 150}, 1}}, 199, 5},
		"a new consumer may not be listed yet":        {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, map[string]float64{"b": 199}, 1}}, 300, 189},
		"without a time, it came after the last look": {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, nil, 1}}, 300, 100},
		"its time is told later": {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, nil, 1}, {300, b, map[string]float64{"b": 150}, 1},
			{400, b, map[string]float64{"b": 250}, 1}}, 500, 150},
		"without a time, and there from the beginning": {[]reading{{100, a, nil, 1}}, 200, -1},
		"one of two consumers was closed": {[]reading{{100, map[string]string{"a": "orders", "c": "orders"}, map[string]float64{"a": 5, "c": 6}, 2},
			{200, a, map[string]float64{"a": 5}, 1}}, 300, 5},
		"the closed one served another queue": {[]reading{{100, map[string]string{"a": "orders", "c": "other"}, map[string]float64{"a": 5, "c": 50}, 1},
			{200, a, map[string]float64{"a": 5}, 1}}, 300, 5},
		"a consumer that has cancelled may still work": {[]reading{{100, a, map[string]float64{"a": 5}, 1},
			{200, map[string]string{"a": "-", "b": "orders"}, map[string]float64{"a": 5, "b": 150}, 1}}, 300, 5},
		"it has left at last": {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, map[string]string{"a": "-", "b": "orders"}, map[string]float64{"a": 5, "b": 150}, 1},
			{250, b, map[string]float64{"b": 150}, 1}}, 300, 150},
		"everybody left":                                       {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, nil, nil, 0}}, 300, 189},
		"nobody was ever seen":                                 {[]reading{{100, nil, nil, 0}, {200, nil, nil, 0}}, 300, -1},
		"the list hides consumers":                             {[]reading{{100, a, map[string]float64{"a": 5}, 2}}, 200, -1},
		"the list hides them suddenly":                         {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, nil, nil, 1}}, 300, 5},
		"a consumer without a name":                            {[]reading{{100, map[string]string{"": "orders"}, nil, 1}}, 200, -1},
		"the clock was set back":                               {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {50, b, nil, 1}}, 300, -1},
		"what was learned is kept when the list is incomplete": {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, map[string]float64{"b": 150}, 1}, {300, b, nil, 7}}, 400, 150},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var l links
			var log closings
			for _, r := range tt.readings {
				l.take(consuming(r.second, r.consumers, r.opened))
				queues := brokerWith(0, 0, 0, func(q map[dedup.QueueRef]*dedup.Queue) { q[ordersRef()].Consumers = ptr(r.count) })
				log.take(l.closing([]dedup.QueueRef{ordersRef()}, queues))
			}
			got := log.until(at(tt.until), at(1e6))
			if want := at(tt.since); (tt.since < 0) != got.Since.IsZero() || (tt.since >= 0 && !got.Since.Equal(want)) {
				t.Errorf("closed since %s, want %v s after %s", got.Since, tt.since, calmStart)
			}
		})
	}
	t.Run("a broker that does not tell", func(t *testing.T) {
		var l links
		l.take(consuming(1, a, nil))
		l.take(&dedup.Topology{At: at(2), Consumers: []dedup.Consumer{}})
		if _, _, ok := l.closing([]dedup.QueueRef{ordersRef()}, brokerWith(0, 0, 0, nil)); ok {
			t.Error("connections that are not known are taken for closed ones")
		}
	})
}

// That consumers set an expiry is seen from markers that they wrote, not from one that was given its expiry from here.
func TestAnExpiryThatWeGaveSaysNothingOfConsumers(t *testing.T) {
	marker := dedup.Marker{State: dedup.Processing, Expires: at(300), ExpirySet: at(1)}
	pass := func(second float64) *dedup.Pass {
		return &dedup.Pass{Ended: at(second), States: map[dedup.State]int64{dedup.Processing: 2}, NoExpiry: map[dedup.State]int64{dedup.Processing: 1},
			OldestProcessing: []dedup.Marker{{State: dedup.Processing}, marker}}
	}
	var w storeWatch
	if w.notePass(pass(2), time.Hour); w.setsExpiry {
		t.Error("it is taken for the consumers'")
	}
	marker.ExpirySet = time.Time{}
	if w.notePass(pass(3), time.Hour); !w.setsExpiry {
		t.Error("an expiry of the consumers' is not seen")
	}
}

// Done markers that somebody deleted would pass for duplicates: the acks of their messages are counted, their completions no longer are.
func TestAPassThatMissesCompletionsOfTheOneBeforeDisturbsTheStore(t *testing.T) {
	pass := func(second float64, completions int) *dedup.Pass {
		p := &dedup.Pass{Started: at(second - 1), Ended: at(second)}
		for i := range completions {
			p.Completions.Add(at(float64(i)))
		}
		p.Completions.Freeze()
		return p
	}
	for name, tt := range map[string]struct {
		life      time.Duration
		later     *dedup.Pass
		disturbed bool
	}{
		"an emptied store":                   {2 * time.Hour, pass(320, 0), true},
		"an emptied store without expiries":  {0, pass(320, 0), true},
		"a third of them deleted":            {2 * time.Hour, pass(320, 200), true},
		"some that were done again":          {2 * time.Hour, pass(320, 290), false},
		"nothing missing":                    {2 * time.Hour, pass(320, 310), false},
		"those that have expired since then": {10 * time.Minute, pass(320, 0), false},
	} {
		w := &storeWatch{}
		w.notePass(pass(301, 300), tt.life)
		if w.notePass(tt.later, tt.life); w.disturbed.Equal(tt.later.Ended) != tt.disturbed || tt.disturbed != strings.Contains(w.disturbedWhy, "deleted") {
			t.Errorf("%s: disturbed at %v, %q", name, w.disturbed, w.disturbedWhy)
		}
	}
}
