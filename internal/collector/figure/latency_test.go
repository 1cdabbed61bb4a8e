package figure

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

func TestLatency(t *testing.T) {
	n := len(dedup.LatencyBounds())
	cumulated := func(counts map[int]float64) []float64 {
		out, sum := make([]float64, n), 0.0
		for i := range out {
			sum += counts[i]
			out[i] = sum
		}
		return out
	}
	r := Latency{Bounds: dedup.LatencyBounds(), Buckets: cumulated(map[int]float64{1: 50, 4: 50}), Sum: 5, N: 100}.Figures()
	for what, got := range map[string][2]float64{
		"mean is sum / count":              {r.Mean.Value, 0.05},
		"p50 is the end of the lower half": {r.P50.Value, 0.01},
		"p95 is linear in its bucket":      {r.P95.Value, 0.05 + 0.05*0.9},
	} {
		if math.Abs(got[0]-got[1]) > 1e-9 {
			t.Errorf("%s: got %v, want %v", what, got[0], got[1])
		}
	}
	slow := Latency{Bounds: dedup.LatencyBounds(), Buckets: cumulated(map[int]float64{n - 1: 10}), Sum: 500, N: 10}.Figures()
	if slow.P95.Value != 10 || !strings.Contains(slow.P95.Why, "at least") {
		t.Errorf("beyond the last bound: %+v, want at least 10 s", slow.P95)
	}
	if mean := (Latency{Sum: 5, N: 100}).Figures(); mean.Mean.Value != 0.05 || mean.P95.Known() {
		t.Errorf("of a sum and a count alone: %+v", mean)
	}
	if none := (Latency{}).Figures(); none.Mean.Known() || none.Mean.Why == "" {
		t.Errorf("without buckets: %+v", none.Mean)
	}
	if empty := (Latency{Buckets: make([]float64, n)}).Figures(); empty.Mean.Known() {
		t.Errorf("without observations: %+v", empty.Mean)
	}
}

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
			got := OfWork(s, dedup.Scheme{Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete"})
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
