package pace

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// mostFindable is how many ids one Find takes.
const mostFindable = 10_000

// Finding collects what a Find finds. An id that stands twice is looked for once, one that consumers can spell in two ways under both.
type Finding struct {
	store string
	// asked are the ids as they were asked for, which is the order of the answer.
	asked []string
	// IDs are those to look for, each once.
	IDs []string
	// found is what is known of an id; refused are those of them that the store cannot hold.
	found   map[string]*dedup.Sighting
	refused map[string]bool
}

// NewFinding returns an empty finding of the ids, at most 10,000.
func NewFinding(store string, ids []string) (*Finding, error) {
	if len(ids) > mostFindable {
		return nil, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("%d ids were asked for; at most %d are looked for at once", len(ids), mostFindable)}
	}
	f := &Finding{store: store, asked: ids, found: make(map[string]*dedup.Sighting, len(ids)), refused: map[string]bool{}}
	for _, id := range ids {
		for _, spelled := range message.Spellings(id) {
			f.seek(spelled)
		}
	}
	return f, nil
}

// seek adds an id to those that are looked for.
func (f *Finding) seek(id string) {
	if _, known := f.found[id]; known || id == "" {
		return
	}
	f.found[id] = nil
	if len(id) > message.LongestID {
		f.found[id] = CannotHold(f.store, "", fmt.Sprintf("the id has %d bytes; at most %d are looked for", len(id), message.LongestID))
		return
	}
	f.IDs = append(f.IDs, id)
}

// Found notes what was found under one of IDs.
func (f *Finding) Found(id string, s *dedup.Sighting) {
	f.found[id] = s
	delete(f.refused, id)
}

// Refused notes why the store cannot hold one of IDs.
func (f *Finding) Refused(id, why string) {
	f.found[id] = CannotHold(f.store, id, why)
	f.refused[id] = true
}

// Sightings returns what was found of each id that was asked for; nil where nothing was.
func (f *Finding) Sightings() []*dedup.Sighting {
	all := make([]*dedup.Sighting, len(f.asked))
	for i, id := range f.asked {
		all[i] = f.either(id, message.BareID(id))
	}
	return all
}

// either returns the marker of a message whose consumers keep it under one of two spellings of its id. One that the store cannot hold
// is none of theirs; with a marker under both it cannot be known for which one they ask.
func (f *Finding) either(id, bare string) *dedup.Sighting {
	whole, other := f.found[id], f.found[bare]
	switch {
	case bare == id, f.refused[bare], other == nil && !f.refused[id]:
		return whole
	case f.refused[id], whole == nil:
		return other
	}
	return CannotHold(f.store, id, "there is a marker under it and one under its UUID alone, and which of the two consumers ask for is not known")
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
	return f.Sightings(), nil
}
