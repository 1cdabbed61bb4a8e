package sample

import (
	"fmt"
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// BetterMeter says how to learn how many counts were lost.
const BetterMeter = "List the Prometheus endpoint of every node in brokers[].prometheus_urls: its counters tell how many were lost."

// metersBack bounds the readings that one end of a span is looked for among.
const metersBack = 240

// A LossReading is one reading of the loss meter. Counters are ours and cumulative since the dashboard started.
type LossReading struct {
	Began, Ended time.Time
	// True is the count of all nodes together, from their global counters: exact up to the reading. Counted is that of all
	// queues: as old as CounterLag, and without what the broker lost.
	True, Counted float64
	// Gaps counts the times at which either may have missed events otherwise; Gone the queues whose last counts went with them.
	Gaps, Gone float64
}

// excess is by how much the nodes have counted more than the queues.
func (f *LossReading) excess() float64 { return f.True - f.Counted }

// A LossMeter tells how many acks and publishes a broker lost from the counts of its queues when channels died: its nodes keep
// global counters that lose none. It needs the counters of every node and the list of all queues.
type LossMeter struct {
	acks, publishes countMeter
	// Asked: the nodes are asked. why says why the newest reading gives no frame. listed: the broker has told how many nodes it has.
	Asked, listed bool
	why           string
}

// LostCounts are what the meter of a broker read; empty where that is nothing.
type LostCounts struct{ Acks, Publishes LossReadings }

// A countMeter is the meter of one kind of event.
type countMeter struct {
	nodes                      map[string]*Counter
	queues                     map[dedup.QueueRef]*meteredQueue
	frames                     LossReadings
	exact, counted, gaps, gone float64
	// complete: the list of queues before hid none.
	complete bool
}

type meteredQueue struct {
	node   string
	events Counter
}

// NewLossMeter returns a meter that has read nothing.
func NewLossMeter() LossMeter { return LossMeter{acks: newCountMeter(), publishes: newCountMeter()} }

func newCountMeter() countMeter {
	return countMeter{nodes: make(map[string]*Counter), queues: make(map[dedup.QueueRef]*meteredQueue)}
}

// Lost returns what the meter read; nothing while it is not known whether all nodes are read.
func (m *LossMeter) Lost() LostCounts {
	if !m.listed {
		return LostCounts{}
	}
	return LostCounts{m.acks.frames, m.publishes.frames}
}

// Observe takes a sample; counting says that the broker gives counters, by who tells them. What cannot be read now comes with a later reading.
func (m *LossMeter) Observe(s *dedup.BrokerSample, counting bool, by Witness) {
	m.Asked, m.why = len(s.Totals) > 0, ""
	if !m.Asked {
		return
	}
	routed := true
	for _, n := range s.Totals {
		if n.Err != "" {
			m.why = fmt.Sprintf("node %s cannot be read: %s", text.Name(n.URL), text.Plain(n.Err, 200))
			continue
		}
		m.acks.countNode(n.URL, &n.Acked)
		if routed = routed && n.Routed != nil; n.Routed != nil {
			m.publishes.countNode(n.URL, n.Routed)
		}
	}
	nodes := len(s.State.Nodes)
	m.listed = m.listed || nodes > 0
	switch {
	case m.why != "":
		return
	case nodes > len(s.Totals):
		m.why = fmt.Sprintf("prometheus_urls lists %d of %d nodes, and each tells of itself alone", len(s.Totals), nodes)
		return
	case !counting:
		m.why = "the broker gives no counters of its queues"
		return
	}
	m.acks.countQueues(s, by, func(c dedup.QueueCounters) *int64 { return c.Ack })
	if routed {
		m.publishes.countQueues(s, by, func(c dedup.QueueCounters) *int64 { return c.Publish })
	}
}

func (m *countMeter) countNode(url string, count *int64) {
	if m.nodes[url] == nil {
		m.nodes[url] = &Counter{}
		m.gaps++ // it may have counted before
	}
	st := m.nodes[url].Observe(count)
	m.exact += float64(st.Delta)
	if st.Dropped {
		m.gaps++
	}
}

// countQueues completes a frame by what the queues count.
func (m *countMeter) countQueues(s *dedup.BrokerSample, by Witness, of func(dedup.QueueCounters) *int64) {
	complete := s.QueuesTotal != nil && *s.QueuesTotal <= int64(len(s.Queues))
	if !complete {
		m.gone++ // what hidden queues count is not known
	}
	listed := make(map[dedup.QueueRef]bool, len(s.Queues))
	for i := range s.Queues {
		listed[s.Queues[i].QueueRef] = true
		m.countQueue(&s.Queues[i], of(s.Queues[i].Counters), by)
	}
	for ref := range m.queues {
		if !listed[ref] {
			delete(m.queues, ref)
			m.gone++
		}
	}
	m.complete = complete
	m.frames = m.frames.add(LossReading{Began: s.At, Ended: s.At.Add(s.Took), True: m.exact, Counted: m.counted, Gaps: m.gaps, Gone: m.gone})
}

func (m *countMeter) countQueue(q *dedup.Queue, count *int64, by Witness) {
	of, known := m.queues[q.QueueRef]
	if !known {
		of = &meteredQueue{}
		m.queues[q.QueueRef] = of
		if len(m.frames) > 0 {
			if m.complete {
				of.events.Observe(nil) // it was born since, and its counter at 0
			} else {
				m.gaps++
			}
		}
	}
	if of.node != "" && q.Node != "" && of.node != q.Node && of.events.State == Counting {
		of.events.Lose()
	}
	of.node = q.Node
	st := of.events.ObserveFrom(count, by)
	m.counted += float64(st.Delta)
	if st.Dropped {
		m.gaps++
	}
}

// LossReadings are the frames of a meter in time order.
type LossReadings []LossReading

// add appends a frame, and thins out what is old.
func (r LossReadings) add(f LossReading) LossReadings {
	if n := len(r); n > 0 && !f.Began.After(r[n-1].Began) {
		r = r[:0] // the clock was set back
	}
	r = append(r, f)
	if len(r)%64 != 0 {
		return r
	}
	return Thin(r, f.Began, func(f *LossReading) time.Time { return f.Began }, OlderThan(EachFor, OldStep))
}

// Lost bounds the events of the whole broker, acks or publishes, that it lost from the counts of its queues between two times; it
// is not ok where the meter did not run. The bounds follow from what a reading at p proves of the counts lost by then, L:
//
//	L(begin of p) <= true - counted at p, as queues lag behind their nodes;
//	L(end of p) >= true at p - counted at the first reading CounterLag later, when the queues have caught up.
//
// L never falls, so that each end may be bounded by the best of many readings: one at rest makes it exact. Where it seems to fall the
// nodes that are read are not those of the queues.
func (r LossReadings) Lost(from, to time.Time) (low, high float64, ok bool) {
	i := sort.Search(len(r), func(i int) bool { return r[i].Ended.After(from) }) // frames before i had ended by from
	j := sort.Search(len(r), func(j int) bool { return !r[j].Began.Before(to) }) // frames from j on began at to or later
	if i == 0 || j == len(r) {
		return 0, 0, false
	}
	first := max(0, i-metersBack)
	for first < i && r[first].Gaps != r[j].Gaps { // spans end at a gap
		first++
	}
	last := min(len(r), j+metersBack)
	for last > j && r[last-1].Gaps != r[j].Gaps {
		last--
	}
	if first == i {
		return 0, 0, false
	}
	started, caughtUp := r.least(first, i)
	ended := r.most(j, last)
	if !caughtUp || ended < started {
		return 0, 0, false // the queues count what these nodes do not: they are others', or not all
	}
	high = ended - started
	if r[last-1].Gone != r[first].Gone {
		return 0, high, true
	}
	k := sort.Search(len(r), func(k int) bool { return r[k].Ended.After(to) })
	sure, caughtUp := r.least(first, k)
	if !caughtUp {
		return 0, high, true
	}
	return min(high, max(0, sure-r.most(i, last))), high, true
}

// Spans reports whether the meter ran from one time to another, without a gap.
func (r LossReadings) Spans(from, to time.Time) bool {
	i := sort.Search(len(r), func(i int) bool { return r[i].Ended.After(from) })
	j := sort.Search(len(r), func(j int) bool { return !r[j].Began.Before(to) })
	return i > 0 && j < len(r) && r[i-1].Gaps == r[j].Gaps
}

// least is the best lower bound on the counts lost by the end of the frames from i up to k.
func (r LossReadings) least(i, k int) (float64, bool) {
	best := math.Inf(-1)
	for ; i < k; i++ {
		later := sort.Search(len(r), func(n int) bool { return !r[n].Began.Before(r[i].Ended.Add(CounterLag)) })
		if later < len(r) && r[later].Gaps == r[i].Gaps {
			best = max(best, r[i].True-r[later].Counted)
		}
	}
	return best, !math.IsInf(best, -1)
}

// most is the best upper bound on the counts lost by the begin of frame j, out of the frames from j up to k.
func (r LossReadings) most(j, k int) float64 {
	best := math.Inf(1)
	for ; j < k; j++ {
		best = min(best, r[j].excess())
	}
	return best
}

// Words says what the meter knows of the acks that were lost up to a reading, for a figure that counts acks at least.
func (m *LossMeter) Words(from, to time.Time) (why string, exact bool) {
	const closed = "channels were closed in the window, and the broker may have lost their last counts"
	if !m.Asked {
		return "at least: " + closed, false
	}
	low, high, ok := m.Lost().Acks.Lost(from, to)
	switch {
	case !ok && m.why != "":
		return "at least: " + closed + "; how many is not known: " + m.why, false
	case !m.listed:
		return "at least: " + closed + "; how many is not known: the nodes cannot be listed, and each tells of itself alone", false
	case !ok:
		return "at least: " + closed + "; how many is not known yet", false
	case high < 0.5:
		return "channels were closed in the window, and the broker's nodes prove that no count of an ack was lost", true
	case low >= 0.5:
		return fmt.Sprintf("at least: channels were closed in the window, and the broker lost the counts of %s to %s, of all its queues", text.Grouped(text.Whole(low)), text.Counted(text.Whole(high), "ack")), false
	}
	return fmt.Sprintf("at least: channels were closed in the window, and the broker lost the counts of at most %s, of all its queues", text.Counted(text.Whole(high), "ack")), false
}
