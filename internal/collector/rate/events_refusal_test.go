package rate

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/shoptest"
)

// heardAtRest is a shop at rest at both ends whose events are listened to, judged over 15 minutes.
func heardAtRest() Events {
	shop := shoptest.Run(shoptest.Traffic{Seed: 5, Rate: 30, Length: 4 * time.Minute, QuietBefore: time.Minute, QuietAfter: time.Minute, Resend: 0.03, Fail: 0.01,
		Interval: 5 * time.Second, PassAt: time.Minute, Channels: 3, Live: 1})
	return heard(shop, shoptest.Listener{Interval: 5 * time.Second}, 15*time.Minute)
}

// lateReadings changes the later half of the readings of the store.
func lateReadings(s *Events, change func(*sample.EventReading)) {
	for i := len(s.Readings) / 2; i < len(s.Readings); i++ {
		change(&s.Readings[i])
	}
}

// lateFrames changes the later half of the readings of the broker.
func lateFrames(s *Events, change func(*sample.Frame)) {
	for i := len(s.Frames) / 2; i < len(s.Frames); i++ {
		change(&s.Frames[i])
	}
}

func TestStoreEventsRefuseInPlainWords(t *testing.T) {
	tests := map[string]struct {
		change func(*Events)
		why    string // empty: known
	}{
		"a calm shop is judged":       {func(*Events) {}, ""},
		"a lock":                      {func(s *Events) { s.Scheme.Lock = true }, "a lock keeps no marker"},
		"marked after the work":       {func(s *Events) { s.Scheme.Mark = "after" }, "mark only after the work"},
		"failed markers that stay":    {func(s *Events) { s.Scheme.OnFail = "keep" }, "ack or keep failed work"},
		"nothing told yet":            {func(s *Events) { s.Readings = nil }, "told nothing yet"},
		"one reading":                 {func(s *Events) { s.Readings = s.Readings[:1] }, "read only once"},
		"no command statistics":       {func(s *Events) { lateReadings(s, func(r *sample.EventReading) { r.AskedKnown = false }) }, "does not tell how often its consumers asked"},
		"a broker that was read once": {func(s *Events) { s.Frames = s.Frames[:1] }, "was not read often enough"},
		"a broker that stopped to be read": {func(s *Events) {
			s.Frames = s.Frames[:3]
		}, "was not read often enough since the store's events began"},
		"a gap in the window": {func(s *Events) {
			s.Broke = s.Readings[len(s.Readings)-1].At.Add(-5 * time.Minute)
		}, "events of the store were missed in the window (until about 08:15 UTC)"},
		"an eviction that the events tell": {func(s *Events) { lateReadings(s, func(r *sample.EventReading) { r.Evicted = 4 }) }, "evicted markers"},
		"a store that lost markers": {func(s *Events) {
			s.Disturbed, s.DisturbedWhy = s.Readings[len(s.Readings)/2].At, "the store was restarted in the window and may have lost markers"
		}, "may have lost markers (until about"},
		"a reset of the broker's counters": {func(s *Events) { lateFrames(s, func(f *sample.Frame) { f.Gaps = 1 }) }, "counters were reset"},
		"automatic acks":                   {func(s *Events) { lateFrames(s, func(f *sample.Frame) { f.AutoAcks = 9 }) }, "automatic acks"},
		"others use the command": {func(s *Events) { lateReadings(s, func(r *sample.EventReading) { r.Asked += 5000 }) },
			"messages: others use the command too"},
		"consumers that do not ask": {func(s *Events) { lateFrames(s, func(f *sample.Frame) { f.Deliveries += 3000 }) },
			"some consumers do not ask this store"},
		"markers that others write": {func(s *Events) { lateReadings(s, func(r *sample.EventReading) { r.Claims += 9000 }) },
			"something else writes the markers"},
		"acks that nobody can explain": {func(s *Events) { lateFrames(s, func(f *sample.Frame) { f.Acks += 3000 }) },
			"exclude each other"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := heardAtRest()
			tt.change(&s)
			r := s.Estimate()
			if r.Rate.Known() != (tt.why == "") || !strings.Contains(r.Rate.Why, tt.why) {
				t.Errorf("got %+v, want %q", r.Rate, tt.why)
			}
			if !r.Rate.Known() && r.Rate.Better == "" {
				t.Error("a refusal that does not say what would help")
			}
		})
	}
}

func TestStoreEventsAreMeasuredOnlyWhereTheyWereProved(t *testing.T) {
	tests := map[string]struct {
		change  func(*Events)
		quality dedup.Quality
		why     string
	}{
		"redis-text-status":             {func(*Events) {}, dedup.Measured, ""},
		"redis-json-status":             {func(s *Events) { s.Scheme.Preset = "redis-json-status" }, dedup.Measured, ""},
		"a scheme of one's own":         {func(s *Events) { s.Scheme.Preset = "" }, dedup.Derived, "was not proved"},
		"a preset with another on_fail": {func(s *Events) { s.Scheme.OnFail = "ack" }, dedup.QualityUnknown, "ack or keep failed work"},
		"consumers that ack what they meet, at most two in a hundred": {func(s *Events) {
			s.Scheme.OnInFlight = "ack"
			lateReadings(s, func(r *sample.EventReading) { r.Asked -= 150 })
			lateFrames(s, func(f *sample.Frame) { f.Deliveries -= 150 })
		}, dedup.Derived, "may be lost messages"},
		"consumers that ack what they meet": {func(s *Events) { s.Scheme.OnInFlight = "ack" }, dedup.QualityUnknown, "at most 2.87 %"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := heardAtRest()
			tt.change(&s)
			if f := s.Estimate().Rate; f.Quality != tt.quality || !strings.Contains(f.Why, tt.why) {
				t.Errorf("got %+v, want %s because %q", f, tt.quality, tt.why)
			}
		})
	}
}

// TestOthersThatUseTheCommandAreNamedWithWhatHelps: the stores of this very configuration are the usual others.
func TestOthersThatUseTheCommandAreNamedWithWhatHelps(t *testing.T) {
	for name, tt := range map[string]struct {
		sharers []string
		why     string
	}{
		"strangers":        {nil, "messages: others use the command too"},
		"one other store":  {[]string{"shipping"}, "others use the command too, as the store shipping on the same server does"},
		"two other stores": {[]string{"shipping", "a\u202e"}, "others use the command too, as the stores shipping, a\ufffd on the same server do"},
		"many others":      {[]string{"a", "b", "c", "d", "e", "f", "g"}, "as the stores a, b, c, d, e and 2 more on the same server do"},
	} {
		t.Run(name, func(t *testing.T) {
			s := heardAtRest()
			s.Sharers = tt.sharers
			lateReadings(&s, func(r *sample.EventReading) { r.Asked += 5000 })
			rate := s.Estimate().Rate
			if rate.Known() || !strings.HasSuffix(rate.Why, tt.why) || rate.Better != betterAlone {
				t.Errorf("got %q and %q, want %q", rate.Why, rate.Better, tt.why)
			}
		})
	}
}

// TestConsumersThatCompleteWithTheCommandAreNotTakenForOthers: SET … NX and SET … done are counted as one command.
func TestConsumersThatCompleteWithTheCommandAreNotTakenForOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		command string
		states  []dedup.State
		why     string
	}{
		"claimed and completed with SET": {"SET", []dedup.State{dedup.Processing, dedup.Done}, "messages: consumers complete their markers with it too (then leave ask empty), or others use the command too"},
		"claimed with SETNX":             {"SETNX", []dedup.State{dedup.Processing, dedup.Done}, "messages: others use the command too"},
		"nothing is written after SET":   {"SET", []dedup.State{dedup.Present}, "messages: others use the command too"},
	} {
		t.Run(name, func(t *testing.T) {
			s := heardAtRest()
			s.Command, s.Scheme.States = tt.command, tt.states
			lateReadings(&s, func(r *sample.EventReading) { r.Asked += 5000 })
			if why := s.Estimate().Rate.Why; !strings.HasSuffix(why, tt.why) {
				t.Errorf("got %q, want %q", why, tt.why)
			}
		})
	}
}

// TestAReadingOfTheStoreThatTookLongIsOfSomeMomentBeforeItsAnswer: the broker's counts must bound the whole of it.
func TestAReadingOfTheStoreThatTookLongIsOfSomeMomentBeforeItsAnswer(t *testing.T) {
	s := heardAtRest()
	i := len(s.Readings) / 2
	quick, ok := s.cutAt(i)
	s.Readings[i].Took = 20 * time.Second
	slow, there := s.cutAt(i)
	if !ok || !there || quick.Before.Ended.Sub(slow.Before.Ended) < 15*time.Second || slow.AcksHigh-slow.AcksLow <= quick.AcksHigh-quick.AcksLow {
		t.Errorf("from %s, %g to %g acks; at once from %s, %g to %g", slow.Before.Ended, slow.AcksLow, slow.AcksHigh, quick.Before.Ended, quick.AcksLow, quick.AcksHigh)
	}
}
