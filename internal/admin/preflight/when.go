package preflight

import (
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// Evidence is what the prediction for one message rests on, so that it can be made for any time of consumption.
type Evidence struct {
	line *preflightPipeline
	// facts are those of the message, marker what the store holds of it, lock what the store of the locks holds; nil for nothing.
	facts        LetterFacts
	marker, lock *dedup.Sighting
	// lockFailed says why the lock could not be looked up; empty when it could.
	lockFailed string
}

// Kept returns the evidence without values; nil where something cannot be decoded, which no time changes.
func (e *Evidence) Kept() *Evidence {
	k := *e
	for _, m := range []**dedup.Sighting{&k.marker, &k.lock} {
		switch {
		case *m == nil:
		case (*m).State == dedup.StateUnknown:
			return nil
		default:
			*m = admin.WithoutValue(**m)
		}
	}
	return &k
}

// at predicts the message when it is consumed at a time.
func (e *Evidence) at(t time.Time) Prediction {
	facts := e.facts
	facts.At = t
	p := Predict(e.line.store.SchemeOrZero(), e.marker, facts)
	if e.line.lock != nil {
		facts.StoreFailed = e.lockFailed
		p = underLock(p, e.line.lock.store.SchemeOrZero(), e.lock, facts)
	}
	return p
}

// About predicts the message when it is consumed at about a time: before is how much sooner that may be, after how much later. Where the
// class depends on that, it is the one that warns most.
func (e *Evidence) About(t time.Time, before, after time.Duration) Prediction {
	p, soon, late := e.at(t), e.at(t.Add(-before)), e.at(t.Add(after))
	if soon.Class == p.Class && late.Class == p.Class {
		return p
	}
	reasons := append(slices.Clone(p.Reasons), e.edge(t, before, after)+fmt.Sprintf(": %s if sooner, %s if later", soon.Words(), late.Words()))
	for _, other := range []Prediction{soon, late} {
		if gravity(other.Class) > gravity(p.Class) {
			p = other
		}
	}
	p.Reasons = reasons
	return p
}

// edge says what happens at about that time.
func (e *Evidence) edge(t time.Time, before, after time.Duration) string {
	for _, x := range []struct {
		name string
		m    *dedup.Sighting
	}{{"marker", e.marker}, {"lock", e.lock}} {
		if x.m == nil || ours(x.m).IsZero() {
			continue
		}
		if ends := ours(x.m); !ends.Before(t.Add(-before-endMargin)) && !ends.After(t.Add(after+endMargin)) {
			return fmt.Sprintf("its %s ends at %s, about when the message is expected at %s", x.name, admin.Stamp(ends), admin.Stamp(t))
		}
	}
	return fmt.Sprintf("it depends on when exactly the message is consumed, which is expected at %s", admin.Stamp(t))
}

// gravity orders the classes by how much they warn.
func gravity(c Class) int {
	return slices.Index([]Class{
		ClassRuns, ClassSkipped, ClassLastAttempt, ClassMayRunTwice, ClassBlocks, ClassPerhapsSwallowed, ClassSwallowed, ClassUnknown,
	}, c)
}
