package estimate

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A sessionTraffic is consumers of a scheme whose fates are known, and what a trace and a store would show of them.
type sessionTraffic struct {
	scheme    dedup.Scheme
	perSecond float64
	consumers int
	prefetch  int
	work      time.Duration
	// Shares of messages: sent again by producers at once, or later; works that fail; acks lost after the work; consumers that die in it.
	againSoon, againLater, fails, lostAcks, crashes float64
	// readsOnly leaves the store's events out, coarse makes its times whole seconds.
	// claimTimes gives markers the time at which work began.
	readsOnly, coarse, claimTimes bool
	// busy makes traces late, as a machine does that is too busy: mostly by less than so much, rarely by several times as much.
	busy    time.Duration
	seconds float64
}

// sessionTruth is what became of the deliveries of the traced time.
type sessionTruth struct{ messages, duplicates, inFlight, failures int64 }

type simMessage struct {
	id          string
	redelivered bool
}

type simDelivery struct {
	simMessage
	at     time.Time
	traced bool
	worker *simConsumer
}

type simConsumer struct {
	name string
	held []*simDelivery
	busy bool
	dead bool
	// shown is when its last trace came: those of one consumer keep their order.
	shown time.Time
}

type simMarker struct {
	state dedup.State
	sets  []time.Time
}

type simEvent struct {
	at  time.Time
	seq int
	do  func()
}

type simEvents []simEvent

func (e simEvents) Len() int { return len(e) }
func (e simEvents) Less(i, j int) bool {
	return cmp.Or(e[i].at.Compare(e[j].at), cmp.Compare(e[i].seq, e[j].seq)) < 0
}
func (e simEvents) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *simEvents) Push(x any)   { *e = append(*e, x.(simEvent)) }
func (e *simEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// A sessionSim runs a traffic.
type sessionSim struct {
	sessionTraffic
	r            *rand.Rand
	now          time.Time
	events       simEvents
	seq, names   int
	ready        []simMessage
	consumers    []*simConsumer
	markers      map[string]*simMarker
	seen         map[string]*SessionMarker
	trace        dedup.Trace
	truth        sessionTruth
	began, ended time.Time
}

var simStart = time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)

// simulate runs a traffic for its warm-up, its session and two seconds more.
func (t sessionTraffic) simulate(r *rand.Rand) (Session, sessionTruth) {
	s := &sessionSim{sessionTraffic: t, r: r, now: simStart, markers: map[string]*simMarker{}, seen: map[string]*SessionMarker{}}
	s.began = simStart.Add(10 * time.Second)
	s.ended = s.began.Add(time.Duration(t.seconds * float64(time.Second)))
	for range t.consumers {
		s.consumers = append(s.consumers, s.newConsumer())
	}
	s.produce(0)
	for end := s.ended.Add(2 * time.Second); len(s.events) > 0; {
		next := heap.Pop(&s.events).(simEvent)
		if next.at.After(end) {
			break
		}
		s.now = next.at
		next.do()
	}
	return s.session(), s.truth
}

func (s *sessionSim) after(d time.Duration, do func()) {
	s.seq++
	heap.Push(&s.events, simEvent{s.now.Add(d), s.seq, do})
}

func (s *sessionSim) newConsumer() *simConsumer {
	s.names++
	return &simConsumer{name: fmt.Sprintf("10.0.0.%d:%d -> 1", s.names%200, s.names)}
}

func (s *sessionSim) produce(n int) {
	s.after(time.Duration(s.r.ExpFloat64()/s.perSecond*float64(time.Second)), func() {
		m := simMessage{id: fmt.Sprintf("m-%d", n)}
		s.publish(m)
		if s.r.Float64() < s.againSoon {
			s.after(time.Duration(s.r.Float64()*float64(3*s.work)), func() { s.publish(m) })
		}
		if s.r.Float64() < s.againLater {
			s.after(time.Duration(s.r.Float64()*float64(20*time.Second)), func() { s.publish(m) })
		}
		s.produce(n + 1)
	})
}

func (s *sessionSim) publish(m simMessage) {
	s.ready = append(s.ready, m)
	s.deliver()
}

// deliver pushes what is ready to the consumers that have room, those with the least first.
func (s *sessionSim) deliver() {
	for len(s.ready) > 0 && len(s.consumers) > 0 {
		c := slices.MinFunc(s.consumers, func(a, b *simConsumer) int { return cmp.Compare(len(a.held), len(b.held)) })
		if len(c.held) >= s.prefetch {
			return
		}
		m := s.ready[0]
		s.ready = s.ready[1:]
		d := &simDelivery{simMessage: m, at: s.now, worker: c, traced: !s.now.Before(s.began) && s.now.Before(s.ended)}
		c.held = append(c.held, d)
		if d.traced {
			s.show(d)
		}
		s.takeUp(c)
	}
}

// show traces a delivery: mostly at once, now and then late.
func (s *sessionSim) show(d *simDelivery) {
	late := time.Duration(s.r.ExpFloat64() * float64(300*time.Microsecond))
	if s.r.Float64() < 0.01 {
		late = time.Duration(s.r.Float64() * float64(80*time.Millisecond))
	}
	if s.busy > 0 {
		late = time.Duration(s.r.ExpFloat64() * float64(s.busy))
	}
	at := d.at.Add(late)
	if at.Before(d.worker.shown) {
		at = d.worker.shown
	}
	d.worker.shown = at
	s.trace.Deliveries = append(s.trace.Deliveries, dedup.TracedDelivery{At: at, ID: d.id, Redelivered: d.redelivered, Consumer: d.worker.name, Exchange: "shop", RoutingKey: "orders"})
}

func (s *sessionSim) takeUp(c *simConsumer) {
	if c.busy || c.dead || len(c.held) == 0 {
		return
	}
	c.busy = true
	d := c.held[0]
	s.after(300*time.Microsecond, func() { s.look(c, d) })
}

// look asks the store what is to be done with a delivery.
func (s *sessionSim) look(c *simConsumer, d *simDelivery) {
	if c.dead {
		return
	}
	m := s.marker(d.id)
	claims := s.scheme.Mark == "before" && !shows(s.scheme, dedup.Done)
	switch {
	case m.state == dedup.Done || m.state == dedup.Present:
		s.settle(c, d, func() {
			if d.traced {
				s.truth.messages++
				s.truth.duplicates++
			}
		})
	case m.state == dedup.Processing && s.scheme.OnInFlight == "ack":
		s.settle(c, d, func() {
			if d.traced {
				s.truth.messages++
				s.truth.inFlight++
			}
		})
	case m.state == dedup.Processing && s.scheme.OnInFlight == "nack":
		s.settle(c, d, func() {
			again := simMessage{d.id, true}
			s.after(20*time.Millisecond, func() { s.publish(again) })
		})
	case m.state == dedup.Processing || m.state == "locked":
		s.after(2*time.Millisecond, func() { s.look(c, d) })
	default:
		s.begin(c, d, m, claims)
	}
}

// begin works on a delivery.
func (s *sessionSim) begin(c *simConsumer, d *simDelivery, m *simMarker, claims bool) {
	switch {
	case s.scheme.Transactional:
		m.state = "locked"
	case claims:
		s.set(d.id, m, dedup.Present)
	case s.scheme.Mark == "before":
		m.state = dedup.Processing
		s.tell(d.id).Claimed = append(s.tell(d.id).Claimed, s.now)
		if s.claimTimes {
			m.sets = append(m.sets, s.now)
		}
	}
	took := time.Duration((0.5 + s.r.Float64()) * float64(s.work))
	luck := s.r.Float64()
	s.after(took, func() {
		switch {
		case c.dead:
		case luck < s.crashes:
			if s.scheme.Transactional {
				m.state = ""
			} else if s.scheme.Mark == "before" { // the marker stays until it expires
				s.after(4*time.Second, func() { m.state = "" })
			}
			s.die(c)
		case luck < s.crashes+s.fails:
			m.state = ""
			if s.scheme.Mark == "before" {
				s.tell(d.id).Failed++
			}
			if d.traced {
				s.truth.failures++
			}
			s.settle(c, d, func() { s.publish(simMessage{d.id, true}) })
		default:
			if !claims {
				s.set(d.id, m, dedup.Done)
			}
			if luck < s.crashes+s.fails+s.lostAcks {
				s.die(c)
				return
			}
			s.settle(c, d, func() {
				if d.traced {
					s.truth.messages++
				}
			})
		}
	})
}

func (s *sessionSim) marker(id string) *simMarker {
	if s.markers[id] == nil {
		s.markers[id] = &simMarker{}
	}
	return s.markers[id]
}

// set makes a marker one of done work, and lets it be read two seconds later.
func (s *sessionSim) set(id string, m *simMarker, state dedup.State) {
	m.state = state
	if !s.claimTimes || state == dedup.Present {
		m.sets = append(m.sets, s.now)
	}
	told := s.tell(id)
	if state == dedup.Present {
		told.Claimed = append(told.Claimed, s.now)
	} else {
		told.Completed = append(told.Completed, s.now)
	}
}

func (s *sessionSim) tell(id string) *SessionMarker {
	if s.seen[id] == nil {
		s.seen[id] = &SessionMarker{}
	}
	return s.seen[id]
}

// settle ends a delivery after the time that its ack takes.
func (s *sessionSim) settle(c *simConsumer, d *simDelivery, then func()) {
	s.after(500*time.Microsecond, func() {
		if c.dead {
			return
		}
		c.held = slices.DeleteFunc(c.held, func(x *simDelivery) bool { return x == d })
		c.busy = false
		then()
		s.deliver()
		s.takeUp(c)
	})
}

// die closes a consumer: what it held comes again, and another one takes its place.
func (s *sessionSim) die(c *simConsumer) {
	c.dead = true
	s.consumers = slices.DeleteFunc(s.consumers, func(x *simConsumer) bool { return x == c })
	var back []simMessage
	for _, d := range c.held {
		back = append(back, simMessage{d.id, true})
	}
	s.ready = append(back, s.ready...)
	s.after(time.Millisecond, s.deliver)
	s.after(200*time.Millisecond, func() {
		s.consumers = append(s.consumers, s.newConsumer())
		s.deliver()
	})
}

// session is what a session would have of it: marker times as the store keeps them, events of the traced time.
func (s *sessionSim) session() Session {
	slices.SortStableFunc(s.trace.Deliveries, func(a, b dedup.TracedDelivery) int { return a.At.Compare(b.At) })
	s.trace.Began, s.trace.Ended = s.began, s.ended
	s.trace.Traced = float64(len(s.trace.Deliveries))
	s.trace.Counted = s.trace.Traced
	out := Session{Scheme: s.scheme, Trace: &s.trace, Markers: map[string]SessionMarker{}, Listened: !s.readsOnly, Resolution: time.Millisecond, Work: s.work}
	out.Scheme.DatesClaim = s.claimTimes
	if s.coarse {
		out.Resolution = time.Second
	}
	for i := range s.trace.Deliveries {
		id := s.trace.Deliveries[i].ID
		m := s.marker(id)
		told := *s.tell(id)
		inside := func(at time.Time) bool { return at.Before(s.began) }
		told.Completed = slices.DeleteFunc(slices.Clone(told.Completed), inside)
		told.Claimed = slices.DeleteFunc(slices.Clone(told.Claimed), inside)
		if told.State = m.state; m.state == "locked" {
			told.State = ""
		}
		// Two sets within the two seconds until it is read show as the later one.
		for k, at := range m.sets {
			if k+1 < len(m.sets) && m.sets[k+1].Sub(at) < 2*time.Second || at.Before(s.began) && k+1 < len(m.sets) {
				continue
			}
			told.Set = append(told.Set, at.Truncate(out.Resolution))
		}
		if s.readsOnly {
			told.Completed, told.Claimed, told.Failed = nil, nil, 0
		}
		out.Markers[id] = told
	}
	return out
}
