package preflight

import (
	"context"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// locksFound are the locks of some letters, or why they could not be looked up.
type locksFound struct {
	markers []Predicted
	failed  string
}

// lookUpLocks finds the locks that consumers take before they look at the markers of the letters. An error is the end of ctx.
func (l preflightPipeline) lookUpLocks(ctx context.Context, letters []Predicted) (found locksFound, err error) {
	if l.lock == nil {
		return found, nil
	}
	found.markers = make([]Predicted, len(letters))
	for i := range letters {
		found.markers[i].ID = letters[i].ID
	}
	if err := l.lock.lookUp(ctx, found.markers); err != nil {
		if ctx.Err() != nil {
			return found, admin.Readable(l.lock.store.Name, err)
		}
		found.failed = dedup.PublicText(err)
	}
	return found, nil
}

// underLock corrects the prediction by the marker for consumers that take a lock first. A marker of done work has the message acked
// whoever holds the lock, now or when it ends. Else a lock that stands in the way then decides; it is not among the markers that are
// cleared first.
func underLock(p Prediction, lock dedup.Scheme, m *dedup.Sighting, l LetterFacts) Prediction {
	if p.Class == ClassSkipped || p.Class == ClassUnknown || l.ID == "" {
		return p
	}
	held := Predict(lock, m, l)
	switch held.Class {
	case ClassBlocks, ClassSwallowed, ClassPerhapsSwallowed:
		held.Reasons = append(held.Reasons, "once it is free: "+p.Words())
	case ClassUnknown:
		held.Reasons = append([]string{"whether its lock is held is not known"}, held.Reasons...)
	default:
		return p
	}
	held.ClearFirst, held.ClearDone, held.MayRepeat = false, false, false
	return held
}
