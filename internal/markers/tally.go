package markers

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	maxOldest      = 50
	maxUndecodable = 20
	// maxSampleKey bounds the names that a sample keeps; a longer key is described instead.
	maxSampleKey = 1024
)

// tally adds up what a pass sees. It decides from times and values alone and does no I/O.
type tally struct {
	layout *layout
	pass   dedup.Pass
}

func newTally(l *layout) *tally {
	return &tally{layout: l, pass: dedup.Pass{States: map[dedup.State]int64{}, NoExpiry: map[dedup.State]int64{}}}
}

// Expiries as Redis gives them, where they are not milliseconds since 1970.
const (
	noExpiry = -1
	gone     = -2
)

// byLife counts a marker as done when its remaining life tells so without its value, and reports whether it did.
// Only a done marker lives longer than ttl.processing, provided that now was read after the expiry.
func (t *tally) byLife(expiry, now int64) bool {
	ttl := t.layout.cfg.TTL
	if !t.layout.lifeTells || expiry < 0 || expiry-now <= ttl.Processing.Milliseconds() {
		return false
	}
	t.count(dedup.Done)
	t.completed(expiry, now)
	return true
}

// byValue counts a marker by its value. An expiry of gone means that it vanished meanwhile.
func (t *tally) byValue(key string, state dedup.State, detail string, expiry, now int64) {
	if expiry == gone {
		return
	}
	t.count(state)
	if expiry == noExpiry {
		t.pass.NoExpiry[state]++
	}
	m := dedup.Marker{Store: t.layout.cfg.Name, State: state, Detail: detail}
	m.Expires, m.Since = t.layout.times(state, expiry, now)
	switch state {
	case dedup.Done:
		t.completed(expiry, now)
	case dedup.Processing:
		t.older(key, m)
	case dedup.StateUnknown:
		if len(t.pass.Undecodable) < maxUndecodable {
			t.pass.Undecodable = append(t.pass.Undecodable, t.layout.named(m, key))
		}
	}
}

func (t *tally) count(state dedup.State) {
	t.pass.Matched++
	t.pass.States[state]++
}

// completed dates a done marker by its expiry.
func (t *tally) completed(expiry, now int64) {
	at := began(expiry, now, t.layout.cfg.TTL.Done)
	if at.IsZero() {
		t.pass.UndatedCompletions++
		return
	}
	t.pass.Completions.Add(at)
}

// began returns when a key was written that expires ttl later, zero when that cannot be known. One that lives longer
// than ttl was not written as configured, and its date would lie in the future.
func began(expiry, now int64, ttl time.Duration) time.Time {
	if expiry < 0 || ttl <= 0 || expiry-now > ttl.Milliseconds()+1000 {
		return time.Time{}
	}
	return time.UnixMilli(expiry).Add(-ttl)
}

// older keeps m if it is among the oldest processing markers: those without expiry first, then by age.
func (t *tally) older(key string, m dedup.Marker) {
	oldest := t.pass.OldestProcessing
	i, _ := slices.BinarySearchFunc(oldest, m, func(a, b dedup.Marker) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return -1
	})
	if i == maxOldest {
		return
	}
	if len(oldest) == maxOldest {
		oldest = oldest[:maxOldest-1]
	}
	t.pass.OldestProcessing = slices.Insert(oldest, i, t.layout.named(m, key))
}

// retry counts a retry counter.
func (t *tally) retry(key, value string, expiry, now int64) {
	if expiry == gone {
		return
	}
	rule := t.layout.cfg.Retry
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		t.byValue(key, dedup.StateUnknown, "a retry counter with the value "+printable(value), expiry, now)
	case n < int64(rule.GiveUp):
		t.pass.Retrying++
	default:
		at := began(expiry, now, rule.TTL)
		if len(t.pass.GaveUpMarkers) < dedup.MaxListed && len(key) <= maxSampleKey {
			t.pass.GaveUpMarkers = append(t.pass.GaveUpMarkers, dedup.Marker{Store: t.layout.cfg.Name, Key: key,
				ID: strings.TrimPrefix(key, t.layout.retry.prefix), State: dedup.Failed, Attempts: &n, Since: at})
		}
		if at.IsZero() {
			t.pass.UndatedGaveUp++
			return
		}
		t.pass.GaveUp.Add(at)
	}
}
