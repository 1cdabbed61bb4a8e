package rule

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// Health says whether a rule could be evaluated.
type Health uint8

// The healths of an evaluation. Only the first one can change a tier.
const (
	HealthOK Health = iota
	// HealthNoData: nothing went wrong, but there is nothing to judge.
	HealthNoData
	// HealthError: the rule could not be evaluated, or what it rests on cannot be read.
	HealthError
)

// String returns the word that pages and the API use.
func (h Health) String() string {
	switch h {
	case HealthOK:
		return "ok"
	case HealthNoData:
		return "no data"
	default:
		return "error"
	}
}

// A Judgement is what one rule says of one subject at one time.
type Judgement struct {
	Key Key
	At  time.Time
	// Labels are those of the pipeline, with broker, store and pipeline where they apply: what routes, silences and groups match.
	Labels map[string]string
	// Enters is the tier by the limits at which one is entered, Holds by those at which it is left: Holds is never below Enters.
	// Both are unknown unless Health is HealthOK.
	Enters, Holds dedup.Tier
	Health        Health
	// Value and Limit are in Unit; Limit is that of the tier, 0 where there is none. N is how many events the value rests on, 0 where
	// that means nothing, Window the span, 0 for an instant.
	Value, Limit float64
	Unit         dedup.Unit
	N            float64
	Window       time.Duration
	// Why says value against limit in one line, as the page does; or why there is none.
	Why string
	// Unread are the sources that cannot be read, where there is nothing to judge because of them: "broker main".
	Unread []string
	// Evidence are further lines: findings, sources that are down.
	Evidence []string
}

// Words are what a rule says to people: what it is called, what to do first, and where to read more.
type Words struct{ Title, Step, Runbook string }

// An Evaluation is what the lifecycle sees of a judgement.
type Evaluation struct {
	At            time.Time
	Enters, Holds dedup.Tier
	Health        Health
	// Interval is the time between two evaluations where nothing holds them up; 0 where that is short.
	Interval time.Duration
}

// LongestPause is the longest pause over which what is pending stays pending.
const LongestPause = time.Hour
