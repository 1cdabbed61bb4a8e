package collector

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"syscall"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// BenchmarkRoundOfTheShop times one round of as many pipelines as the sample shop has, whose stores tell of events and whose broker has live
// counts, over the real history: with 20 minutes of readings behind it, and with a day of them.
func BenchmarkRoundOfTheShop(b *testing.B) {
	for _, behind := range []time.Duration{20 * time.Minute, 24 * time.Hour} {
		b.Run(behind.String(), func(b *testing.B) {
			s := newBusyShop(b, time.Now().Add(-25*time.Hour))
			observe := func(now time.Time) { s.collector.observe(now) }
			round := func(now time.Time) { s.collector.round(b.Context(), now) }
			// Older readings are thinned out anyway.
			s.advance(behind-sample.EachFor, 9*shopInterval, observe)
			s.advance(min(behind, sample.EachFor)-shopRecall-time.Minute, shopInterval, observe)
			s.advance(shopRecall+time.Minute, shopInterval, round)
			b.ReportAllocs()
			used := time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				s.feed(shopInterval)
				began := processorTime(b)
				b.StartTimer()
				round(s.now)
				used += processorTime(b) - began
			}
			b.ReportMetric(used.Seconds()*1000/float64(b.N), "cpu-ms/round")
			b.ReportMetric(100*used.Seconds()/float64(b.N)/shopInterval.Seconds(), "%core")
			for _, p := range s.collector.Snapshot().Pipelines {
				if r := p.Windows[0].DuplicateRate; !r.Known() {
					b.Fatalf("the benchmark measures nothing of %s: %+v", p.Pipeline.Name, r)
				}
			}
		})
	}
}

// processorTime is what this process has used, which does not depend on what else runs.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A busyShop is a collector over a shop that is nothing but arithmetic: how much has happened follows from the time alone.
type busyShop struct {
	collector *Collector
	began     time.Time
	now       time.Time
}

const (
	shopPipelines = 9
	shopInterval  = 5 * time.Second
	// shopRecall is how long rounds are remembered: until then the short windows are read from the history.
	shopRecall = 15 * time.Minute
	// One in shopAgain messages is a duplicate, one in shopBack comes back once. A channel is closed each shopCloses.
	shopAgain, shopBack, shopCloses = 50, 200, 20 * time.Second
)

// sent is how many messages a pipeline had sent by a time.
func (s *busyShop) sent(i int, at time.Time) int64 {
	return int64([...]float64{25, 14, 4, 6, 8, 4, 2, 3, 3}[i] * at.Sub(s.began).Seconds())
}

// closed is how many channels were closed by a time, of which one pipeline after the other has one.
func (s *busyShop) closed(at time.Time) int64 { return int64(at.Sub(s.began) / shopCloses) }

func newBusyShop(b *testing.B, began time.Time) *busyShop {
	b.Helper()
	s := &busyShop{began: began, now: began}
	broker := &fakeSource{}
	deps := Deps{Brokers: []source.Broker{broker}, Log: slog.New(slog.DiscardHandler), Live: map[string]source.LiveReader{"main": s}}
	for i := range shopPipelines {
		name := fmt.Sprintf("p%d", i)
		deps.Stores = append(deps.Stores, busyStore{namedStore{&fakeSource{scheme: busyScheme()}, name}, s, i})
		deps.Pipelines = append(deps.Pipelines, dedup.Pipeline{Name: name, Broker: "main", Vhost: "/", Queues: []string{name}, Store: name,
			DiscoverDeadLetters: true, Limits: dedup.DefaultLimits()})
	}
	history, err := series.Open(series.Config{Dir: b.TempDir(), Retention: 48 * time.Hour, MaxBytes: 1 << 30, Interval: shopInterval}, deps.Log)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = history.Close() })
	<-history.Ready()
	deps.Series = history
	if s.collector, err = New(Config{Interval: shopInterval}, deps); err != nil {
		b.Fatal(err)
	}
	topology := dedup.Topology{At: s.began}
	for _, p := range s.collector.pipelines {
		topology.Consumers = append(topology.Consumers, dedup.Consumer{Queue: p.refs[0], Channel: p.Name, Connection: p.Name, Prefetch: 10, AckRequired: true})
	}
	s.collector.brokers[0].read.Topology.Set(source.TopologyReading{Topology: topology})
	return s
}

func busyScheme() dedup.Scheme {
	scheme := nackScheme
	scheme.AcksEach, scheme.Ask = true, "SETNX"
	return scheme
}

// advance lets time go by, and calls after each interval.
func (s *busyShop) advance(by, interval time.Duration, each func(time.Time)) {
	for end := s.now.Add(by); s.now.Before(end); {
		s.feed(interval)
		each(s.now)
	}
}

// feed gives every source what it tells in one interval, of live counts a fifth of it apart.
func (s *busyShop) feed(interval time.Duration) {
	for range 5 {
		s.now = s.now.Add(interval / 5)
		_ = s.collector.lives[0].Source.Read(context.Background())
	}
	w := s.collector.brokers[0]
	reading := source.BrokerReading{BrokerSample: dedup.BrokerSample{At: s.now, Took: 10 * time.Millisecond, Info: dedup.BrokerInfo{Node: "n1", RatesMode: "basic"},
		ChannelsClosed: ptr(s.closed(s.now)), QueuesTotal: ptr(2 * shopPipelines)}}
	for i, p := range s.collector.pipelines {
		publishes := s.sent(i, s.now)
		again := publishes / shopBack
		delivered := publishes + again
		reading.Queues = append(reading.Queues, newQueue(p.Name, func(q *dedup.Queue) {
			q.Arguments = map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": p.Name + ".dead"}
			q.Consumers = ptr(1)
			q.Counters = dedup.QueueCounters{Publish: &publishes, Ack: &publishes, Deliver: &delivered, Redeliver: &again}
		}), newQueue(p.Name+".dead", func(q *dedup.Queue) { q.Consumers = ptr(0) }))
		p.broker.read.Samples.Finish(s.now, 0, nil)
	}
	w.read.Sample.Set(reading)
	for i, store := range s.collector.stores {
		store.stats.Set(s.stats(i))
		store.src.Finish(s.now, 0, nil)
	}
}

func (s *busyShop) stats(i int) dedup.StoreStats {
	n := s.sent(i, s.now)
	done := n - n/shopAgain
	pass := &dedup.Pass{Started: s.now.Add(-time.Second), Ended: s.now, Matched: done, States: map[dedup.State]int64{dedup.Done: done}}
	pass.Completions.Freeze()
	pass.GaveUp.Freeze()
	asked := n + n/shopBack
	e := &dedup.StoreEvents{At: s.now.Add(-time.Duration(i) * 50 * time.Millisecond), Took: time.Millisecond, Listening: true, Epoch: 1, Since: s.began, Claims: done,
		Completions: done, Asked: &asked, Command: "SETNX", InFlight: int64(i % 2)}
	for k := range 64 {
		e.Work.Add(time.Duration(5+k) * time.Millisecond)
	}
	return dedup.StoreStats{Pass: pass, Events: e, Health: dedup.StoreHealth{At: s.now, RunID: "r", LatencyP99: time.Millisecond}}
}

// Watch does nothing: all queues are counted.
func (s *busyShop) Watch(...dedup.QueueRef) {}

// Live tells what every queue came to.
func (s *busyShop) Live(context.Context) (dedup.LiveCounts, error) {
	c := dedup.LiveCounts{Began: s.now.Add(-10 * time.Millisecond), Ended: s.now, Next: time.Second, Queues: map[dedup.QueueRef]dedup.LiveCount{}}
	for i := range shopPipelines {
		n := float64(s.sent(i, s.now))
		again := math.Floor(n / shopBack)
		c.Queues[ref(fmt.Sprintf("p%d", i))] = dedup.LiveCount{Since: s.began, Quiet: s.now, Acked: n, Delivered: n + again, Redelivered: again,
			Closed: float64(s.closed(s.now) / shopPipelines)}
	}
	return c, nil
}

// A busyStore knows what its events came to at any moment.
type busyStore struct {
	namedStore
	shop *busyShop
	i    int
}

// EventsAt implements eventful.
func (s busyStore) EventsAt(when time.Time) (dedup.EventCounts, bool) {
	n := s.shop.sent(s.i, when)
	return dedup.EventCounts{Epoch: 1, Claims: n - n/shopAgain, Completions: n - n/shopAgain}, true
}
