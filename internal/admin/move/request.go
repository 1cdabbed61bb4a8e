package move

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
)

// maxRate is the highest rate that can be asked for; without limit is a negative one.
const maxRate = 100_000

// check returns what is wrong with a request, before anything is read.
func (r Request) check() error {
	ways := 0
	for _, given := range []bool{len(r.Refs) > 0, r.Filter != "", r.Whole} {
		if given {
			ways++
		}
	}
	switch {
	case !slices.Contains([]admin.Move{admin.Requeue, admin.Discard, admin.RestoreLetters}, r.Do):
		return admin.Invalid("A move requeues, discards or restores messages")
	case ways != 1:
		return admin.Invalid("Select messages either one by one, or by a filter, or take the whole queue")
	case len(r.Refs) > deadletter.MaxScan:
		return admin.Invalid(fmt.Sprintf("At most %d messages can be selected one by one", deadletter.MaxScan))
	case slices.ContainsFunc(r.Refs, func(ref string) bool { return len(ref) != 2*sha256.Size }):
		return admin.Invalid("A selected message is named by its reference of 64 digits")
	case !r.Whole && r.Scan == "":
		return admin.Invalid("Name the look at the queue that the selection was made from")
	case r.Canary < PresetCanary || r.Canary > deadletter.MaxScan:
		return admin.Invalid(fmt.Sprintf("The first messages are 0 to %d", deadletter.MaxScan))
	case r.Most < 0:
		return admin.Invalid("The most messages to move are 1 or more, or 0 for all that are selected")
	case math.IsNaN(r.Rate) || r.Rate > maxRate:
		return admin.Invalid(fmt.Sprintf("The rate is at most %d messages per second, or negative for no limit", maxRate))
	case r.Edit != nil && (r.Do != admin.Requeue || len(r.Refs) != 1):
		return admin.Invalid("Only one message that is requeued can be edited")
	case r.Do != admin.Requeue && (len(r.Choices) > 0 || r.Canary > 0):
		return admin.Invalid("Choices and first messages belong to a requeue only: no consumer sees what is discarded or restored")
	}
	return r.checkChoices()
}

func (r Request) checkChoices() error {
	for class, choice := range r.Choices {
		if !slices.Contains(preflight.Classes(), class) {
			return admin.Invalid(fmt.Sprintf("There is no class %q", deadletter.ClipWord(string(class))))
		}
		if !slices.Contains([]preflight.Choice{preflight.KeepAsIs, preflight.ClearFirst, preflight.LeaveOut}, choice) {
			return admin.Invalid("A class is kept as it is, cleared first or left out")
		}
		if choice == preflight.ClearFirst && class == preflight.ClassSkipped && len(r.Refs) != 1 {
			return admin.Invalid("Markers of done work are cleared for one message alone")
		}
	}
	return nil
}

// frozen is the request with the times of its filter written out: they mean the same when the plan is carried out, and to everybody.
func (r Request) frozen(now time.Time) (Request, error) {
	f, err := deadletter.ParseFilter(r.Filter, now.UTC())
	if err != nil {
		return r, err
	}
	r.Filter = f.String()
	return r, nil
}

// Source finds the queue that a move takes messages from, and refuses where nothing can be moved.
func (r Request) Source(f *deadletter.Queues) (deadletter.Queue, error) {
	l, err := f.Find(r.Pipeline, r.Queue)
	switch {
	case err != nil:
		return deadletter.Queue{}, err
	case l.Parked:
		return deadletter.Queue{}, admin.Invalid("Name the dead-letter queue; what is restored comes from its parking queue")
	}
	if err := f.Acting(l); err != nil {
		return deadletter.Queue{}, err
	}
	if l, err = l.SendingTo(r.Target, r.Do); err != nil {
		return deadletter.Queue{}, err
	}
	if r.Do == admin.RestoreLetters {
		return l.Parking()
	}
	return l, nil
}
