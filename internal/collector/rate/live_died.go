package rate

import (
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/dedup"
)

const (
	// rowsLinger is how long after the end of a channel its rows are cleared away: the management does so each 5 s, and collects for a while.
	rowsLinger = 8 * time.Second
	// workLooked is how long before the end of its channel a claim may have been born that the channel left behind.
	workLooked = 2 * time.Second
	// A claim that is open for workAbandoned, by which the rows of its channel are cleared away and counted, and for workFold times as long as nearly all work that was seen to end, is left behind; enoughWork
	// is how much of that must have been seen.
	workAbandoned = 12 * time.Second
	workFold      = 10
	enoughWork    = 100
)

// DiedAtWork counts the channels closed within a time that had not finished their work: each left behind a claim that nobody ended
// since, for much longer than work takes. A channel that works on one delivery after another then had no other one that was done. Claims may
// be left behind in other ways, as by a reject in mid-work; so it is believed only where each of them was born just before some channel was
// closed, and no more than were closed.
func DiedAtWork(readings []estimate.Joint, r estimate.Residual, e *dedup.StoreEvents, maxProcessing time.Duration) float64 {
	if e == nil || maxProcessing <= 0 || len(readings) < 2 {
		return 0
	}
	longest := maxProcessing
	if e.Work.Count() >= enoughWork {
		longest = min(longest, workAbandoned+workFold*e.Work.Quantile(0.99))
	}
	died, step, free := 0.0, 0, 0.0
	for _, born := range e.OpenSince {
		if e.At.Sub(born) < longest {
			break
		}
		if born.Before(readings[0].At) {
			continue
		}
		// The closures that can have left it behind: the first of them that is free, as those that end first do so.
		for free <= 0 || readings[step].At.Before(born) {
			if step++; step == len(readings) {
				return 0
			}
			free = readings[step].Closed - readings[step-1].Closed
		}
		if readings[step-1].At.Sub(born) > rowsLinger+workLooked {
			if born.Sub(readings[0].At) < rowsLinger { // rows of before the first reading may have been cleared away
				continue
			}
			return 0
		}
		if free--; born.After(r.From) && !readings[step].At.After(r.To) {
			died++
		}
	}
	return died
}
