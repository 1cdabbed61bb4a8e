// Package ruletest tests alert rules on timelines that people write: what production runs, on figures that a file gives.
//
// A file is YAML and has an interval, that between two evaluations, and tests. Each test has series and looks at the alerts at
// given times:
//
//	interval: 15s
//	tests:
//	  - name: a burst of duplicates wakes somebody, and a short one nobody
//	    series:
//	      - {series: 'duplicate_rate{pipeline="orders"}', values: 0.5%x4 3%x20, n: 1000}
//	    expect:
//	      - {at: 3m, alerts: [{rule: duplicate_rate, pipeline: orders, tier: normal, pending: severe}]}
//	      - {at: 3m15s, alerts: [{rule: duplicate_rate, pipeline: orders, tier: severe}]}
//
// Values are in the notation of promtool: "a+bxn" are a, a+b, ... a+b*n, "axn" is n more times a, "_" no data, "_xn" n times none.
// The unit may stand beside a number: 0.5%, 100ms, 15s, 2m, 1h, 30d. Beyond its last value a series has no data.
//
// A series that is named as a measure of a built-in rule sets that measure, of the pipeline, broker or store that its label names; n
// is how many events it rests on, 10,000 unless given, and may be written in the notation too. Rates and latencies hold for every
// window, or with the label window for that one alone. "error", "errorxn" say that the source of the measure cannot be read. The
// series finding{pipeline, kind, tier} is 1 while there is such a finding, and source_unreachable{store="..."}, or broker or pipeline,
// is for how long the source could not be read, 0s while it can.
//
// Any other series is one of the history, which PromQL of rules asks; "stale" ends it, as the failure of its source does.
//
// The alerts at a time are all that fire then: one that fires and is not listed is a failure, as is one that is listed and is not as
// it says. The watchdog, which always fires, may be left out. Beside the tier that fires (normal where none does) may stand pending
// (a tier that is reached for too short a time, or none), phase (normal, pending, firing, recovering) and health (ok, no data, error).
//
// A pipeline has the labels and limits of the configuration, or those that a test gives it under pipelines; else the defaults. Every
// test begins on Thursday, 2026-01-01 at 00:00 UTC, with no alert and no history.
package ruletest
