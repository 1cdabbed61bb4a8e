package collector

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/effect"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

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
	p.effects = effectsFound(t, at.Add(time.Minute), "a", "b", "c", "d")
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

// effectsFound is a check that remembers to have found keys at a time.
func effectsFound(t *testing.T, at time.Time, keys ...string) *effect.Watch {
	t.Helper()
	record := dedup.EffectRecord{Query: "q", First: at.Add(-time.Hour), Checks: []time.Time{at}}
	for _, k := range keys {
		record.Known = append(record.Known, dedup.EffectKey{ID: k, Key: k, Found: at})
	}
	check := recordedEffects{record}
	w := effect.NewWatch(check, check, slog.New(slog.DiscardHandler), func() {})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(ended) // which reads the record
	return w
}

// recordedEffects is a check that never runs, and its record.
type recordedEffects struct{ record dedup.EffectRecord }

func (recordedEffects) Pipeline() string       { return "orders" }
func (recordedEffects) Query() string          { return "q" }
func (recordedEffects) Every() time.Duration   { return time.Hour }
func (recordedEffects) Timeout() time.Duration { return time.Second }
func (recordedEffects) Check(context.Context) (dedup.EffectReading, error) {
	return dedup.EffectReading{}, nil
}
func (r recordedEffects) EffectRecord(context.Context, string) (dedup.EffectRecord, error) {
	return r.record, nil
}
func (recordedEffects) KeepEffectRecord(context.Context, string, dedup.EffectRecord) error {
	return nil
}
