package pace

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// mostFindable is how many ids one Find takes.
const mostFindable = 10_000

// Finding collects what a Find finds. An id that stands twice is looked for once.
type Finding struct {
	// places are the positions of each id in the order of the answer.
	places map[string][]int
	// IDs are the ids, each once.
	IDs       []string
	Sightings []*dedup.Sighting
}

// NewFinding returns an empty finding of the ids, at most 10,000.
func NewFinding(store string, ids []string) (*Finding, error) {
	if len(ids) > mostFindable {
		return nil, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("%d ids were asked for; at most %d are looked for at once", len(ids), mostFindable)}
	}
	f := &Finding{places: make(map[string][]int, len(ids)), Sightings: make([]*dedup.Sighting, len(ids))}
	for i, id := range ids {
		switch {
		case len(id) > message.LongestID:
			f.Sightings[i] = CannotHold(store, "", fmt.Sprintf("the id has %d bytes; at most %d are looked for", len(id), message.LongestID))
			continue
		case f.places[id] == nil && id != "":
			f.IDs = append(f.IDs, id)
		}
		f.places[id] = append(f.places[id], i)
	}
	return f, nil
}

// Found notes what was found under an id.
func (f *Finding) Found(id string, s *dedup.Sighting) {
	for _, i := range f.places[id] {
		f.Sightings[i] = s
	}
}

// CannotHold is the sighting of an id that the store cannot hold: a consumer that writes it fails.
func CannotHold(store, id, why string) *dedup.Sighting {
	return &dedup.Sighting{Marker: dedup.Marker{Store: store, ID: id, State: dedup.StateUnknown, Detail: why}, ExpiresMillis: dedup.NoExpiry}
}

// SightingsOf returns the sightings of a finding, unless it could not be made.
func SightingsOf(f *Finding, err error) ([]*dedup.Sighting, error) {
	if err != nil {
		return nil, err
	}
	return f.Sightings, nil
}
