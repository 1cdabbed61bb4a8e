package estimate

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"
)

// never is when a message is acked that hangs.
const never = 1e12

// beside adds messages that somebody holds from the beginning on and never acks.
func beside(all []delivery, hung int) []delivery {
	var held []delivery
	for range hung {
		held = append(held, delivery{0.001, never})
	}
	return append(held, all...)
}

// full are the deliveries of a consumer that always has as many as it can hold, and works on them one after the other.
func full(r *rand.Rand, prefetch int, work, seconds float64) []delivery {
	var all []delivery
	acks := make([]float64, prefetch) // of the last deliveries
	for at, i := 0.0, 0; at < seconds; i++ {
		from := acks[i%prefetch]
		at += work * r.ExpFloat64()
		acks[i%prefetch] = at
		all = append(all, delivery{from, at})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].from < all[j].from })
	return all
}

// TestWhatHangsIsNoLatency holds numbers and bounds against the truth where messages hang beside traffic of many kinds.
func TestWhatHangsIsNoLatency(t *testing.T) {
	traffic := []struct {
		name     string
		capacity float64
		of       func(r *rand.Rand, seconds float64) []delivery
	}{
		{"thin", 50, workload{perSecond: 0.5, size: 1, mean: 0.05, shape: 1}.deliveries},
		{"a few", 50, workload{perSecond: 2, size: 1, mean: 0.05, shape: 1}.deliveries},
		{"busy", 50, workload{perSecond: 20, size: 1, mean: 0.05, shape: 1}.deliveries},
		{"busier", 0, workload{perSecond: 50, size: 1, mean: 0.1, shape: 2}.deliveries},
		{"slow", 0, workload{perSecond: 2, size: 1, mean: 5, shape: 1}.deliveries},
		{"on a beat", 50, workload{perSecond: 2, size: 1, mean: 0.55, beat: true}.deliveries},
		{"in bursts", 0, workload{perSecond: 0.2, size: 20, mean: 0.1, shape: 1}.deliveries},
		{"in bursts in line", 50, workload{perSecond: 0.2, size: 20, mean: 0.1, shape: 1, lined: true}.deliveries},
		{"full, of one", 1, func(r *rand.Rand, seconds float64) []delivery { return full(r, 1, 0.1, seconds) }},
		{"full, of fifty", 50, func(r *rand.Rand, seconds float64) []delivery { return full(r, 50, 0.1, seconds) }},
	}
	for _, window := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour} {
		bands, bounds := judge{t: t, window: window, what: "bands"}, judge{t: t, window: window, what: "bounds"}
		for i, w := range traffic {
			full := strings.HasPrefix(w.name, "full")
			for _, hung := range []int{0, 1, 5, 20} {
				r := rand.New(rand.NewPCG(uint64(i), uint64(hung)))
				seconds := (8 + 2*math.Sqrt(3600/window.Seconds())) * window.Seconds()
				run := simulate(r, beside(w.of(r, seconds), hung), seconds)
				run.windowsOf(window, func(tape reel) {
					l := Latency{Window: window, Tape: tape}
					if w.capacity > 0 {
						l.Capacity, l.AllAck = w.capacity, true
					}
					if full { // what hangs there fills other channels
						l.Capacity, l.AllAck, l.Single = w.capacity+float64(hung), hung == 0, w.capacity == 1
					}
					f, _ := meanAnd95(l)
					truth, _ := run.truth(f.At.Add(-f.Covered), f.At, 0)
					switch {
					case f.AtMost():
						bounds.add(truth <= f.High)
					case full && hung > 0:
						t.Errorf("windows of %v, %s, %d hang: a number", window, w.name, hung)
					case f.Known():
						bands.add(f.Low+ways*f.Value <= truth && truth <= f.High)
					default:
						t.Errorf("windows of %v, %s, %d hang: nothing is known: %s", window, w.name, hung, f.Why)
					}
				})
				if full && hung == 0 && bands.one.n == 0 {
					t.Errorf("windows of %v, %s: no number, though each channel acks", window, w.name)
				}
				bands.end(w.name)
				bounds.end(w.name)
			}
		}
		bands.all()
		bounds.all()
	}
}

// TestOneThatHangsBesideOthersOfItsChannelIsAllowedFor: a consumer works on one message after the other, as many as it may hold but one, which hangs.
func TestOneThatHangsBesideOthersOfItsChannelIsAllowedFor(t *testing.T) {
	for _, prefetch := range []int{2, 3, 10, 50} {
		r := rand.New(rand.NewPCG(uint64(prefetch), 1))
		run := simulate(r, beside(full(r, prefetch-1, 0.1, 900), 1), 900)
		f, _ := meanAnd95(Latency{Window: 10 * time.Minute, Tape: run.tape, Capacity: float64(prefetch), AllAck: true, Channels: 2})
		if truth, _ := run.truth(f.At.Add(-f.Covered), f.At, 0); !f.Known() || f.Low > truth || f.High < truth || f.AtMost() != (prefetch < 4) {
			t.Errorf("prefetch %d: %v to %v, and the truth is %v", prefetch, f.Low, f.High, truth)
		}
	}
}

// TestOneMessageThatAlwaysFollowsAnotherIsLatency: a message publishes the next one before its ack, beside others that come by chance. Every
// sample shows one, and none hangs.
func TestOneMessageThatAlwaysFollowsAnotherIsLatency(t *testing.T) {
	for _, work := range []float64{5, 20} {
		r := rand.New(rand.NewPCG(1, 1))
		const seconds = 800
		var all []delivery
		for at := 0.001; at < seconds; at += work {
			all = append(all, delivery{at, at + work})
		}
		all = append(all, workload{perSecond: 20, size: 1, mean: 0.05, shape: 1}.deliveries(r, seconds)...)
		sort.Slice(all, func(i, j int) bool { return all[i].from < all[j].from })
		run := simulate(r, all, seconds)
		f, _ := meanAnd95(Latency{Window: 5 * time.Minute, Tape: run.tape, Capacity: 101, AllAck: true, Channels: 2})
		if truth, _ := run.truth(f.At.Add(-f.Covered), f.At, 0); !f.Known() || truth > f.High || truth < f.Low {
			t.Errorf("jobs of %g s: %.4f to %.4f, truth %.4f: %s", work, f.Low, f.High, truth, f.Why)
		}
	}
}
