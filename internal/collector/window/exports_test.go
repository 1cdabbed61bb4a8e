package window

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A countingStore tells what its events came to at each moment.
type countingStore struct {
	at func(time.Time) int64
}

func (s countingStore) EventsAt(when time.Time) (dedup.EventCounts, bool) {
	return dedup.EventCounts{Epoch: 1, Completions: s.at(when)}, true
}

// An exportSim is a pipeline of 50 messages a second in batches of a minute and rests of half a one. Some are sent again, and some acks
// are lost with their channel, so that their messages are handled again.
type exportSim struct {
	start                                 time.Time
	handled, done, acked, redelivered, in []float64 // the times of each, in seconds
}

func simulateExports(seed uint64, seconds float64, again, lost float64) *exportSim {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &exportSim{start: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)}
	for t := 10.0; t < seconds; t += rng.ExpFloat64() / 50 {
		if math.Mod(t, 90) > 60 {
			continue
		}
		deliveries := 1
		if rng.Float64() < again {
			deliveries++
		}
		for i := range deliveries {
			at := t + float64(i)*0.5 + 0.02
			s.handled = append(s.handled, at)
			if i == 0 {
				s.done = append(s.done, at-0.005)
			}
			if rng.Float64() < lost { // it comes again at once, and is a duplicate
				s.redelivered = append(s.redelivered, at+0.2)
				s.handled, s.acked = append(s.handled, at+0.21), append(s.acked, at+0.212)
			} else {
				s.acked = append(s.acked, at+0.002)
			}
		}
	}
	return s
}

// until counts the times by a moment.
func (s *exportSim) until(times []float64, at time.Time) float64 {
	n, end := 0.0, at.Sub(s.start).Seconds()
	for _, t := range times {
		if t <= end {
			n++
		}
	}
	return n
}

// run lets a pipeline see the simulation: the broker each 5 s, with counters of 5 s before, and the consumers each 15 s by what of says
// that they count.
func (s *exportSim) run(p *Pipeline, scheme dedup.Scheme, seconds int, of func(handled float64) dedup.Exports) time.Time {
	var now time.Time
	for second := 5; second <= seconds; second += 5 {
		now = s.start.Add(time.Duration(second) * time.Second)
		counted := now.Add(-5 * time.Second)
		p.Traffic.Frames.Add(sample.Frame{Began: now, Ended: now.Add(10 * time.Millisecond), Acks: s.until(s.acked, counted), Redeliveries: s.until(s.redelivered, counted)})
		if second%15 == 0 {
			e := of(s.until(s.handled, now))
			e.Recipe, e.Framework = "spring-rabbit", "Spring AMQP"
			e.Marks = []dedup.ExportMark{{At: now, Weight: 1}}
			p.Exports.Observe(&e)
		}
		p.SettleExports(now, scheme)
	}
	return now
}

func newExportPipeline(s *exportSim) (*Pipeline, dedup.Scheme) {
	scheme := dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour}
	store := countingStore{func(t time.Time) int64 { return int64(s.until(s.done, t)) }}
	return &Pipeline{Config: dedup.Pipeline{Name: "orders"}, Store: &Store{Source: store}}, scheme
}

func exportView(now time.Time, scheme dedup.Scheme) View {
	return View{Now: now, Scheme: scheme, Stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}}
}

// TestDeliveriesThatConsumersCountHoldTheRateThatLostAcksHide: the broker's acks leave open what came again.
func TestDeliveriesThatConsumersCountHoldTheRateThatLostAcksHide(t *testing.T) {
	for seed := range uint64(6) {
		s := simulateExports(seed, 600, 0.03, 0.01)
		p, scheme := newExportPipeline(s)
		now := s.run(p, scheme, 640, func(handled float64) dedup.Exports { return dedup.Exports{Handled: handled} })
		f := p.exported(exportView(now, scheme)).estimate(5*time.Minute, rate.LiveResult{})
		from := f.At.Add(-f.Covered)
		handled := s.until(s.handled, f.At) - s.until(s.handled, from)
		truth := (handled - s.until(s.done, f.At) + s.until(s.done, from)) / handled
		if !f.Known() || f.Low > truth || truth > f.High || f.High-f.Low > 0.003 || math.Abs(f.Value-truth) > 0.001 {
			t.Errorf("seed %d: %.4f to %.4f (%.4f, %s), the truth is %.4f", seed, f.Low, f.High, f.Value, f.Why, truth)
		}
		if f.Hits != math.Round(f.Hits) || f.N != handled {
			t.Errorf("seed %d: %v of %v, handled %v", seed, f.Hits, f.N, handled)
		}
	}
}

func TestARecipeThatCountsSomethingElseIsRefusedWithBothNumbers(t *testing.T) {
	s := simulateExports(3, 600, 0.03, 0)
	for _, tt := range []struct {
		name string
		of   func(float64) dedup.Exports
		why  string
	}{
		{"tries inside of the process", func(n float64) dedup.Exports { return dedup.Exports{Handled: math.Round(1.04 * n)} }, "other queues too, or tries inside of the process"},
		{"another queue", func(n float64) dedup.Exports { return dedup.Exports{Handled: math.Round(0.9 * n)} }, "another queue, or not all processes are read"},
		{"nothing", func(float64) dedup.Exports { return dedup.Exports{} }, "consumers handled 0 messages by the recipe spring-rabbit, but the broker took"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, scheme := newExportPipeline(s)
			now := s.run(p, scheme, 640, tt.of)
			v := exportView(now, scheme)
			f := p.exported(v).estimate(5*time.Minute, rate.LiveResult{})
			if f.Known() || !strings.Contains(f.Why, tt.why) || !strings.Contains(f.Why, "acks") || f.Better != betterRecipe {
				t.Errorf("%+v", f)
			}
			t.Log(f.Why)
			if l := p.exported(v).latency(5*time.Minute, func(r *exportReading) *dedup.Distribution { return r.Work }); l.Mean.Known() || l.Mean.Why != f.Why {
				t.Errorf("%+v", l.Mean)
			}
		})
	}
}

func TestNothingIsToldBeforeConsumersAndBrokerCouldBeCompared(t *testing.T) {
	s := simulateExports(3, 60, 0.03, 0)
	p, scheme := newExportPipeline(s)
	now := s.run(p, scheme, 15, func(n float64) dedup.Exports { return dedup.Exports{Handled: n} })
	if f := p.exported(exportView(now, scheme)).estimate(5*time.Minute, rate.LiveResult{}); f.Known() || !strings.Contains(f.Why, "could not be compared") {
		t.Errorf("%+v", f)
	}
}

func TestDuplicatesThatTheFrameworkCountsNeedNoStore(t *testing.T) {
	s := simulateExports(4, 600, 0.03, 0.01)
	p, scheme := newExportPipeline(s)
	p.Store = nil
	now := s.run(p, scheme, 640, func(n float64) dedup.Exports {
		return dedup.Exports{Handled: n, Duplicates: math.Floor(n / 25), HasDuplicates: true, Work: &dedup.Distribution{Sum: n / 20, Count: n}}
	})
	v := View{Now: now, StoreDown: "the pipeline has no store"}
	f := p.exported(v).estimate(5*time.Minute, rate.LiveResult{})
	if !f.Known() || f.Low > 0.04 || f.High < 0.04 || f.High-f.Low > 0.002 || f.Quality != dedup.Derived {
		t.Errorf("%+v", f)
	}
	work := p.exported(v).latency(5*time.Minute, func(r *exportReading) *dedup.Distribution { return r.Work })
	if math.Abs(work.Mean.Value-0.05) > 1e-9 || work.P95.Known() || work.Mean.Source != "exported by Spring AMQP" {
		t.Errorf("%+v", work)
	}
}

// TestWhatLiveCountsExcludeIsNoPartOfTheInterval: the truth is in both.
func TestWhatLiveCountsExcludeIsNoPartOfTheInterval(t *testing.T) {
	s := simulateExports(5, 600, 0.03, 0)
	p, scheme := newExportPipeline(s)
	now := s.run(p, scheme, 640, func(n float64) dedup.Exports { return dedup.Exports{Handled: n} })
	live := rate.LiveResult{Told: true, Rate: dedup.Figure{Low: 0.0285, High: 0.0315}}
	f := p.exported(exportView(now, scheme)).estimate(5*time.Minute, live)
	if !f.Known() || f.Low < live.Rate.Low || f.High > live.Rate.High {
		t.Errorf("%+v", f)
	}
}
