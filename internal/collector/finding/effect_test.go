package finding

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// effectCases are the findings about work that was done twice, and markers that were asked for again.
func effectCases() []findingCase {
	at := func(change func(*dedup.EffectCheck)) *dedup.EffectCheck {
		e := &dedup.EffectCheck{Every: 15 * time.Minute, At: findingNow.Add(-time.Minute), LastTry: findingNow.Add(-time.Minute), Since: findingNow.Add(-72 * time.Hour)}
		change(e)
		return e
	}
	doubled := func(change func(*dedup.EffectCheck)) []dedup.Finding { return DoubleEffects(at(change), findingNow) }
	fails := func(change func(*dedup.EffectCheck)) []dedup.Finding {
		return EffectCheckFails(at(change), findingNow)
	}
	touched := func(t *dedup.Touched) []dedup.Finding {
		return touchedAfterDone(hostile, &dedup.Pass{Touched: t})
	}
	key := func(found time.Time) dedup.EffectKey { return dedup.EffectKey{Key: hostile, Count: 2, Found: found} }
	return []findingCase{
		{"double_effects", "are an emergency while one is new", doubled(func(e *dedup.EffectCheck) {
			e.Total, e.Fresh, e.FreshKeys, e.Baseline = 3, 1, []string{hostile}, 2
			e.Keys = []dedup.EffectKey{key(findingNow.Add(-time.Hour)), key(time.Time{}), key(time.Time{})}
		}), dedup.Emergency, []string{"The work of 1 business key was done more than once: new in the last 24 h", "<b>", "2 keys were there at the first check"}},
		{"double_effects", "are an emergency also when the new ones were fixed", doubled(func(e *dedup.EffectCheck) { e.Fresh, e.FreshKeys = 1, []string{"a"} }), dedup.Emergency, nil},
		{"double_effects", "are a warning when all are of the first check", doubled(func(e *dedup.EffectCheck) { e.Total, e.Baseline, e.Keys = 1, 1, []dedup.EffectKey{key(time.Time{})} }), dedup.Warning,
			[]string{"1 key was there at the first check"}},
		{"double_effects", "say at least where the answer was cut", doubled(func(e *dedup.EffectCheck) { e.Total, e.AtLeast, e.Keys = 1, true, []dedup.EffectKey{key(time.Time{})} }), dedup.Warning,
			[]string{"at least 1 business key"}},
		{"double_effects", "are silent where there are none", doubled(func(*dedup.EffectCheck) {}), silent, nil},
		{"double_effects", "are silent before the first check", doubled(func(e *dedup.EffectCheck) { e.At, e.Total = time.Time{}, 3 }), silent, nil},
		{"double_effects", "are silent where no check is configured", DoubleEffects(nil, findingNow), silent, nil},

		{"effect_check_failing", "fires when it has not succeeded for two turns", fails(func(e *dedup.EffectCheck) {
			e.At, e.Err = findingNow.Add(-31*time.Minute), "MySQL at db refused it"+hostile+": grant it"
		}), dedup.Warning,
			[]string{"work that is done twice does not show", "it last succeeded at"}},
		{"effect_check_failing", "fires when it never succeeded", fails(func(e *dedup.EffectCheck) { e.At, e.Err = time.Time{}, "no answer" }), dedup.Warning, []string{"it has not succeeded yet"}},
		{"effect_check_failing", "is silent about one failure", fails(func(e *dedup.EffectCheck) { e.Err = "no answer" }), silent, nil},
		{"effect_check_failing", "is silent while it succeeds", fails(func(*dedup.EffectCheck) {}), silent, nil},

		{"touched_after_done", "tells a share as a lower bound", touched(&dedup.Touched{Sampled: 2000, Touched: 62}), dedup.Normal,
			[]string{"At least 3.1 % of 2,000 done markers were asked for again more than 3 s after they were done", "± 0.8 points"}},
		{"touched_after_done", "is silent where none was", touched(&dedup.Touched{Sampled: 2000}), silent, nil},
		{"touched_after_done", "is silent where it cannot be told", touched(&dedup.Touched{Sampled: 2000, Touched: 9, Why: "a replica"}), silent, nil},
	}
}
