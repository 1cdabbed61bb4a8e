package collector

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestProcessingTimeByStoreEventsIsWithinFivePercent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	works := map[string]func() time.Duration{
		"constant":       func() time.Duration { return 20 * time.Millisecond },
		"log-normal":     func() time.Duration { return time.Duration(10e6 * math.Exp(r.NormFloat64())) },
		"5 ms or 600 ms": func() time.Duration { return time.Duration(5+595*(r.IntN(10)/9)) * time.Millisecond },
	}
	for name, work := range works {
		t.Run(name, func(t *testing.T) {
			var told sample.Events
			var sketch dedup.Sketch
			start := time.Unix(1_800_000_000, 0)
			var inside []float64
			for i := range 361 { // half an hour, read every 5 s; the last quarter is judged
				at := start.Add(time.Duration(i) * 5 * time.Second)
				for range 20 {
					d := work()
					if i <= 180 {
						d *= 10 // what was before the window must not be seen in it
					}
					sketch.Add(d)
					if i > 180 {
						inside = append(inside, d.Seconds())
					}
				}
				told.Add(&dedup.StoreEvents{At: at, Listening: true, Epoch: 1, Since: start, Work: sketch.Clone()})
			}
			s, ok := sample.SpanOf(told.Epoch(), 15*time.Minute)
			if !ok {
				t.Fatal("no span")
			}
			got := workOf(s, dedup.Scheme{Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete"})
			sort.Float64s(inside)
			sum := 0.0
			for _, v := range inside {
				sum += v
			}
			rank := func(q float64) float64 { return inside[int(math.Ceil(q*float64(len(inside))))-1] }
			for what, pair := range map[string][2]float64{"p50": {got.P50.Value, rank(0.5)}, "p95": {got.P95.Value, rank(0.95)}, "p99": {got.P99.Value, rank(0.99)}} {
				if math.Abs(pair[0]-pair[1]) > 0.05*pair[1] {
					t.Errorf("%s is %v, want %v within 5 %%", what, pair[0], pair[1])
				}
			}
			if math.Abs(got.Mean.Value-sum/float64(len(inside))) > 1e-6 || got.Mean.N != float64(len(inside)) || got.Mean.Quality != dedup.Measured {
				t.Errorf("mean %+v, want %v of %d", got.Mean, sum/float64(len(inside)), len(inside))
			}
			if !strings.Contains(got.P95.Source, "without prefetch wait") || got.P95.Covered != 15*time.Minute {
				t.Errorf("p95 does not say what it contains: %+v", got.P95)
			}
		})
	}
}

func TestProcessingTimesInASharedStoreAreNobodysAlone(t *testing.T) {
	events := func(second int, work time.Duration) *dedup.StoreEvents {
		e := &dedup.StoreEvents{At: time.Unix(1_800_000_000+int64(second), 0), Listening: true, Epoch: 1, Since: time.Unix(1_800_000_000, 0)}
		e.Work.Add(20 * time.Millisecond)
		if work > 0 {
			e.Work.Add(work)
		}
		return e
	}
	p := &pipeline{store: &storeWatch{}}
	p.store.told.Add(events(0, 0))
	p.store.told.Add(events(60, 30*time.Millisecond))
	v := view{stats: dedup.StoreStats{Events: events(60, 30*time.Millisecond)}, scheme: dedup.Scheme{Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete"}}
	c, without := &Collector{}, unknownLatency(time.Hour, "consumers report no latencies")
	if got := c.eventWork(p, v, time.Hour, without); !got.Mean.Known() {
		t.Fatalf("a store of its own: %+v", got.Mean)
	}
	p.partner = "invoices"
	if got := c.eventWork(p, v, time.Hour, without); got.Mean.Known() || got.P95.Known() || !strings.Contains(got.Mean.Why, "shared with pipeline invoices") {
		t.Errorf("a shared store: %+v", got.Mean)
	}
}
