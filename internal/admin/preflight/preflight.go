package preflight

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// markerFinder looks up the markers of many messages at once.
type markerFinder interface {
	// Find returns the markers of the messages with these ids in the same order, nil where there is none; at most 10,000.
	Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error)
}

const (
	// MostSought is how many ids one look-up takes.
	MostSought = 10_000
	// preflightTimeout bounds the look-ups of one preflight in one store.
	preflightTimeout = 10 * time.Second
	// clockSlack is how far in the future a message may say that it was made: publishers' clocks differ.
	clockSlack = time.Hour
)

// A Store is a dedup store as a preflight needs it.
type Store struct {
	Name   string
	Scheme dedup.Scheme
	Finder markerFinder
}

// idFolder is a markerFinder that takes several ids for one.
type idFolder interface {
	// FoldID returns the same text for ids that the store takes for one.
	FoldID(id string) string
}

// Fold returns the same text for ids that the store takes for one, and for both spellings of a UUID.
func (s *Store) Fold(id string) string {
	id = message.BareID(id)
	if s == nil {
		return id
	}
	if folder, ok := s.Finder.(idFolder); ok {
		return folder.FoldID(id)
	}
	return id
}

// SchemeOrZero is that of the store; the zero one without a store.
func (s *Store) SchemeOrZero() dedup.Scheme {
	if s == nil {
		return dedup.Scheme{}
	}
	return s.Scheme
}

// A Preflighter predicts what a requeue will do to messages. It reads the stores and changes nothing. It is safe for concurrent
// use; at most two preflights ask one store at once.
type Preflighter struct {
	pipelines map[string]preflightPipeline
}

type preflightPipeline struct {
	id message.IDSource
	// store is nil for a pipeline without one.
	store *Store
	turns admin.Turnstile
	// lock is the line of the store of its locks; nil for a pipeline whose consumers take none beside their marker.
	lock *preflightPipeline
}

// New returns a Preflighter for these pipelines and the stores that they name.
func New(pipelines []dedup.Pipeline, stores []Store) (*Preflighter, error) {
	p := &Preflighter{pipelines: make(map[string]preflightPipeline, len(pipelines))}
	turns := map[string]admin.Turnstile{}
	for _, line := range pipelines {
		id, err := message.ParseIDSource(line.IDFrom)
		if err != nil {
			return nil, fmt.Errorf("pipeline %s: id.from: %w", line.Name, err)
		}
		known := preflightPipeline{id: id}
		over := func(store string) error {
			i := slices.IndexFunc(stores, func(s Store) bool { return s.Name == store })
			if i < 0 {
				return fmt.Errorf("pipeline %s: there is no store %s", line.Name, store)
			}
			if turns[store] == nil {
				turns[store] = make(admin.Turnstile, admin.LiveReads)
			}
			known.store, known.turns = &stores[i], turns[store]
			return nil
		}
		if line.Lock != "" {
			if err := over(line.Lock); err != nil {
				return nil, err
			}
			lock := known
			known.lock = &lock
		}
		if line.Store != "" {
			if err := over(line.Store); err != nil {
				return nil, err
			}
		}
		p.pipelines[line.Name] = known
	}
	return p, nil
}

// A Predicted is one message of a preflight.
type Predicted struct {
	// ID is the message id under the pipeline's rule; empty when it has none, and NoID says why.
	ID   string
	NoID string
	// BusinessKey names what the message is about, where the store keeps it with the marker.
	BusinessKey string
	// Marker is what the store holds of it, without the value; nil when it has no marker or the store could not be asked.
	Marker *dedup.Sighting
	Prediction
	// Alone is what would become of it if it alone were requeued, where another of the messages before it has its id and changes their
	// marker; nil elsewhere.
	Alone *Prediction
	// Evidence makes the prediction for another time.
	Evidence *Evidence
}

// A Predictions is the prediction for several messages.
type Predictions struct {
	// Letters are in the order of the messages.
	Letters []Predicted
	// StoreFailed says why no marker could be looked up; empty when they could.
	StoreFailed string
	Classes     Tally
}

// Preflight predicts what becomes of each message when it is requeued now and consumed at the given time. A store that does not
// answer makes them unknown and is no error.
func (p *Preflighter) Preflight(ctx context.Context, pipeline string, letters []dedup.DeadLetter, at time.Time) (Predictions, error) {
	line, ok := p.pipelines[pipeline]
	if !ok {
		return Predictions{}, admin.NotFound("There is no pipeline " + admin.Printable(pipeline, 80))
	}
	r := Predictions{Letters: make([]Predicted, len(letters)), Classes: Tally{}}
	facts := make([]LetterFacts, len(letters))
	for i := range letters {
		facts[i] = line.facts(&letters[i], at)
		r.Letters[i].ID, r.Letters[i].NoID = facts[i].ID, facts[i].NoID
	}
	scheme := line.store.SchemeOrZero()
	if line.store != nil {
		if err := line.lookUp(ctx, r.Letters); err != nil {
			if ctx.Err() != nil {
				return Predictions{}, admin.Readable(line.store.Name, err)
			}
			r.StoreFailed = dedup.PublicText(err)
		}
	}
	locks, err := line.lookUpLocks(ctx, r.Letters)
	if err != nil {
		return Predictions{}, err
	}
	first := make(map[string]*Predicted, len(letters))
	for i := range r.Letters {
		x := &r.Letters[i]
		if r.StoreFailed != "" {
			x.Marker, facts[i].StoreFailed = nil, r.StoreFailed
		}
		if x.Marker != nil && x.Marker.Other == nil {
			x.BusinessKey = x.Marker.BusinessKey
		}
		x.Evidence = &Evidence{line: &line, facts: facts[i], marker: x.Marker, lockFailed: locks.failed}
		if line.lock != nil {
			x.Evidence.lock = locks.markers[i].Marker
		}
		x.Prediction = x.Evidence.at(at)
		key := line.store.Fold(x.ID)
		if other := first[key]; other == nil {
			first[key] = x
		} else if x.ID != "" && other.writes(scheme) {
			alone := x.Prediction
			x.Alone, x.Prediction = &alone, Because(ClassUnknown, AnotherBefore)
		}
		r.Classes[x.Class]++
	}
	return r, nil
}

// AnotherBefore is why nothing can be said of the second of two messages with one id.
const AnotherBefore = "another of these messages, before it, has the same id, or one that the store takes for the same: what becomes of this one depends on what becomes of that one"

// writes reports whether a message changes the marker of its id when it is sent again, so that a copy of it finds another one.
func (x *Predicted) writes(s dedup.Scheme) bool {
	runs := x.Class == ClassRuns || x.Class == ClassLastAttempt || x.Class == ClassMayRunTwice
	return runs && s.HasStore() && !s.Lock
}

func (l preflightPipeline) facts(letter *dedup.DeadLetter, at time.Time) LetterFacts {
	id := l.id.Identify(letter.Message)
	return LetterFacts{ID: id.ID, NoID: id.Why, Unreadable: id.ID == "" && !id.Absent, Born: born(letter, at), At: at}
}

// born returns the earliest time that a message tells of. What lies in the future, or before there was AMQP, is no time.
func born(letter *dedup.DeadLetter, at time.Time) time.Time {
	var first time.Time
	for _, t := range []time.Time{letter.Timestamp, letter.FirstDied()} {
		if t.Year() >= 2006 && t.Before(at.Add(clockSlack)) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// lookUp finds the markers of the letters that have an id.
func (l preflightPipeline) lookUp(ctx context.Context, letters []Predicted) error {
	var ids []string
	var places []int
	for i := range letters {
		if letters[i].ID != "" {
			ids, places = append(ids, letters[i].ID), append(places, i)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := l.turns.Enter(ctx, l.store.Name); err != nil {
		return err
	}
	defer l.turns.Leave()
	ctx, cancel := context.WithTimeout(ctx, preflightTimeout)
	defer cancel()
	for part := range slices.Chunk(ids, MostSought) {
		found, err := l.store.Finder.Find(ctx, part)
		if err == nil && len(found) != len(part) {
			err = fmt.Errorf("%d answers to %d ids", len(found), len(part))
		}
		if err != nil {
			return admin.Readable(l.store.Name, err)
		}
		for i, s := range found {
			letters[places[i]].Marker = s
		}
		places = places[len(part):]
	}
	return nil
}
