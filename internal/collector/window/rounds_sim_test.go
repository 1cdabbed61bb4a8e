package window

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A roundShop simulates consumers that claim the marker of a message first and ack what is done, whose broker has live counts and whose store tells
// events. It is read round after round as the collector reads.
type roundShop struct {
	seed      uint64
	perSecond float64
	// burst and rest are in seconds: without a rest messages come at any time.
	burst, rest float64
	consumers   int
	work        float64 // in seconds, mostly
	// copies, lost and fail are how often a message is sent twice, and a work loses its ack with its channel, or fails and is returned.
	copies, lost, fail float64
	// late is by how long acks follow their work, on average, while consumers go on.
	late float64
	// Where tries is not 0 what fails is rejected and comes back after delay, as from a queue with a time to live, and what failed so often is published
	// elsewhere and acked. within is how often work is tried in one delivery, before that.
	tries  int
	delay  float64
	within int
	// listed: where it is published is a dead-letter queue of the pipeline. waits: what meets work in flight is rejected and comes back after delay, too.
	listed, waits bool
	// others is how often somebody else asks in the same way, a second.
	others float64
	// ignored is how often a delivery is acked and the store is not asked.
	ignored float64
	// refused is how often a delivery is rejected for good before it asks, buried how often one whose work failed is. Each sentAgain seconds somebody sends
	// all such messages again; 0 for never. poison is how often a message fails and dies whenever it comes.
	refused, buried, sentAgain, poison float64

	r         *rand.Rand
	queue     []coming
	free      []float64 // when each consumer is
	done      map[int]float64
	failed    map[int]int
	givenBack map[int]bool // the claim of the message was, and nobody claimed it since
	counts    roundCounts
}

type coming struct {
	at    float64
	id    int
	again bool
}

// roundCounts are when each thing happened, in seconds.
type roundCounts struct {
	delivered, acked, redelivered, rejected, closed, asked, claimed, completed, failed, retried, givenUp, duplicates, dead, taken times
}

type times []float64

// by is how many there were by a time.
func (t times) by(at float64) float64 {
	return float64(sort.Search(len(t), func(i int) bool { return t[i] > at }))
}

func (s *roundShop) come(c coming) {
	i := sort.Search(len(s.queue), func(i int) bool { return s.queue[i].at > c.at })
	s.queue = append(s.queue, coming{})
	copy(s.queue[i+1:], s.queue[i:])
	s.queue[i] = c
}

// run is all that happens in so many seconds.
func (s *roundShop) run(seconds float64) *roundCounts {
	s.r, s.free, s.done = rand.New(rand.NewPCG(s.seed, 77)), make([]float64, s.consumers), map[int]float64{}
	s.failed, s.givenBack = map[int]int{}, map[int]bool{}
	for id, t := 0, 0.0; t < seconds; t += s.r.ExpFloat64() / s.perSecond {
		if s.rest > 0 && math.Mod(t, s.burst+s.rest) > s.burst {
			continue
		}
		id++
		s.come(coming{at: t, id: id})
		if s.r.Float64() < s.copies {
			s.come(coming{at: t + 1 + 3*s.r.Float64(), id: id})
		}
	}
	for len(s.queue) > 0 && s.queue[0].at < seconds {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.take(next)
	}
	c := &s.counts
	for _, t := range []times{c.delivered, c.acked, c.redelivered, c.rejected, c.closed, c.asked, c.claimed, c.completed, c.failed, c.retried, c.givenUp, c.duplicates, c.dead, c.taken} {
		sort.Float64s(t)
	}
	return c
}

// take lets the consumer that is free first work on a delivery.
func (s *roundShop) take(d coming) {
	k := 0
	for i := range s.free {
		if s.free[i] < s.free[k] {
			k = i
		}
	}
	c, begin, ack := &s.counts, max(d.at, s.free[k]), 0.0005+0.001*s.r.ExpFloat64()
	late := s.late * s.r.ExpFloat64()
	if s.ignored > 0 && s.r.Float64() < s.ignored {
		s.free[k] = begin + ack
		c.delivered, c.acked = append(c.delivered, d.at), append(c.acked, s.free[k]+late)
		return
	}
	if s.refused > 0 && s.r.Float64() < s.refused {
		s.free[k] = begin + ack
		c.delivered = append(c.delivered, d.at)
		s.die(d, s.free[k])
		return
	}
	if c.delivered, c.asked = append(c.delivered, d.at), append(c.asked, begin); d.again {
		c.redelivered = append(c.redelivered, d.at)
	}
	done, there := s.done[d.id]
	switch {
	case there && begin >= done:
		s.free[k] = begin + ack
		c.acked, c.duplicates = append(c.acked, s.free[k]+late), append(c.duplicates, s.free[k]+late)
		return
	case there && s.waits:
		s.free[k] = begin + ack
		c.rejected = append(c.rejected, s.free[k])
		s.come(coming{at: s.free[k] + s.delay, id: d.id})
		return
	case there: // it is in work
		s.free[k] = begin + 0.1
		s.come(coming{s.free[k], d.id, true})
		return
	}
	for n := 1; n < s.within && s.r.Float64() < s.fail; n++ {
		again := begin + s.work*math.Exp(0.6*s.r.NormFloat64())
		s.claim(d.id, begin)
		s.fails(d.id, again)
		c.asked, begin = append(c.asked, again+0.01), again+0.01
	}
	done = begin + s.work*math.Exp(0.6*s.r.NormFloat64())
	s.claim(d.id, begin)
	s.free[k] = done + ack
	x := s.r.Float64()
	if s.poison > 0 && rand.New(rand.NewPCG(s.seed, uint64(d.id))).Float64() < s.poison {
		s.fails(d.id, done)
		s.die(d, s.free[k])
		return
	}
	if x < s.fail {
		s.fails(d.id, done)
		switch {
		case s.buried > 0 && s.r.Float64() < s.buried:
			s.die(d, s.free[k])
		case s.tries > 0:
			s.giveBack(d, s.free[k], late)
		default:
			s.come(coming{done + 0.001, d.id, true})
		}
		return
	}
	c.completed, s.done[d.id] = append(c.completed, done), done
	if x < s.fail+s.lost {
		s.free[k] += 0.02
		c.closed = append(c.closed, s.free[k])
		s.come(coming{s.free[k], d.id, true})
		return
	}
	c.acked = append(c.acked, s.free[k]+late)
}

func (s *roundShop) claim(id int, at float64) {
	if s.counts.claimed = append(s.counts.claimed, at); s.givenBack[id] {
		s.counts.retried, s.givenBack[id] = append(s.counts.retried, at), false
	}
}

func (s *roundShop) fails(id int, at float64) {
	s.counts.failed, s.givenBack[id] = append(s.counts.failed, at), true
}

// die rejects a delivery for good.
func (s *roundShop) die(d coming, at float64) {
	c := &s.counts
	c.rejected, c.dead = append(c.rejected, at), append(c.dead, at)
	if s.sentAgain > 0 {
		again := (math.Floor(at/s.sentAgain) + 1) * s.sentAgain // all at once
		c.taken = append(c.taken, again)
		s.come(coming{at: again, id: d.id})
	}
}

// giveBack is what becomes of a delivery whose work failed: it is rejected into a queue from which it comes back as a new one, or was tried too often
// and is acked.
func (s *roundShop) giveBack(d coming, at, late float64) {
	c := &s.counts
	if s.failed[d.id]++; s.failed[d.id] < s.tries {
		c.rejected = append(c.rejected, at)
		s.come(coming{at: at + s.delay, id: d.id})
		return
	}
	s.failed[d.id] = 0
	c.acked, c.givenUp = append(c.acked, at+late), append(c.givenUp, at+late)
}

const roundsApart = 5.0 // seconds

func roundAt(s float64) time.Time { return time.Unix(1_800_000_000, 0).Add(time.Duration(s * 1e9)) }

// A roundReader reads what happens: live counts each second, which are joined with the store's a second later, samples of what is out, and broker and
// store each round.
type roundReader struct {
	*roundCounts
	r                     *rand.Rand
	p                     *Pipeline
	liveAt, outAt, readAt float64
	others                float64
	listed                bool
	pending               []sample.LiveReading
}

// rounds calls each after every round with what the pipeline is then seen by.
func (s *roundShop) rounds(seconds float64, each func(at float64, p *Pipeline, v View)) *roundCounts {
	counts, r := s.run(seconds), rand.New(rand.NewPCG(s.seed, 78))
	meter := sample.NewLossMeter()
	p := &Pipeline{Config: dedup.Pipeline{Name: "orders", MaxProcessing: 30 * time.Second}, Store: &Store{First: roundAt(0), Source: countingStore{}}, Joined: true, Interval: roundsApart * time.Second}
	p.Traffic.Own, p.Traffic.Loss = (&sample.ClosureBook{}).Follow("/", nil), &meter
	p.Traffic.Prefetches.Add(roundAt(0), 10)
	p.Traffic.Capacities.Add(roundAt(0), int64(10*s.consumers))
	reader := roundReader{roundCounts: counts, r: r, p: p, others: s.others, listed: s.listed, liveAt: r.Float64(), outAt: r.Float64(), readAt: roundsApart * r.Float64()}
	v := View{CountsAcks: true, CountsDeliveries: true, DeadKnown: true, Stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true, Command: "SETNX"}},
		Scheme: dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour, ProcessingTTL: time.Minute,
			AcksEach: true, Ask: "SETNX", States: []dedup.State{dedup.Processing, dedup.Done}}}
	for at := roundsApart * (1 + r.Float64()); at < seconds; at += roundsApart + 0.01*r.NormFloat64() {
		reader.read(at, float64(s.consumers))
		v.Now, v.Several = roundAt(at), p.Several(v.Scheme)
		each(at, p, v)
	}
	return counts
}

// read takes all that is read by a round.
func (s *roundReader) read(round, consumers float64) {
	now, traffic := roundAt(round), &s.p.Traffic
	for ; s.liveAt < round; s.liveAt++ {
		s.readLive(now)
	}
	var outs []sample.OutSample
	for ; s.outAt < round; s.outAt += 0.8 + 0.4*s.r.Float64() {
		outs = append(outs, sample.OutSample{Began: roundAt(s.outAt - 0.002), Ended: roundAt(s.outAt + 0.002), Unacked: s.unacked(s.outAt)})
	}
	traffic.Flows.AddOut(outs)
	counted := max(0, math.Floor((round-0.3)/5)*5) // the management API counts each 5 s
	unacked, parked := s.unacked(round-1), 0.0
	if s.listed {
		parked = s.givenUp.by(counted)
	}
	traffic.Frames.Add(sample.Frame{Began: roundAt(round - 0.05), Ended: now, DepthFrom: roundAt(round - 1), Whole: true, Acks: s.acked.by(counted), Deliveries: s.delivered.by(counted),
		Dead: s.dead.by(round-1) - s.taken.by(round-1), DeadSettled: s.taken.by(counted), DeadPublished: parked, Redeliveries: s.redelivered.by(counted), Closures: s.closed.by(counted), Depth: unacked, Unacked: unacked, Consumers: consumers, ConsumersKnown: true})
	for ; s.readAt < round; s.readAt += roundsApart + 0.005*s.r.NormFloat64() {
		asked := int64(s.asked.by(s.readAt) + math.Floor(s.others*s.readAt))
		e := &dedup.StoreEvents{At: roundAt(s.readAt), Took: time.Millisecond, Listening: true, Epoch: 1, Since: roundAt(0), Asked: &asked, Command: "SETNX",
			Claims: int64(s.claimed.by(s.readAt)), Completions: int64(s.completed.by(s.readAt)), Failures: int64(s.failed.by(s.readAt))}
		e.InFlight = e.Claims - e.Completions - e.Failures
		s.p.Store.Events.Add(e)
	}
}

func (s *roundReader) readLive(now time.Time) {
	const took, calm = 0.008, 0.05
	at := s.liveAt
	fresh := sample.LiveReading{At: roundAt(at), Began: roundAt(at - took/2), Ended: roundAt(at + took/2), Quiet: roundAt(at - took/2), Redelivered: s.redelivered.by(at), Closed: s.closed.by(at),
		Acked: sample.LiveSum{Count: s.acked.by(at)}, Delivered: sample.LiveSum{Count: s.delivered.by(at)}}
	for _, l := range s.pending {
		j, at := l.Joint(), l.At.Sub(roundAt(0)).Seconds()
		quiet := func(t times) bool { return t.by(at-took/2-calm) == t.by(at+took/2) }
		j.Run, j.Settled, j.Claims, j.Failed, j.Retried, j.Calm = 1, s.completed.by(at), s.claimed.by(at), s.failed.by(at), s.retried.by(at), quiet(s.completed) && quiet(s.claimed) && quiet(s.failed)
		s.p.Traffic.Joints.Readings = append(s.p.Traffic.Joints.Readings, j)
	}
	s.pending = []sample.LiveReading{fresh}
	s.p.Traffic.Flows.Add(s.pending, now)
}

// unacked are those that were delivered and neither acked nor returned.
func (c *roundCounts) unacked(at float64) float64 {
	return max(0, c.delivered.by(at)-c.acked.by(at)-c.redelivered.by(at+0.02)-c.rejected.by(at))
}

// truth bounds the share of duplicates in the time of a figure, whose ends may be off by a little.
func (c *roundCounts) truth(f dedup.Figure, off float64) (low, high float64) {
	to := f.At.Sub(roundAt(0)).Seconds()
	from := to - f.Covered.Seconds()
	in := func(t times, more float64) float64 { return max(0, t.by(to+more)-t.by(from-more)) }
	low = in(c.duplicates, -off) / max(1, in(c.acked, off)+in(c.closed, off)) // an ack that was lost may count
	return low, in(c.duplicates, off) / max(1, in(c.acked, -off))
}
