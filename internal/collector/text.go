package collector

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// The words of sentences are those of internal/text, by short names: every finding and refusal is made of them.

func plain(s string, limit int) string      { return text.Plain(s, limit) }
func name(s string) string                  { return text.Name(s) }
func names(refs []dedup.QueueRef) string    { return text.Names(dedup.QueueNames(refs)) }
func listNames(list []string) string        { return text.Names(list) }
func someOf(all []string) string            { return text.SomeNames(all) }
func grouped(n int64) string                { return text.Grouped(n) }
func counted(n int64, noun string) string   { return text.Counted(n, noun) }
func verb(n int64, one, many string) string { return text.Agree(n, one, many) }
func clock(t, now time.Time) string         { return text.Clock(t, now) }
func span(d time.Duration) string           { return text.Span(d) }

// untilAbout ends a sentence with the time at which what it says stops to hold.
func untilAbout(t, now time.Time) string { return text.UntilAbout(t, now) }

func joinReasons(reasons ...string) string { return text.Reasons(reasons...) }

// whole rounds a counter for a sentence.
func whole(v float64) int64 { return text.Whole(v) }
