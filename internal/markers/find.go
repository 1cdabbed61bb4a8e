package markers

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// mostFindable is how many ids one Find takes.
const mostFindable = 10_000

// finding collects what a Find finds. An id that stands twice is looked for once.
type finding struct {
	// places are the positions of each id in the order of the answer.
	places map[string][]int
	// unique are the ids, each once.
	unique []string
	found  []*dedup.Sighting
}

func newFinding(store string, ids []string) (*finding, error) {
	if len(ids) > mostFindable {
		return nil, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("%d ids were asked for; at most %d are looked for at once", len(ids), mostFindable)}
	}
	f := &finding{places: make(map[string][]int, len(ids)), found: make([]*dedup.Sighting, len(ids))}
	for i, id := range ids {
		switch {
		case len(id) > dedup.LongestID:
			f.found[i] = cannotHold(store, "", fmt.Sprintf("the id has %d bytes; at most %d are looked for", len(id), dedup.LongestID))
			continue
		case f.places[id] == nil && id != "":
			f.unique = append(f.unique, id)
		}
		f.places[id] = append(f.places[id], i)
	}
	return f, nil
}

// is notes what was found under an id.
func (f *finding) is(id string, s *dedup.Sighting) {
	for _, i := range f.places[id] {
		f.found[i] = s
	}
}

// cannotHold is the sighting of an id that the store cannot hold: a consumer that writes it fails.
func cannotHold(store, id, why string) *dedup.Sighting {
	return &dedup.Sighting{Marker: dedup.Marker{Store: store, ID: id, State: dedup.StateUnknown, Detail: why}, ExpiresMillis: dedup.NoExpiry}
}
