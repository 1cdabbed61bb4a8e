package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

func TestDoubleEffectsSinceATimeAreThoseOfTheSourceThatSeesMore(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	p := &Pipeline{Store: &Store{}}
	if n := p.doubledSince(at); n != 0 {
		t.Errorf("nothing was read: %v", n)
	}
	for i, again := range []float64{1, 1, 3, 3} {
		p.Store.Events.Readings = append(p.Store.Events.Readings, sample.EventReading{At: at.Add(time.Duration(i) * time.Minute), Epoch: 1, Again: again, Twice: again})
	}
	for after, want := range map[time.Duration]float64{-time.Hour: 2, 0: 2, 90 * time.Second: 2, 2 * time.Minute: 0, time.Hour: 0} {
		if n := p.doubledSince(at.Add(after)); n != want {
			t.Errorf("since %s: %v double effects, want %v", after, n, want)
		}
	}
	p.Doubled = func(since time.Time) float64 { // the check found four a minute later
		if since.Before(at.Add(time.Minute)) {
			return 4
		}
		return 0
	}
	for after, want := range map[time.Duration]float64{0: 4, time.Minute: 2, time.Hour: 0} {
		if n := p.doubledSince(at.Add(after)); n != want {
			t.Errorf("with an effect check, since %s: %v double effects, want %v", after, n, want)
		}
	}
	for i := range p.Store.Events.Readings { // duplicates that renew their markers prove none of those that the check found
		p.Store.Events.Readings[i].Twice = 0
	}
	if n := p.doubledUnseen(at); n != 4 {
		t.Errorf("%v double effects are unseen, want 4", n)
	}
}
