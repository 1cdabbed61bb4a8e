package collector

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// BenchmarkRound times one round of 200 pipelines over the real history, with an hour of readings behind it.
func BenchmarkRound(b *testing.B) {
	const pipelines = 200
	broker, store := &fakeSource{}, &fakeSource{scheme: nackScheme}
	deps := Deps{Brokers: []source.Broker{broker}, Log: slog.New(slog.DiscardHandler)}
	broker.sample.Info = dedup.BrokerInfo{Node: "n1", RatesMode: "basic"}
	broker.sample.ChannelsClosed, broker.sample.QueuesTotal = ptr(1), ptr(2*pipelines)
	for i := range pipelines {
		name := fmt.Sprintf("p%03d", i)
		broker.sample.Queues = append(broker.sample.Queues,
			newQueue(name, func(q *dedup.Queue) {
				q.Arguments = map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name + ".dead"}
			}), newQueue(name+".dead", func(q *dedup.Queue) { q.Consumers = ptr(0) }))
		deps.Stores = append(deps.Stores, namedStore{store, name})
		deps.Reporters = append(deps.Reporters, namedStore{store, name})
		deps.Pipelines = append(deps.Pipelines, dedup.Pipeline{Name: name, Broker: "main", Vhost: "/", Queues: []string{name}, Store: name,
			ReportedStore: name, DiscoverDeadLetters: true, Limits: dedup.DefaultLimits()})
	}
	history, err := series.Open(series.Config{Dir: b.TempDir(), Retention: 24 * time.Hour, MaxBytes: 1 << 30, Interval: testInterval}, deps.Log)
	if err != nil {
		b.Fatal(err)
	}
	defer history.Close()
	<-history.Ready()
	deps.Series = history
	c, err := New(Config{Interval: testInterval}, deps)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now().Add(-time.Hour)
	c.brokers[0].read.Topology.Set(source.TopologyReading{Topology: dedup.Topology{At: now}})
	read := func() {
		now = now.Add(testInterval)
		feedRound(c, broker, now)
	}
	for range 200 {
		read()
		c.round(b.Context(), now)
	}
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		read()
		b.StartTimer()
		c.round(b.Context(), now)
	}
	if r := c.Snapshot().Pipelines[0].Windows[0].DuplicateRate; !r.Known() {
		b.Fatalf("the benchmark measures nothing: %+v", r)
	}
}

// feedRound gives every source a reading with new events.
func feedRound(c *Collector, broker *fakeSource, at time.Time) {
	sample := broker.sample
	sample.At, sample.Took = at, 10*time.Millisecond
	sample.Queues = append([]dedup.Queue(nil), sample.Queues...)
	n := at.Unix()
	for i := range sample.Queues {
		sample.Queues[i].Counters = dedup.QueueCounters{Publish: &n, Ack: &n, Deliver: &n, Redeliver: &n}
	}
	c.brokers[0].read.Sample.Set(source.BrokerReading{BrokerSample: sample})
	c.brokers[0].read.Samples.Finish(at, 0, nil)
	pass := &dedup.Pass{Started: at, Ended: at.Add(time.Second), States: map[dedup.State]int64{dedup.Done: n}}
	pass.Completions.Freeze()
	pass.GaveUp.Freeze()
	for _, w := range c.stores {
		w.stats.Set(dedup.StoreStats{Pass: pass})
		w.src.Finish(at, 0, nil)
	}
	buckets := make([]int64, len(dedup.LatencyBounds()))
	for i := range buckets {
		buckets[i] = n
	}
	for _, p := range c.pipelines {
		p.report.readings.Set(dedup.Reported{Present: true, Outcomes: map[string]int64{"processed": n, "duplicate_done": n / 50},
			Ack: dedup.LatencyCounts{Buckets: buckets, Sum: n}, Work: dedup.LatencyCounts{Buckets: buckets, Sum: n}})
		p.report.src.Finish(at, 0, nil)
	}
}
