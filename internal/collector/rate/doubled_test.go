package rate

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/lab/shoptest"
)

// TestADoubleEffectIsNoDuplicateForCertain: the ack after work that was done again looks like that of a duplicate. Of the duplicates of
// a batch between two rests, which are told exactly, one was such work.
func TestADoubleEffectIsNoDuplicateForCertain(t *testing.T) {
	shop := shoptest.Run(shoptest.Traffic{Seed: 3, Rate: 60, Length: 4 * time.Minute, Resend: 0.03, QuietBefore: time.Minute, QuietAfter: time.Minute,
		PassAt: 40 * time.Second, Interval: 2 * time.Second, Channels: 2, Live: 1})
	s := judged(shop, 15*time.Minute)
	acked, messages := shop.SettledBetween(0, shop.Now)
	if f := residual(s); f.Low != f.High || f.Low != acked/messages {
		t.Fatalf("without double effects: [%v, %v], want the point %v: %s", f.Low, f.High, acked/messages, f.Why)
	}
	at := s.Frames[len(s.Frames)/2].Ended
	s.Doubled = func(since time.Time) float64 {
		if since.After(at) {
			return 0
		}
		return 1
	}
	r := s.Estimate()
	if f, truth := r.Rate, (acked-1)/messages; !f.Known() || f.Low > truth || f.High < acked/messages || !strings.Contains(f.Why, "up to 1 of the duplicates may be double effects") {
		t.Errorf("[%v, %v], want it to hold %v and %v: %s", f.Low, f.High, truth, acked/messages, f.Why)
	}
	if r.Separate[0] != acked-1 || r.Separate[1] != acked {
		t.Errorf("messages of their own: %v, want %v to %v", r.Separate, acked-1, acked)
	}
}

// TestADoubleEffectThatTheEventsDoNotShowWidensTheirInterval: an effect check found it, and the acks are all that shows it else.
func TestADoubleEffectThatTheEventsDoNotShowWidensTheirInterval(t *testing.T) {
	s := heardAtRest()
	exact := s.Estimate()
	s.Doubled = func(time.Time) float64 { return 2 }
	r := s.Estimate()
	if got, want := r.Terms.Separate[0], exact.Terms.Separate[0]-2; got != want {
		t.Errorf("at least %v by the acks, want %v", got, want)
	}
	if !strings.Contains(r.Rate.Why, "up to 2 of the duplicates may be double effects") || strings.Contains(exact.Rate.Why, "double") {
		t.Errorf("said: %q and %q", exact.Rate.Why, r.Rate.Why)
	}
}
