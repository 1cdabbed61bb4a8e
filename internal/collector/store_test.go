package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// That consumers set an expiry is seen from markers that they wrote, not from one that was given its expiry from here.
func TestAnExpiryThatWeGaveSaysNothingOfConsumers(t *testing.T) {
	marker := dedup.Marker{State: dedup.Processing, Expires: at(300), ExpirySet: at(1)}
	pass := func(second float64) *dedup.Pass {
		return &dedup.Pass{Ended: at(second), States: map[dedup.State]int64{dedup.Processing: 2}, NoExpiry: map[dedup.State]int64{dedup.Processing: 1},
			OldestProcessing: []dedup.Marker{{State: dedup.Processing}, marker}}
	}
	var w storeWatch
	if w.notePass(pass(2), time.Hour); w.setsExpiry {
		t.Error("it is taken for the consumers'")
	}
	marker.ExpirySet = time.Time{}
	if w.notePass(pass(3), time.Hour); !w.setsExpiry {
		t.Error("an expiry of the consumers' is not seen")
	}
}

// Done markers that somebody deleted would pass for duplicates: the acks of their messages are counted, their completions no longer are.
func TestAPassThatMissesCompletionsOfTheOneBeforeDisturbsTheStore(t *testing.T) {
	pass := func(second float64, completions int) *dedup.Pass {
		p := &dedup.Pass{Started: at(second - 1), Ended: at(second)}
		for i := range completions {
			p.Completions.Add(at(float64(i)))
		}
		p.Completions.Freeze()
		return p
	}
	for name, tt := range map[string]struct {
		life      time.Duration
		later     *dedup.Pass
		disturbed bool
	}{
		"an emptied store":                   {2 * time.Hour, pass(320, 0), true},
		"an emptied store without expiries":  {0, pass(320, 0), true},
		"a third of them deleted":            {2 * time.Hour, pass(320, 200), true},
		"some that were done again":          {2 * time.Hour, pass(320, 290), false},
		"nothing missing":                    {2 * time.Hour, pass(320, 310), false},
		"those that have expired since then": {10 * time.Minute, pass(320, 0), false},
	} {
		w := &storeWatch{}
		w.notePass(pass(301, 300), tt.life)
		if w.notePass(tt.later, tt.life); w.told.Disturbed.Equal(tt.later.Ended) != tt.disturbed || tt.disturbed != strings.Contains(w.told.DisturbedWhy, "deleted") {
			t.Errorf("%s: disturbed at %v, %q", name, w.told.Disturbed, w.told.DisturbedWhy)
		}
	}
}

// at is a second of these tests.
func at(s float64) time.Time {
	return time.Date(2026, 3, 4, 3, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
}

// TestEvictionsOfOtherKeysTakeNoMarker: a cache on the same server may evict all day long. What events tell is believed while they come.
func TestEvictionsOfOtherKeysTakeNoMarker(t *testing.T) {
	tells := func(epoch, evicted int64) *dedup.StoreEvents {
		return &dedup.StoreEvents{Listening: true, TellsEvicted: true, Epoch: epoch, Evicted: evicted}
	}
	for name, tt := range map[string]struct {
		before, now *dedup.StoreEvents
		rose, lost  bool
	}{
		"keys of others":                       {tells(1, 4), tells(1, 4), true, false},
		"a marker":                             {tells(1, 4), tells(1, 5), true, true},
		"a marker that was counted before":     {tells(1, 4), tells(1, 5), false, true},
		"nothing":                              {tells(1, 4), tells(1, 4), false, false},
		"events that were missed in between":   {tells(1, 4), tells(2, 0), true, true},
		"events that began to come":            {nil, tells(1, 0), true, true},
		"events that do not tell of evictions": {&dedup.StoreEvents{Listening: true, Epoch: 1}, &dedup.StoreEvents{Listening: true, Epoch: 1}, true, true},
		"no events":                            {nil, nil, true, true},
		"no events, and no evictions":          {nil, nil, false, false},
	} {
		w := &storeWatch{}
		w.lostMarkers(false, tt.before)
		if got := w.lostMarkers(tt.rose, tt.now); got != tt.lost {
			t.Errorf("%s: lost markers %v", name, got)
		}
	}
}

// TestEvictionsJustBeforeEventsBreakOffMayBeOfMarkers: the connection that would have told of them may have been dead.
func TestEvictionsJustBeforeEventsBreakOffMayBeOfMarkers(t *testing.T) {
	w := &storeWatch{}
	e := &dedup.StoreEvents{Listening: true, TellsEvicted: true, Epoch: 1}
	w.lostMarkers(false, e)
	if w.lostMarkers(true, e) {
		t.Error("keys of others are taken for markers")
	}
	if !w.lostMarkers(false, &dedup.StoreEvents{Listening: true, TellsEvicted: true, Epoch: 2}) {
		t.Error("what rose before a gap in the events is forgotten")
	}
}
