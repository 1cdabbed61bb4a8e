package preflight

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// LetterFacts are what is known of a message beside its marker.
type LetterFacts struct {
	// ID is empty when the message has no id, and NoID says why. Unreadable says that something stands in the place of the id
	// which cannot be looked for.
	ID         string
	NoID       string
	Unreadable bool
	// Born is the earliest time that the message tells of: its publishing, else its first death; zero when it tells none.
	Born time.Time
	// At is when it is expected to be consumed, by our clock.
	At time.Time
	// StoreFailed says why the store could not be asked for its marker; empty when it could.
	StoreFailed string
}

// The words by which a scheme says what consumers do with a marker that they find.
const (
	hitAck  = "ack"
	hitNack = "nack"
	hitRun  = "run"
	hitWait = "wait"
)

const (
	// endMargin is how far the end of a marker and the time of consumption must be apart to be told one after the other: clocks
	// differ, and consumption is not to the second.
	endMargin = 2 * time.Second
)

// Predict says what a consumer of the scheme will do with a message that is requeued now and consumed at l.At, when the store
// holds the marker m of it, nil for none. It is pure, and rests on what the scheme says alone: docs/preflight.md has the
// rules. In doubt it chooses the class that warns: it says runs only where no marker that is still there then could stand in
// the way, and skipped only where a marker that will be there then says that the work was done.
func Predict(s dedup.Scheme, m *dedup.Sighting, l LetterFacts) Prediction {
	p := predict(s, m, l)
	if m != nil && m.Other != nil && p.Class != ClassUnknown {
		return ofAnother(p, s, m)
	}
	return p
}

func predict(s dedup.Scheme, m *dedup.Sighting, l LetterFacts) Prediction {
	switch {
	case !s.HasStore():
		return Because(ClassMayRunTwice, "this pipeline has no dedup store: nothing remembers what was done")
	case l.ID == "" && l.Unreadable:
		return Because(ClassUnknown, "its id cannot be read: "+l.NoID)
	case l.ID == "":
		return Because(ClassMayRunTwice, "it has no id, so that no marker can stop it from being done again: "+l.NoID)
	case l.StoreFailed != "":
		return Because(ClassUnknown, "its marker could not be looked up: "+l.StoreFailed)
	case s.Business:
		return Because(ClassUnknown, "its store holds business rows: whether the message still applies depends on the step that it asks for, which is not known here")
	case m == nil:
		return free(s, nil, l, "it has no marker")
	case m.State == dedup.StateUnknown:
		return Because(ClassUnknown, undecoded(m))
	case m.CounterAlone():
		return free(s, m, l, "it has no marker, only a retry counter")
	case len(s.States) > 0 && !Shown(s, m.State):
		return Because(ClassUnknown, fmt.Sprintf("its marker is %s, a state that the scheme of this store does not have", m.State))
	}
	return hit(s, m, l)
}

// hit predicts a delivery that finds a marker, if that is still there then.
func hit(s dedup.Scheme, m *dedup.Sighting, l LetterFacts) Prediction {
	switch m.State {
	case dedup.Done:
		return doneHit(s, m, l, "its marker says that the work was done")
	case dedup.Present:
		if s.Mark == "after" {
			return doneHit(s, m, l, "it has a marker, which this scheme writes when the work is done")
		}
		return presentHit(s, m, l)
	case dedup.Failed:
		return failedHit(s, m, l)
	}
	what, acked := "its marker says that the work is under way", "consumers ack what is under way, and the work of a dead letter mostly is not"
	if s.Lock {
		what, acked = "its lock is held", "consumers ack what somebody holds the lock of, and a lock does not tell whether the work was done"
	}
	if ends, gone := endsBefore(s, m, l.At); gone {
		return free(s, m, l, fmt.Sprintf("%s, but ends at %s, before the message is expected at %s", what, admin.Stamp(ends), admin.Stamp(l.At)))
	}
	return stopped(s, m, l, s.OnInFlight, what, acked)
}

// presentHit predicts a hit of a marker without a state that is written before the work.
func presentHit(s dedup.Scheme, m *dedup.Sighting, l LetterFacts) Prediction {
	what := "it has a marker, which this scheme writes before the work"
	if ends, gone := endsBefore(s, m, l.At); gone {
		return Because(ClassMayRunTwice, fmt.Sprintf("%s; it ends at %s, before the message is expected at %s, and does not tell whether the work was done",
			what, admin.Stamp(ends), admin.Stamp(l.At)))
	}
	return stopped(s, m, l, s.OnInFlight, what, "consumers ack whatever has a marker, and it does not tell whether the work was done")
}

func failedHit(s dedup.Scheme, m *dedup.Sighting, l LetterFacts) Prediction {
	const what = "its marker says that the work failed"
	if ends, gone := endsBefore(s, m, l.At); gone {
		return free(s, m, l, fmt.Sprintf("%s, but ends at %s, before the message is expected", what, admin.Stamp(ends)))
	}
	if s.OnFailed != hitRun {
		return stopped(s, m, l, s.OnFailed, what, "consumers ack what has failed before")
	}
	if s.GiveUp > 0 && m.Attempts != nil && *m.Attempts >= int64(s.GiveUp) {
		return clearable(Because(ClassSwallowed, what, fmt.Sprintf("it failed %d times, and consumers ack it without work from %d on", *m.Attempts, s.GiveUp)), m)
	}
	return clearable(free(s, m, l, what+", and consumers take it again"), m)
}

// doneHit predicts a hit of a marker that says that the work was done.
func doneHit(s dedup.Scheme, m *dedup.Sighting, l LetterFacts, what string) Prediction {
	ends := ours(m)
	switch {
	case ends.IsZero() || ends.After(l.At.Add(endMargin)):
		p := Because(ClassSkipped, what+": consumers ack the message without work")
		p.ClearDone = m.Key != ""
		return p
	case !s.Expires():
		return Because(ClassMayRunTwice, what, fmt.Sprintf("its row expires at %s: consumers skip the message while the row is there, and do the work again once it is purged", admin.Stamp(ends)))
	}
	return Because(ClassMayRunTwice, what, fmt.Sprintf("its marker ends at %s and the message is expected at %s: the work will be done again", admin.Stamp(ends), admin.Stamp(l.At)))
}

// stopped predicts a hit of a marker that stands in the way, by what consumers do with it.
func stopped(s dedup.Scheme, m *dedup.Sighting, l LetterFacts, does, what, acked string) Prediction {
	switch does {
	case hitAck:
		p := Because(ClassSwallowed, what, acked+": the message would be lost")
		if untold(s, m) {
			p = Because(ClassPerhapsSwallowed, what, acked+": if it was not, the message would be lost")
		}
		return repeatable(clearable(p, m), s, m)
	case hitWait:
		if !s.Expires() && s.Transactional {
			return stopped(s, m, l, hitAck, what, "it is committed, so that nobody holds it and no delivery waits for it: consumers meet it at once, and may ack it")
		}
		p := Because(ClassBlocks, what, "consumers wait until the marker ends, and look again")
		if ends := ours(m); !ends.IsZero() && s.Expires() {
			p.Until = ends
		}
		return repeatable(clearable(p, m), s, m)
	case hitNack:
		p := Because(ClassBlocks, what)
		if ends := ours(m); !ends.IsZero() && s.Expires() {
			p.Until = ends
			p.Reasons = append(p.Reasons, fmt.Sprintf("consumers return the message until the marker ends at %s; a queue with a delivery limit makes it a dead letter again before", admin.Stamp(ends)))
		} else {
			p.Reasons = append(p.Reasons, "the marker never ends by itself: consumers return the message until somebody clears it")
		}
		return repeatable(clearable(p, m), s, m)
	}
	return Because(ClassUnknown, what, "the configuration does not say what consumers do then (on_inflight, on_failed)")
}

// free predicts a delivery with nothing in its way. m is what the store holds all the same, or nil.
func free(s dedup.Scheme, m *dedup.Sighting, l LetterFacts, why string) Prediction {
	failures, counted := failuresAt(m, l.At)
	last := s.GiveUp > 0 && failures >= int64(s.GiveUp)-1
	switch {
	case s.Lock:
		return Because(ClassMayRunTwice, "a lock leaves nothing behind, so that it cannot be told whether the work was done", lockFree(m, why))
	case last && counted:
		p := Because(ClassLastAttempt, why, fmt.Sprintf("it failed %s: consumers give it up at %d, so that one more failure acks it without its work", times(failures), s.GiveUp))
		return clearable(p, m)
	case s.DoneTTL > 0 && l.Born.IsZero():
		return Because(ClassMayRunTwice, fmt.Sprintf("it does not tell its age: if it is older than %s, a marker of work that was done has ended by now", admin.Span(s.DoneTTL)), why)
	case s.DoneTTL > 0 && l.At.Sub(l.Born) >= s.DoneTTL-endMargin:
		// The age comes first: messages that run have no marker either.
		return Because(ClassMayRunTwice, fmt.Sprintf("it is %s old then, and a marker of done work lives for %s: if the work was done, it will be done again", admin.Span(l.At.Sub(l.Born)), admin.Span(s.DoneTTL)), why)
	case last:
		return Because(ClassLastAttempt, why, "consumers give a message up at its first failure, and ack it without its work")
	case s.OnFail == "ack" && !s.Transactional:
		return Because(ClassLastAttempt, why, "consumers ack what fails: if it fails, it is gone")
	}
	p := Because(ClassRuns, why)
	if m != nil && m.State == dedup.Processing {
		p = clearable(p, m)
	}
	return p
}

func lockFree(m *dedup.Sighting, why string) string {
	if m == nil {
		return "nobody holds its lock"
	}
	return why
}

// failuresAt returns how often a message will have failed by its counter at that time, and whether something counts it.
func failuresAt(m *dedup.Sighting, at time.Time) (n int64, counted bool) {
	if m == nil || m.Attempts == nil {
		return 0, false
	}
	if m.Retry != nil && m.Retry.ExpiresMillis >= 0 && !at.Before(byOurClock(m, m.Retry.ExpiresMillis).Add(endMargin)) {
		return 0, false
	}
	return *m.Attempts, true
}

// endsBefore returns when a marker ends and whether it has ended by then. A row does not end: consumers do not ask for its
// expiry, and when it is purged cannot be known.
func endsBefore(s dedup.Scheme, m *dedup.Sighting, at time.Time) (time.Time, bool) {
	ends := ours(m)
	return ends, s.Expires() && !ends.IsZero() && !at.Before(ends.Add(endMargin))
}

// ours returns when a marker ends by our clock, zero for never.
func ours(m *dedup.Sighting) time.Time {
	if m.ExpiresMillis < 0 {
		return time.Time{}
	}
	return byOurClock(m, m.ExpiresMillis)
}

// byOurClock turns a moment of the store's clock into one of ours.
func byOurClock(m *dedup.Sighting, millis int64) time.Time {
	t := time.UnixMilli(millis)
	if m.At.IsZero() || m.Clock.IsZero() {
		return t
	}
	return t.Add(m.At.Sub(m.Clock))
}

// Because is the prediction of a class for these reasons.
func Because(c Class, reasons ...string) Prediction { return Prediction{Class: c, Reasons: reasons} }

// clearable offers to clear a marker first, where it has a key by which it can be.
func clearable(p Prediction, m *dedup.Sighting) Prediction {
	p.ClearFirst = m != nil && m.Key != "" && p.Class != ClassMayRunTwice
	return p
}

// untold reports whether a marker does not tell if the work was done: it has no state and is written before the work, or is a lock.
func untold(s dedup.Scheme, m *dedup.Sighting) bool {
	return m.State == dedup.Present || s.Lock && m.State == dedup.Processing
}

// repeatable says of a prediction whether clearing the marker first may have work done a second time.
func repeatable(p Prediction, s dedup.Scheme, m *dedup.Sighting) Prediction {
	p.MayRepeat = p.ClearFirst && untold(s, m)
	return p
}

// Shown reports whether the markers of a scheme can be in a state.
func Shown(s dedup.Scheme, state dedup.State) bool {
	for _, has := range s.States {
		if has == state {
			return true
		}
	}
	return false
}

// undecoded says why nothing is known of a marker. Without a key there is none: the store cannot hold the id.
func undecoded(m *dedup.Sighting) string {
	switch {
	case m.Key == "" && m.TooLong == "":
		return "it cannot be looked up: " + m.Detail
	case m.Detail == "":
		return "its marker cannot be decoded: it does not look like one of this scheme"
	}
	return "its marker cannot be decoded: " + m.Detail
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
