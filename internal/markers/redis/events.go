package redis

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis/layout"
)

// Acquaint lets a store tell what an actor does to its markers from what consumers do: the expiries that it gives, and where the
// store follows its notifications all else too. It is called before the actor acts.
func Acquaint(watching markers.Store, acting markers.Actor) {
	s, watched := watching.(*store)
	a, acts := acting.(*actor)
	if !watched || !acts {
		return
	}
	a.layout.Late = s.layout.Late
	if s.events != nil {
		a.own = s.events.Own
		a.servers.One().AddHook(s.events.Missed)
	}
}

// Follow hands each claim, completion and failure of a marker to take, as its notification comes, until stop is called, which reports whether
// none was missed. Take must not wait. It is not ok where no events are listened to.
func (s *store) Follow(take func(dedup.StoreEvent)) (stop func() bool, ok bool) {
	if s.events == nil {
		return nil, false
	}
	return s.events.Follow(take)
}

// EventsAt returns what the store's events came to by a time of the last seconds; not ok where none are listened to, and until the
// server has answered after that time.
func (s *store) EventsAt(when time.Time) (dedup.EventCounts, bool) {
	if s.events == nil {
		return dedup.EventCounts{}, false
	}
	return s.events.CountsAt(when)
}

// Sampled notes that the unacked messages were sampled just now, and returns what such samples met of the works that have ended; not ok where no
// events are listened to.
func (s *store) Sampled(at float64) (dedup.WorkMet, bool) {
	if s.events == nil {
		return dedup.WorkMet{}, false
	}
	return s.events.Sampled(at), true
}

// Remember tells a store of a marker that an earlier run of the program gave an expiry: seen is the marker as it was before, with
// the time since which it is known, expires what it got in milliseconds since 1970, at when by our clock. Kinds that date their
// markers otherwise need it not.
func Remember(watching markers.Store, seen dedup.Sighting, expires int64, at time.Time) {
	if s, ok := watching.(*store); ok {
		s.layout.Late.Note(seen.Key, layout.LateExpiry{Expires: expires, Seen: layout.KnownSince(seen), At: at})
	}
}
