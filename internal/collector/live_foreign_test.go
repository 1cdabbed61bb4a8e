package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/dedup"
)

// liveNow is when the readings of countedLive end.
var liveNow = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// countedLive is a pipeline of ten messages a second, counted together with its store for ten minutes. A tenth of them
// are duplicates that asked the store; so many more are acked each second without asking it.
func countedLive(foreign float64) *pipeline {
	p := &pipeline{autoAcks: &tally{}, joint: &jointPair{}, live: &liveWatch{src: &source{health: dedup.SourceHealth{Tried: true, OK: true}}}}
	p.live.src.health.LastSuccess, p.live.src.patience = liveNow, time.Hour
	p.store = &storeWatch{store: &fakeSource{scheme: dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before",
		OnInFlight: "nack", OnFail: "delete", AcksEach: true, States: []dedup.State{dedup.Processing, dedup.Done}}}}
	for second := range 601 {
		at, done := liveNow.Add(time.Duration(second-600)*time.Second), float64(9*second)
		p.joints.readings = append(p.joints.readings, estimate.Joint{At: at, Delivered: (10 + foreign) * float64(second), Acked: (10 + foreign) * float64(second), Settled: done})
		p.store.tape.readings = append(p.store.tape.readings, storeReading{At: at, AskedKnown: true, Asked: float64(10 * second), Claims: done, Completions: done})
	}
	return p
}

func liveOf(p *pipeline, now time.Time) liveResult {
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
			for i := range p.store.tape.readings {
				p.store.tape.readings[i].Asked += float64(i)
				p.store.tape.readings[i].Claims += float64(i)
				p.joints.readings[i].Delivered += float64(i)
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
		for i := range p.store.tape.readings {
			p.store.tape.readings[i].AskedKnown = false
		}
		if got := liveOf(p, liveNow); !got.Told || got.Rate.Quality != dedup.Derived {
			t.Errorf("%+v", got.Rate)
		}
	})
	t.Run("nor where others ask it, too", func(t *testing.T) {
		t.Parallel()
		p := countedLive(1)
		for i := range p.store.tape.readings {
			p.store.tape.readings[i].Asked *= 3
		}
		if got := liveOf(p, liveNow); !got.Told || got.Rate.Quality != dedup.Derived {
			t.Errorf("%+v", got.Rate)
		}
	})
	t.Run("but those that somebody fetched one by one are perhaps none", func(t *testing.T) {
		t.Parallel()
		p := countedLive(1)
		for i := range p.store.tape.readings {
			p.store.tape.readings[i].AskedKnown = false
			p.joints.readings[i].Fetched = float64(i)
		}
		if f := liveOf(p, liveNow).Rate; f.Low > 0.1 || f.High < 0.18 || !strings.Contains(f.Why, "were fetched one by one") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("unless consumers fetch, and ask the store", func(t *testing.T) {
		t.Parallel()
		p := countedLive(0)
		for i := range p.joints.readings {
			p.joints.readings[i].Fetched = float64(10 * i)
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
	for i := range p.joints.readings {
		p.joints.readings[i].Settled, p.joints.readings[i].Again = float64(10*i), float64(i)
	}
	if f := liveOf(p, liveNow).Rate; f.Low > 0 || f.High < 0.1 || !strings.Contains(f.Why, "300 done markers were written again") {
		t.Errorf("%+v", f)
	}
}

func TestWhatIsOpenWhereARunEndsIsOfTheAcksAtMost(t *testing.T) {
	t.Parallel()
	p := countedLive(0)
	for i := range p.joints.readings {
		if i > 500 {
			p.joints.readings[i].Run = 1
		}
		if i >= 500 {
			p.joints.readings[i].Acked -= 20
		}
	}
	p.joints.readings[500].Open = 20
	if got := liveOf(p, liveNow); got.Rate.High*got.Residual.MostAcked() < got.Residual.Sent+20 || ackedLive(got).High != got.Residual.Acked+20 {
		t.Errorf("%+v", got.Rate)
	}
}
