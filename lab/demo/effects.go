package demo

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// effects is what the effect check of a pipeline has found; nil where the pipeline has none.
func (sp spec) effects(now time.Time) *dedup.EffectCheck {
	e := &dedup.EffectCheck{
		Every: 15 * time.Minute, Timeout: 10 * time.Second, LastTry: now.Add(-4 * time.Minute), At: now.Add(-4 * time.Minute),
		Took: 412 * time.Millisecond, Next: now.Add(11 * time.Minute), Since: now.Add(-9 * 24 * time.Hour),
	}
	switch sp.name {
	case "payments":
		for i, age := range []time.Duration{19 * time.Minute, 34 * time.Minute, 31 * time.Hour} {
			e.Keys = append(e.Keys, effectKey(fmt.Sprintf("PAY-%d", 884120-i*137), int64(2+i%2), now.Add(-age)))
		}
		for i := range 60 {
			e.Keys = append(e.Keys, effectKey(fmt.Sprintf("PAY-%d", 700000+i*11), 2, time.Time{}))
		}
		e.Total, e.Baseline, e.Fresh, e.FreshKeys, e.NullRows = 63, 60, 2, []string{"PAY-884120", "PAY-883983"}, 3
	case "inventory":
		e.At, e.LastTry, e.Next = now.Add(-3*time.Hour), now.Add(-20*time.Minute), now.Add(100*time.Minute)
		e.Err = "MySQL at db.internal:3306 did not end the effect check within 10s: add an index on the key, narrow the query to recent rows, ask a replica, or raise effect_check.timeout"
	case "double-effects":
		for i := range 4 {
			key := fmt.Sprintf("20261120-%d", 1187+i*3)
			e.Keys = append(e.Keys, effectKey(key, 2, now.Add(-time.Duration(i+1)*time.Hour)))
			e.FreshKeys = append(e.FreshKeys, key)
		}
		e.Total, e.Fresh = 4, 4
	case "points":
	case "search-index":
		e = &dedup.EffectCheck{Every: e.Every, Timeout: e.Timeout, Next: now.Add(40 * time.Second)}
	default:
		return nil
	}
	return e
}

func effectKey(key string, count int64, found time.Time) dedup.EffectKey {
	return dedup.EffectKey{Key: key, ID: fmt.Sprintf("%032x", len(key)), Count: count, Found: found}
}
