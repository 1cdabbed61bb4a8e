package finding

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// storeCases are the findings about the server and the table of a store.
func storeCases() []findingCase {
	evicting := func(policy string, limit *int64, s dedup.Scheme) []dedup.Finding {
		return evictionPossible(hostile, dedup.StoreHealth{EvictionPolicy: policy, MemoryMax: limit, MemoryUsed: ptr(1 << 29)}, s)
	}
	evicted := func(age, life time.Duration) []dedup.Finding {
		return evictions(hostile, findingNow.Add(-age), findingNow, life)
	}
	permanent := dedup.Scheme{Kind: "redis-string"}
	expired := func(n, of int64, g Growth) []dedup.Finding {
		return purgeNotRunning(hostile, passWith(func(p *dedup.Pass) { p.Expired, p.Matched = n, of }), g)
	}
	grown := Growth{notes: []growthNote{{ended: findingNow.Add(-31 * time.Minute), Expired: 400}}}
	waits := func(n int64, longest, oldest time.Duration) []dedup.Finding {
		return lockWaits(hostile, &dedup.LockWaits{Waiters: n, Longest: longest, LongestTransaction: oldest, Holders: []string{"app from 10.0.0.7" + hostile}}, time.Minute)
	}
	busy := func(cores float64, events *dedup.StoreEvents) []dedup.Finding {
		return storeBusy(hostile, dedup.StoreStats{Health: dedup.StoreHealth{CPU: &cores}, Events: events})
	}
	lost := func(age time.Duration, gone int64) []dedup.Finding {
		return vanished(hostile, &dedup.StoreEvents{Vanished: dedup.Vanished{At: findingNow.Add(-age), Asked: 500, Gone: gone}}, findingNow, 24*time.Hour)
	}
	return []findingCase{
		{"store_cpu", "is a warning above half a core", busy(0.51, &dedup.StoreEvents{}), dedup.Warning, []string{"uses 51 % of a core"}},
		{"store_cpu", "is a hint below", busy(0.5, &dedup.StoreEvents{}), dedup.Normal, []string{"uses 50 % of a core"}},
		{"store_cpu", "is silent where little is used", busy(0.25, &dedup.StoreEvents{}), silent, nil},
		{"store_cpu", "is silent without events", busy(0.9, nil), silent, nil},
		{"store_cpu", "is silent while it is not known", storeBusy("s", dedup.StoreStats{Events: &dedup.StoreEvents{}}), silent, nil},
		{"markers_evicted", "wakes somebody for keys that were just evicted", evicted(0, 24*time.Hour), dedup.Severe, []string{"The server of store", "last seen at 12:00 UTC"}},
		{"markers_evicted", "wakes somebody for an hour", evicted(time.Hour, time.Minute), dedup.Severe, []string{"last seen at 11:00 UTC"}},
		{"markers_evicted", "is a warning for as long as done markers live", evicted(13*time.Hour, 14*time.Hour), dedup.Warning, []string{"last seen at 3 Mar 23:00 UTC"}},
		{"markers_evicted", "is a warning for a day where they live longer", evicted(24*time.Hour, 72*time.Hour), dedup.Warning, nil},
		{"markers_evicted", "is a warning for a day where they live for ever", evicted(24*time.Hour, 0), dedup.Warning, nil},
		{"markers_evicted", "is silent once the markers would have expired", evicted(15*time.Hour, 14*time.Hour), silent, nil},
		{"markers_evicted", "is silent after a day", evicted(25*time.Hour, 72*time.Hour), silent, nil},
		{"markers_evicted", "is silent while none were", evictions("s", time.Time{}, findingNow, time.Hour), silent, nil},

		{"markers_vanished", "wakes somebody for what a fail-over lost", lost(0, 12), dedup.Severe, []string{"at 12:00 UTC", "12 of the 500 done markers", "are not"}},
		{"markers_vanished", "is a warning for as long as done markers live", lost(2*time.Hour, 1), dedup.Warning, []string{"1 of the 500 done markers", "is not"}},
		{"markers_vanished", "is silent once they would have expired", lost(25*time.Hour, 12), silent, nil},
		{"markers_vanished", "is silent where nothing was lost", lost(0, 0), silent, nil},
		{"markers_vanished", "is silent without events", vanished("s", nil, findingNow, time.Hour), silent, nil},

		{"eviction_possible", "fires before anything is evicted", evicting("allkeys-lru", ptr(1<<30), permanent), dedup.Warning, []string{"allkeys-lru, 50 % of maxmemory is used"}},
		{"eviction_possible", "fires for a policy that takes markers with an expiry", evicting("volatile-ttl", ptr(1<<30), nackScheme), dedup.Warning, nil},
		{"eviction_possible", "is silent where markers of such a policy never expire", evicting("volatile-ttl", ptr(1<<30), permanent), silent, nil},
		{"eviction_possible", "is silent without maxmemory", evicting("allkeys-lru", nil, nackScheme), silent, nil},
		{"eviction_possible", "is silent with noeviction", evicting("noeviction", ptr(1<<30), nackScheme), silent, nil},

		{"store_shared", "fires for two pipelines", sharedStore(hostile, hostile), dedup.Normal, nil},
		{"store_shared", "is silent about a pipeline alone", sharedStore("s", ""), silent, nil},

		{"purge_not_running", "is a hint for what a nightly purge leaves", expired(900, 2000, Growth{}), dedup.Normal, []string{"900 rows", "900 of 2,000 rows"}},
		{"purge_not_running", "is a warning when most rows have expired", expired(1001, 2000, grown), dedup.Warning, []string{"does not run", "601 more than 30 m before"}},
		{"purge_not_running", "stays a hint in a tiny table", expired(9, 10, Growth{}), dedup.Normal, nil},
		{"purge_not_running", "is silent where nothing has expired", expired(0, 2000, Growth{}), silent, nil},

		{"marker_row_held", "is a hint for a wait of ten seconds", waits(2, 10*time.Second, 12*time.Second), dedup.Normal, []string{"2 transactions wait for rows", "the longest for 10 s", "held by app from 10.0.0.7<b>"}},
		{"marker_row_held", "is a warning for a wait beyond the processing time", waits(1, 2*time.Minute, 2*time.Minute), dedup.Warning, nil},
		{"marker_row_held", "fires for a transaction that stays open without waiters", waits(0, 0, 5*time.Minute), dedup.Warning, []string{"open for 5 m"}},
		{"marker_row_held", "is silent about a duplicate that waits for a moment", waits(3, 2*time.Second, 3*time.Second), silent, nil},
	}
}

// idCases are the findings about ids and business keys.
func idCases() []findingCase {
	hashes := func(n, of int64, from string, samples ...string) []dedup.Finding {
		return hashIDs(passWith(func(p *dedup.Pass) {
			p.HashIDs, p.Matched = n, of
			for _, id := range samples {
				p.OldestProcessing = append(p.OldestProcessing, dedup.Marker{ID: id})
			}
		}), from)
	}
	const md5, uuid = "9e107d9d372bb6826bd81d3542a419d6", "f47ac10b58cc4372a5670e02b2c3d479"
	repeats := func(n, of int64) []dedup.Finding {
		return repeatedKeys(passWith(func(p *dedup.Pass) {
			p.RepeatedKeys, p.Matched = n, of
			p.Repeated = []dedup.Repeat{{BusinessKey: "order:7" + hostile, Count: 2}}
		}))
	}
	folding := func(inBoth string, two *dedup.TwoIDs, ignores ...dedup.IDDifference) []dedup.Finding {
		return idsTakenForOne(passWith(func(p *dedup.Pass) {
			if inBoth != "" {
				p.IDsDiffer, p.IDInBoth = []dedup.IDDifference{dedup.CaseDiffers}, inBoth
			}
		}), &dedup.StoreFacts{IDIgnores: ignores, Collation: "utf8mb4_general_ci", TwoIDs: two})
	}
	two := func(mayBeOwn bool) *dedup.TwoIDs {
		return &dedup.TwoIDs{At: findingNow, Asked: "x-ABC" + hostile, Row: "x-abc" + hostile, MayBeOwn: mayBeOwn}
	}
	long := func(longest int64, id string, column int64, from string) []dedup.Finding {
		return idsTooLong(passWith(func(p *dedup.Pass) { p.LongestID, p.LongID = longest, id }), &dedup.StoreFacts{IDLength: column}, from)
	}
	unread := func(unknown, read, done int64) []dedup.Finding {
		return undecodable("orders"+hostile, passWith(func(p *dedup.Pass) {
			p.States[dedup.StateUnknown], p.States[dedup.Done], p.ValuesRead, p.Matched = unknown, done, read, unknown+done
			p.Undecodable = []dedup.Marker{{ID: "m", Detail: "secret"}}
		}))
	}
	misfits := func(n, matched int64) []dedup.Finding {
		return IDMisfits("orders"+hostile, passWith(func(p *dedup.Pass) { p.Misfits, p.Misfit, p.Matched = n, "secret", matched }))
	}
	return []findingCase{
		{"markers_without_id", "is severe when no key has an id", misfits(186, 0), dedup.Severe, []string{"186 keys of store orders", "id fits none of them"}},
		{"markers_without_id", "is a warning for a single key, which may be a stray", misfits(1, 0), dedup.Warning, []string{"1 key of store orders"}},
		{"markers_without_id", "is silent beside keys that have one", misfits(186, 1), silent, nil},
		{"markers_without_id", "is silent about an empty store", misfits(0, 0), silent, nil},

		{"markers_undecodable", "is a warning beside values that can be decoded", unread(2, 40, 38), dedup.Warning, []string{"2 markers of store orders", "2 of the 40 values"}},
		{"markers_undecodable", "is a warning for a single stray", unread(1, 1, 5000), dedup.Warning, []string{"1 of the 1 value that was read"}},
		{"markers_undecodable", "is severe when no value can be decoded, whatever is taken for done by its life", unread(2, 2, 586_380), dedup.Severe, []string{"the mapping is probably wrong"}},
		{"markers_undecodable", "is severe when nearly none can", unread(95, 100, 5), dedup.Severe, []string{"the mapping is probably wrong"}},
		{"markers_undecodable", "is severe when no row of a table can", unread(40, 0, 1), dedup.Severe, []string{"40 of the 41 values"}},
		{"markers_undecodable", "is silent when all are decoded", unread(0, 40, 40), silent, nil},

		{"hash_ids", "fires from 20 % on", hashes(10, 50, "message_id"), dedup.Warning, []string{"20 % of 50 ids"}},
		{"hash_ids", "fires when one of the listed ids is no UUID", hashes(50, 50, "message_id", uuid, md5), dedup.Warning, nil},
		{"hash_ids", "fires for UUIDs all the same when ids are made from the body", hashes(50, 50, "md5(body)", uuid), dedup.Warning, nil},
		{"hash_ids", "fires for UUIDs all the same when ids fall back on the body", hashes(50, 50, "message_id else md5(body)", uuid), dedup.Warning, nil},
		{"hash_ids", "is silent about UUIDs without dashes", hashes(50, 50, "message_id", uuid), silent, nil},
		{"hash_ids", "is silent below 20 %", hashes(9, 50, "message_id"), silent, nil},
		{"hash_ids", "is silent about fewer than 50 ids", hashes(49, 49, "message_id"), silent, nil},

		{"business_key_repeated", "fires for a few keys", repeats(3, 1000), dedup.Warning, []string{"3 business keys have several message ids", "order:7<b>", "(2 ids)"}},
		{"business_key_repeated", "is a hint where that is how keys are used", repeats(300, 1000), dedup.Normal, []string{"may well name something with several messages"}},
		{"business_key_repeated", "is silent when each key has one id", repeats(0, 1000), silent, nil},

		{"id_case_insensitive", "is a hint while ids have one case", folding("", nil, dedup.CaseDiffers, dedup.AccentsDiffer), dedup.Normal, []string{"utf8mb4_general_ci", "differ in case, accents for one"}},
		{"id_case_insensitive", "is a warning when ids differ in what is ignored", folding("x-ABC"+hostile, nil, dedup.CaseDiffers), dedup.Warning, []string{"x-ABC<b>", "differ in case alone"}},
		{"id_case_insensitive", "is a hint for ids that differ in case where only accents are ignored", folding("x-ABC"+hostile, nil, dedup.AccentsDiffer), dedup.Normal, nil},
		{"id_case_insensitive", "is severe once a message has found the row of another", folding("", two(false), dedup.CaseDiffers), dedup.Severe, []string{"x-ABC", "x-abc"}},
		{"id_case_insensitive", "is severe for a pair that differs in blanks", folding("", two(false), dedup.BlanksDiffer), dedup.Severe, []string{"how they are written"}},
		{"id_case_insensitive", "is a warning when the row may be the message's own", folding("", two(true)), dedup.Warning, []string{"may be its own"}},
		{"id_case_insensitive", "is silent about blanks at the end, which nearly every collation ignores", folding("x-ABC"+hostile, nil, dedup.BlanksDiffer), silent, nil},
		{"id_case_insensitive", "is silent about a binary collation", folding("x-ABC"+hostile, nil), silent, nil},

		{"id_too_long", "fires when the longest fills the column", long(64, "order-"+hostile, 64, "message_id"), dedup.Warning, []string{"64 characters, the column holds 64", "order-<b>"}},
		{"id_too_long", "fires when md5 does not fit", long(20, "x", 30, "md5(body)"), dedup.Severe, []string{"30 characters, md5(body) has 32"}},
		{"id_too_long", "fires when md5 does not fit that consumers fall back on", long(20, "x", 30, "message_id else md5(body)"), dedup.Severe, []string{"30 characters, md5(body) has 32"}},
		{"id_too_long", "is silent about UUIDs that fit exactly", long(36, "f47ac10b-58cc-4372-a567-0e02b2c3d479", 36, "message_id"), silent, nil},
		{"id_too_long", "is silent below the limit", long(63, "order-7", 64, "message_id"), silent, nil},
		{"id_too_long", "is silent about a column without a limit", long(4000, "order-7", 0, "message_id"), silent, nil},

		{"null_ids", "fires for one row", nullIDs(hostile, &dedup.StoreFacts{NullIDs: ptr(1)}), dedup.Warning, []string{"1 row of store"}},
		{"null_ids", "is silent for none", nullIDs("s", &dedup.StoreFacts{NullIDs: ptr(0)}), silent, nil},
	}
}
