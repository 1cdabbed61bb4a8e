package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/shoptest"
	"dedup-dashboard/internal/dedup"
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
	r := residualOf(s)
	if f, truth := r.Rate, (acked-1)/messages; !f.Known() || f.Low > truth || f.High < acked/messages || !strings.Contains(f.Why, "up to 1 of the duplicates may be double effects") {
		t.Errorf("[%v, %v], want it to hold %v and %v: %s", f.Low, f.High, truth, acked/messages, f.Why)
	}
	if r.Separate[0] != acked-1 || r.Separate[1] != acked {
		t.Errorf("messages of their own: %v, want %v to %v", r.Separate, acked-1, acked)
	}
}

// TestADoubleEffectThatTheEventsDoNotShowWidensTheirInterval: an effect check found it, and the acks are all that shows it else.
func TestADoubleEffectThatTheEventsDoNotShowWidensTheirInterval(t *testing.T) {
	traffic := shoptest.Traffic{Seed: 1, Resend: 0.03}
	_, _, exact := explainedShop(t, traffic, func(*eventSample) {})
	_, _, r := explainedShop(t, traffic, func(s *eventSample) { s.Doubled = func(time.Time) float64 { return 2 } })
	if got, want := r.Terms.Separate[0], exact.Terms.Separate[0]-2; got != want {
		t.Errorf("at least %v by the acks, want %v", got, want)
	}
	if !strings.Contains(r.Rate.Why, "up to 2 of the duplicates may be double effects") || strings.Contains(exact.Rate.Why, "double") {
		t.Errorf("said: %q and %q", exact.Rate.Why, r.Rate.Why)
	}
}

func TestDoubleEffectsSinceATimeAreThoseOfTheSourceThatSeesMore(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	p := &pipeline{store: &storeWatch{}}
	if n := p.doubledSince(at); n != 0 {
		t.Errorf("nothing was read: %v", n)
	}
	for i, again := range []float64{1, 1, 3, 3} {
		p.store.told.Readings = append(p.store.told.Readings, sample.EventReading{At: at.Add(time.Duration(i) * time.Minute), Epoch: 1, Again: again, Twice: again})
	}
	for after, want := range map[time.Duration]float64{-time.Hour: 2, 0: 2, 90 * time.Second: 2, 2 * time.Minute: 0, time.Hour: 0} {
		if n := p.doubledSince(at.Add(after)); n != want {
			t.Errorf("since %s: %v double effects, want %v", after, n, want)
		}
	}
	book := newEffectBook("q")
	for _, k := range []string{"a", "b", "c", "d"} {
		book.known[k] = dedup.EffectKey{ID: k, Key: k, Found: at.Add(time.Minute)}
	}
	book.sortNews()
	p.effects = &effectWatch{book: book}
	for after, want := range map[time.Duration]float64{0: 4, time.Minute: 2, time.Hour: 0} {
		if n := p.doubledSince(at.Add(after)); n != want {
			t.Errorf("with an effect check, since %s: %v double effects, want %v", after, n, want)
		}
	}
	for i := range p.store.told.Readings { // duplicates that renew their markers prove none of those that the check found
		p.store.told.Readings[i].Twice = 0
	}
	if n := p.doubledUnseen(at); n != 4 {
		t.Errorf("%v double effects are unseen, want 4", n)
	}
}
