package figure

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/shoptest"
)

// listenedTo is what the estimate from store events sees of a simulated shop.
func listenedTo(s *shoptest.Shop, window time.Duration) rate.Events {
	r, told := s.Hear(shoptest.Listener{Interval: 5 * time.Second})
	return rate.Events{Window: window, Interval: s.Interval, Frames: r.Frames, Scheme: r.Scheme, Readings: told.Epoch(), Broke: told.Broke,
		Command: "SETNX", Slip: rate.AskSlip, Prefetch: r.Prefetch, Meter: r.Meter}
}

// explainedShop is a shop at rest with its neighbours explained, as a window of it shows them.
func explainedShop(t *testing.T, traffic shoptest.Traffic, change func(*rate.Events)) (*shoptest.Shop, dedup.WindowFigures, rate.EventsResult) {
	t.Helper()
	traffic.Rate, traffic.Length, traffic.QuietBefore, traffic.QuietAfter = 30, 4*time.Minute, time.Minute, time.Minute
	traffic.Interval, traffic.PassAt, traffic.Channels, traffic.Live = 5*time.Second, time.Minute, 3, 1
	shop := shoptest.Run(traffic)
	s := listenedTo(shop, 15*time.Minute)
	change(&s)
	r := s.Estimate()
	if !r.Told {
		t.Fatalf("nothing told: %s", r.Rate.Why)
	}
	out := UnknownWindow(15*time.Minute, "nobody tells")
	x := Explanation{Now: r.Rate.At, Scheme: s.Scheme, Stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}, Events: r}
	x.Span, x.SpanKnown = sample.SpanOf(s.Readings, 15*time.Minute)
	x.failures(&out)
	x.origins(&out)
	out.Looping, out.Swallowed = x.Looping(&out), x.Swallowed(&out)
	out.DoubleEffects, out.Lost = x.doubleEffects(&out), x.lost(&out)
	return shop, out, r
}

func holds(f dedup.Figure, truth float64) bool {
	return f.Known() && f.Low <= truth+1e-9 && truth <= f.High+1e-9
}

func TestTheNeighboursOfDuplicatesHoldTheTruth(t *testing.T) {
	none := func(*rate.Events) {}
	for name, traffic := range map[string]shoptest.Traffic{
		"resends alone":                  {Seed: 1, Resend: 0.03},
		"resends, failures, give-ups":    {Seed: 2, Resend: 0.03, Fail: 0.05, Poison: 0.005},
		"lost acks, no counts are lost":  {Seed: 3, Resend: 0.02, LostAck: 0.01},
		"lost acks and lost counts":      {Seed: 4, Resend: 0.02, LostAck: 0.01, LosesCounts: 1},
		"a loop":                         {Seed: 5, Resend: 0.02, StuckShare: 0.001},
		"everything, looked at first":    {Seed: 6, Resend: 0.02, LostAck: 0.005, Fail: 0.03, StuckShare: 0.0005, Looks: true},
		"crashes whose markers ran out":  {Seed: 7, Resend: 0.02, Crash: 0.01},
		"nothing but fresh messages yet": {Seed: 8},
	} {
		t.Run(name, func(t *testing.T) {
			shop, out, r := explainedShop(t, traffic, none)
			truth := shop.TruthOf(r.Rate)
			again := shoptest.Within(shop.Repeated, 0, shop.Now)
			sent := truth.Duplicates - again
			for what, pair := range map[string]struct {
				f     dedup.Figure
				truth float64
			}{
				"producer-sent": {out.ProducerSent, sent}, "redelivered": {out.Redelivered, again}, "looping": {out.Looping, truth.Returned},
				"failures": {out.Failures, float64(len(shop.Failed))}, "lost": {out.Lost, float64(len(shop.GivenUp))}, "swallowed": {out.Swallowed, 0},
				"double effects": {out.DoubleEffects, 0},
			} {
				if !holds(pair.f, pair.truth) {
					t.Errorf("%s: truth %v is outside %s [%v, %v]: %s; %+v", what, pair.truth, pair.f.Quality, pair.f.Low, pair.f.High, pair.f.Why, r.Terms)
				}
				if pair.f.Source == "" || pair.f.Formula == "" || pair.f.Window == 0 || pair.f.At.IsZero() {
					t.Errorf("%s does not say where it comes from: %+v", what, pair.f)
				}
			}
			if rate := float64(len(shop.Failed)) / float64(len(shop.Failed)+len(shop.Done)); math.Abs(out.FailureRate.Value-rate) > 1e-9 {
				t.Errorf("failure rate %+v, want %v", out.FailureRate, rate)
			}
		})
	}
}

func TestWhatCannotBeCountedSaysWhyAndHow(t *testing.T) {
	scheme := dedup.Scheme{Preset: "redis-timestamp", Kind: "redis-string", Mark: "before", OnInFlight: "ack", OnFail: "delete"}
	x := Explanation{Scheme: scheme, Reported: rate.Unreported(time.Hour, "consumers report no counters")}
	x.Events.Rate.Why, x.Residual.Rate.Why = "store events are off", "no complete pass over the store yet"
	out := UnknownWindow(time.Hour, "nobody tells")
	x.origins(&out)
	for what, pair := range map[string]struct {
		f           dedup.Figure
		why, better string
	}{
		"producer-sent":         {out.ProducerSent, "no complete pass", "events: true"},
		"redelivered":           {out.Redelivered, "no complete pass", "events: true"},
		"looping where acked":   {x.Looping(&out), "nothing goes round", ""},
		"swallowed":             {x.Swallowed(&out), "store events are off", "events: true"},
		"double effects":        {x.doubleEffects(&out), "while its events are listened to", "events: true"},
		"lost without give-ups": {x.lost(&out), "leave without their work", "events: true"},
	} {
		if pair.f.Known() || !strings.Contains(pair.f.Why, pair.why) || !strings.Contains(pair.f.Better, pair.better) {
			t.Errorf("%s: %+v, want it to say %q and %q", what, pair.f, pair.why, pair.better)
		}
	}
}

// TestWhatConsumersPutAmongTheDeadLettersIsNotLost: of ten messages given up some were put into a dead-letter queue by somebody.
func TestWhatConsumersPutAmongTheDeadLettersIsNotLost(t *testing.T) {
	for put, want := range map[float64]float64{0: 10, 4: 6, 30: 0} {
		x := Explanation{Frames: sample.Frames{{}, {DeadPublished: put}}}
		f := x.unparked(dedup.Figure{Quality: dedup.Measured, Unit: dedup.Count, Value: 10, Low: 10, High: 10, AtLeast: true})
		if f.Low != want || f.Value != want || f.High != 10 || (f.Quality == dedup.Derived) != (put > 0) || strings.Contains(f.Why, "not lost") != (put > 0) {
			t.Errorf("%v were put there: %+v, want at least %v", put, f, want)
		}
	}
}

// TestACopyThatIsGivenUpAgainIsNoOtherLostMessage: a lower bound that counts one message twice would exceed the truth.
func TestACopyThatIsGivenUpAgainIsNoOtherLostMessage(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for name, tt := range map[string]struct {
		from, to  sample.EventReading
		low, high float64
	}{
		"each message once":                           {sample.EventReading{}, sample.EventReading{GaveUp: 53, Lost: 53}, 53, 53},
		"two copies were given up again":              {sample.EventReading{}, sample.EventReading{GaveUp: 55, Lost: 53}, 53, 55},
		"only copies of what was given up before":     {sample.EventReading{GaveUp: 5, Lost: 5}, sample.EventReading{GaveUp: 7, Lost: 5}, 0, 2},
		"more work was done after all than given up":  {sample.EventReading{GaveUp: 5, Lost: 5}, sample.EventReading{GaveUp: 6, Lost: 2}, 0, 1},
		"nothing was given up, and earlier work done": {sample.EventReading{GaveUp: 5, Lost: 5}, sample.EventReading{GaveUp: 5, Lost: 4}, 0, 0},
	} {
		tt.from.At, tt.to.At = at, at.Add(15*time.Minute)
		x := Explanation{Scheme: dedup.Scheme{GiveUp: 5}, Span: sample.EventSpan{From: tt.from, To: tt.to, Window: 15 * time.Minute}, SpanKnown: true}
		f := x.lost(&dedup.WindowFigures{Window: 15 * time.Minute})
		if !f.Known() || f.Low != tt.low || f.Value != tt.low || f.High != tt.high || !f.AtLeast {
			t.Errorf("%s: %v, between %v and %v, want at least %v and at most %v: %s", name, f.Value, f.Low, f.High, tt.low, tt.high, f.Why)
		}
	}
}

// TestFailuresOfMarkersThatAreTakenAgainAreNoCountOfMessages: 55 failures may be those of any number of messages then.
func TestFailuresOfMarkersThatAreTakenAgainAreNoCountOfMessages(t *testing.T) {
	for onFailed, low := range map[string]float64{"ack": 55, "run": 1} {
		x := Explanation{Scheme: dedup.Scheme{OnFail: "ack", OnFailed: onFailed}}
		x.Reported.Failures = dedup.Exact(dedup.Measured, dedup.Count, 55, time.Unix(1_800_000_000, 0), rate.ReportedSource)
		if f := x.lost(&dedup.WindowFigures{}); f.Low != low || f.Value != low || f.High != 55 || !f.AtLeast {
			t.Errorf("on_failed %s: %+v, want at least %v", onFailed, f, low)
		}
	}
}
