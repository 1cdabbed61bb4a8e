package collector

import (
	"fmt"
	"maps"
	"time"

	"dedup-dashboard/internal/collector/consumer"
	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
)

// A brokerWatch remembers of one broker what its pipelines need between two readings. It belongs to the round.
type brokerWatch struct {
	read *source.BrokerReader

	observed uint64
	indexed  [2]uint64
	queues   map[dedup.QueueRef]*dedup.Queue
	// at is when the queues were listed, live are the depths that their own processes told shortly before.
	at   time.Time
	live sample.LiveDepths
	// complete: the newest list of queues hides none. born is when a queue was first listed, of those that the complete
	// list before did not have.
	complete  bool
	born      map[dedup.QueueRef]time.Time
	index     *topology.Index
	consumers map[dedup.QueueRef][]dedup.Consumer
	links     sample.Links
	node      string
	// running are the nodes that the newest list had running; for joining more readings, and for a while after joined, what a node counted may come
	// back with it. by is of the newest reading.
	running  map[string]bool
	joining  int
	joined   time.Time
	by       sample.Witness
	closed   sample.Counter
	closures *counter.Tally
	owners   sample.ClosureBook
	// closureGaps counts the times at which closed channels may not have been counted.
	closureGaps float64
	deaths      deadletter.Deaths
	timeouts    consumer.Timeouts
	loss        sample.LossMeter
	// closed channels are told of in bursts.
	burst  event.Burst
	alarms map[string]bool
	events event.Log
	modern consumer.Modern
	// shared are the dead-letter queues whose messages may be of several.
	shared deadletter.Sharing
}

// observe takes a new sample, if there is one, and reports whether there was.
func (b *brokerWatch) observe() (*source.BrokerReading, bool) {
	sample, count := b.read.Sample.Get()
	if count == 0 {
		return nil, false
	}
	fresh := count != b.observed
	if fresh {
		b.observed = count
		b.noteNodes(&sample.BrokerSample)
		anew := b.countClosures(&sample.BrokerSample)
		for _, list := range b.read.ChannelLists() {
			if !anew || list.At.After(sample.At) {
				b.owners.Observe(list)
			}
		}
		b.noteAlarms(&sample.BrokerSample)
		b.deaths.Observe(&sample.BrokerSample)
		b.timeouts.Note(&sample.BrokerSample, &b.events)
		b.loss.Observe(&sample.BrokerSample, sample.Counting(), b.by)
	}
	b.reindex(&sample, count)
	return &sample, fresh
}

// joinReadings and joinTime are for how many readings, and how long at least, the counts of a node that came back may still be on their way: lists are
// cached, for longer where they take longer, and the nodes are read after them.
const (
	joinReadings = 3
	joinTime     = 2 * sample.CounterLag
)

// noteNodes notes who tells the counters of a sample.
func (b *brokerWatch) noteNodes(s *dedup.BrokerSample) {
	b.by = sample.SameNodes
	if b.node != "" && b.node != s.Info.Node {
		b.by = sample.AnotherNode
	}
	b.node = s.Info.Node
	if s.State.Nodes != nil {
		was := b.running
		b.running = make(map[string]bool)
		for _, n := range s.State.Nodes {
			if n.Running {
				b.running[n.Name] = true
				if was != nil && !was[n.Name] {
					b.joining, b.joined = joinReadings, s.At
				}
			}
		}
	}
	if b.joining > 0 || s.At.Before(b.joined.Add(joinTime)) {
		b.joining--
		b.by = sample.Rejoined
	}
}

// countClosures takes the broker's count of closed channels, and reports whether it was begun anew.
func (b *brokerWatch) countClosures(s *dedup.BrokerSample) (anew bool) {
	was := b.closed
	st := b.closed.ObserveFrom(s.ChannelsClosed, b.by)
	if b.closed.Known() {
		b.closures.Take(st)
	}
	if st.Dropped {
		b.owners.Restart()
		b.closureGaps++
	}
	if st.Dropped && b.by != sample.Rejoined && was.State == sample.Counting && s.ChannelsClosed != nil && *s.ChannelsClosed < was.Raw {
		b.events.Add(s.At, "broker_restart", fmt.Sprintf("Broker %s began to count anew: a node was restarted, or is away", text.Name(b.read.Name())))
	}
	b.noteClosures(max(0, st.Delta), s.At)
	return st.Dropped
}

// noteClosures tells of closed channels: of the first at once, and of those of the next minutes together when these are
// over. Consumers that open a channel for each message would push everything else out of the log; and a text that grew would
// not be of the time that it stands at.
func (b *brokerWatch) noteClosures(n int64, at time.Time) {
	const kind = "channels_closed"
	closed := func(n int64, which string) string {
		return fmt.Sprintf("Broker %s: %s %s closed", text.Name(b.read.Name()), text.Counted(n, which), text.Agree(n, "was", "were"))
	}
	if more, from, last := b.burst.Close(at); more > 0 {
		b.events.AddCounted(last, kind, more, closed(more, "more channel")+" from "+from.UTC().Format("15:04")+" to "+text.Clock(last, at))
	}
	if n > 0 && b.burst.Add(n, at) {
		b.events.AddCounted(at, kind, n, closed(n, "channel"))
	}
}

func (b *brokerWatch) noteAlarms(s *dedup.BrokerSample) {
	if s.State.Nodes == nil {
		return // they could not be read
	}
	now := make(map[string]bool)
	for _, n := range s.State.Nodes {
		for what, on := range map[string]bool{
			"memory alarm on " + text.Name(n.Name): n.MemoryAlarm, "disk alarm on " + text.Name(n.Name): n.DiskAlarm,
			"node " + text.Name(n.Name) + " is down": !n.Running, text.Name(n.Name) + " is partitioned": len(n.Partitions) > 0,
		} {
			if on {
				now[what] = true
			}
		}
	}
	for what := range now {
		if !b.alarms[what] {
			b.events.Add(s.At, "alarm", fmt.Sprintf("Broker %s: %s", text.Name(b.read.Name()), what))
		}
	}
	for what := range b.alarms {
		if !now[what] {
			b.events.Add(s.At, "alarm", fmt.Sprintf("Broker %s: over: %s", text.Name(b.read.Name()), what))
		}
	}
	b.alarms = now
}

// reindex arranges queues and topology for lookups when either changed.
func (b *brokerWatch) reindex(s *source.BrokerReading, count uint64) {
	read, version := b.read.Topology.Get()
	if b.indexed == [2]uint64{count, version} {
		return
	}
	fresh := version != b.indexed[1] && read.Err == ""
	b.indexed = [2]uint64{count, version}
	was, wasComplete := b.queues, b.complete
	b.complete = s.QueuesTotal != nil && *s.QueuesTotal <= int64(len(s.Queues))
	b.at, b.live = s.At, s.Depths
	b.queues = make(map[dedup.QueueRef]*dedup.Queue, len(s.Queues))
	for i := range s.Queues {
		ref := s.Queues[i].QueueRef
		b.queues[ref] = &s.Queues[i]
		if _, known := was[ref]; !known && wasComplete {
			b.born[ref] = s.At
		}
	}
	if b.complete { // queues that come and go, as replies do, must not be remembered for ever
		maps.DeleteFunc(b.born, func(ref dedup.QueueRef, _ time.Time) bool { return b.queues[ref] == nil })
	}
	if read.Topology.At.IsZero() {
		b.index = nil
		return
	}
	if fresh {
		b.links.Take(&read.Topology)
		b.modern.Take(&read.Topology, s.Info)
	}
	if b.modern.Unsure {
		b.read.WantNews(s.At)
	}
	b.index = topology.NewIndex(b.queues, &read.Topology, s.Info.Version)
	b.consumers = make(map[dedup.QueueRef][]dedup.Consumer)
	for _, c := range read.Topology.Consumers {
		b.consumers[c.Queue] = append(b.consumers[c.Queue], c)
	}
}

// status is the broker's part of a snapshot.
func (b *brokerWatch) status(p *counter.Past, now time.Time) dedup.BrokerStatus {
	newest, count := b.read.Sample.Get()
	st := dedup.BrokerStatus{Name: b.read.Name(), Health: b.read.Samples.Status(now), Events: event.Merge(&b.events)}
	if count == 0 {
		return st
	}
	st.Info = newest.Info
	st.Problems = append(st.Problems, newest.Problems...)
	st.Deaths = b.deathFigures(p, now)
	if t, _ := b.read.Topology.Get(); t.Err != "" {
		st.Problems = append(st.Problems, dedup.Problem{Kind: "topology", Text: "Dead-letter queues cannot be found: " + t.Err,
			Remedy: "Let the watching account read exchanges, bindings and consumers."})
	}
	if st.Health.OK {
		st.State = newest.State
		n := int64(len(newest.Queues))
		st.Queues = &n
	}
	return st
}

// deathFigures are the dead letters by reason; nil where nobody is asked for them.
func (b *brokerWatch) deathFigures(p *counter.Past, now time.Time) *dedup.BrokerDeaths {
	why := source.WhyDown("broker "+text.Name(b.read.Name()), b.read.Samples.Status(now))
	if why == "" {
		why = p.Failure
	}
	return b.deaths.Figures(p, why)
}

// store adds what is kept of the broker itself.
func (b *brokerWatch) store(into counter.Batch) {
	into.Tallies(b.closures)
	b.deaths.Store(into)
	b.timeouts.Store(into)
	b.shared.Store(into, b.read.Name(), b.queues)
}

func newBrokerWatch(read *source.BrokerReader, bk *counter.Book) *brokerWatch {
	return &brokerWatch{read: read, born: make(map[dedup.QueueRef]time.Time), closures: bk.Tally(series.BrokerChannelsClosed, "broker", read.Name()),
		deaths: deadletter.NewDeaths(bk, read.Name()), timeouts: consumer.NewTimeouts(bk, read.Name()), loss: sample.NewLossMeter()}
}
