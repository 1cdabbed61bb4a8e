package marker

import (
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// stores are the stores whose single markers can be read, with what the newest round says of each, by which markers are judged.
type stores struct {
	known     map[string]*Store
	snapshots admin.Snapshots
	judgeBy   func(dedup.Marker, dedup.Evidence, dedup.Scheme) (dedup.Verdict, []string)
	readOnly  bool
	now       func() time.Time
}

// WhyNot returns why markers of a store cannot be changed, in words for a page, and "" when they can.
func (s stores) WhyNot(store string) string {
	st, ok := s.known[store]
	switch {
	case !ok:
		return "there is no store " + admin.Printable(store, 64)
	case s.readOnly:
		return admin.ReadOnly
	case st.Reader == nil:
		return "store " + store + " cannot be read marker by marker"
	case st.Actor == nil:
		return "store " + store + " has no act credentials in the configuration"
	}
	return ""
}

// acting returns a store whose markers can be changed.
func (s stores) acting(store string) (*Store, error) {
	if why := s.WhyNot(store); why != "" {
		kind := dedup.Forbidden
		if s.known[store] == nil {
			kind = dedup.NotFound
		}
		return nil, &dedup.Error{Kind: kind, Public: "Markers cannot be changed: " + why}
	}
	return s.known[store], nil
}

// reading returns a store whose markers can be read.
func (s stores) reading(store string) (*Store, error) {
	st, ok := s.known[store]
	if !ok {
		return nil, admin.NotFound("There is no store " + admin.Printable(store, 64))
	}
	if st.Reader == nil {
		return nil, admin.Unavailable("Store " + store + " cannot be read marker by marker")
	}
	return st, nil
}

// view returns what is known of a store at this moment. Evidence that is too old counts as missing.
func (s stores) view(store string) view {
	snap := s.snapshots.Snapshot()
	if snap == nil {
		return view{evidence: dedup.Evidence{Missing: "no round of observation has ended yet"}}
	}
	for i := range snap.Stores {
		if st := &snap.Stores[i]; st.Name == store {
			v := view{evidence: st.Evidence, pass: st.Stats.Pass}
			age := s.now().Sub(snap.At)
			if v.evidence.Missing == "" && age > max(staleAfter, staleRounds*snap.Interval) {
				v.evidence.Missing = "the newest observation is " + admin.Span(age) + " old"
			}
			return v
		}
	}
	return view{evidence: dedup.Evidence{Missing: "the store has not been observed yet"}}
}

// judge gives the verdict on a marker that was read live at a moment by our clock; it is empty unless the marker is
// processing. The evidence is taken as of that reading: what the broker showed afterwards does not tell of it.
func (s stores) judge(v view, st *Store, mk dedup.Marker, read time.Time) (dedup.Verdict, []string) {
	if mk.State != dedup.Processing {
		return "", nil
	}
	if read.IsZero() {
		read = s.now()
	}
	mk.FirstSeen = v.firstSeen(mk, st.Scheme, read)
	v.evidence.At = read
	return s.judgeBy(mk, v.evidence, st.Scheme)
}

// judgeListed gives the verdict on a marker of a list of the last pass, as of that pass.
func (s stores) judgeListed(v view, st *Store, mk dedup.Marker) (dedup.Verdict, []string) {
	if mk.State != dedup.Processing {
		return "", nil
	}
	return s.judgeBy(mk, v.evidence, st.Scheme)
}
