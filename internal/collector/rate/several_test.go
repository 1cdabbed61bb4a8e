package rate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/shoptest"
)

// drawPrefetched is a shop whose channels hold many deliveries and work on one at a time.
func drawPrefetched(t *rapid.T) shoptest.Traffic {
	traffic := shoptest.Draw(t)
	traffic.Prefetch, traffic.Rate = rapid.IntRange(2, 60).Draw(t, "prefetch"), min(traffic.Rate, 12)
	traffic.Fail, traffic.StuckShare = min(traffic.Fail, 0.05), min(traffic.StuckShare, 0.002)
	traffic.Strange, traffic.Looks = 0, false // two channels that hold one message would race
	traffic.Channels = max(3, traffic.Channels)
	return traffic
}

// TestOneLostAckForEachClosedChannelHoldsTheTruth: all that a channel had prefetched comes back, and one of it was done at most. Open
// claims never accuse such consumers.
func TestOneLostAckForEachClosedChannelHoldsTheTruth(t *testing.T) {
	tried, narrower := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		traffic := drawPrefetched(t)
		shop := shoptest.Run(traffic)
		window := rapid.SampledFrom(dedup.Windows()[:3]).Draw(t, "window")
		s := heard(shop, shoptest.DrawListener(t, traffic.Length), window)
		s.Scheme.AcksEach = true
		if s.Several = Several(s.Readings, s.Frames, s.Own, s.Scheme.ProcessingTTL); s.Several != "" {
			t.Fatalf("consumers that work on one delivery after another are accused: %s", s.Several)
		}
		if r := s.Estimate(); r.Told {
			truth := shop.TruthOf(r.Rate)
			if rate := truth.Duplicates / truth.Settled; truth.Settled > 0 && (rate < r.Rate.Low-1e-9 || rate > r.Rate.High+1e-9) {
				t.Fatalf("%s: truth %v (%v of %v) is outside [%v, %v] over %v: %+v", r.Rate.Quality, rate, truth.Duplicates, truth.Settled, r.Rate.Low, r.Rate.High, r.Rate.Covered, r.Terms)
			}
		}
		b := judged(shop, window)
		b.Scheme.AcksEach = true
		f := residual(b)
		if f.N == 0 {
			return
		}
		from, to, _ := residualEnds(b)
		ours := func(c Cut) time.Duration { return c.Store.Sub(shoptest.Epoch()) - shop.Offset }
		duplicates, messages := shop.SettledBetween(ours(from), ours(to))
		if rate := duplicates / messages; messages > 0 && (rate < f.Low-1e-9 || rate > f.High+1e-9) {
			t.Fatalf("truth %v (%v of %v) is outside [%v, %v] of %v over %v", rate, duplicates, messages, f.Low, f.High, f.N, f.Covered)
		}
		tried++
		b.Scheme.AcksEach = false
		if wide := residual(b); f.High < wide.High {
			narrower++
		}
	})
	t.Logf("%d intervals, %d of them narrower than without what the scheme says", tried, narrower)
	if narrower == 0 {
		t.Error("what the scheme says made no interval narrower: the property was not tested")
	}
}

// TestAnAckForEachMakesCrashesTellable: with a prefetch of 50, crashes and a loop, as in the truth bench.
func TestAnAckForEachMakesCrashesTellable(t *testing.T) {
	for seed := range uint64(5) {
		shop := shoptest.Run(shoptest.Traffic{Seed: seed, Rate: 12, Length: 8 * time.Minute, QuietBefore: 40 * time.Second, QuietAfter: 60 * time.Second,
			Resend: 0.02, Crash: 0.003, StuckShare: 0.0015, LosesCounts: 0.3, Interval: 5 * time.Second, PassAt: 55 * time.Second, Channels: 6, Live: 1, Prefetch: 50})
		s := heard(shop, shoptest.Listener{Interval: 5 * time.Second}, 15*time.Minute)
		wide := s.Estimate().Rate
		s.Scheme.AcksEach = true
		r := s.Estimate()
		truth := shop.TruthOf(r.Rate)
		rate := truth.Duplicates / truth.Settled
		t.Logf("seed %d: truth %.4f, [%.4f, %.4f] %s, else [%.4f, %.4f]; %v closures", seed, rate, r.Rate.Low, r.Rate.High, r.Rate.Quality, wide.Low, wide.High, len(shop.Closures))
		if !r.Rate.Known() || rate < r.Rate.Low || rate > r.Rate.High || wide.High-wide.Low < 2*(r.Rate.High-r.Rate.Low) {
			t.Errorf("seed %d: truth %v, [%v, %v] %s, else [%v, %v]: %s", seed, rate, r.Rate.Low, r.Rate.High, r.Rate.Quality, wide.Low, wide.High, r.Rate.Why)
		}
	}
}

// TestWorkOnSeveralDeliveriesAtOnceShowsInTheClaims: then a closed channel takes along all that it had prefetched, whatever
// the configuration says.
func TestWorkOnSeveralDeliveriesAtOnceShowsInTheClaims(t *testing.T) {
	for seed := range uint64(5) {
		shop := shoptest.Run(shoptest.Traffic{Seed: seed, Rate: 60, Length: 6 * time.Minute, QuietBefore: 40 * time.Second, QuietAfter: 40 * time.Second,
			Resend: 0.02, LostAck: 0.002, Interval: 5 * time.Second, PassAt: 30 * time.Second, Channels: 2, Live: 1, Prefetch: 50, AtOnce: 50})
		s := heard(shop, shoptest.Listener{Interval: 5 * time.Second}, 15*time.Minute)
		untold := s.Estimate().Rate
		s.Scheme.AcksEach = true
		s.Several = Several(s.Readings, s.Frames, s.Own, s.Scheme.ProcessingTTL)
		if !strings.HasPrefix(s.Several, "more claims are open than consumers have channels (") || !strings.HasSuffix(s.Several, " claims, 2 channels): either they work on several deliveries of a channel at once, or they leave claims behind, as by a reject in mid-work") {
			t.Fatalf("seed %d: the claims show nothing: %q", seed, s.Several)
		}
		f := s.Estimate().Rate
		if f.Low != untold.Low || f.High > untold.High || !strings.Contains(f.Why, s.Several) { // who says nothing may also return several at once
			t.Errorf("seed %d: [%v, %v] %q, want [%v, %v] at most, as if the scheme said nothing", seed, f.Low, f.High, f.Why, untold.Low, untold.High)
		}
		b := s.bounds()
		if got := b.LostPerChannel(); got != 50 {
			t.Errorf("seed %d: %d lost for each channel, want the prefetch", seed, got)
		}
	}
}

func TestOpenClaimsProveWorkOnSeveralDeliveries(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	tests := map[string]struct {
		open, closures []float64 // at each minute
		gaps           []float64
		young          bool
		want           string
	}{
		"one claim for each channel":                                {[]float64{0, 4, 4, 0, 3}, []float64{0, 0, 0, 0, 0}, nil, false, ""},
		"one more":                                                  {[]float64{0, 5, 4, 0, 3}, []float64{0, 0, 0, 0, 0}, nil, false, "(5 claims, 4 channels)"},
		"claims that closed channels left behind":                   {[]float64{0, 4, 7, 7, 7}, []float64{0, 0, 3, 3, 3}, nil, false, ""},
		"more than they can have left":                              {[]float64{0, 4, 8, 7, 7}, []float64{0, 0, 3, 3, 3}, nil, false, "(5 claims, 4 channels)"},
		"what was open before the listening began stays":            {[]float64{9, 13, 12, 9, 9}, []float64{0, 0, 0, 0, 0}, nil, false, ""},
		"closed channels of long ago excuse nothing once all ended": {[]float64{40, 0, 0, 0, 9}, []float64{0, 90, 90, 90, 90}, nil, false, "(9 claims, 4 channels)"},
		"a restart closes channels that nobody counts":              {[]float64{0, 4, 9, 9, 9}, []float64{0, 0, 0, 0, 0}, []float64{0, 0, 1, 1, 1}, false, ""},
		"completions of claims from before":                         {[]float64{0, 8, 8, 4, 4}, []float64{0, 0, 0, 0, 0}, nil, true, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var frames sample.Frames
			var readings []sample.EventReading
			for i := range tt.open {
				at := start.Add(time.Duration(i) * time.Minute)
				for _, d := range []time.Duration{-5 * time.Second, 15 * time.Second} {
					f := sample.Frame{Began: at.Add(d), Ended: at.Add(d), DepthFrom: at.Add(d), Closures: tt.closures[i], Consumers: 4, ConsumersKnown: true}
					if d < 0 && i > 0 {
						f.Closures = tt.closures[i-1]
					}
					if tt.gaps != nil {
						f.Gaps = tt.gaps[i]
					}
					frames = append(frames, f)
				}
				since := start.Add(-time.Hour)
				if tt.young {
					since = start
				}
				readings = append(readings, sample.EventReading{At: at, Since: since, Open: tt.open[i]})
			}
			got := Several(readings, frames, nil, 5*time.Minute)
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestClosedChannelsOfOthersExcuseNoOpenClaims: somebody else opens and closes a channel each five seconds, all of which were
// listed, while a consumer works on 40 deliveries at once.
func TestClosedChannelsOfOthersExcuseNoOpenClaims(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	at := func(step int) time.Time { return start.Add(time.Duration(step) * 15 * time.Second) }
	for name, tt := range map[string]struct {
		listed bool
		open   float64
		want   string
	}{
		"of others":                        {true, 40, " claims, 4 channels)"},
		"of who knows whom":                {false, 40, ""},
		"as many as the last ones explain": {true, 10, ""},
	} {
		t.Run(name, func(t *testing.T) {
			own := &sample.OwnClosures{}
			var frames sample.Frames
			var readings []sample.EventReading
			for i := range 41 {
				frames = append(frames, sample.Frame{Began: at(i), Ended: at(i), DepthFrom: at(i), Closures: float64(3 * i), Consumers: 4, ConsumersKnown: true})
				if tt.listed && i > 0 {
					own.Add(at(i-1).Add(-sample.ListLag), at(i), 3)
				}
				open := 0.0
				if i >= 20 { // it grows by less between two readings than their closed channels explain
					open = min(tt.open, float64(3*(i-19)))
				}
				readings = append(readings, sample.EventReading{At: at(i).Add(time.Second), Since: start.Add(-time.Hour), Open: open})
			}
			got := Several(readings, frames, own, 5*time.Minute)
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTrustInTheSchemeIsNotMeasured: a narrow interval that is narrow because of what the configuration says is derived.
func TestTrustInTheSchemeIsNotMeasured(t *testing.T) {
	shop := shoptest.Run(shoptest.Traffic{Seed: 4, Rate: 12, Length: 8 * time.Minute, QuietBefore: 40 * time.Second, QuietAfter: 60 * time.Second,
		Resend: 0.02, Crash: 0.0004, StuckShare: 0.0002, LosesCounts: 0.3, Interval: 5 * time.Second, PassAt: 55 * time.Second, Channels: 6, Live: 1, Prefetch: 50})
	s := heard(shop, shoptest.Listener{Interval: 5 * time.Second}, 15*time.Minute)
	s.Scheme.AcksEach = true
	f := s.Estimate().Rate
	if len(shop.Closures) == 0 || f.High-f.Low > MeasuredWidest {
		t.Fatalf("%d closures, [%v, %v]: not the case in question", len(shop.Closures), f.Low, f.High)
	}
	if f.Quality != dedup.Derived || !strings.Contains(f.Why, "acks: each") {
		t.Errorf("%s: %q", f.Quality, f.Why)
	}
}

func TestAChannelHoldsOneCompletedDeliveryAtMost(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	tests := map[string]struct {
		change func(*Residual)
		want   float64
	}{
		"one for each consumer":                {func(*Residual) {}, 4},
		"and for those who came later":         {func(s *Residual) { s.Frames[3].Consumers = 6 }, 6},
		"no more than there are":               {func(s *Residual) { s.Frames[1].Unacked = 3 }, 3},
		"a broker that hides its consumers":    {func(s *Residual) { s.Frames[2].ConsumersKnown = false }, 200},
		"a broker that was not read since":     {func(s *Residual) { s.Frames = s.Frames[:3] }, 200},
		"acks in batches":                      {func(s *Residual) { s.Scheme.AcksEach = false }, 200},
		"work on several deliveries at once":   {func(s *Residual) { s.Several = "consumers work on several" }, 200},
		"a first reading, with nothing before": {func(s *Residual) { s.Frames = s.Frames[1:] }, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := Residual{Scheme: dedup.Scheme{AcksEach: true}, Prefetch: 50}
			for i := range 4 {
				at := start.Add(time.Duration(i) * 6 * time.Second)
				s.Frames = append(s.Frames, sample.Frame{Began: at, Ended: at, DepthFrom: at.Add(-time.Second), Unacked: 200, Consumers: 4, ConsumersKnown: true})
			}
			tt.change(&s)
			second := slices.IndexFunc(s.Frames, func(f sample.Frame) bool { return f.Began.Equal(start.Add(6 * time.Second)) })
			if got := s.UnackedWork(&s.Frames[second]); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
