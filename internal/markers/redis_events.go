package markers

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// Acquaint lets a store tell what an actor does to its markers from what consumers do: the expiries that it gives, and where the
// store follows its notifications all else too. It is called before the actor acts.
func Acquaint(store Store, actor Actor) {
	s, watched := store.(*redisStore)
	a, acting := actor.(*redisActor)
	if !watched || !acting {
		return
	}
	a.layout.gifts = s.layout.gifts
	if s.events != nil {
		a.own = s.events.own
		a.rdb.AddHook(s.events.missed)
	}
}

// Follow hands each claim, completion and failure of a marker to take, as its notification comes, until stop is called, which reports whether
// none was missed. Take must not wait. It is not ok where no events are listened to.
func (s *redisStore) Follow(take func(dedup.StoreEvent)) (stop func() bool, ok bool) {
	if s.events == nil {
		return nil, false
	}
	return s.events.follow(take)
}

// EventsAt returns what the store's events came to by a time of the last seconds; not ok where none are listened to, and until the
// database has answered after that time.
func (s *redisStore) EventsAt(when time.Time) (dedup.EventCounts, bool) {
	if s.events == nil {
		return dedup.EventCounts{}, false
	}
	return s.events.countsAt(when)
}

// Remember tells a store of a marker that an earlier run of the program gave an expiry: seen is the marker as it was before, with
// the time since which it is known, expires what it got in milliseconds since 1970, at when by our clock. Kinds that date their
// markers otherwise need it not.
func Remember(store Store, seen dedup.Sighting, expires int64, at time.Time) {
	if s, ok := store.(*redisStore); ok {
		s.layout.gifts.note(seen.Key, gift{expires, knownSince(seen), at})
	}
}
