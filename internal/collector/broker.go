package collector

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// How often the live totals are read.
const (
	totalsInterval = time.Second
	// totalsSway keeps work that is done on a beat, as once a second, from being met by every sample or by none.
	totalsSway = 0.2
	// totalsSlowest is the interval that a slow or large broker is left alone for.
	totalsSlowest = 5 * time.Second
	// totalsQueues is the number of queues up to which live totals are read each second.
	totalsQueues = 500
	// totalsCost is the share of the time that reading totals may take: 20 ms of each second.
	totalsCost = 50
)

// A brokerReading is a sample of the broker with the newest live depths from before it.
type brokerReading struct {
	dedup.BrokerSample
	depths liveDepths
}

// counting reports whether the broker gives counters.
func (r *brokerReading) counting() bool {
	return !r.Info.StatsDisabled && r.Info.RatesMode != "none"
}

// A brokerWatch reads one broker and remembers what its pipelines need between two readings.
type brokerWatch struct {
	broker  Broker
	log     *slog.Logger
	timeout time.Duration
	// gate holds a token while one of the broker's methods runs: it may be called one at a time.
	gate    chan struct{}
	samples *source
	totals  *source
	lists   *source

	sample   reading[brokerReading]
	topology reading[topologyReading]
	wanted   chan struct{}
	// turned asks for a round at once.
	turned func()
	live   occupancy
	seed   maphash.Seed
	// Of the sampling goroutine: the set of queues and consumers, the raw count of closed channels, and when it last rose.
	queueSet  uint64
	closedRaw *int64
	closedAt  time.Time
	// lister has a lock of its own: samples, lists and rounds use it.
	lister channelLister

	// The rest belongs to the round.
	absorbed uint64
	indexed  [2]uint64
	queues   map[dedup.QueueRef]*dedup.Queue
	// complete: the newest list of queues hides none. born is when a queue was first listed, of those that the complete
	// list before did not have.
	complete  bool
	born      map[dedup.QueueRef]time.Time
	index     *topology.Index
	consumers map[dedup.QueueRef][]dedup.Consumer
	links     links
	node      string
	moved     bool
	closed    sample.Counter
	closures  *tally
	owners    sample.ClosureBook
	// closureGaps counts the times at which closed channels may not have been counted.
	closureGaps float64
	deaths      deaths
	timeouts    ackTimeouts
	loss        sample.LossMeter
	// closed channels are told of in bursts.
	burst  burst
	alarms map[string]bool
	events eventLog
	// shared are the dead-letter queues whose messages may be of several, sharedOrder the same in the order of the configuration.
	shared      map[dedup.QueueRef]*sharedQueue
	sharedOrder []*sharedQueue
}

func (b *brokerWatch) acquire(ctx context.Context) error {
	select {
	case b.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errBusy
	}
}

func (b *brokerWatch) release() { <-b.gate }

// readSample reads the broker, and asks for the topology at the first success, whenever the set of queues or the number of
// consumers of one changed, and when consumers may have been replaced by as many others.
func (b *brokerWatch) readSample(ctx context.Context) error {
	if err := b.acquire(ctx); err != nil {
		return err
	}
	depths := b.live.newest()
	sample, err := b.broker.Sample(ctx)
	b.release()
	if err != nil {
		b.lister.lose()
		return err
	}
	b.sample.set(brokerReading{sample, depths})
	b.turned() // a round that comes later could find the next sample in its place
	set, replacing := b.hash(sample.Queues), b.replacing(&sample)
	b.lister.saw(&sample, set != b.queueSet || b.closedAt.Equal(sample.At))
	if set != b.queueSet {
		b.queueSet = set
		b.wantTopology()
	}
	if replacing {
		b.wantNews(sample.At)
	}
	return nil
}

// readTotals samples the unacked messages. It gives way at once to any other reading of the broker.
func (b *brokerWatch) readTotals(ctx context.Context) error {
	select {
	case b.gate <- struct{}{}:
	default:
		return errBusy
	}
	totals, err := b.broker.Totals(ctx)
	b.release()
	if err != nil {
		return err
	}
	b.live.absorb(totals)
	return nil
}

// pace stretches the interval of the totals so that they cost at most 2 % of the time.
func (b *brokerWatch) pace(took time.Duration) time.Duration {
	if b.live.size() > totalsQueues {
		return totalsSlowest
	}
	return min(max(took*totalsCost, totalsInterval), totalsSlowest)
}

// absorb takes a new sample, if there is one, and reports whether there was.
func (b *brokerWatch) absorb() (*brokerReading, bool) {
	sample, count := b.sample.get()
	if count == 0 {
		return nil, false
	}
	fresh := count != b.absorbed
	if fresh {
		b.absorbed = count
		b.moved = b.node != "" && b.node != sample.Info.Node
		b.node = sample.Info.Node
		anew := b.countClosures(&sample.BrokerSample)
		for _, list := range b.lister.take() {
			if !anew || list.At.After(sample.At) {
				b.owners.Absorb(list)
			}
		}
		b.noteAlarms(&sample.BrokerSample)
		b.deaths.absorb(&sample.BrokerSample)
		b.noteTimeouts(&sample.BrokerSample)
		b.loss.Absorb(&sample.BrokerSample, sample.counting(), b.moved)
	}
	b.reindex(&sample.BrokerSample, count)
	return &sample, fresh
}

// countClosures takes the broker's count of closed channels, and reports whether it was begun anew.
func (b *brokerWatch) countClosures(s *dedup.BrokerSample) (anew bool) {
	was := b.closed
	st := b.closed.Observe(s.ChannelsClosed)
	if b.closed.Known() {
		b.closures.take(st)
	}
	if st.Dropped {
		b.owners.Restart()
		b.closureGaps++
	}
	if was.State == sample.Counting && s.ChannelsClosed != nil && *s.ChannelsClosed < was.Raw {
		b.events.add(s.At, "broker_restart", fmt.Sprintf("Broker %s began to count anew: a node was restarted", name(b.broker.Name())))
	}
	b.noteClosures(max(0, st.Delta), s.At)
	return st.Dropped
}

// noteClosures tells of closed channels: of the first at once, and of those of the next minutes together when these are
// over. Consumers that open a channel for each message would push everything else out of the log; and a text that grew would
// not be of the time that it stands at.
func (b *brokerWatch) noteClosures(n int64, at time.Time) {
	const kind = "channels_closed"
	text := func(n int64, which string) string {
		return fmt.Sprintf("Broker %s: %s %s closed", name(b.broker.Name()), counted(n, which), verb(n, "was", "were"))
	}
	if more, from, last := b.burst.close(at); more > 0 {
		b.events.addCounted(last, kind, more, text(more, "more channel")+" from "+from.UTC().Format("15:04")+" to "+clock(last, at))
	}
	if n > 0 && b.burst.add(n, at) {
		b.events.addCounted(at, kind, n, text(n, "channel"))
	}
}

func (b *brokerWatch) noteAlarms(s *dedup.BrokerSample) {
	now := make(map[string]bool)
	for _, n := range s.State.Nodes {
		for what, on := range map[string]bool{
			"memory alarm on " + name(n.Name): n.MemoryAlarm, "disk alarm on " + name(n.Name): n.DiskAlarm,
			"node " + name(n.Name) + " is down": !n.Running, name(n.Name) + " is partitioned": len(n.Partitions) > 0,
		} {
			if on {
				now[what] = true
			}
		}
	}
	for what := range now {
		if !b.alarms[what] {
			b.events.add(s.At, "alarm", fmt.Sprintf("Broker %s: %s", name(b.broker.Name()), what))
		}
	}
	for what := range b.alarms {
		if !now[what] {
			b.events.add(s.At, "alarm", fmt.Sprintf("Broker %s: over: %s", name(b.broker.Name()), what))
		}
	}
	b.alarms = now
}

// reindex arranges queues and topology for lookups when either changed.
func (b *brokerWatch) reindex(s *dedup.BrokerSample, count uint64) {
	read, version := b.topology.get()
	if b.indexed == [2]uint64{count, version} {
		return
	}
	fresh := version != b.indexed[1] && read.err == ""
	b.indexed = [2]uint64{count, version}
	was, wasComplete := b.queues, b.complete
	b.complete = s.QueuesTotal != nil && *s.QueuesTotal <= int64(len(s.Queues))
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
	if read.topology.At.IsZero() {
		b.index = nil
		return
	}
	if fresh {
		b.links.take(&read.topology)
	}
	b.index = topology.NewIndex(b.queues, &read.topology, s.Info.Version)
	b.consumers = make(map[dedup.QueueRef][]dedup.Consumer)
	for _, c := range read.topology.Consumers {
		b.consumers[c.Queue] = append(b.consumers[c.Queue], c)
	}
}

// status is the broker's part of a snapshot.
func (b *brokerWatch) status(p *past, now time.Time) dedup.BrokerStatus {
	sample, count := b.sample.get()
	st := dedup.BrokerStatus{Name: b.broker.Name(), Health: b.samples.status(now), Events: mergeEvents(&b.events)}
	if count == 0 {
		return st
	}
	st.Info = sample.Info
	st.Problems = append(st.Problems, sample.Problems...)
	st.Deaths = b.deathFigures(p, now)
	if t, _ := b.topology.get(); t.err != "" {
		st.Problems = append(st.Problems, dedup.Problem{Kind: "topology", Text: "Dead-letter queues cannot be found: " + t.err,
			Remedy: "Let the watching account read exchanges, bindings and consumers."})
	}
	if st.Health.OK {
		st.State = sample.State
		n := int64(len(sample.Queues))
		st.Queues = &n
	}
	return st
}

// deathFigures are the dead letters by reason; nil where nobody is asked for them.
func (b *brokerWatch) deathFigures(p *past, now time.Time) *dedup.BrokerDeaths {
	why := down("broker "+name(b.broker.Name()), b.samples.status(now))
	if why == "" {
		why = p.failure
	}
	return b.deaths.figures(p, why)
}

// store adds what is kept of the broker itself.
func (b *brokerWatch) store(into batch) {
	into.tallies(b.closures)
	b.deaths.store(into)
	b.timeouts.store(into)
	b.keepShared(into)
}

func newBrokerWatch(br Broker, cfg Config, bk *book, log *slog.Logger, turned func()) *brokerWatch {
	b := &brokerWatch{broker: br, log: log, timeout: cfg.Timeout, gate: make(chan struct{}, 1), wanted: make(chan struct{}, 1), turned: turned,
		seed: maphash.MakeSeed(), born: make(map[dedup.QueueRef]time.Time), closures: bk.tally(series.BrokerChannelsClosed, "broker", br.Name()), deaths: newDeaths(bk, br.Name()), timeouts: newAckTimeouts(bk, br.Name()), loss: sample.NewLossMeter()}
	patience := staleAfter * cfg.Interval
	b.samples = &source{name: "broker " + br.Name(), kind: "broker", interval: cfg.Interval, timeout: cfg.Timeout,
		patience: patience, read: b.readSample, turned: turned, place: placeOf(br)}
	b.totals = &source{name: "totals " + br.Name(), kind: "totals", interval: totalsInterval, timeout: min(cfg.Timeout, totalsSlowest),
		patience: patience, read: b.readTotals, pace: b.pace, sway: totalsSway, place: placeOf(br)}
	b.lists = &source{name: "channels " + br.Name(), kind: "channels", interval: listEach, timeout: min(cfg.Timeout, 2*sample.ListSlowest), patience: patience, read: b.readChannels}
	return b
}

// down returns why a source's values cannot be shown, and an empty string when they can.
func down(what string, h dedup.SourceHealth) string {
	switch {
	case !h.Tried:
		return what + " has not been read yet"
	case !h.OK:
		return what + " cannot be read: " + h.Err
	}
	return ""
}
