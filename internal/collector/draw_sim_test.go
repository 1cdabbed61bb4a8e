package collector

import (
	"time"

	"pgregory.net/rapid"
)

func drawTraffic(t *rapid.T) simTraffic {
	share := func(name string, most float64) float64 {
		if rapid.Bool().Draw(t, name+" at all") {
			return rapid.Float64Range(0, most).Draw(t, name)
		}
		return 0
	}
	seconds := func(name string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Second
	}
	return simTraffic{
		seed: rapid.Uint64().Draw(t, "seed"), rate: rapid.Float64Range(3, 40).Draw(t, "rate"),
		length: seconds("length", 60, 600), quietBefore: seconds("quiet before", 0, 60), quietAfter: 2*time.Minute - seconds("less quiet after", 0, 120),
		resend: share("resend", 0.2), lostAck: share("lost acks", 0.1), fail: share("failures", 0.2), crash: share("crashes", 0.05),
		reject: share("rejects", 0.1), stuckShare: share("stuck", 0.01), losesCounts: share("lost counts", 1),
		interval: seconds("interval", 2, 15), passAt: 60*time.Second - seconds("pass earlier", 0, 90),
		offset:      time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t, "offset ms")) * time.Millisecond,
		offsetError: time.Duration(rapid.IntRange(-50, 50).Draw(t, "offset error ms")) * time.Millisecond,
		channels:    rapid.IntRange(1, 6).Draw(t, "channels"),
		overlap:     rapid.Bool().Draw(t, "overlap"),
		looks:       rapid.Bool().Draw(t, "looks"),
		hangUps:     rapid.SampledFrom([]float64{0, 0.01, 0.1, 0.3}).Draw(t, "publishers hang up"), unmetered: rapid.SampledFrom([]string{"", "acks", "all"}).Draw(t, "unmetered"),
		live:         rapid.SampledFrom([]float64{0, 1, 1, 0.7}).Draw(t, "live depths"),
		tellsEntered: rapid.Bool().Draw(t, "queues tell what they took in"),
		hands:        rapid.SampledFrom([]float64{0, 0, 0.1, 1}).Draw(t, "hands in the dead-letter queue"),
	}
}

func drawEars(t *rapid.T, length time.Duration) simEars {
	e := simEars{interval: time.Duration(rapid.IntRange(1, 15).Draw(t, "reading interval")) * time.Second,
		skew: time.Duration(rapid.IntRange(0, 40).Draw(t, "skew ms")) * time.Millisecond}
	if rapid.IntRange(0, 5).Draw(t, "gap at all") == 0 {
		e.gap = time.Duration(rapid.Int64Range(1, int64(length)).Draw(t, "gap"))
	}
	return e
}
