package rate

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/shoptest"
)

// heard is what the estimate from store events sees of a simulated shop.
func heard(s *shoptest.Shop, ears shoptest.Listener, window time.Duration) Events {
	r, told := s.Hear(ears)
	return Events{Window: window, Interval: s.Interval, Frames: r.Frames, Scheme: r.Scheme, Readings: told.Epoch(), Broke: told.Broke,
		Command: "SETNX", Slip: AskSlip, Prefetch: r.Prefetch, Meter: r.Meter}
}

// TestStoreEventsHoldTheTruth drives consumers of real semantics through the broker's late and lost counts and readings of the
// store that come at other times: every interval must hold the truth of its span, and so must its neighbours.
func TestStoreEventsHoldTheTruth(t *testing.T) {
	quality, reasons, wide := map[dedup.Quality]int{}, map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		traffic := shoptest.Draw(t)
		if rapid.IntRange(0, 3).Draw(t, "strangers at all") == 0 {
			traffic.Strange = rapid.Float64Range(0.01, 5).Draw(t, "strange calls")
		}
		shop := shoptest.Run(traffic)
		s := heard(shop, shoptest.DrawListener(t, traffic.Length), rapid.SampledFrom(dedup.Windows()[:3]).Draw(t, "window"))
		r := s.Estimate()
		f := r.Rate
		if !r.Told {
			reasons[strings.Map(func(r rune) rune {
				if unicode.IsDigit(r) || r == ',' {
					return -1
				}
				return r
			}, f.Why)]++
			return
		}
		if quality[f.Quality]++; !f.Known() {
			wide++
		}
		truth := shop.TruthOf(f)
		if truth.Settled == 0 {
			return
		}
		if rate := truth.Duplicates / truth.Settled; rate < f.Low-1e-9 || rate > f.High+1e-9 {
			t.Fatalf("%s: truth %v (%v of %v) is outside [%v, %v] over %v: %+v", f.Quality, rate, truth.Duplicates, truth.Settled, f.Low, f.High, f.Covered, r.Terms)
		}
		if e := r.Terms.Returned; truth.Returned < e[0]-1e-9 || truth.Returned > e[1]+1e-9 {
			t.Fatalf("%v hits were returned, outside %v: %+v", truth.Returned, e, r.Terms)
		}
	})
	t.Logf("intervals by quality: %v, of them %d wide; refused: %v", quality, wide, reasons)
	if quality[dedup.Measured] == 0 || quality[dedup.Derived] == 0 {
		t.Error("no figure was measured, or none derived: the property was not tested")
	}
}

// TestStoreEventsAreExactAtRest: with no channel closed and quiet at both ends the figure is the truth itself.
func TestStoreEventsAreExactAtRest(t *testing.T) {
	for seed := range uint64(10) {
		shop := shoptest.Run(shoptest.Traffic{Seed: seed, Rate: 40, Length: 4 * time.Minute, QuietBefore: 40 * time.Second, QuietAfter: 40 * time.Second,
			Resend: 0.03, Fail: 0.03, Interval: 5 * time.Second, PassAt: time.Minute, Channels: 4, Live: 1, Overlap: seed%2 == 1})
		s := heard(shop, shoptest.Listener{Interval: 5 * time.Second, Skew: 30 * time.Millisecond}, 15*time.Minute)
		s.Scheme.AcksEach = true
		r := s.Estimate()
		truth := shop.TruthOf(r.Rate)
		if want := truth.Duplicates / truth.Settled; r.Rate.Quality != dedup.Measured || r.Rate.Low != want || r.Rate.High != want {
			t.Errorf("seed %d: %s [%v, %v] %s, want exactly %v; %+v", seed, r.Rate.Quality, r.Rate.Low, r.Rate.High, r.Rate.Why, want, r.Terms)
		}
		if e := r.Terms.Returned; e[0] != truth.Returned || e[1] != truth.Returned {
			t.Errorf("seed %d: %v returned, want exactly %v", seed, e, truth.Returned)
		}
	}
}

// TestALoopIsNoDuplicate: a message that goes round on a stuck marker makes nearly every call a hit, and no duplicate.
func TestALoopIsNoDuplicate(t *testing.T) {
	shop := shoptest.Run(shoptest.Traffic{Seed: 3, Rate: 20, Length: 4 * time.Minute, QuietBefore: 40 * time.Second, QuietAfter: 40 * time.Second,
		Resend: 0.01, StuckShare: 0.0015, Interval: 5 * time.Second, PassAt: time.Minute, Channels: 4, Live: 1})
	s := heard(shop, shoptest.Listener{Interval: 5 * time.Second}, 15*time.Minute)
	s.Scheme.AcksEach = true // else some may be returned with others though their work is done
	r := s.Estimate()
	truth := shop.TruthOf(r.Rate)
	if truth.Returned < 500 {
		t.Fatalf("only %v hits went round: the loop was not tested", truth.Returned)
	}
	if !r.Told || r.Rate.High > 0.03 || r.Terms.Returned[0] < 0.9*truth.Returned {
		t.Errorf("a loop of %v hits over %v duplicates gives [%v, %v] and %v returned: %s", truth.Returned, truth.Duplicates,
			r.Rate.Low, r.Rate.High, r.Terms.Returned, r.Rate.Why)
	}
}

// TestHowWideStoreEventsGet states the widths in steady traffic that docs/figures.md tells: nothing is at rest at either end, and
// the dashboard has watched for three hours.
func TestHowWideStoreEventsGet(t *testing.T) {
	for _, r := range []struct {
		name    string
		lostAck float64
		widest  float64 // of the rate
	}{{"resends and failures", 0, 0.01}, {"and lost acks", 0.002, 0.06}} {
		shop := shoptest.Run(shoptest.Traffic{Seed: 11, Rate: 20, Length: 3 * time.Hour, Resend: 0.02, Fail: 0.01, LostAck: r.lostAck, LosesCounts: 0.5,
			PassAt: -time.Second, Channels: 4, Live: 1})
		for _, shop.Interval = range []time.Duration{15 * time.Second, 5 * time.Second} {
			for _, window := range []time.Duration{15 * time.Minute, time.Hour} {
				f := heard(shop, shoptest.Listener{Interval: shop.Interval, Skew: 20 * time.Millisecond}, window).Estimate().Rate
				truth := shop.TruthOf(f)
				t.Logf("%-20s every %3s over %7s: truth %.3f %%, [%.3f, %.3f] %% wide %.3f points, %s", r.name, shop.Interval, window,
					100*truth.Duplicates/truth.Settled, 100*f.Low, 100*f.High, 100*(f.High-f.Low), f.Quality)
				if f.N == 0 || f.High-f.Low > r.widest {
					t.Errorf("%s every %s over %s: [%v, %v] is wider than %v: %s", r.name, shop.Interval, window, f.Low, f.High, r.widest, f.Why)
				}
			}
		}
	}
}
