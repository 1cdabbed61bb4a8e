package deadletter

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

// A Preflighter predicts what a requeue would do to messages: a Preflighter.
type Preflighter interface {
	Preflight(ctx context.Context, pipeline string, letters []dedup.DeadLetter, at time.Time) (preflight.Predictions, error)
}

// A Predictor looks up what stores hold of letters, and says what a requeue would do to them. It is safe for concurrent use.
type Predictor struct {
	preflight Preflighter
	queues    *Queues
	log       *slog.Logger
}

// NewPredictor returns a Predictor for the queues.
func NewPredictor(preflight Preflighter, queues *Queues, log *slog.Logger) *Predictor {
	return &Predictor{preflight: preflight, queues: queues, log: log}
}

// Foretell fills the markers and predictions of letters that are expected to be consumed at a time, and says why no marker could
// be looked up; empty when they could.
func (p *Predictor) Foretell(ctx context.Context, l Queue, letters []Letter, at time.Time) (failed string) {
	if len(letters) == 0 {
		return ""
	}
	dead := make([]dedup.DeadLetter, len(letters))
	for i := range letters {
		dead[i] = letters[i].DeadLetter
	}
	r, err := p.preflight.Preflight(ctx, l.Pipeline.Name, dead, at)
	if err == nil && len(r.Letters) != len(letters) {
		err = fmt.Errorf("%d predictions of %d messages", len(r.Letters), len(letters))
	}
	if err != nil {
		p.log.Error("messages could not be predicted", "pipeline", l.Pipeline.Name, "err", err)
		failed = ErrorText(err)
		for i := range letters {
			letters[i].Marker, letters[i].Alone, letters[i].Evidence, letters[i].Prediction = nil, nil, nil, preflight.Prediction{Class: preflight.ClassUnknown, Reasons: []string{"its marker could not be looked up: " + failed}}
		}
		return failed
	}
	for i := range letters {
		x := &r.Letters[i]
		letters[i].ID, letters[i].NoID, letters[i].Prediction, letters[i].Alone, letters[i].Evidence = x.ID, x.NoID, x.Prediction, x.Alone, x.Evidence.Kept()
		if other := p.queues.rulesOf(l, letters[i].Target); other != "" {
			letters[i].Alone, letters[i].Evidence = nil, nil
			letters[i].Prediction = preflight.Because(preflight.ClassUnknown, "it goes to queue "+admin.Printable(letters[i].Target, 255)+" of pipeline "+other+", whose rules are others: look at the dead-letter queue from there")
		}
		if letters[i].Marker = nil; x.Marker != nil {
			letters[i].Marker = admin.WithoutValue(*x.Marker)
		}
	}
	return r.StoreFailed
}

// findTimeout bounds one look-up of markers.
const findTimeout = 10 * time.Second

// Find looks ids up in the store of a line, each once. Those without a marker are not in the answer.
func (p *Predictor) Find(ctx context.Context, l Queue, ids []string) (map[string]*dedup.Sighting, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if l.Store == nil || l.Store.Finder == nil || len(ids) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	found := map[string]*dedup.Sighting{}
	for batch := range slices.Chunk(ids, preflight.MostSought) {
		sightings, err := l.Store.Finder.Find(ctx, batch)
		if err == nil && len(sightings) != len(batch) {
			err = fmt.Errorf("%d answers to %d ids", len(sightings), len(batch))
		}
		if err != nil {
			return nil, admin.Readable(l.Store.Name, err)
		}
		for i, s := range sightings {
			if s != nil {
				found[batch[i]] = s
			}
		}
	}
	return found, nil
}
