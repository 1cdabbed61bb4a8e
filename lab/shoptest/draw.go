package shoptest

import (
	"time"

	"pgregory.net/rapid"
)

// Draw is any traffic.
func Draw(t *rapid.T) Traffic {
	share := func(name string, most float64) float64 {
		if rapid.Bool().Draw(t, name+" at all") {
			return rapid.Float64Range(0, most).Draw(t, name)
		}
		return 0
	}
	seconds := func(name string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Second
	}
	return Traffic{
		Seed: rapid.Uint64().Draw(t, "seed"), Rate: rapid.Float64Range(3, 40).Draw(t, "rate"),
		Length: seconds("length", 60, 600), QuietBefore: seconds("quiet before", 0, 60), QuietAfter: 2*time.Minute - seconds("less quiet after", 0, 120),
		Resend: share("resend", 0.2), LostAck: share("lost acks", 0.1), Fail: share("failures", 0.2), Crash: share("crashes", 0.05),
		Reject: share("rejects", 0.1), StuckShare: share("stuck", 0.01), LosesCounts: share("lost counts", 1),
		Interval: seconds("interval", 2, 15), PassAt: 60*time.Second - seconds("pass earlier", 0, 90),
		Offset:      time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t, "offset ms")) * time.Millisecond,
		offsetError: time.Duration(rapid.IntRange(-50, 50).Draw(t, "offset error ms")) * time.Millisecond,
		Channels:    rapid.IntRange(1, 6).Draw(t, "channels"),
		Overlap:     rapid.Bool().Draw(t, "overlap"),
		Looks:       rapid.Bool().Draw(t, "looks"),
		HangUps:     rapid.SampledFrom([]float64{0, 0.01, 0.1, 0.3}).Draw(t, "publishers hang up"), Unmetered: rapid.SampledFrom([]string{"", "acks", "all"}).Draw(t, "unmetered"),
		Live:         rapid.SampledFrom([]float64{0, 1, 1, 0.7}).Draw(t, "live depths"),
		TellsEntered: rapid.Bool().Draw(t, "queues tell what they took in"),
		hands:        rapid.SampledFrom([]float64{0, 0, 0.1, 1}).Draw(t, "hands in the dead-letter queue"),
	}
}

// DrawListener is any way to listen to what happens within a time.
func DrawListener(t *rapid.T, length time.Duration) Listener {
	e := Listener{Interval: time.Duration(rapid.IntRange(1, 15).Draw(t, "reading interval")) * time.Second,
		Skew: time.Duration(rapid.IntRange(0, 40).Draw(t, "skew ms")) * time.Millisecond}
	if rapid.IntRange(0, 5).Draw(t, "gap at all") == 0 {
		e.gap = time.Duration(rapid.Int64Range(1, int64(length)).Draw(t, "gap"))
	}
	return e
}
