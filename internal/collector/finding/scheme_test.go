package finding

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// schemeCases are the findings about what a scheme decided.
func schemeCases() []findingCase {
	work := func(p99 time.Duration, n float64) dedup.Figure {
		f := dedup.Exact(dedup.Measured, dedup.Seconds, p99.Seconds(), findingNow, "reported counters")
		f.N = n
		return f
	}
	unknown := dedup.Unknown(dedup.Seconds, "not reported")
	lock := dedup.Scheme{Kind: "redis-lock", Lock: true, ProcessingTTL: 30 * time.Second, DoneTTL: time.Hour, Blind: "a lock ends with its lease" + hostile}
	old := func(age time.Duration) DeadLetterAge {
		return DeadLetterAge{true, age, "a.dead" + hostile, "its timestamp"}
	}
	lasting := func(d time.Duration) dedup.Scheme { return dedup.Scheme{DoneTTL: d} }
	return []findingCase{
		{"ttl_too_short", "is severe below the p99 of the work", ttlTooShort(SchemeUse{Scheme: nackScheme, MaxProcessing: time.Minute, Work: work(6*time.Minute, 50)}), dedup.Severe, []string{"1 % of 50 messages took 6 m or longer, markers live for 5 m"}},
		{"ttl_too_short", "is a warning below max_processing", ttlTooShort(SchemeUse{Scheme: nackScheme, MaxProcessing: 6 * time.Minute, Work: unknown}), dedup.Warning, []string{"max_processing is 6 m, markers live for 5 m"}},
		{"ttl_too_short", "fires for the lease of a lock", ttlTooShort(SchemeUse{Scheme: lock, MaxProcessing: time.Minute, Work: unknown}), dedup.Warning, nil},
		{"ttl_too_short", "is silent about a p99 of 49 messages", ttlTooShort(SchemeUse{Scheme: nackScheme, MaxProcessing: time.Minute, Work: work(6*time.Minute, 49)}), silent, nil},
		{"ttl_too_short", "is silent when the marker lives as long as the work", ttlTooShort(SchemeUse{Scheme: nackScheme, MaxProcessing: 5 * time.Minute, Work: work(time.Second, 500)}), silent, nil},
		{"ttl_too_short", "is silent where consumers prolong their claims", ttlTooShort(SchemeUse{Scheme: nackScheme, MaxProcessing: time.Hour, Work: work(6*time.Minute, 50), Prolonged: true}), silent, nil},
		{"ttl_too_short", "is silent about markers without an expiry", ttlTooShort(SchemeUse{Scheme: dedup.Scheme{}, MaxProcessing: time.Hour, Work: unknown}), silent, nil},

		{"dedup_window_short", "fires for a dead letter of 25 hours", windowTooShort(nackScheme, old(25*time.Hour)), dedup.Warning, []string{"a.dead<b>", "at least 25 h by its timestamp, done markers live for 24 h"}},
		{"dedup_window_short", "is silent about one of 23 hours", windowTooShort(nackScheme, old(23*time.Hour)), silent, nil},
		{"dedup_window_short", "is silent where done markers stay for ever", windowTooShort(dedup.Scheme{}, old(9000*time.Hour)), silent, nil},

		{"dedup_window_unusual", "is a hint below a day", windowUnusual(lasting(time.Hour)), dedup.Normal, []string{"shorter than 24 h"}},
		{"dedup_window_unusual", "is a hint above a week", windowUnusual(lasting(8 * 24 * time.Hour)), dedup.Normal, []string{"longer than 7 days"}},
		{"dedup_window_unusual", "is silent about a day", windowUnusual(lasting(24 * time.Hour)), silent, nil},
		{"dedup_window_unusual", "is silent about a week", windowUnusual(lasting(7 * 24 * time.Hour)), silent, nil},
		{"dedup_window_unusual", "is silent about a lock", windowUnusual(lock), silent, nil},

		{"lock_without_marker", "fires for a lock", lockWithoutMarker(lock), dedup.Warning, nil},
		{"lock_without_marker", "is silent about markers", lockWithoutMarker(nackScheme), silent, nil},

		{"blind_scheme", "is a hint that says why", blindScheme(lock), dedup.Normal, []string{"a lock ends with its lease<b>"}},
		{"blind_scheme", "is silent where a stuck marker shows", blindScheme(nackScheme), silent, nil},
	}
}
