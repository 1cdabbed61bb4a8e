package window

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// liveNow is when the readings of countedLive end.
var liveNow = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// countedLive is a pipeline of ten messages a second, counted together with its store for ten minutes. A tenth of them
// are duplicates that asked the store; so many more are acked each second without asking it.
func countedLive(foreign float64) *Pipeline {
	p := &Pipeline{Joined: true, Store: &Store{}}
	for second := range 601 {
		at, done := liveNow.Add(time.Duration(second-600)*time.Second), float64(9*second)
		p.Traffic.Joints.Readings = append(p.Traffic.Joints.Readings, estimate.Joint{At: at, Delivered: (10 + foreign) * float64(second), Acked: (10 + foreign) * float64(second), Settled: done})
		p.Store.Events.Readings = append(p.Store.Events.Readings, sample.EventReading{At: at, AskedKnown: true, Asked: float64(10 * second), Claims: done, Completions: done})
	}
	return p
}

func liveView() View {
	return View{Now: liveNow, Stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}, Scheme: dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status",
		Mark: "before", OnInFlight: "nack", OnFail: "delete", AcksEach: true, States: []dedup.State{dedup.Processing, dedup.Done}}}
}

func liveOf(p *Pipeline, v View) rate.LiveResult {
	v.ignores = p.ignores(v.Now.Add(-ignoredFor), v.Now, v)
	return p.live(v).estimate(5*time.Minute, sample.Increase{})
}

func TestLiveCountsTellTheRateOfTheWindow(t *testing.T) {
	got := liveOf(countedLive(0), liveView())
	if f := got.Rate; !got.Told || f.Quality != dedup.Measured || f.Low > 0.1 || f.High < 0.1 || f.Width() > 0.002 || f.N != 3000 {
		t.Errorf("%+v", f)
	}
}

func TestAcksOfThoseWhoNeverAskedTheStoreAreNoDuplicates(t *testing.T) {
	for name, change := range map[string]func(p *Pipeline, v *View){
		"a tenth of the acks is of messages that were moved away, or of consumers of another scheme": func(*Pipeline, *View) {},
		"the same where markers are written after the work alone": func(_ *Pipeline, v *View) {
			v.Scheme.Mark, v.Scheme.States = "after", []dedup.State{dedup.Done}
		},
		"so many claim, find nothing to do and are acked, and their claim stays": func(p *Pipeline, _ *View) {
			for i := range p.Store.Events.Readings {
				p.Store.Events.Readings[i].Asked += float64(i)
				p.Store.Events.Readings[i].Claims += float64(i)
			}
		},
		"the same where others meet the claims that stay, and are returned": func(p *Pipeline, _ *View) {
			for i := range p.Store.Events.Readings {
				p.Store.Events.Readings[i].Asked += float64(4 * i)
				p.Store.Events.Readings[i].Claims += float64(i)
				r := &p.Traffic.Joints.Readings[i]
				r.Claims, r.Delivered = float64(10*i), r.Delivered+float64(3*i)
			}
			for _, ago := range []time.Duration{6 * time.Minute, 5 * time.Second} { // nothing waits, and nothing became a dead letter
				at := liveNow.Add(-ago)
				p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at, Ended: at, DepthFrom: at, Consumers: 1, ConsumersKnown: true})
			}
		},
		"the same where failures ask, claim again and are acked": func(p *Pipeline, _ *View) {
			for i := range p.Store.Events.Readings {
				p.Store.Events.Readings[i].Asked += float64(i)
				p.Store.Events.Readings[i].Claims += float64(i)
				p.Traffic.Joints.Readings[i].Delivered += float64(i)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, v := countedLive(1), liveView()
			change(p, &v)
			f := liveOf(p, v).Rate
			if truth := 300 / f.N; f.N < 3300 || f.Low > truth || f.High < truth || truth-f.Low > 0.002 || f.Quality == dedup.Measured || !strings.Contains(f.Why, "acked without asking the store") {
				t.Errorf("%+v", f)
			}
		})
	}
	t.Run("nor is anything known of them where the store does not tell how often it was asked", func(t *testing.T) {
		p := countedLive(1)
		for i := range p.Store.Events.Readings {
			p.Store.Events.Readings[i].AskedKnown = false
		}
		if got := liveOf(p, liveView()); !got.Told || got.Rate.Quality != dedup.Derived {
			t.Errorf("%+v", got.Rate)
		}
	})
	t.Run("nor where others ask it, too", func(t *testing.T) {
		p := countedLive(1)
		for i := range p.Store.Events.Readings {
			p.Store.Events.Readings[i].Asked *= 3
		}
		if got := liveOf(p, liveView()); !got.Told || got.Rate.Quality != dedup.Derived {
			t.Errorf("%+v", got.Rate)
		}
	})
	t.Run("but those that somebody fetched one by one are perhaps none", func(t *testing.T) {
		p := countedLive(1)
		for i := range p.Store.Events.Readings {
			p.Store.Events.Readings[i].AskedKnown = false
			p.Traffic.Joints.Readings[i].Fetched = float64(i)
		}
		if f := liveOf(p, liveView()).Rate; f.Low > 0.1 || f.High < 0.18 || !strings.Contains(f.Why, "were fetched one by one") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("unless consumers fetch, and ask the store", func(t *testing.T) {
		p := countedLive(0)
		for i := range p.Traffic.Joints.Readings {
			p.Traffic.Joints.Readings[i].Fetched = float64(10 * i)
		}
		if f := liveOf(p, liveView()).Rate; f.Quality != dedup.Measured || f.Low < 0.09 || f.Why != "" {
			t.Errorf("%+v", f)
		}
	})
}

// TestDeliveriesThatWereRejectedBeforeTheyAskedWereNotAcked: each second one more is delivered and becomes a dead letter, without a question.
func TestDeliveriesThatWereRejectedBeforeTheyAskedWereNotAcked(t *testing.T) {
	for name, tt := range map[string]struct {
		failed float64 // each second gave its claim back, and may be the dead letter
		least  float64
	}{
		"only these became dead letters":     {0, 0.09},
		"work that failed may have, instead": {1, 0},
	} {
		p, v := countedLive(0), liveView()
		for i := range p.Traffic.Joints.Readings {
			r := &p.Traffic.Joints.Readings[i]
			r.Delivered, r.Failed = r.Delivered+float64(i), tt.failed*float64(i)
			if i%5 == 0 {
				p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: r.At, Ended: r.At, DepthFrom: r.At, Dead: float64(i), Whole: true, Consumers: 1, ConsumersKnown: true})
			}
		}
		if f := liveOf(p, v).Rate; f.Low > 0.1 || f.High < 0.1 || f.Low < tt.least || tt.least == 0 && f.Low > 0.05 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestWhatABatchReturnsMayBeDone: where consumers return several at once, the work of some of them is done, and they come back as duplicates. No
// channel is closed for it.
func TestWhatABatchReturnsMayBeDone(t *testing.T) {
	for _, tt := range []struct {
		each bool
		most float64
	}{{true, 0.1}, {false, 0.13}} {
		p, v := countedLive(0), liveView()
		v.Scheme.AcksEach = tt.each
		for i := range p.Traffic.Joints.Readings {
			p.Traffic.Joints.Readings[i].Redelivered = 0.3 * float64(i)
		}
		if f := liveOf(p, v).Rate; f.Low > 0.1 || f.High < tt.most || f.High > tt.most+0.001 {
			t.Errorf("each acked by itself %v: %+v, want up to %v", tt.each, f, tt.most)
		}
	}
}

// TestRatesThatExcludeEachOtherAreBothHeld: one of them is false, and nobody knows which.
func TestRatesThatExcludeEachOtherAreBothHeld(t *testing.T) {
	live := dedup.Figure{Quality: dedup.Measured, Low: 0.001, Value: 0.002, High: 0.003, N: 6000}
	for name, tt := range map[string]struct {
		of   dedup.Figure
		hits rate.HitsResult
		want dedup.Figure
	}{
		"they do not":    {live, rate.HitsResult{}, live},
		"a little apart": {live, rate.HitsResult{Apart: &[2]float64{0.01, 0.012}}, dedup.Figure{Quality: dedup.Derived, Low: 0.001, Value: 0.002, High: 0.012, N: 6000}},
		"far apart":      {live, rate.HitsResult{Apart: &[2]float64{0.05, 0.06}}, dedup.Figure{Quality: dedup.QualityUnknown, Low: 0.001, Value: 0.002, High: 0.06, N: 6000}},
		"one is unknown": {dedup.Figure{}, rate.HitsResult{Apart: &[2]float64{0.05, 0.06}}, dedup.Figure{}},
	} {
		f := tt.of
		if rate.HoldApart(&f, tt.hits); f != tt.want {
			t.Errorf("%s: %+v, want %+v", name, f, tt.want)
		}
	}
}

// TestDuplicatesThatRenewTheirMarkerAreNotHidden: a marker that is written again is work that was done twice, or a duplicate. The interval holds
// both.
func TestDuplicatesThatRenewTheirMarkerAreNotHidden(t *testing.T) {
	p := countedLive(0)
	for i := range p.Traffic.Joints.Readings {
		p.Traffic.Joints.Readings[i].Settled, p.Traffic.Joints.Readings[i].Again = float64(10*i), float64(i)
	}
	if f := liveOf(p, liveView()).Rate; f.Low > 0 || f.High < 0.1 || !strings.Contains(f.Why, "300 done markers were written again") {
		t.Errorf("%+v", f)
	}
}

func TestWhatIsOpenWhereARunEndsIsOfTheAcksAtMost(t *testing.T) {
	p := countedLive(0)
	for i := range p.Traffic.Joints.Readings {
		if i > 500 {
			p.Traffic.Joints.Readings[i].Run = 1
		}
		if i >= 500 {
			p.Traffic.Joints.Readings[i].Acked -= 20
		}
	}
	p.Traffic.Joints.Readings[500].Open = 20
	if got := liveOf(p, liveView()); got.Rate.High*got.Residual.MostAcked() < got.Residual.Sent+20 || got.Messages().High != got.Residual.Acked+20 {
		t.Errorf("%+v", got.Rate)
	}
}

// TestAQuietPipelineWithTheSameStoreWidensNothing: nothing was delivered to it, as from a dead-letter queue in which nothing dies.
func TestAQuietPipelineWithTheSameStoreWidensNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(other *Pipeline)
		told   bool
	}{
		{"nothing is delivered to it", func(*Pipeline) {}, true},
		{"something was, though nothing is acked yet", func(other *Pipeline) {
			for i := 400; i < len(other.Traffic.Joints.Readings); i++ {
				other.Traffic.Joints.Readings[i].Delivered = 1
			}
		}, false},
		{"something was before the window", func(other *Pipeline) {
			for i := 100; i < len(other.Traffic.Joints.Readings); i++ {
				other.Traffic.Joints.Readings[i].Delivered, other.Traffic.Joints.Readings[i].Acked = 1, 1
			}
		}, true},
		{"it was not counted", func(other *Pipeline) { other.Traffic.Joints.Readings = nil }, false},
		{"it is of another broker", func(other *Pipeline) { other.Config.Broker = "second" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := countedLive(0)
			other := &Pipeline{Config: dedup.Pipeline{Name: "morgue"}, Store: p.Store, Joined: true}
			for _, r := range p.Traffic.Joints.Readings {
				other.Traffic.Joints.Readings = append(other.Traffic.Joints.Readings, estimate.Joint{At: r.At})
			}
			tt.change(other)
			alone := liveOf(p, liveView())
			p.Partner, p.Store.Users = other.Config.Name, []*Pipeline{p, other}
			with := liveOf(p, liveView())
			if with.Told != tt.told || tt.told && with.Rate != alone.Rate || !tt.told && !strings.Contains(with.Rate.Why, "shared with pipeline morgue") {
				t.Errorf("%+v", with.Rate)
			}
		})
	}
}

// TestWhatHappenedToStoreOrQueueIsHeldAgainstLiveCounts.
func TestWhatHappenedToStoreOrQueueIsHeldAgainstLiveCounts(t *testing.T) {
	t.Run("the store lost markers in the window", func(t *testing.T) {
		p := countedLive(0)
		p.Store.Disturbed, p.Store.DisturbedWhy = liveNow.Add(-time.Minute), "keys were evicted"
		if got := liveOf(p, liveView()); got.Told || !strings.Contains(got.Rate.Why, "keys were evicted") {
			t.Errorf("%+v", got.Rate)
		}
	})
	t.Run("it lost them before", func(t *testing.T) {
		p := countedLive(0)
		p.Store.Disturbed = liveNow.Add(-6 * time.Minute)
		if got := liveOf(p, liveView()); !got.Told {
			t.Errorf("%+v", got.Rate)
		}
	})
	for name, tt := range map[string]struct {
		vanishing bool
		lost      float64
	}{
		"what came again is all that lost acks can come to":                 {false, 0},
		"a queue with a time to live may have dropped what would have come": {true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p, v := countedLive(0), liveView()
			for i := range p.Store.Events.Readings { // else these bound it
				p.Store.Events.Readings[i].AskedKnown = false
			}
			v.Vanishing = tt.vanishing
			sure := liveOf(p, v).Residual
			for i := range p.Traffic.Joints.Readings {
				if i > 500 {
					p.Traffic.Joints.Readings[i].Closed = 3
				}
			}
			got := liveOf(p, v)
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
			p := countedLive(0)
			p.Traffic.Frames = tt.frames
			if got := p.Traffic.waitingAcks(liveNow.Add(-5*time.Minute), liveView().Scheme, tt.several); got.Mean < tt.mean || got.Mean > tt.mean+0.5 || got.Last != tt.last {
				t.Errorf("%+v, want %g and %g", got, tt.mean, tt.last)
			}
		})
	}
}

// TestWhereHitsAreAckedTheDeliveriesThatClaimedNothingAreAnUpperBound: of eleven deliveries a second ten are acked, one is refused before it asks,
// and one meets a marker.
func TestWhereHitsAreAckedTheDeliveriesThatClaimedNothingAreAnUpperBound(t *testing.T) {
	v := liveView()
	v.Scheme = dedup.Scheme{Kind: "redis-string", Preset: "redis-timestamp", Mark: "before", OnInFlight: "ack", OnFail: "delete", States: []dedup.State{dedup.Present}}
	counted := func(claims float64) *Pipeline {
		p := countedLive(0)
		for i := range p.Traffic.Joints.Readings {
			r := &p.Traffic.Joints.Readings[i]
			r.Delivered, r.Settled, r.Claims = float64(11*i), 0, claims*float64(i)
		}
		return p
	}
	got := liveOf(counted(10.9), v)
	if f := got.Rate; !f.AtMost() || f.High < 0.01 || f.High > 0.011 || f.N != 3000 || got.Told || got.Messages().Value != 3000 {
		t.Errorf("%+v", f)
	}
	if f := liveOf(counted(9), v).Rate; f.Known() || f.High < 0.2 || f.High > 0.201 || f.N != 3000 { // too high to judge by, and true all the same
		t.Errorf("%+v", f)
	}
	if f := liveOf(counted(12), v).Rate; f.Known() || !strings.Contains(f.Why, "others write them too") {
		t.Errorf("%+v", f)
	}
	if f := liveOf(counted(1), v).Rate; f.Known() || !strings.Contains(f.Why, "no bound") {
		t.Errorf("%+v", f)
	}
}

// TestMarkersThatSomebodyWritesAtTheStartAreHeld: a store is filled while it is begun to be read, so that more is settled than was acked.
func TestMarkersThatSomebodyWritesAtTheStartAreHeld(t *testing.T) {
	p := countedLive(0)
	p.Traffic.Joints.Readings = p.Traffic.Joints.Readings[400:]
	for i := range p.Traffic.Joints.Readings {
		r := &p.Traffic.Joints.Readings[i]
		if r.Calm = true; i > 0 {
			r.Settled += 2
		}
	}
	if f := liveOf(p, liveView()).Rate; f.Low > 0.1 || f.High < 0.1 {
		t.Errorf("%+v", f)
	}
}
