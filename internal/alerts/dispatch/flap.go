package dispatch

import (
	"maps"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

const (
	// FlapWindow is within which time so many edges make an alert flap, and for how long it must have had none to be calm again.
	FlapWindow = 15 * time.Minute
	flapEdges  = 4
	// flapTurns is how often it must have turned from rising to falling or back among them: a spike that rises through all tiers and
	// falls again has as many edges, and is no flapping.
	flapTurns = 2
)

// A turn is an edge as the count of edges knows it.
type turn struct {
	at      time.Time
	rises   bool
	highest dedup.Tier
}

// flaps knows which alerts change too often.
type flaps struct {
	recent map[rule.Key][]turn
	since  map[rule.Key]time.Time
}

func newFlaps() flaps {
	return flaps{recent: map[rule.Key][]turn{}, since: map[rule.Key]time.Time{}}
}

// restore goes on with an alert that was known to flap.
func (f *flaps) restore(k rule.Key, flapping time.Time) {
	if !flapping.IsZero() {
		f.since[k] = flapping
	}
}

// note counts an edge, once however often it is told: a plan that was undone brings it again.
func (f *flaps) note(at time.Time, e alerts.Transition) {
	k, t := e.Judgement.Key, turn{at: e.Edge.At, rises: e.To > e.From, highest: max(e.From, e.To)}
	if t.at.After(at) {
		t.at = at // the clock was set back
	}
	f.recent[k] = newTurns(f.recent[k], at)
	for _, known := range f.recent[k] {
		if known.at.Equal(t.at) { // an evaluation makes one edge at most
			return
		}
	}
	f.recent[k] = append(f.recent[k], t)
	if _, flapping := f.since[k]; !flapping && unsteady(f.recent[k]) {
		f.since[k] = t.at.Truncate(time.Millisecond) // as it is kept
	}
}

// age forgets edges that are older than the window, and ends the flapping of alerts that have none left.
func (f *flaps) age(at time.Time) {
	for k, turns := range f.recent {
		if f.recent[k] = newTurns(turns, at); len(f.recent[k]) == 0 {
			delete(f.recent, k)
		}
	}
	maps.DeleteFunc(f.since, func(k rule.Key, _ time.Time) bool { return len(f.recent[k]) == 0 })
}

// newTurns returns those within the window. An edge later than now, because the clock was set back, counts as one of now.
func newTurns(turns []turn, at time.Time) []turn {
	kept := make([]turn, 0, len(turns)+1)
	for _, t := range turns {
		if t.at.After(at) {
			t.at = at
		}
		if at.Sub(t.at) < FlapWindow {
			kept = append(kept, t)
		}
	}
	return kept
}

func unsteady(turns []turn) bool {
	turned := 0
	for i := 1; i < len(turns); i++ {
		if turns[i].rises != turns[i-1].rises {
			turned++
		}
	}
	return len(turns) >= flapEdges && turned >= flapTurns
}

// peak returns the highest tier of an alert within the window.
func (f *flaps) peak(k rule.Key) dedup.Tier {
	highest := dedup.Normal
	for _, t := range f.recent[k] {
		highest = max(highest, t.highest)
	}
	return highest
}

// Flapping returns since when the edges of an alert are told in digests only; zero while they are not.
func (d *Dispatcher) Flapping(k rule.Key) time.Time { return d.flaps.since[k] }
