package source

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// How often the live totals are read.
const (
	totalsInterval = time.Second
	// totalsSway keeps work that is done on a beat, as once a second, from being met by every sample or by none.
	totalsSway = 0.2
	// totalsSlowest is the interval that a slow or large broker is left alone for.
	totalsSlowest = 5 * time.Second
	// quickestGrows is in how many readings the quickest answer is forgotten, about: a broker has more queues from some day on.
	quickestGrows = 100
	// usuallyLate is how late they may be on a machine that is not busy.
	usuallyLate = 20 * time.Millisecond
	// totalsQueues is the number of queues up to which live totals are read each second.
	totalsQueues = 500
	// totalsCost is the share of the time that reading totals may take: 20 ms of each second.
	totalsCost = 50
)

// Broker is the read side of one RabbitMQ cluster. Its methods honour ctx and may be called one at a time.
type Broker interface {
	Name() string
	Sample(ctx context.Context) (dedup.BrokerSample, error)
	Totals(ctx context.Context) (dedup.QueueTotals, error)
	Topology(ctx context.Context) (dedup.Topology, error)
	Channels(ctx context.Context) (dedup.ChannelList, error)
}

// A BrokerReading is a sample of the broker with the newest live depths from before it.
type BrokerReading struct {
	dedup.BrokerSample
	Depths sample.LiveDepths
}

// Counting reports whether the broker gives counters.
func (r *BrokerReading) Counting() bool {
	return !r.Info.StatsDisabled && r.Info.RatesMode != "none"
}

// Late reports whether the broker's collector of statistics lags: how old its depths are nobody can say.
func (r *BrokerReading) Late() bool {
	return slices.ContainsFunc(r.Problems, func(p dedup.Problem) bool { return p.Kind == "stats_late" })
}

// A BrokerReader reads one broker: samples, the totals of its queues, its topology, and its channels where it is worth it.
type BrokerReader struct {
	broker  Broker
	log     *slog.Logger
	timeout time.Duration
	// gate holds a token while one of the broker's methods runs: it may be called one at a time.
	gate chan struct{}
	// Samples and Totals are sources of the broker, shown as such; lists is none that anybody waits for.
	Samples, Totals *Source
	lists           *Source

	Sample   Reading[BrokerReading]
	Topology Reading[TopologyReading]
	// slipped is how much later than planned the totals were read since they were read well, of the goroutine that reads them, and quickest how long that
	// took at best of late.
	slipped, quickest time.Duration
	// Live are the unacked messages and depths that the totals told.
	Live   Occupancy
	wanted chan struct{}
	// turned asks for a round at once.
	turned func()
	seed   maphash.Seed
	// Of the sampling goroutine: the set of queues and consumers, the raw count of closed channels, and when it last rose.
	queueSet  uint64
	closedRaw *int64
	closedAt  time.Time
	// lister has a lock of its own: samples, lists and rounds use it.
	lister channelLister
}

// NewBrokerReader returns a reader of a broker that is sampled at an interval, each reading within a timeout. turned is called when a
// sample or a topology came, and when the broker went down or came back.
func NewBrokerReader(br Broker, interval, timeout time.Duration, log *slog.Logger, turned func()) *BrokerReader {
	b := &BrokerReader{broker: br, log: log, timeout: timeout, gate: make(chan struct{}, 1), wanted: make(chan struct{}, 1), turned: turned, seed: maphash.MakeSeed()}
	patience := StaleAfter * interval
	b.Samples = &Source{Name: "broker " + br.Name(), Kind: "broker", Interval: interval, Timeout: timeout,
		Patience: patience, Read: b.readSample, Turned: turned, Place: PlaceOf(br)}
	b.Totals = &Source{Name: "totals " + br.Name(), Kind: "totals", Interval: totalsInterval, Timeout: min(timeout, totalsSlowest),
		Patience: patience, Read: b.readTotals, Pace: b.pace, Sway: totalsSway, Place: PlaceOf(br)}
	b.lists = &Source{Name: "channels " + br.Name(), Kind: "channels", Interval: listEach, Timeout: min(timeout, 2*sample.ListSlowest), Patience: patience, Read: b.readChannels}
	return b
}

// Name is that of the broker.
func (b *BrokerReader) Name() string { return b.broker.Name() }

// Run reads the topology and the channels until ctx ends. The sources run by themselves.
func (b *BrokerReader) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { b.lists.Run(ctx) })
	b.watchTopology(ctx)
	running.Wait()
}

// ChannelLists returns the lists of channels that came since it was called last, oldest first.
func (b *BrokerReader) ChannelLists() []*dedup.ChannelList { return b.lister.take() }

func (b *BrokerReader) acquire(ctx context.Context) error {
	select {
	case b.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ErrBusy
	}
}

func (b *BrokerReader) release() { <-b.gate }

// readSample reads the broker, and asks for the topology at the first success, whenever the set of queues or the number of
// consumers of one changed, and when consumers may have been replaced by as many others.
func (b *BrokerReader) readSample(ctx context.Context) error {
	if err := b.acquire(ctx); err != nil {
		return err
	}
	depths := b.Live.newest()
	s, err := b.broker.Sample(ctx)
	b.release()
	if err != nil {
		b.lister.lose()
		return err
	}
	b.Sample.Set(BrokerReading{s, depths})
	b.turned() // a round that comes later could find the next sample in its place
	set, replacing := b.hash(s.Queues), b.replacing(&s)
	b.lister.saw(&s, set != b.queueSet || b.closedAt.Equal(s.At))
	if set != b.queueSet {
		b.queueSet = set
		b.WantTopology()
	}
	if replacing {
		b.WantNews(s.At)
	}
	return nil
}

// readTotals samples the unacked messages. It gives way at once to any other reading of the broker.
func (b *BrokerReader) readTotals(ctx context.Context) error {
	b.slipped += b.Totals.late
	select {
	case b.gate <- struct{}{}:
	default: // as it does now and then on any machine: that tells of no burst
		return ErrBusy
	}
	totals, err := b.broker.Totals(ctx)
	b.release()
	if err != nil {
		b.slipped += b.Totals.Interval
		return err
	}
	took := time.Since(totals.At)
	if b.quickest += b.quickest / quickestGrows; b.quickest == 0 || took < b.quickest {
		b.quickest = took
	}
	b.Live.observe(totals, max(0, b.slipped+max(0, took-2*b.quickest)-usuallyLate))
	b.slipped = 0
	return nil
}

// pace stretches the interval of the totals so that they cost at most 2 % of the time.
func (b *BrokerReader) pace(took time.Duration) time.Duration {
	if b.Live.size() > totalsQueues {
		return totalsSlowest
	}
	return min(max(took*totalsCost, totalsInterval), totalsSlowest)
}
