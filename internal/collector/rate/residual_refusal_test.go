package rate

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/shoptest"
)

func TestResidualRefusals(t *testing.T) {
	calm := shoptest.Traffic{Seed: 1, Rate: 20, Length: 4 * time.Minute, QuietBefore: time.Minute, QuietAfter: 2 * time.Minute, Resend: 0.05,
		Interval: 5 * time.Second, PassAt: time.Minute, Channels: 2}
	shop := shoptest.Run(calm)
	tests := map[string]struct {
		change func(*Residual)
		why    string // empty: known
	}{
		"a calm shop is judged": {func(*Residual) {}, ""},
		"acked in-flight hits":  {func(s *Residual) { s.Scheme.OnInFlight = "ack" }, "lost messages look like duplicates"},
		"acked failures":        {func(s *Residual) { s.Scheme.OnFail, s.Scheme.GiveUp = "ack", 0 }, "ack failed messages"},
		"markers that do not tell of done work": {func(s *Residual) {
			s.Scheme.Mark, s.Scheme.States = "before", []dedup.State{dedup.Present}
		}, "do not tell whether their work was done"},
		"a pattern that finds no markers": {func(s *Residual) { s.Pass = &dedup.Pass{Started: s.Pass.Started, Ended: s.Pass.Ended} }, "shows no work that was done"},
		"markers that cannot be decoded": {func(s *Residual) {
			s.Pass = &dedup.Pass{Started: s.Pass.Started, Ended: s.Pass.Ended, Matched: 1, States: map[dedup.State]int64{dedup.StateUnknown: 1}}
		}, "shows no work that was done"},
		"no pass":                {func(s *Residual) { s.Pass = nil }, "no complete pass"},
		"markers without expiry": {func(s *Residual) { s.Scheme.DoneTTL = 0 }, "never expire"},
		"a pass before the first reading": {func(s *Residual) {
			s.Frames = s.Frames[len(s.Frames)-3:]
			s.Pass.Started = s.Frames[0].Began.Add(-time.Hour)
		}, "read often enough"},
		"a reset in the window":        {func(s *Residual) { tail(s, func(f *sample.Frame) { f.Gaps = 1 }) }, "were reset"},
		"automatic acks in the window": {func(s *Residual) { tail(s, func(f *sample.Frame) { f.AutoAcks = 9 }) }, "automatic acks"},
		"evictions in the window": {func(s *Residual) {
			s.Disturbed, s.DisturbedWhy = s.Pass.Started, "the store evicted keys in the window"
		}, "evicted"},
		"closed channels, no meter, no balance": {func(s *Residual) {
			s.Meter = sample.LostCounts{}
			tail(s, func(f *sample.Frame) { f.Closures, f.Whole = 3, false })
		}, "nothing tells how many"},
		"closed channels, a balance, and no meter of publishes": {func(s *Residual) {
			s.Meter = sample.LostCounts{}
			tail(s, func(f *sample.Frame) { f.Closures = 3 })
		}, "nothing tells how many"},
		"more acks are missing than the nodes lost": {func(s *Residual) {
			tail(s, func(f *sample.Frame) { f.Closures, f.Acks = 3, f.Acks-500 })
		}, "the balance of messages does not close: at least"},
		"more acks than messages that were published": {func(s *Residual) {
			tail(s, func(f *sample.Frame) { f.Closures, f.Publishes = 3, f.Publishes-500 })
		}, "more acks than messages that left the queues"},
		"more completions than acks": {func(s *Residual) {
			for i := range s.Frames {
				s.Frames[i].Acks /= 2
			}
		}, "markers of other work"},
		"a few more completions than acks, which no chance makes": {func(s *Residual) {
			tail(s, func(f *sample.Frame) { f.Acks -= 300 })
		}, "markers of other work"},
		"an interval that is too wide": {func(s *Residual) { s.Pass.UndatedCompletions = 900 }, "too wide"},
		"nothing acked": {func(s *Residual) {
			for i := range s.Frames {
				s.Frames[i].Acks = 0
			}
		}, "no message was acked"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := judged(shop, 15*time.Minute)
			tt.change(&s)
			f := residual(s)
			if f.Known() != (tt.why == "") || !strings.Contains(f.Why, tt.why) {
				t.Errorf("got %+v, want %q", f, tt.why)
			}
			if !f.Known() && f.Better == "" {
				t.Error("a refusal that does not say what would help")
			}
			if meter := strings.Contains(f.Why, "nothing tells how many"); meter != (f.Better == sample.BetterMeter) {
				t.Errorf("%q, but %q", f.Why, f.Better)
			}
		})
	}
}

// tail changes the last two thirds of the frames.
func tail(s *Residual, change func(*sample.Frame)) {
	for i := len(s.Frames) / 3; i < len(s.Frames); i++ {
		change(&s.Frames[i])
	}
}

func TestARefusalOfThePastSaysUntilWhen(t *testing.T) {
	shop := shoptest.Run(shoptest.Traffic{Seed: 1, Rate: 20, Length: 4 * time.Minute, QuietBefore: time.Minute, QuietAfter: 2 * time.Minute, Resend: 0.05,
		Interval: 5 * time.Second, PassAt: time.Minute, Channels: 2})
	for name, change := range map[string]func(s *Residual) (hold time.Time){
		"reset counters": func(s *Residual) time.Time {
			tail(s, func(f *sample.Frame) { f.Gaps = 1 })
			return s.Frames[len(s.Frames)/3].Ended
		},
		"a restarted store": func(s *Residual) time.Time {
			s.Disturbed, s.DisturbedWhy = s.Pass.Started, "the store was restarted in the window and may have lost markers"
			return s.Disturbed
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := judged(shop, 15*time.Minute)
			at := change(&s)
			why := residual(s).Why
			_, said, ok := strings.Cut(why, "(until about ")
			until, err := time.Parse("15:04 MST)", said)
			if !ok || err != nil {
				t.Fatalf("%q does not say until when: %v", why, err)
			}
			newest := s.Frames[len(s.Frames)-1].Began
			earliest, latest := at.Add(s.Window-time.Minute).UTC(), at.Add(s.Window).Add(newest.Sub(s.Pass.Started)+2*time.Minute).UTC()
			until = time.Date(earliest.Year(), earliest.Month(), earliest.Day(), until.Hour(), until.Minute(), 0, 0, time.UTC)
			if until.Before(earliest) || until.After(latest) {
				t.Errorf("%q, want between %s and %s", why, earliest, latest)
			}
		})
	}
}
