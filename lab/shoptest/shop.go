package shoptest

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// Traffic says what a simulated shop does.
type Traffic struct {
	Seed                                                     uint64
	Rate                                                     float64 // messages per second
	Length                                                   time.Duration
	QuietBefore, QuietAfter                                  time.Duration
	Resend, LostAck, Fail, Poison, Crash, Reject, StuckShare float64
	LosesCounts                                              float64 // of the counts of a dying channel
	Interval                                                 time.Duration
	PassAt                                                   time.Duration // after the end of the traffic; negative: before
	Offset, offsetError                                      time.Duration
	Channels                                                 int
	Live                                                     float64 // share of the readings with live depths
	Looks                                                    bool    // consumers read before they claim, as in redis-json-status
	Strange                                                  float64 // calls of others per second
	Overlap                                                  bool    // what is sent again comes while the first is worked on
	Prefetch, AtOnce                                         int     // of each channel; 0: each delivery is worked on at once
	HangUps                                                  float64 // publishers' channels closed per second
	Unmetered                                                string  // which of the nodes' own counters are missing: none, that of acks, or all
	TellsEntered                                             bool    // queues tell how many messages they took in
	hands                                                    float64 // times per second that somebody puts a message into the dead-letter queue, or takes one out
}

// event is one thing that happens at a time.
type event struct {
	at time.Duration
	do func()
}

type eventQueue []event

func (q eventQueue) Len() int           { return len(q) }
func (q eventQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q eventQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)        { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

// A count is one event of a broker's counter: when it happened and when it is shown; lost ones are never shown.
type count struct {
	at, shown time.Duration
	channel   int
	lost      bool
}

// A Shop is a broker, a store and consumers with a ledger of truth.
type Shop struct {
	Traffic
	r      *rand.Rand
	Now    time.Duration
	events eventQueue

	state   map[int]string // marker by message
	retries map[int]int
	gaveUp  map[int]time.Duration
	Done    []time.Duration

	publishes, entered, acks, redeliveries, Closures, deliveries []count
	buried, dug                                                  []count // put into the dead-letter queue by hand, and taken out
	depth, unacked, dead                                         []step

	// truth: settlements that the scheme acks, and the duplicates among them, by the time of the decision.
	settled, duplicates []time.Duration

	// What the store sees: calls, claims, failures, messages given up; returned are the hits on work in flight, repeated
	// the completions whose ack was lost.
	asked, claimed, Failed, GivenUp, returned, Repeated, expired []time.Duration

	line line // where channels have a prefetch
}

type step struct {
	at    time.Duration
	delta float64
}

func (s *Shop) later(d time.Duration, do func()) {
	heap.Push(&s.events, event{s.Now + d, do})
}

func (s *Shop) upTo(most time.Duration) time.Duration {
	return time.Duration(s.r.Int64N(int64(most)) + 1)
}

func (s *Shop) chance(p float64) bool { return s.r.Float64() < p }

func (s *Shop) count(list *[]count, channel int) {
	*list = append(*list, count{at: s.Now, shown: s.Now + s.upTo(sample.CounterLag-500*time.Millisecond), channel: channel})
}

func (s *Shop) move(list *[]step, delta float64) { *list = append(*list, step{s.Now, delta}) }

// Run simulates a shop from its beginning to its end.
func Run(t Traffic) *Shop {
	s := &Shop{Traffic: t, r: rand.New(rand.NewPCG(t.Seed, 7)), state: map[int]string{}, retries: map[int]int{}, gaveUp: map[int]time.Duration{}}
	end := t.QuietBefore + t.Length
	id := 0
	for at := t.QuietBefore; at < end; at += time.Duration(s.r.ExpFloat64() / t.Rate * float64(time.Second)) {
		id++
		msg, again := id, s.chance(t.Resend)
		heap.Push(&s.events, event{at, func() {
			s.publish(msg)
			if again {
				delay := time.Second + s.upTo(3*time.Second)
				if s.Overlap {
					delay /= 50
				}
				s.later(delay, func() { s.publish(msg) })
			}
		}})
	}
	for at := t.QuietBefore; t.HangUps > 0 && at < end+t.QuietAfter; at += time.Duration(s.r.ExpFloat64() / t.HangUps * float64(time.Second)) {
		heap.Push(&s.events, event{at, func() { s.hangUp(publisher - s.r.IntN(publishers)) }})
	}
	for at := t.QuietBefore; t.hands > 0 && at < end+t.QuietAfter; at += time.Duration(s.r.ExpFloat64() / t.hands * float64(time.Second)) {
		heap.Push(&s.events, event{at, s.meddle})
	}
	horizon := end + t.QuietAfter
	for s.events.Len() > 0 && s.events[0].at < horizon {
		e := heap.Pop(&s.events).(event)
		s.Now = e.at
		e.do()
	}
	s.Now = horizon
	return s
}

// publisher is the first of the publishers' channels, which go down from it; what queues count themselves is of no channel.
const publisher, publishers, nobody = -1, 2, -99

func (s *Shop) publish(msg int) {
	s.count(&s.publishes, publisher-msg%publishers)
	s.later(s.upTo(sample.TransitDelay/2), func() {
		s.move(&s.depth, 1)
		s.entered = append(s.entered, count{at: s.Now, shown: s.Now + s.upTo(sample.DepthLag-500*time.Millisecond), channel: nobody})
		s.later(s.upTo(100*time.Millisecond), func() { s.deliver(msg, false) })
	})
}

// meddle puts a message into the dead-letter queue by hand, or takes one of those out again.
func (s *Shop) meddle() {
	if len(s.dug) < len(s.buried) && s.chance(0.5) {
		s.count(&s.dug, nobody)
		s.later(s.upTo(sample.TransitDelay/2), func() { s.move(&s.dead, -1) })
		return
	}
	s.count(&s.buried, publisher)
	s.later(s.upTo(sample.TransitDelay/2), func() { s.move(&s.dead, 1) })
}

func (s *Shop) deliver(msg int, again bool) {
	if s.Prefetch > 0 {
		s.wait(delivery{msg, again})
		return
	}
	channel := s.r.IntN(s.Channels)
	s.hand(delivery{msg, again}, channel)
	s.take(msg, channel)
}

// hand delivers a message to a channel.
func (s *Shop) hand(d delivery, channel int) {
	s.count(&s.deliveries, channel)
	if d.again {
		s.count(&s.redeliveries, channel)
	}
	s.move(&s.unacked, 1)
}

// take is what a consumer does with a delivery.
func (s *Shop) take(msg, channel int) {
	if s.state[msg] == "" && s.chance(s.Reject) {
		s.move(&s.depth, -1)
		s.move(&s.unacked, -1)
		s.later(s.upTo(sample.TransitDelay/2), func() { s.move(&s.dead, 1) })
		s.free(msg, channel)
		return
	}
	s.asked = append(s.asked, s.Now)
	switch {
	case s.state[msg] == "done":
		s.settle(msg, channel, true)
	case s.state[msg] == "processing":
		s.returned = append(s.returned, s.Now)
		s.requeue(msg, channel, 300*time.Millisecond)
	case s.Looks:
		s.work(channel, s.upTo(10*time.Millisecond), func() { s.claim(msg, channel) })
	default:
		s.claim(msg, channel)
	}
}

func (s *Shop) claim(msg, channel int) {
	if s.state[msg] != "" { // lost a race: such a consumer takes it for a duplicate
		s.settle(msg, channel, true)
		return
	}
	s.state[msg] = "processing"
	s.claimed = append(s.claimed, s.Now)
	if s.chance(s.StuckShare) {
		s.close(msg, channel)
		return
	}
	s.work(channel, s.upTo(200*time.Millisecond), func() { s.finish(msg, channel) })
}

func (s *Shop) finish(msg, channel int) {
	switch {
	case s.chance(s.Crash):
		s.state[msg] = "" // the marker expires before the next attempt
		s.expired = append(s.expired, s.Now)
		s.close(msg, channel)
	case s.chance(s.Fail) || (s.Poison > 0 && msg%int(1/s.Poison) == 0):
		s.state[msg] = ""
		s.Failed = append(s.Failed, s.Now)
		if s.retries[msg]++; s.retries[msg] == 5 {
			s.gaveUp[msg] = s.Now
			s.GivenUp = append(s.GivenUp, s.Now)
			s.retries[msg] = -1 << 30 // resent copies of such a message are left out of the simulation
			s.settle(msg, channel, false)
			s.state[msg] = "processing"
			return
		}
		s.requeue(msg, channel, 50*time.Millisecond)
	default:
		s.state[msg] = "done"
		s.Done = append(s.Done, s.Now)
		if s.chance(s.LostAck) {
			s.Repeated = append(s.Repeated, s.Now)
			s.close(msg, channel)
			return
		}
		s.settle(msg, channel, false)
	}
}

func (s *Shop) settle(msg, channel int, duplicate bool) {
	s.settled = append(s.settled, s.Now)
	if duplicate {
		s.duplicates = append(s.duplicates, s.Now)
	}
	s.work(channel, s.upTo(sample.SettleDelay/2), func() {
		s.count(&s.acks, channel)
		s.move(&s.depth, -1)
		s.move(&s.unacked, -1)
		s.free(msg, channel)
	})
}

func (s *Shop) requeue(msg, channel int, delay time.Duration) {
	s.work(channel, delay, func() {
		s.move(&s.unacked, -1)
		s.free(msg, channel)
		s.later(s.upTo(50*time.Millisecond), func() { s.deliver(msg, true) })
	})
}

// close ends a channel that holds this message: the broker loses counts that it has not shown yet, and redelivers.
func (s *Shop) close(msg, channel int) {
	s.hangUp(channel)
	for _, msg := range s.drop(msg, channel) {
		s.move(&s.unacked, -1)
		s.later(s.upTo(5*time.Second), func() { s.deliver(msg, true) })
	}
}

// hangUp closes a channel, whose newest counts may be lost: all from a time on, as the broker collects all that a channel counts
// together, and only what was not shown.
func (s *Shop) hangUp(channel int) {
	s.count(&s.Closures, channel)
	if !s.chance(s.LosesCounts) {
		return
	}
	lists := []*[]count{&s.publishes, &s.buried, &s.acks, &s.redeliveries, &s.deliveries}
	since := s.Now - s.upTo(sample.CounterLag)
	newest := func(each func(*count)) {
		for _, list := range lists {
			for i := len(*list) - 1; i >= 0 && s.Now-(*list)[i].at < sample.CounterLag; i-- {
				if c := &(*list)[i]; c.channel == channel {
					each(c)
				}
			}
		}
	}
	newest(func(c *count) {
		if c.shown <= s.Now {
			since = max(since, c.at)
		}
	})
	newest(func(c *count) { c.lost = c.lost || c.at > since })
}
