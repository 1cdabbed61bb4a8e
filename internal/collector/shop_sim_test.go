package collector

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// simTraffic says what a simulated shop does.
type simTraffic struct {
	seed                                                     uint64
	rate                                                     float64 // messages per second
	length                                                   time.Duration
	quietBefore, quietAfter                                  time.Duration
	resend, lostAck, fail, poison, crash, reject, stuckShare float64
	losesCounts                                              float64 // of the counts of a dying channel
	interval                                                 time.Duration
	passAt                                                   time.Duration // after the end of the traffic; negative: before
	offset, offsetError                                      time.Duration
	channels                                                 int
	live                                                     float64 // share of the readings with live depths
	looks                                                    bool    // consumers read before they claim, as in redis-json-status
	strange                                                  float64 // calls of others per second
	overlap                                                  bool    // what is sent again comes while the first is worked on
	prefetch, atOnce                                         int     // of each channel; 0: each delivery is worked on at once
	hangUps                                                  float64 // publishers' channels closed per second
	unmetered                                                string  // which of the nodes' own counters are missing: none, that of acks, or all
	tellsEntered                                             bool    // queues tell how many messages they took in
	hands                                                    float64 // times per second that somebody puts a message into the dead-letter queue, or takes one out
}

// simEvent is one thing that happens at a time.
type simEvent struct {
	at time.Duration
	do func()
}

type simQueue []simEvent

func (q simQueue) Len() int           { return len(q) }
func (q simQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q simQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(x any)        { *q = append(*q, x.(simEvent)) }
func (q *simQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

// A simCount is one event of a broker's counter: when it happened and when it is shown; lost ones are never shown.
type simCount struct {
	at, shown time.Duration
	channel   int
	lost      bool
}

// A simShop is a broker, a store and consumers with a ledger of truth.
type simShop struct {
	simTraffic
	r      *rand.Rand
	now    time.Duration
	events simQueue

	state   map[int]string // marker by message
	retries map[int]int
	gaveUp  map[int]time.Duration
	done    []time.Duration

	publishes, entered, acks, redeliveries, closures, deliveries []simCount
	buried, dug                                                  []simCount // put into the dead-letter queue by hand, and taken out
	depth, unacked, dead                                         []simStep

	// truth: settlements that the scheme acks, and the duplicates among them, by the time of the decision.
	settled, duplicates []time.Duration

	// What the store sees: calls, claims, failures, messages given up; returned are the hits on work in flight, repeated
	// the completions whose ack was lost.
	asked, claimed, failed, givenUp, returned, repeated, expired []time.Duration

	line line // where channels have a prefetch
}

type simStep struct {
	at    time.Duration
	delta float64
}

func (s *simShop) later(d time.Duration, do func()) {
	heap.Push(&s.events, simEvent{s.now + d, do})
}

func (s *simShop) upTo(most time.Duration) time.Duration {
	return time.Duration(s.r.Int64N(int64(most)) + 1)
}

func (s *simShop) chance(p float64) bool { return s.r.Float64() < p }

func (s *simShop) count(list *[]simCount, channel int) {
	*list = append(*list, simCount{at: s.now, shown: s.now + s.upTo(sample.CounterLag-500*time.Millisecond), channel: channel})
}

func (s *simShop) move(list *[]simStep, delta float64) { *list = append(*list, simStep{s.now, delta}) }

func runSim(t simTraffic) *simShop {
	s := &simShop{simTraffic: t, r: rand.New(rand.NewPCG(t.seed, 7)), state: map[int]string{}, retries: map[int]int{}, gaveUp: map[int]time.Duration{}}
	end := t.quietBefore + t.length
	id := 0
	for at := t.quietBefore; at < end; at += time.Duration(s.r.ExpFloat64() / t.rate * float64(time.Second)) {
		id++
		msg, again := id, s.chance(t.resend)
		heap.Push(&s.events, simEvent{at, func() {
			s.publish(msg)
			if again {
				delay := time.Second + s.upTo(3*time.Second)
				if s.overlap {
					delay /= 50
				}
				s.later(delay, func() { s.publish(msg) })
			}
		}})
	}
	for at := t.quietBefore; t.hangUps > 0 && at < end+t.quietAfter; at += time.Duration(s.r.ExpFloat64() / t.hangUps * float64(time.Second)) {
		heap.Push(&s.events, simEvent{at, func() { s.hangUp(publisher - s.r.IntN(publishers)) }})
	}
	for at := t.quietBefore; t.hands > 0 && at < end+t.quietAfter; at += time.Duration(s.r.ExpFloat64() / t.hands * float64(time.Second)) {
		heap.Push(&s.events, simEvent{at, s.meddle})
	}
	horizon := end + t.quietAfter
	for s.events.Len() > 0 && s.events[0].at < horizon {
		e := heap.Pop(&s.events).(simEvent)
		s.now = e.at
		e.do()
	}
	s.now = horizon
	return s
}

// publisher is the first of the publishers' channels, which go down from it; what queues count themselves is of no channel.
const publisher, publishers, nobody = -1, 2, -99

func (s *simShop) publish(msg int) {
	s.count(&s.publishes, publisher-msg%publishers)
	s.later(s.upTo(sample.TransitDelay/2), func() {
		s.move(&s.depth, 1)
		s.entered = append(s.entered, simCount{at: s.now, shown: s.now + s.upTo(sample.DepthLag-500*time.Millisecond), channel: nobody})
		s.later(s.upTo(100*time.Millisecond), func() { s.deliver(msg, false) })
	})
}

// meddle puts a message into the dead-letter queue by hand, or takes one of those out again.
func (s *simShop) meddle() {
	if len(s.dug) < len(s.buried) && s.chance(0.5) {
		s.count(&s.dug, nobody)
		s.later(s.upTo(sample.TransitDelay/2), func() { s.move(&s.dead, -1) })
		return
	}
	s.count(&s.buried, publisher)
	s.later(s.upTo(sample.TransitDelay/2), func() { s.move(&s.dead, 1) })
}

func (s *simShop) deliver(msg int, again bool) {
	if s.prefetch > 0 {
		s.wait(simDelivery{msg, again})
		return
	}
	channel := s.r.IntN(s.channels)
	s.hand(simDelivery{msg, again}, channel)
	s.take(msg, channel)
}

// hand delivers a message to a channel.
func (s *simShop) hand(d simDelivery, channel int) {
	s.count(&s.deliveries, channel)
	if d.again {
		s.count(&s.redeliveries, channel)
	}
	s.move(&s.unacked, 1)
}

// take is what a consumer does with a delivery.
func (s *simShop) take(msg, channel int) {
	if s.state[msg] == "" && s.chance(s.reject) {
		s.move(&s.depth, -1)
		s.move(&s.unacked, -1)
		s.later(s.upTo(sample.TransitDelay/2), func() { s.move(&s.dead, 1) })
		s.free(msg, channel)
		return
	}
	s.asked = append(s.asked, s.now)
	switch {
	case s.state[msg] == "done":
		s.settle(msg, channel, true)
	case s.state[msg] == "processing":
		s.returned = append(s.returned, s.now)
		s.requeue(msg, channel, 300*time.Millisecond)
	case s.looks:
		s.work(channel, s.upTo(10*time.Millisecond), func() { s.claim(msg, channel) })
	default:
		s.claim(msg, channel)
	}
}

func (s *simShop) claim(msg, channel int) {
	if s.state[msg] != "" { // lost a race: such a consumer takes it for a duplicate
		s.settle(msg, channel, true)
		return
	}
	s.state[msg] = "processing"
	s.claimed = append(s.claimed, s.now)
	if s.chance(s.stuckShare) {
		s.close(msg, channel)
		return
	}
	s.work(channel, s.upTo(200*time.Millisecond), func() { s.finish(msg, channel) })
}

func (s *simShop) finish(msg, channel int) {
	switch {
	case s.chance(s.crash):
		s.state[msg] = "" // the marker expires before the next attempt
		s.expired = append(s.expired, s.now)
		s.close(msg, channel)
	case s.chance(s.fail) || (s.poison > 0 && msg%int(1/s.poison) == 0):
		s.state[msg] = ""
		s.failed = append(s.failed, s.now)
		if s.retries[msg]++; s.retries[msg] == 5 {
			s.gaveUp[msg] = s.now
			s.givenUp = append(s.givenUp, s.now)
			s.retries[msg] = -1 << 30 // resent copies of such a message are left out of the simulation
			s.settle(msg, channel, false)
			s.state[msg] = "processing"
			return
		}
		s.requeue(msg, channel, 50*time.Millisecond)
	default:
		s.state[msg] = "done"
		s.done = append(s.done, s.now)
		if s.chance(s.lostAck) {
			s.repeated = append(s.repeated, s.now)
			s.close(msg, channel)
			return
		}
		s.settle(msg, channel, false)
	}
}

func (s *simShop) settle(msg, channel int, duplicate bool) {
	s.settled = append(s.settled, s.now)
	if duplicate {
		s.duplicates = append(s.duplicates, s.now)
	}
	s.work(channel, s.upTo(sample.SettleDelay/2), func() {
		s.count(&s.acks, channel)
		s.move(&s.depth, -1)
		s.move(&s.unacked, -1)
		s.free(msg, channel)
	})
}

func (s *simShop) requeue(msg, channel int, delay time.Duration) {
	s.work(channel, delay, func() {
		s.move(&s.unacked, -1)
		s.free(msg, channel)
		s.later(s.upTo(50*time.Millisecond), func() { s.deliver(msg, true) })
	})
}

// close ends a channel that holds this message: the broker loses counts that it has not shown yet, and redelivers.
func (s *simShop) close(msg, channel int) {
	s.hangUp(channel)
	for _, msg := range s.drop(msg, channel) {
		s.move(&s.unacked, -1)
		s.later(s.upTo(5*time.Second), func() { s.deliver(msg, true) })
	}
}

// hangUp closes a channel, whose newest counts may be lost: all from a time on, as the broker collects all that a channel counts
// together, and only what was not shown.
func (s *simShop) hangUp(channel int) {
	s.count(&s.closures, channel)
	if !s.chance(s.losesCounts) {
		return
	}
	lists := []*[]simCount{&s.publishes, &s.buried, &s.acks, &s.redeliveries, &s.deliveries}
	since := s.now - s.upTo(sample.CounterLag)
	newest := func(each func(*simCount)) {
		for _, list := range lists {
			for i := len(*list) - 1; i >= 0 && s.now-(*list)[i].at < sample.CounterLag; i-- {
				if c := &(*list)[i]; c.channel == channel {
					each(c)
				}
			}
		}
	}
	newest(func(c *simCount) {
		if c.shown <= s.now {
			since = max(since, c.at)
		}
	})
	newest(func(c *simCount) { c.lost = c.lost || c.at > since })
}
