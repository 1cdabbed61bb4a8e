package events

import (
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// followers hand the events of single markers on, for as long as somebody wants them.
type followers struct {
	mu  sync.Mutex
	all map[*follower]bool
}

// An follower is who wants them. Missed is true once one may have been.
type follower struct {
	take   func(dedup.StoreEvent)
	missed bool
}

func (f *followers) add(take func(dedup.StoreEvent), listening bool) *follower {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[*follower]bool{}
	}
	x := &follower{take: take, missed: !listening}
	f.all[x] = true
	return x
}

// remove ends following, and reports whether nothing was missed.
func (f *followers) remove(x *follower) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, x)
	return !x.missed
}

// gap notes that events may have been missed.
func (f *followers) gap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for x := range f.all {
		x.missed = true
	}
}

func (f *followers) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all) > 0
}

// report hands on what a notification was: what it changed in the counts.
func (f *followers) report(id string, at time.Time, before, after dedup.EventCounts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for x := range f.all {
		switch {
		case before.Epoch != after.Epoch:
			x.missed = true
		case after.Completions+after.Again > before.Completions+before.Again:
			x.take(dedup.StoreEvent{ID: id, Kind: dedup.MarkerCompleted, At: at})
		case after.Failures > before.Failures:
			x.take(dedup.StoreEvent{ID: id, Kind: dedup.MarkerFailed, At: at})
		case after.Claims > before.Claims:
			x.take(dedup.StoreEvent{ID: id, Kind: dedup.MarkerClaimed, At: at})
		}
	}
}

// Follow hands the events of single markers to take until stop is called, which reports whether none was missed.
func (l *Listener) Follow(take func(dedup.StoreEvent)) (stop func() bool, ok bool) {
	x := l.followers.add(take, l.Figures().Listening)
	return func() bool { return l.followers.remove(x) }, !x.missed
}
