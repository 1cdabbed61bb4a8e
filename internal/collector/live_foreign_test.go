package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// liveNow is when the readings of countedLive end.
var liveNow = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// countedLive is a pipeline of ten messages a second, counted together with its store for ten minutes. A tenth of them
// are duplicates that asked the store; so many more are acked each second without asking it.
func countedLive(foreign float64) *pipeline {
	src := &source.Source{Patience: time.Hour}
	src.Finish(liveNow, 0, nil)
	p := &pipeline{autoAcks: &counter.Tally{}, joint: &jointPair{}, live: &liveWatch{src: src}}
	p.store = &storeWatch{store: &fakeSource{scheme: dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before",
		OnInFlight: "nack", OnFail: "delete", AcksEach: true, States: []dedup.State{dedup.Processing, dedup.Done}}}}
	for second := range 601 {
		at, done := liveNow.Add(time.Duration(second-600)*time.Second), float64(9*second)
		p.joints.Readings = append(p.joints.Readings, estimate.Joint{At: at, Delivered: (10 + foreign) * float64(second), Acked: (10 + foreign) * float64(second), Settled: done})
		p.store.told.Readings = append(p.store.told.Readings, sample.EventReading{At: at, AskedKnown: true, Asked: float64(10 * second), Claims: done, Completions: done})
	}
	return p
}

func liveOf(p *pipeline, now time.Time) rate.LiveResult {
	c := &Collector{cfg: Config{Interval: 15 * time.Second}}
	return c.liveEstimate(p, view{now: now, scheme: p.store.store.Scheme(), stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}}, 5*time.Minute)
}

func TestLiveCountsTellTheRateOfTheWindow(t *testing.T) {
	t.Parallel()
	got := liveOf(countedLive(0), liveNow)
	if f := got.Rate; !got.Told || f.Quality != dedup.Measured || f.Low > 0.1 || f.High < 0.1 || f.Width() > 0.002 || f.N != 3000 {
		t.Errorf("%+v", f)
	}
}

func TestAcksOfThoseWhoNeverAskedTheStoreAreNoDuplicates(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *pipeline){
		"a tenth of the acks is of messages that were moved away, or of consumers of another scheme": func(p *pipeline) {},
		"the same where markers are written after the work alone": func(p *pipeline) {
			s := p.store.store.(*fakeSource)
			s.scheme.Mark, s.scheme.States = "after", []dedup.State{dedup.Done}
		},
		"the same where failures ask, claim again and are acked": func(p *pipeline) {
			for i := range p.store.told.Readings {
				p.store.told.Readings[i].Asked += float64(i)
				p.store.told.Readings[i].Claims += float64(i)
				p.joints.Readings[i].Delivered += float64(i)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := countedLive(1)
			change(p)
			if got := liveOf(p, liveNow); got.Told || got.Rate.Known() || !strings.Contains(got.Rate.Why, "but consumers met markers in the store only 300 times") {
				t.Errorf("%+v", got.Rate)
			}
		})
	}
	t.Run("nor is anything known of them where the store does not tell how often it was asked", func(t *testing.T) {
		t.Parallel()
		p := countedLive(1)
		for i := range p.store.told.Readings {
			p.store.told.Readings[i].AskedKnown = false
		}
		if got := liveOf(p, liveNow); !got.Told || got.Rate.Quality != dedup.Derived {
			t.Errorf("%+v", got.Rate)
		}
	})
	t.Run("nor where others ask it, too", func(t *testing.T) {
		t.Parallel()
		p := countedLive(1)
		for i := range p.store.told.Readings {
			p.store.told.Readings[i].Asked *= 3
		}
		if got := liveOf(p, liveNow); !got.Told || got.Rate.Quality != dedup.Derived {
			t.Errorf("%+v", got.Rate)
		}
	})
	t.Run("but those that somebody fetched one by one are perhaps none", func(t *testing.T) {
		t.Parallel()
		p := countedLive(1)
		for i := range p.store.told.Readings {
			p.store.told.Readings[i].AskedKnown = false
			p.joints.Readings[i].Fetched = float64(i)
		}
		if f := liveOf(p, liveNow).Rate; f.Low > 0.1 || f.High < 0.18 || !strings.Contains(f.Why, "were fetched one by one") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("unless consumers fetch, and ask the store", func(t *testing.T) {
		t.Parallel()
		p := countedLive(0)
		for i := range p.joints.Readings {
			p.joints.Readings[i].Fetched = float64(10 * i)
		}
		if f := liveOf(p, liveNow).Rate; f.Quality != dedup.Measured || f.Low < 0.09 || f.Why != "" {
			t.Errorf("%+v", f)
		}
	})
}

// TestDuplicatesThatRenewTheirMarkerAreNotHidden: a marker that is written again is work that was done twice, or a duplicate. The interval holds
// both.
func TestDuplicatesThatRenewTheirMarkerAreNotHidden(t *testing.T) {
	t.Parallel()
	p := countedLive(0)
	for i := range p.joints.Readings {
		p.joints.Readings[i].Settled, p.joints.Readings[i].Again = float64(10*i), float64(i)
	}
	if f := liveOf(p, liveNow).Rate; f.Low > 0 || f.High < 0.1 || !strings.Contains(f.Why, "300 done markers were written again") {
		t.Errorf("%+v", f)
	}
}

func TestWhatIsOpenWhereARunEndsIsOfTheAcksAtMost(t *testing.T) {
	t.Parallel()
	p := countedLive(0)
	for i := range p.joints.Readings {
		if i > 500 {
			p.joints.Readings[i].Run = 1
		}
		if i >= 500 {
			p.joints.Readings[i].Acked -= 20
		}
	}
	p.joints.Readings[500].Open = 20
	if got := liveOf(p, liveNow); got.Rate.High*got.Residual.MostAcked() < got.Residual.Sent+20 || got.Messages().High != got.Residual.Acked+20 {
		t.Errorf("%+v", got.Rate)
	}
}

// TestAQuietPipelineWithTheSameStoreWidensNothing: nothing was delivered to it, as from a dead-letter queue in which nothing dies.
func TestAQuietPipelineWithTheSameStoreWidensNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(other *pipeline)
		told   bool
	}{
		{"nothing is delivered to it", func(*pipeline) {}, true},
		{"something was, though nothing is acked yet", func(other *pipeline) {
			for i := 400; i < len(other.joints.Readings); i++ {
				other.joints.Readings[i].Delivered = 1
			}
		}, false},
		{"something was before the window", func(other *pipeline) {
			for i := 100; i < len(other.joints.Readings); i++ {
				other.joints.Readings[i].Delivered, other.joints.Readings[i].Acked = 1, 1
			}
		}, true},
		{"it was not counted", func(other *pipeline) { other.joints.Readings = nil }, false},
		{"it is of another broker", func(other *pipeline) { other.live = &liveWatch{} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := countedLive(0)
			other := &pipeline{Pipeline: dedup.Pipeline{Name: "morgue"}, store: p.store, joint: &jointPair{}, live: p.live}
			for _, r := range p.joints.Readings {
				other.joints.Readings = append(other.joints.Readings, estimate.Joint{At: r.At})
			}
			p.partner = other.Name
			tt.change(other)
			c := &Collector{cfg: Config{Interval: 15 * time.Second}, pipelines: []*pipeline{p, other}}
			alone, with := liveOf(p, liveNow), c.liveEstimate(p, view{now: liveNow, scheme: p.store.store.Scheme(), stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}}, 5*time.Minute)
			if with.Told != tt.told || tt.told && with.Rate != alone.Rate || !tt.told && !strings.Contains(with.Rate.Why, "shared with pipeline morgue") {
				t.Errorf("%+v", with.Rate)
			}
		})
	}
}

// TestWhatHappenedToStoreOrQueueIsHeldAgainstLiveCounts.
func TestWhatHappenedToStoreOrQueueIsHeldAgainstLiveCounts(t *testing.T) {
	t.Parallel()
	t.Run("the store lost markers in the window", func(t *testing.T) {
		t.Parallel()
		p := countedLive(0)
		p.store.disturbed, p.store.disturbedWhy = liveNow.Add(-time.Minute), "keys were evicted"
		if got := liveOf(p, liveNow); got.Told || !strings.Contains(got.Rate.Why, "keys were evicted") {
			t.Errorf("%+v", got.Rate)
		}
	})
	t.Run("it lost them before", func(t *testing.T) {
		t.Parallel()
		p := countedLive(0)
		p.store.disturbed = liveNow.Add(-6 * time.Minute)
		if got := liveOf(p, liveNow); !got.Told {
			t.Errorf("%+v", got.Rate)
		}
	})
	for name, tt := range map[string]struct {
		arguments map[string]any
		lost      float64
	}{
		"what came again is all that lost acks can come to":                 {nil, 0},
		"a queue with a time to live may have dropped what would have come": {map[string]any{"x-message-ttl": 5000}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := countedLive(0)
			p.refs = []dedup.QueueRef{{Vhost: "/", Name: "orders"}}
			p.broker = &brokerWatch{queues: map[dedup.QueueRef]*dedup.Queue{p.refs[0]: {Arguments: tt.arguments}}}
			sure := liveOf(p, liveNow).Residual
			for i := range p.joints.Readings {
				if i > 500 {
					p.joints.Readings[i].Closed = 3
				}
			}
			got := liveOf(p, liveNow)
			low, _, high := got.Residual.Duplicates(got.Lost)
			if width := high - low - 2*sure.Band; width < tt.lost-0.01 || width > tt.lost+0.01 {
				t.Errorf("%g duplicates are uncertain for lost acks, want %g", width, tt.lost)
			}
		})
	}
}

// TestAcksThatMayWaitAreThoseOfFinishedWork: one for each consumer where it acks each delivery before it takes up the next one, else all
// that are unacked.
func TestAcksThatMayWaitAreThoseOfFinishedWork(t *testing.T) {
	t.Parallel()
	frames := make([]sample.Frame, 0, 61)
	for i := range 61 {
		at := liveNow.Add(time.Duration(i-60) * 5 * time.Second)
		f := sample.Frame{Began: at, Ended: at, DepthFrom: at, Unacked: 10, Consumers: 2, ConsumersKnown: true}
		if i == 59 {
			f.Unacked = 14
		}
		frames = append(frames, f)
	}
	for _, tt := range []struct {
		name       string
		several    string
		frames     []sample.Frame
		mean, last float64
	}{
		{"nothing was read", "", nil, 0, 0},
		{"consumers work on one after another", "", frames[:58], 2, 10},
		{"they work on several", "more claims are open", frames, 10, 14},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := countedLive(0)
			p.frames = tt.frames
			if got := p.waitingAcks(liveNow.Add(-5*time.Minute), tt.several); got.Mean < tt.mean || got.Mean > tt.mean+0.5 || got.Last != tt.last {
				t.Errorf("%+v, want %g and %g", got, tt.mean, tt.last)
			}
		})
	}
}

// TestWhereHitsAreAckedTheDeliveriesThatClaimedNothingAreAnUpperBound: of eleven deliveries a second ten are acked, one is refused before it asks,
// and one meets a marker.
func TestWhereHitsAreAckedTheDeliveriesThatClaimedNothingAreAnUpperBound(t *testing.T) {
	t.Parallel()
	counted := func(claims float64) *pipeline {
		p := countedLive(0)
		p.broker = &brokerWatch{}
		s := p.store.store.(*fakeSource)
		s.scheme = dedup.Scheme{Kind: "redis-string", Preset: "redis-timestamp", Mark: "before", OnInFlight: "ack", OnFail: "delete", States: []dedup.State{dedup.Present}}
		for i := range p.joints.Readings {
			r := &p.joints.Readings[i]
			r.Delivered, r.Settled, r.Claims = float64(11*i), 0, claims*float64(i)
		}
		return p
	}
	got := liveOf(counted(10.9), liveNow)
	if f := got.Rate; !f.AtMost() || f.High < 0.01 || f.High > 0.011 || f.N != 3000 || got.Told || got.Messages().Value != 3000 {
		t.Errorf("%+v", f)
	}
	if f := liveOf(counted(9), liveNow).Rate; f.Known() || f.High < 0.2 || f.High > 0.201 || f.N != 3000 { // too high to judge by, and true all the same
		t.Errorf("%+v", f)
	}
	if f := liveOf(counted(12), liveNow).Rate; f.Known() || !strings.Contains(f.Why, "others write them too") {
		t.Errorf("%+v", f)
	}
	if f := liveOf(counted(1), liveNow).Rate; f.Known() || !strings.Contains(f.Why, "no bound") {
		t.Errorf("%+v", f)
	}
}

// TestMarkersThatSomebodyWritesAtTheStartAreHeld: a store is filled while it is begun to be read, so that more is settled than was acked.
func TestMarkersThatSomebodyWritesAtTheStartAreHeld(t *testing.T) {
	t.Parallel()
	p := countedLive(0)
	p.joints.Readings = p.joints.Readings[400:]
	for i := range p.joints.Readings {
		r := &p.joints.Readings[i]
		if r.Calm = true; i > 0 {
			r.Settled += 2
		}
	}
	if f := liveOf(p, liveNow).Rate; f.Low > 0.1 || f.High < 0.1 {
		t.Errorf("%+v", f)
	}
}
