package collector

import (
	"sort"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// simEars says how the events of a simulated store are listened to.
type simEars struct {
	interval time.Duration // between two readings
	skew     time.Duration // at most, from the count of the calls to that of the claims
	gap      time.Duration // when events are missed; zero when never
}

// within counts the times of a list in (from, to].
func within(list []time.Duration, from, to time.Duration) (n float64) {
	for _, at := range list {
		if at > from && at <= to {
			n++
		}
	}
	return n
}

// hear reads the simulated store and broker into what the estimate from store events sees.
func (s *simShop) hear(ears simEars, window time.Duration) eventSample {
	r, _ := s.sample(window)
	epoch := time.Unix(1_800_000_000, 0)
	calls := append([]time.Duration(nil), s.asked...)
	if s.strange > 0 {
		for at := time.Duration(0); at < s.now; at += time.Duration(s.r.ExpFloat64() / s.strange * float64(time.Second)) {
			calls = append(calls, at)
		}
	}
	for _, list := range []*[]time.Duration{&calls, &s.claimed, &s.done, &s.failed, &s.givenUp, &s.expired} {
		sort.Slice(*list, func(i, j int) bool { return (*list)[i] < (*list)[j] })
	}
	total := func(list []time.Duration, from, at time.Duration) int64 {
		upTo := func(t time.Duration) int { return sort.Search(len(list), func(i int) bool { return list[i] > t }) }
		return int64(upTo(at) - upTo(from))
	}
	var tape sample.Events
	for at := s.upTo(ears.interval); at < s.now; at += ears.interval {
		e := &dedup.StoreEvents{At: epoch.Add(at), Listening: true, Epoch: 1, Since: epoch, Command: "SETNX"}
		since := -time.Second
		if ears.gap > 0 && at >= ears.gap {
			since, e.Epoch, e.Since = ears.gap, 2, epoch.Add(ears.gap)
		}
		asked := total(calls, since, at)
		if ears.skew > 0 {
			asked = total(calls, since, at-s.upTo(ears.skew))
		}
		e.Asked, e.Claims, e.Completions = &asked, total(s.claimed, since, at), total(s.done, since, at)
		e.Failures, e.GaveUp = total(s.failed, since, at), total(s.givenUp, since, at)
		e.InFlight = e.Claims - e.Completions - e.Failures - total(s.expired, since, at)
		tape.Add(e)
	}
	r.Scheme.Preset, r.Scheme.Kind = "redis-text-status", "redis-string"
	return eventSample{Window: window, Interval: s.interval, Frames: r.Frames, Scheme: r.Scheme, Readings: tape.Epoch(), Broke: tape.Broke,
		Command: "SETNX", Slip: askSlip, Prefetch: r.Prefetch, Meter: r.Meter}
}

// simTold is the truth of the span of an estimate.
type simTold struct{ duplicates, settled, returned float64 }

func (s *simShop) told(f dedup.Figure) simTold {
	to := f.At.Sub(time.Unix(1_800_000_000, 0))
	from := to - f.Covered
	d := within(s.duplicates, from, to)
	return simTold{d, d + within(s.done, from, to) + within(s.givenUp, from, to), within(s.returned, from, to)}
}

func drawEars(t *rapid.T, length time.Duration) simEars {
	e := simEars{interval: time.Duration(rapid.IntRange(1, 15).Draw(t, "reading interval")) * time.Second,
		skew: time.Duration(rapid.IntRange(0, 40).Draw(t, "skew ms")) * time.Millisecond}
	if rapid.IntRange(0, 5).Draw(t, "gap at all") == 0 {
		e.gap = time.Duration(rapid.Int64Range(1, int64(length)).Draw(t, "gap"))
	}
	return e
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
		s := shop.hear(drawEars(t, traffic.length), rapid.SampledFrom(dedup.Windows()[:3]).Draw(t, "window"))
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
		r := fromEvents(shop.hear(simEars{interval: 5 * time.Second, skew: 30 * time.Millisecond}, 15*time.Minute))
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
	r := fromEvents(shop.hear(simEars{interval: 5 * time.Second}, 15*time.Minute))
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
				f := fromEvents(shop.hear(simEars{interval: shop.interval, skew: 20 * time.Millisecond}, window)).Rate
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
