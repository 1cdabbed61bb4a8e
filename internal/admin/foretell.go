package admin

import (
	"context"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A markerFinder finds markers by message ids.
type markerFinder interface {
	// Find returns for each id its marker as it is now, without the value, in the same order; nil where there is none.
	Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error)
}

// A LetterStore is a store as preflight sees it.
type LetterStore struct {
	Name   string
	Scheme dedup.Scheme
	// Finder is nil where the kind of store cannot be searched by ids.
	Finder markerFinder
}

// PredictInput is what a prediction rests on.
type PredictInput struct {
	Letter Letter
	// Scheme is that of the pipeline's store; nil for a pipeline without one.
	Scheme *dedup.Scheme
	Marker *dedup.Sighting
	// Failed says why the store could not be asked; empty when it could.
	Failed string
	// At is the expected time of consumption.
	At time.Time
}

const (
	// findBatch is how many ids are looked up at once.
	findBatch = 1000
	// findTimeout bounds one look-up.
	findTimeout = 5 * time.Second
)

// foretell fills the marker and the prediction of letters that are expected to be consumed at a time, and says why no marker could be
// looked up; empty when they could. What is nobody's fault, a message without an id, is no failure.
func (d *DeadLetters) foretell(ctx context.Context, l line, letters []Letter, at time.Time) (failed string) {
	var ids []string
	for i := range letters {
		if letters[i].ID != "" {
			ids = append(ids, letters[i].ID)
		}
	}
	slices.Sort(ids)
	found, err := d.find(ctx, l, slices.Compact(ids))
	if err != nil {
		failed = words(err)
	}
	for i := range letters {
		letter := &letters[i]
		in := PredictInput{Failed: failed, At: at}
		if l.store != nil {
			in.Scheme = &l.store.Scheme
		}
		if s := found[letter.ID]; s != nil && letter.ID != "" {
			letter.Marker = withoutValue(*s)
		}
		in.Letter, in.Marker = *letter, letter.Marker
		letter.Prediction = d.deps.Predict(in)
	}
	return failed
}

// find looks ids up in the store of a line, each once. Those without a marker are not in the answer.
func (d *DeadLetters) find(ctx context.Context, l line, ids []string) (map[string]*dedup.Sighting, error) {
	if l.store == nil || len(ids) == 0 {
		return nil, nil
	}
	if l.store.Finder == nil {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "Store " + l.store.Name + " cannot be searched by message ids"}
	}
	found := map[string]*dedup.Sighting{}
	for batch := range slices.Chunk(ids, findBatch) {
		sightings, err := findSome(ctx, l.store, batch)
		if err != nil {
			return nil, err
		}
		for i, s := range sightings {
			if s != nil {
				found[batch[i]] = s
			}
		}
	}
	return found, nil
}

func findSome(ctx context.Context, st *LetterStore, ids []string) ([]*dedup.Sighting, error) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	sightings, err := st.Finder.Find(ctx, ids)
	if err == nil && len(sightings) != len(ids) {
		err = &dedup.Error{Kind: dedup.Unavailable, Public: "Store " + st.Name + " gave another number of answers than was asked for"}
	}
	if err != nil {
		return nil, readable(st.Name, err)
	}
	return sightings, nil
}
