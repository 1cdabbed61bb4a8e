package marker

import (
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

const (
	// staleRounds is after how many intervals without news evidence proves nothing, but never before staleAfter.
	staleRounds = 3
	staleAfter  = time.Minute
)

// A view is what the newest round says of one store.
type view struct {
	evidence dedup.Evidence
	pass     *dedup.Pass // nil before the first complete one
}

// firstSeen returns since when, by our clock, a marker is known to be there as it still is: since a pass saw the same
// holding, else since this reading, for its date may come of a wrong time to live or zone. Of one without a date and in no
// list it returns zero: how old it is cannot be said.
func (v view) firstSeen(mk dedup.Marker, s dedup.Scheme, read time.Time) time.Time {
	if !mk.FirstSeen.IsZero() { // the store remembers, because its expiry does not tell
		return mk.FirstSeen
	}
	if v.pass != nil {
		for _, list := range [][]dedup.Marker{v.pass.OldestProcessing, v.pass.Permanent} {
			for i := range list {
				if sameHolding(list[i], mk, s) {
					return list[i].FirstSeen
				}
			}
		}
	}
	if mk.Since.IsZero() {
		return time.Time{}
	}
	return read
}

// dated returns a marker that was read live with the moment from which on it is known to be there, where the store keeps no
// time of it: pages show the same lower bound of its age that the verdict counts.
func (v view) dated(mk dedup.Marker, s dedup.Scheme) dedup.Marker {
	if mk.Since.IsZero() && mk.FirstSeen.IsZero() {
		mk.FirstSeen = v.firstSeen(mk, s, time.Time{})
	}
	return mk
}

// sameHolding reports whether a listed marker and one that is there now were set by the same claim. A date that a store
// wrote is equal; one that was computed from the expiry differs by as much as the expiry does. Of a lock the owner and the
// lease tell, because the list dates a renewed one by what we saw.
func sameHolding(listed, now dedup.Marker, s dedup.Scheme) bool {
	if listed.Key != now.Key || listed.State != now.State || listed.Owner != now.Owner || !sameExpiries(listed.Expires, now.Expires) {
		return false
	}
	if s.Lock || listed.Since.Equal(now.Since) {
		return true
	}
	if listed.Since.IsZero() || now.Since.IsZero() || now.Expires.IsZero() {
		return false
	}
	return now.Since.Sub(listed.Since) == now.Expires.Sub(listed.Expires)
}

// list returns a list of the last complete pass.
func (v view) list(name List) []dedup.Marker {
	switch name {
	case ProcessingList:
		return v.pass.OldestProcessing
	case FailedList:
		return v.pass.FailedMarkers
	case PermanentList:
		return v.pass.Permanent
	case GaveUpList:
		return v.pass.GaveUpMarkers
	}
	return nil
}

// beyond returns how many markers of a list's kind the pass counted but did not keep.
func (v view) beyond(name List) int {
	var counted int64
	switch name {
	case ProcessingList:
		counted = v.pass.States[dedup.Processing]
	case FailedList:
		counted = v.pass.States[dedup.Failed]
	case PermanentList:
		if len(v.pass.Permanent) < MaxPlanned {
			return 0 // the list is whole: what was counted beside it has no expiry by its scheme, or could not be decoded
		}
		for state, n := range v.pass.NoExpiry {
			if state != dedup.StateUnknown {
				counted += n
			}
		}
	case GaveUpList:
		counted = v.pass.GaveUp.Total() + v.pass.UndatedGaveUp
	}
	return int(max(0, counted-int64(len(v.list(name)))))
}

// undecoded returns how many markers of a list's kind the pass counted and could not decode: they are in no list.
func (v view) undecoded(name List) int {
	if name == PermanentList {
		return int(v.pass.NoExpiry[dedup.StateUnknown])
	}
	return 0
}

func sameExpiries(a, b time.Time) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() && b.IsZero()
	}
	return a.Sub(b).Abs() <= admin.SameExpiry
}
