package admin

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// staleRounds is after how many intervals without news evidence proves nothing, but never before staleAfter.
	staleRounds = 3
	staleAfter  = time.Minute
	// sameExpiry is how far two readings of one expiry may differ: servers before Redis 7 say only what is left.
	sameExpiry = time.Second
)

// A view is what the newest round says of one store.
type view struct {
	evidence dedup.Evidence
	pass     *dedup.Pass // nil before the first complete one
}

// view returns what is known of a store at this moment. Evidence that is too old counts as missing.
func (m *Markers) view(store string) view {
	snap := m.deps.Snapshots.Snapshot()
	if snap == nil {
		return view{evidence: dedup.Evidence{Missing: "no round of observation has ended yet"}}
	}
	for i := range snap.Stores {
		if st := &snap.Stores[i]; st.Name == store {
			v := view{evidence: st.Evidence, pass: st.Stats.Pass}
			age := m.deps.Now().Sub(snap.At)
			if v.evidence.Missing == "" && age > max(staleAfter, staleRounds*snap.Interval) {
				v.evidence.Missing = "the newest observation is " + span(age) + " old"
			}
			return v
		}
	}
	return view{evidence: dedup.Evidence{Missing: "the store has not been observed yet"}}
}

// judge gives the verdict on a marker; it is empty unless the marker is processing.
func (m *Markers) judge(v view, st *MarkerStore, mk dedup.Marker) (dedup.Verdict, []string) {
	if mk.State != dedup.Processing {
		return "", nil
	}
	if mk.FirstSeen.IsZero() {
		mk.FirstSeen = v.firstSeen(mk)
	}
	return m.deps.Judge(mk, v.evidence, st.Scheme)
}

// firstSeen returns when a pass first saw the marker as it still is. One that is dated and in no list was born after the
// pass began, provided that nothing was left off the list; a date that says otherwise comes of a wrong time to live.
func (v view) firstSeen(mk dedup.Marker) time.Time {
	if v.pass == nil {
		return time.Time{}
	}
	for _, list := range [][]dedup.Marker{v.pass.OldestProcessing, v.pass.Permanent} {
		for i := range list {
			seen := &list[i]
			if seen.Key == mk.Key && seen.State == mk.State && seen.Owner == mk.Owner && sameExpiries(seen.Expires, mk.Expires) {
				return seen.FirstSeen
			}
		}
	}
	if !mk.Since.IsZero() && v.beyond(ProcessingList) == 0 {
		return v.pass.Started
	}
	return time.Time{}
}

func sameExpiries(a, b time.Time) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() && b.IsZero()
	}
	return a.Sub(b).Abs() <= sameExpiry
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
		for _, n := range v.pass.NoExpiry {
			counted += n
		}
	case GaveUpList:
		counted = v.pass.GaveUp.Total() + v.pass.UndatedGaveUp
	}
	return int(max(0, counted-int64(len(v.list(name)))))
}
