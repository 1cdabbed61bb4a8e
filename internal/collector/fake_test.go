package collector

import (
	"cmp"
	"context"
	"errors"
	"sort"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/deadletter"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// fakeHistory keeps samples in memory and answers as the real one does.
type fakeHistory struct {
	mu      sync.Mutex
	err     error
	samples map[string][]fakePoint
	labels  map[string]series.Sample
}

type fakePoint struct {
	at    time.Time
	value float64
	stale bool
}

func newFakeHistory() *fakeHistory {
	return &fakeHistory{samples: map[string][]fakePoint{}, labels: map[string]series.Sample{}}
}

func (h *fakeHistory) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *fakeHistory) put(at time.Time, samples []series.Sample, stale bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	for _, s := range samples {
		key := counter.Key(s.Name, s.Labels)
		h.labels[key] = s
		points := append(h.samples[key], fakePoint{at, s.Value, stale})
		sort.SliceStable(points, func(i, j int) bool { return points[i].at.Before(points[j].at) })
		h.samples[key] = points
	}
	return nil
}

func (h *fakeHistory) Append(_ context.Context, at time.Time, s []series.Sample) error {
	return h.put(at, s, false)
}

func (h *fakeHistory) MarkStale(_ context.Context, at time.Time, s []series.Sample) error {
	return h.put(at, s, true)
}

func (h *fakeHistory) Changes(_ context.Context, counter string, at time.Time, window time.Duration) ([]series.Change, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	var out []series.Change
	for key, points := range h.samples {
		if h.labels[key].Name != counter || points[len(points)-1].stale {
			continue
		}
		from := points[0]
		for _, p := range points {
			if !p.at.After(at.Add(-window)) && !p.stale {
				from = p
			}
		}
		last := points[len(points)-1]
		out = append(out, series.Change{Labels: h.labels[key].Labels, Delta: last.value - from.value, From: from.at, To: last.at})
	}
	return out, nil
}

func (h *fakeHistory) Last(_ context.Context, metric string) ([]series.Value, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	var out []series.Value
	for key, points := range h.samples {
		for i := len(points) - 1; i >= 0 && h.labels[key].Name == metric; i-- {
			if !points[i].stale {
				out = append(out, series.Value{Labels: h.labels[key].Labels, At: points[i].at, Value: points[i].value})
				break
			}
		}
	}
	return out, nil
}

// QueryRange knows no PromQL but the name of a metric; it looks back for a minute.
func (h *fakeHistory) QueryRange(_ context.Context, metric string, from, to time.Time, step time.Duration) ([]series.Line, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []series.Line
	for key, points := range h.samples {
		if h.labels[key].Name != metric {
			continue
		}
		line := series.Line{Labels: h.labels[key].Labels}
		for at := from; !at.After(to); at = at.Add(step) {
			i := sort.Search(len(points), func(i int) bool { return points[i].at.After(at) }) - 1
			if i >= 0 && !points[i].stale && at.Sub(points[i].at) < time.Minute {
				line.Points = append(line.Points, dedup.Point{At: at, Value: points[i].value})
			}
		}
		out = append(out, line)
	}
	return out, nil
}

// current returns the newest value of a series and whether it has one.
func (h *fakeHistory) current(metric string, labels ...string) (float64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := counter.Batch{}
	b.Add(metric, 0, labels...)
	for key := range b {
		if p := h.samples[key]; len(p) > 0 {
			return p[len(p)-1].value, !p[len(p)-1].stale
		}
	}
	return 0, false
}

// fakeSource is a broker, a store and a reporter whose answers a test sets.
type fakeSource struct {
	mu       sync.Mutex
	err      error
	hang     chan struct{}
	sample   dedup.BrokerSample
	topology dedup.Topology
	channels dedup.ChannelList
	stats    dedup.StoreStats
	scheme   dedup.Scheme
	reported dedup.Reported
	// reportedAt is when the reported counters were last read.
	reportedAt time.Time
	calls      int
	// topologies counts the readings of the topology.
	topologies int
	// lists counts the lists of channels.
	lists int
	// topologyErr fails the readings of the topology alone.
	topologyErr error
	// channelsErr fails the lists of channels alone.
	channelsErr error
}

func (f *fakeSource) set(change func(*fakeSource)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// begin counts a call, and waits as long as the test wants without heeding ctx, like the worst of sources.
func (f *fakeSource) begin() error {
	f.mu.Lock()
	f.calls++
	hang, err := f.hang, f.err
	f.mu.Unlock()
	if hang != nil {
		<-hang
		return errors.New("it hung")
	}
	return err
}

func (f *fakeSource) Name() string         { return "main" }
func (f *fakeSource) Scheme() dedup.Scheme { return f.scheme }

func (f *fakeSource) Sample(context.Context) (dedup.BrokerSample, error) {
	err := f.begin()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sample
	s.At = time.Now()
	return s, err
}

func (f *fakeSource) Totals(context.Context) (dedup.QueueTotals, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return dedup.QueueTotals{At: time.Now(), Queues: f.sample.Queues}, f.err
}

func (f *fakeSource) Topology(context.Context) (dedup.Topology, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.topologies++
	t := f.topology
	t.At = time.Now()
	return t, cmp.Or(f.err, f.topologyErr)
}

func (f *fakeSource) Channels(context.Context) (dedup.ChannelList, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	l := f.channels
	l.At = time.Now()
	return l, cmp.Or(f.channelsErr, f.err)
}

func (f *fakeSource) Stats(context.Context) (dedup.StoreStats, error) {
	err := f.begin()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats, err
}

func (f *fakeSource) Reported(context.Context, string) (dedup.Reported, error) {
	err := f.begin()
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.reported
	r.At = time.Now()
	if err == nil {
		f.reportedAt = r.At
	}
	return r, err
}

// A bench is a collector over fakes: one broker, one store, and the pipelines orders (reports) and emails (another
// store, reports nothing).
type testBench struct {
	keeper *fakeBaselines
	*Collector
	broker, store, other *fakeSource
	history              *fakeHistory
}

type namedStore struct {
	*fakeSource
	name string
}

func (n namedStore) Name() string { return n.name }

// findingNow is the time of the tests that have no clock of their own, findingOffset by how much the store's clock is ahead.
var findingNow = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

const findingOffset = 3 * time.Minute

func ref(name string) dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: name} }

// passWith is a complete pass over a thousand markers, changed.
func passWith(change func(*dedup.Pass)) *dedup.Pass {
	p := &dedup.Pass{Started: findingNow.Add(-2 * time.Minute), Ended: findingNow.Add(-time.Minute), ClockOffset: findingOffset,
		Matched: 1000, States: map[dedup.State]int64{}, NoExpiry: map[dedup.State]int64{}}
	change(p)
	p.GaveUp.Freeze()
	return p
}

// forever is a marker without expiry that was first seen an age ago.
func forever(state dedup.State, age time.Duration) dedup.Marker {
	return dedup.Marker{ID: "m1", State: state, FirstSeen: findingNow.Add(-time.Minute - age)}
}

func newQueue(name string, change func(*dedup.Queue)) dedup.Queue {
	q := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: name}, Type: "classic", State: "running", Node: "n1", Durable: true,
		Messages: ptr(0), Ready: ptr(0), Unacked: ptr(0), Consumers: ptr(2)}
	if change != nil {
		change(&q)
	}
	return q
}

var nackScheme = dedup.Scheme{Preset: "redis-text-status", Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "delete",
	ProcessingTTL: 5 * time.Minute, DoneTTL: 24 * time.Hour, GiveUp: 5, States: []dedup.State{dedup.Processing, dedup.Done}}

func newBench(t *testing.T, interval time.Duration) *testBench {
	t.Helper()
	b := &testBench{keeper: &fakeBaselines{lines: map[string]dedup.Baseline{}}, broker: &fakeSource{}, store: &fakeSource{scheme: nackScheme}, other: &fakeSource{scheme: nackScheme}, history: newFakeHistory()}
	b.broker.sample = dedup.BrokerSample{Info: dedup.BrokerInfo{Node: "n1", RatesMode: "basic"}, ChannelsClosed: ptr(0), QueuesTotal: ptr(3),
		Queues: []dedup.Queue{
			newQueue("orders", func(q *dedup.Queue) {
				q.Arguments = map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dlq"}
			}),
			newQueue("orders.dlq", func(q *dedup.Queue) { q.Consumers = ptr(0); q.Messages = ptr(4) }),
			newQueue("emails", nil),
		}}
	c, err := newCollector(Config{Interval: interval}, Deps{
		Brokers: []source.Broker{b.broker}, Stores: []Store{namedStore{b.store, "orders"}, namedStore{b.other, "emails"}},
		Reporters: []Reporter{namedStore{b.store, "orders"}}, Baselines: b.keeper,
		Pipelines: []dedup.Pipeline{
			{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}, Store: "orders", ReportedStore: "orders",
				DiscoverDeadLetters: true, Limits: dedup.DefaultLimits()},
			{Name: "emails", Broker: "main", Vhost: "/", Queues: []string{"emails"}, Store: "emails", DiscoverDeadLetters: true, Limits: dedup.DefaultLimits()},
		},
	}, b.history)
	if err != nil {
		t.Fatal(err)
	}
	b.Collector = c
	return b
}

// goOnFrom lets the collector write to a history that another one wrote to before.
func (b *testBench) goOnFrom(h *fakeHistory) {
	b.history, b.Collector.history = h, h
	b.past = counter.NewPast(b.book, h, b.cfg.Interval, b.cfg.Windows, b.log)
}

// list lets the configuration of a pipeline list its dead-letter queues.
func (b *testBench) list(p *pipeline, queues ...string) {
	p.DeadLetterQueues = queues
	p.dead = deadletter.NewWatch(p.Pipeline, p.refs, b.book)
}

func (b *testBench) pipeline(t *testing.T, name string) *dedup.PipelineStatus {
	t.Helper()
	p, ok := b.Snapshot().Pipeline(name)
	if !ok {
		t.Fatalf("the snapshot has no pipeline %s", name)
	}
	return p
}

func ptr(n int64) *int64 { return &n }
