package collector

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// explainedShop is a shop at rest with its neighbours explained, as a window of it shows them.
func explainedShop(t *testing.T, traffic simTraffic, change func(*eventSample)) (*simShop, dedup.WindowFigures, eventResult) {
	t.Helper()
	traffic.rate, traffic.length, traffic.quietBefore, traffic.quietAfter = 30, 4*time.Minute, time.Minute, time.Minute
	traffic.interval, traffic.passAt, traffic.channels, traffic.live = 5*time.Second, time.Minute, 3, 1
	shop := runSim(traffic)
	s := heard(shop, simEars{interval: 5 * time.Second}, 15*time.Minute)
	change(&s)
	r := fromEvents(s)
	if !r.Told {
		t.Fatalf("nothing told: %s", r.Rate.Why)
	}
	out := unknownWindow(15*time.Minute, "nobody tells")
	x := explanation{view: view{now: r.Rate.At, scheme: s.Scheme, stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}}, events: r}
	x.span, x.spanKnown = sample.SpanOf(s.Readings, 15*time.Minute)
	x.failures(&out)
	x.origins(&out)
	out.Looping, out.Swallowed = x.looping(&out), x.swallowed(&out)
	out.DoubleEffects, out.Lost = x.doubleEffects(&out), x.lost(&out)
	return shop, out, r
}

func holds(f dedup.Figure, truth float64) bool {
	return f.Known() && f.Low <= truth+1e-9 && truth <= f.High+1e-9
}

func TestTheNeighboursOfDuplicatesHoldTheTruth(t *testing.T) {
	none := func(*eventSample) {}
	for name, traffic := range map[string]simTraffic{
		"resends alone":                  {seed: 1, resend: 0.03},
		"resends, failures, give-ups":    {seed: 2, resend: 0.03, fail: 0.05, poison: 0.005},
		"lost acks, no counts are lost":  {seed: 3, resend: 0.02, lostAck: 0.01},
		"lost acks and lost counts":      {seed: 4, resend: 0.02, lostAck: 0.01, losesCounts: 1},
		"a loop":                         {seed: 5, resend: 0.02, stuckShare: 0.001},
		"everything, looked at first":    {seed: 6, resend: 0.02, lostAck: 0.005, fail: 0.03, stuckShare: 0.0005, looks: true},
		"crashes whose markers ran out":  {seed: 7, resend: 0.02, crash: 0.01},
		"nothing but fresh messages yet": {seed: 8},
	} {
		t.Run(name, func(t *testing.T) {
			shop, out, r := explainedShop(t, traffic, none)
			truth := shop.told(r.Rate)
			again := within(shop.repeated, 0, shop.now)
			sent := truth.duplicates - again
			for what, pair := range map[string]struct {
				f     dedup.Figure
				truth float64
			}{
				"producer-sent": {out.ProducerSent, sent}, "redelivered": {out.Redelivered, again}, "looping": {out.Looping, truth.returned},
				"failures": {out.Failures, float64(len(shop.failed))}, "lost": {out.Lost, float64(len(shop.givenUp))}, "swallowed": {out.Swallowed, 0},
				"double effects": {out.DoubleEffects, 0},
			} {
				if !holds(pair.f, pair.truth) {
					t.Errorf("%s: truth %v is outside %s [%v, %v]: %s; %+v", what, pair.truth, pair.f.Quality, pair.f.Low, pair.f.High, pair.f.Why, r.Terms)
				}
				if pair.f.Source == "" || pair.f.Formula == "" || pair.f.Window == 0 || pair.f.At.IsZero() {
					t.Errorf("%s does not say where it comes from: %+v", what, pair.f)
				}
			}
			if rate := float64(len(shop.failed)) / float64(len(shop.failed)+len(shop.done)); math.Abs(out.FailureRate.Value-rate) > 1e-9 {
				t.Errorf("failure rate %+v, want %v", out.FailureRate, rate)
			}
		})
	}
}

func TestWhatCannotBeCountedSaysWhyAndHow(t *testing.T) {
	scheme := dedup.Scheme{Preset: "redis-timestamp", Kind: "redis-string", Mark: "before", OnInFlight: "ack", OnFail: "delete"}
	x := explanation{view: view{scheme: scheme}, reported: unreported(time.Hour, "consumers report no counters")}
	x.events.Rate.Why, x.residual.Rate.Why = "store events are off", "no complete pass over the store yet"
	out := unknownWindow(time.Hour, "nobody tells")
	x.origins(&out)
	for what, pair := range map[string]struct {
		f           dedup.Figure
		why, better string
	}{
		"producer-sent":         {out.ProducerSent, "no complete pass", "events: true"},
		"redelivered":           {out.Redelivered, "no complete pass", "events: true"},
		"looping where acked":   {x.looping(&out), "nothing goes round", ""},
		"swallowed":             {x.swallowed(&out), "store events are off", "events: true"},
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
		x := explanation{frames: sample.Frames{{}, {DeadPublished: put}}}
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
		x := explanation{view: view{scheme: dedup.Scheme{GiveUp: 5}}, span: sample.EventSpan{From: tt.from, To: tt.to, Window: 15 * time.Minute}, spanKnown: true}
		f := x.lost(&dedup.WindowFigures{Window: 15 * time.Minute})
		if !f.Known() || f.Low != tt.low || f.Value != tt.low || f.High != tt.high || !f.AtLeast {
			t.Errorf("%s: %v, between %v and %v, want at least %v and at most %v: %s", name, f.Value, f.Low, f.High, tt.low, tt.high, f.Why)
		}
	}
}

// TestFailuresOfMarkersThatAreTakenAgainAreNoCountOfMessages: 55 failures may be those of any number of messages then.
func TestFailuresOfMarkersThatAreTakenAgainAreNoCountOfMessages(t *testing.T) {
	for onFailed, low := range map[string]float64{"ack": 55, "run": 1} {
		x := explanation{view: view{scheme: dedup.Scheme{OnFail: "ack", OnFailed: onFailed}}}
		x.reported.Failures = dedup.Exact(dedup.Measured, dedup.Count, 55, time.Unix(1_800_000_000, 0), reportedSource)
		if f := x.lost(&dedup.WindowFigures{}); f.Low != low || f.Value != low || f.High != 55 || !f.AtLeast {
			t.Errorf("on_failed %s: %+v, want at least %v", onFailed, f, low)
		}
	}
}
