package collector

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// heard is what the estimate from store events sees of a simulated shop.
func heard(s *simShop, ears simEars, window time.Duration) eventSample {
	r, told := s.hear(ears)
	return eventSample{Window: window, Interval: s.interval, Frames: r.Frames, Scheme: r.Scheme, Readings: told.Epoch(), Broke: told.Broke,
		Command: "SETNX", Slip: askSlip, Prefetch: r.Prefetch, Meter: r.Meter}
}

// TestStoreEventsHoldTheTruth drives consumers of real semantics through the broker's late and lost counts and readings of the
// store that come at other times: every interval must hold the truth of its span, and so must its neighbours.
func TestStoreEventsHoldTheTruth(t *testing.T) {
	quality, reasons, wide := map[dedup.Quality]int{}, map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		traffic := drawTraffic(t)
		if rapid.IntRange(0, 3).Draw(t, "strangers at all") == 0 {
			traffic.strange = rapid.Float64Range(0.01, 5).Draw(t, "strange calls")
		}
		shop := runSim(traffic)
		s := heard(shop, drawEars(t, traffic.length), rapid.SampledFrom(dedup.Windows()[:3]).Draw(t, "window"))
		r := fromEvents(s)
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
		truth := shop.told(f)
		if truth.settled == 0 {
			return
		}
		if rate := truth.duplicates / truth.settled; rate < f.Low-1e-9 || rate > f.High+1e-9 {
			t.Fatalf("%s: truth %v (%v of %v) is outside [%v, %v] over %v: %+v", f.Quality, rate, truth.duplicates, truth.settled, f.Low, f.High, f.Covered, r.Terms)
		}
		if e := r.Terms.Returned; truth.returned < e[0]-1e-9 || truth.returned > e[1]+1e-9 {
			t.Fatalf("%v hits were returned, outside %v: %+v", truth.returned, e, r.Terms)
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
		shop := runSim(simTraffic{seed: seed, rate: 40, length: 4 * time.Minute, quietBefore: 40 * time.Second, quietAfter: 40 * time.Second,
			resend: 0.03, fail: 0.03, interval: 5 * time.Second, passAt: time.Minute, channels: 4, live: 1, overlap: seed%2 == 1})
		r := fromEvents(heard(shop, simEars{interval: 5 * time.Second, skew: 30 * time.Millisecond}, 15*time.Minute))
		truth := shop.told(r.Rate)
		if want := truth.duplicates / truth.settled; r.Rate.Quality != dedup.Measured || r.Rate.Low != want || r.Rate.High != want {
			t.Errorf("seed %d: %s [%v, %v] %s, want exactly %v; %+v", seed, r.Rate.Quality, r.Rate.Low, r.Rate.High, r.Rate.Why, want, r.Terms)
		}
		if e := r.Terms.Returned; e[0] != truth.returned || e[1] != truth.returned {
			t.Errorf("seed %d: %v returned, want exactly %v", seed, e, truth.returned)
		}
	}
}

// TestALoopIsNoDuplicate: a message that goes round on a stuck marker makes nearly every call a hit, and no duplicate.
func TestALoopIsNoDuplicate(t *testing.T) {
	shop := runSim(simTraffic{seed: 3, rate: 20, length: 4 * time.Minute, quietBefore: 40 * time.Second, quietAfter: 40 * time.Second,
		resend: 0.01, stuckShare: 0.0015, interval: 5 * time.Second, passAt: time.Minute, channels: 4, live: 1})
	r := fromEvents(heard(shop, simEars{interval: 5 * time.Second}, 15*time.Minute))
	truth := shop.told(r.Rate)
	if truth.returned < 500 {
		t.Fatalf("only %v hits went round: the loop was not tested", truth.returned)
	}
	if !r.Told || r.Rate.High > 0.03 || r.Terms.Returned[0] < 0.9*truth.returned {
		t.Errorf("a loop of %v hits over %v duplicates gives [%v, %v] and %v returned: %s", truth.returned, truth.duplicates,
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
		shop := runSim(simTraffic{seed: 11, rate: 20, length: 3 * time.Hour, resend: 0.02, fail: 0.01, lostAck: r.lostAck, losesCounts: 0.5,
			passAt: -time.Second, channels: 4, live: 1})
		for _, shop.interval = range []time.Duration{15 * time.Second, 5 * time.Second} {
			for _, window := range []time.Duration{15 * time.Minute, time.Hour} {
				f := fromEvents(heard(shop, simEars{interval: shop.interval, skew: 20 * time.Millisecond}, window)).Rate
				truth := shop.told(f)
				t.Logf("%-20s every %3s over %7s: truth %.3f %%, [%.3f, %.3f] %% wide %.3f points, %s", r.name, shop.interval, window,
					100*truth.duplicates/truth.settled, 100*f.Low, 100*f.High, 100*(f.High-f.Low), f.Quality)
				if f.N == 0 || f.High-f.Low > r.widest {
					t.Errorf("%s every %s over %s: [%v, %v] is wider than %v: %s", r.name, shop.interval, window, f.Low, f.High, r.widest, f.Why)
				}
			}
		}
	}
}
