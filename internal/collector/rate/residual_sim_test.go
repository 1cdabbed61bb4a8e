package rate

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/shoptest"
)

// residual computes the residual interval of the duplicate rate.
func residual(s Residual) dedup.Figure { return s.Estimate().Rate }

// judged is what the estimator sees of a simulated shop.
func judged(s *shoptest.Shop, window time.Duration) Residual {
	return judgedBy(s, s.Read(), window)
}

func judgedBy(s *shoptest.Shop, r shoptest.Reading, window time.Duration) Residual {
	return Residual{Window: window, Interval: s.Interval, Frames: r.Frames, Scheme: r.Scheme, Pass: r.Pass, ClockError: r.ClockError,
		Prefetch: r.Prefetch, Meter: r.Meter}
}

func TestTheResidualIntervalHoldsTheTruth(t *testing.T) {
	holdsTheTruth(t, shoptest.Draw)
	if !someNarrow(shoptest.Draw) {
		t.Error("no shop got a narrow interval: the property was not tested")
	}
}

// TestLostPublishesHideNoAcks: publishers' channels die along with consumers', and both take counts along.
func TestLostPublishesHideNoAcks(t *testing.T) {
	holdsTheTruth(t, func(t *rapid.T) shoptest.Traffic {
		traffic := shoptest.Draw(t)
		traffic.HangUps, traffic.LosesCounts, traffic.Unmetered = 0.2, 1, "acks"
		traffic.Rate, traffic.Resend = rapid.Float64Range(20, 40).Draw(t, "high rate"), 0.2
		traffic.LostAck, traffic.Crash, traffic.Fail, traffic.Reject, traffic.StuckShare = 0.01, 0, 0, 0, 0
		traffic.QuietBefore, traffic.Length, traffic.QuietAfter = time.Minute, time.Minute, 2*time.Minute
		return traffic
	})
}

// TestWhatQueuesTookInBoundsTheAcks: nobody meters what channels take along, and the shop need not rest before, in or after the window.
func TestWhatQueuesTookInBoundsTheAcks(t *testing.T) {
	draw := func(t *rapid.T) shoptest.Traffic {
		traffic := shoptest.Draw(t)
		traffic.TellsEntered, traffic.Unmetered, traffic.LosesCounts = true, "all", 1
		traffic.Rate, traffic.Resend = rapid.Float64Range(3, 40).Draw(t, "any rate"), 0.2
		traffic.LostAck = rapid.SampledFrom([]float64{0.001, 0.01}).Draw(t, "few lost acks")
		traffic.Crash, traffic.Fail, traffic.Reject, traffic.StuckShare = 0, 0, rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "some rejects"), 0
		traffic.QuietBefore, traffic.Length = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "rest before"), 2*time.Minute
		traffic.PassAt = time.Duration(rapid.IntRange(-60, 90).Draw(t, "pass in mid-traffic or after it")) * time.Second
		return traffic
	}
	holdsTheTruth(t, draw)
	if !someNarrow(draw) {
		t.Error("no shop got a narrow interval: what queues took in is worth nothing")
	}
}

// someNarrow reports whether some shop gets a narrow interval. The shops are always the same: a few in a hundred do, so that by chance none
// of those of one run may.
func someNarrow(draw func(*rapid.T) shoptest.Traffic) bool {
	shops := rapid.Custom(draw)
	for seed := range 500 {
		shop := shoptest.Run(shops.Example(seed))
		for _, window := range dedup.Windows()[:3] {
			if residual(judged(shop, window)).Known() {
				return true
			}
		}
	}
	return false
}

// holdsTheTruth simulates shops by chance: an interval is never beside the truth.
func holdsTheTruth(t *testing.T, draw func(*rapid.T) shoptest.Traffic) {
	tried, known, wide := 0, 0, 0
	reasons := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		shop := shoptest.Run(draw(t))
		window := rapid.SampledFrom(dedup.Windows()[:3]).Draw(t, "window")
		s := judged(shop, window)
		tried++
		f := residual(s)
		if f.N == 0 {
			reasons[strings.TrimRight(strings.SplitN(f.Why, ":", 2)[0], "0123456789.% ")]++
			return
		}
		if f.Known() {
			known++
		} else {
			wide++
		}
		from, to, why := residualEnds(s)
		if why != "" {
			t.Fatalf("the ends are refused (%s) though there is an interval", why)
		}
		ours := func(c Cut) time.Duration { return c.Store.Sub(shoptest.Epoch()) - shop.Offset }
		duplicates, messages := shop.SettledBetween(ours(from), ours(to))
		if messages == 0 {
			return
		}
		rate := duplicates / messages
		if rate < f.Low-1e-9 || rate > f.High+1e-9 {
			t.Fatalf("truth %v (%v of %v) is outside [%v, %v] of %v over %v", rate, duplicates, messages, f.Low, f.High, f.N, f.Covered)
		}
	})
	t.Logf("%d shops: %d narrow intervals, %d wide ones, refused: %v", tried, known, wide, reasons)
	if known+wide == 0 {
		t.Error("no shop got an interval: the property was not tested")
	}
}
