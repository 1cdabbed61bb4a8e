package finding

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// passCases are the findings that what a pass counted leads to.
func passCases() []findingCase {
	gaveUp := func(age time.Duration, listed ...string) []dedup.Finding {
		return messagesGivenUp(passWith(func(p *dedup.Pass) { p.GaveUp.Add(findingNow.Add(findingOffset - age)) }), Growth{}, findingNow, listed...)
	}
	endless := func(s dedup.Scheme, n, of int64, m dedup.Marker) []dedup.Finding {
		return markersWithoutExpiry(passWith(func(p *dedup.Pass) {
			p.States[m.State], p.NoExpiry[m.State], p.Permanent = of, n, []dedup.Marker{m}
			if m.State == dedup.Processing {
				p.OldestProcessing = p.Permanent
			}
		}), s)
	}
	acks, table := nackScheme, dedup.Scheme{Kind: "sql-table"}
	acks.OnInFlight = "ack"
	bare := dedup.Scheme{Kind: "redis-string"}
	return append([]findingCase{
		{"messages_given_up", "fires for a message of the last hour", gaveUp(18 * time.Minute), dedup.Severe, []string{"1 message was given up since 11:42"}},
		{"messages_given_up", "is a warning where consumers may publish them to a listed dead-letter queue", gaveUp(18*time.Minute, "orders.dlq"), dedup.Warning,
			[]string{"which is lost unless consumers publish it to orders.dlq"}},
		{"messages_given_up", "is a hint about messages of two days ago", gaveUp(48 * time.Hour), dedup.Normal, []string{"1 message was given up, none in the last 24 h"}},
		{"messages_given_up", "is silent where none was", messagesGivenUp(passWith(func(*dedup.Pass) {}), Growth{}, findingNow), silent, nil},

		{"marker_without_expiry", "fires for one processing marker", endless(nackScheme, 1, 40, forever(dedup.Processing, time.Minute)), dedup.Severe,
			[]string{"1 processing marker never expires: its message is blocked", "m1<b>\uFFFD"}},
		{"marker_without_expiry", "says that messages are skipped where hits are acked", endless(acks, 2, 40, forever(dedup.Processing, time.Minute)), dedup.Severe,
			[]string{"2 processing markers never expire: their messages are skipped"}},
		{"marker_without_expiry", "is a hint for a few done markers", endless(nackScheme, 9, 20, forever(dedup.Done, time.Minute)), dedup.Normal, []string{"9 done markers never expire"}},
		{"marker_without_expiry", "is a warning for many done markers", endless(nackScheme, 10, 1000, forever(dedup.Done, time.Minute)), dedup.Warning, nil},
		{"marker_without_expiry", "fires for rows whose expiry is NULL", endless(table, 30, 40, forever(dedup.Failed, time.Minute)), dedup.Warning, nil},
		{"marker_without_expiry", "is silent between the two commands of a claim", endless(nackScheme, 1, 40, forever(dedup.Processing, -time.Minute)), silent, nil},
		{"marker_without_expiry", "is silent where the scheme sets no expiry", endless(bare, 40, 40, forever(dedup.Done, time.Hour)), silent, nil},
		{"marker_without_expiry", "is silent where every marker expires", endless(nackScheme, 0, 40, dedup.Marker{State: dedup.Done}), silent, nil},

		{"pass_incomplete", "fires for a pass of eleven minutes", passLate(hostile, underWay(11*time.Minute), findingNow), dedup.Warning, []string{"11m0s", "the store holds many keys"}},
		{"pass_incomplete", "is silent about a pass of nine minutes", passLate("s", underWay(9*time.Minute), findingNow), silent, nil},
	}, append(failedCases(), stuckCases()...)...)
}

func underWay(d time.Duration) dedup.StoreStats {
	return dedup.StoreStats{Progress: dedup.Progress{Started: findingNow.Add(-d)}}
}

func failedCases() []findingCase {
	ackScheme := dedup.Scheme{Kind: "sql-table", OnFail: "ack"}
	// failed are markers that failed ages ago, and others beside them that are not listed.
	failed := func(s dedup.Scheme, g Growth, unlisted int64, ages ...time.Duration) []dedup.Finding {
		return failedAndAcked(passWith(func(p *dedup.Pass) {
			p.States[dedup.Failed] = int64(len(ages)) + unlisted
			for _, age := range ages {
				p.FailedMarkers = append(p.FailedMarkers, dedup.Marker{ID: "f" + hostile, BusinessKey: "order:7" + hostile, Since: findingNow.Add(findingOffset - age)})
			}
		}), s, g, findingNow)
	}
	grown := Growth{notes: []growthNote{{ended: findingNow.Add(-50 * time.Minute), failed: 1998}}}
	kept := ackScheme
	kept.OnFail = "keep"
	return []findingCase{
		{"failed_and_acked", "wakes somebody for one of the last hour", failed(ackScheme, Growth{}, 0, time.Minute, 30*time.Hour), dedup.Severe,
			[]string{"2 messages were failed and acked", "1 of them in the last hour", "f<b>", "business keys: order:7"}},
		{"failed_and_acked", "is an emergency for ten of the last hour", failed(ackScheme, Growth{}, 0, repeated(10, time.Minute)...), dedup.Emergency, nil},
		{"failed_and_acked", "is a warning for one of yesterday", failed(ackScheme, Growth{}, 0, 20*time.Hour), dedup.Warning, []string{"1 of them in the last 24 h"}},
		{"failed_and_acked", "is a hint for old ones", failed(ackScheme, Growth{}, 0, 48*time.Hour), dedup.Normal, []string{"none of them in the last 24 h"}},
		{"failed_and_acked", "is a warning where not all are dated", failed(ackScheme, Growth{}, 1999, time.Minute), dedup.Warning, []string{"2,000 messages"}},
		{"failed_and_acked", "sees the growth where not all are dated", failed(ackScheme, grown, 1999, 48*time.Hour), dedup.Severe, []string{"2 of them in the last hour"}},
		{"failed_and_acked", "is silent where failed messages are dead-lettered", failed(kept, Growth{}, 0, time.Minute), silent, nil},
		{"failed_and_acked", "is silent where nothing failed", failed(ackScheme, Growth{}, 0), silent, nil},
	}
}

func stuckCases() []findingCase {
	stuck := func(age time.Duration) []dedup.Finding {
		p := passWith(func(p *dedup.Pass) {
			p.OldestProcessing = []dedup.Marker{{ID: "m" + hostile, State: dedup.Processing, Since: findingNow.Add(-age)}}
		})
		e := dedup.Evidence{At: findingNow, MaxProcessing: time.Minute, NothingOut: [2]time.Time{findingNow.Add(-time.Minute), findingNow.Add(-2 * time.Minute)}}
		return CountVerdicts(p, e, nackScheme).finding(&dedup.StoreStatus{Evidence: e, Scheme: nackScheme})
	}
	return []findingCase{
		{"stuck_markers", "fires for a marker of an hour whose owner is gone", stuck(time.Hour), dedup.Warning, []string{"1 probably dead"}},
		{"stuck_markers", "is silent about a marker of five seconds", stuck(5 * time.Second), silent, nil},
	}
}
