package collector

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
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
	// oneWaiting is how many acks may be on their way, of the pipeline on average, for channels to have at most one each.
	oneWaiting = 0.25
)

// acksLost bounds the acks that so many closed channels took along. Consumers that ack each delivery before they take up the next one have at
// most one finished delivery for each channel. Where more claims are open than that explains, they may work on several; but acks that follow
// at once leave no two of a channel waiting.
func (p *pipeline) acksLost(r estimate.Residual, scheme dedup.Scheme, several string, closed float64) float64 {
	if r.Waiting <= oneWaiting {
		several = ""
	}
	each := rate.Residual{Scheme: scheme, Several: several, Prefetch: p.prefetchSince(r.From)}.LostPerChannel()
	switch {
	case closed == 0:
		return 0
	case each <= 0:
		return math.Inf(1)
	}
	return closed * float64(each)
}

// channelsClosed bounds the closed channels of the pipeline: those whose rows went, or those of the whole broker that nobody else is known to
// have had, whichever are fewer. The broker's count is older than the rows: what went since that shows is added.
func (p *pipeline) channelsClosed(r estimate.Residual) float64 {
	frames := p.frames
	first, ok := frames.Before(r.From)
	if !ok {
		return r.Closed
	}
	last := &frames[len(frames)-1]
	most, known := p.own.Most(first, last)
	if !known {
		return r.Closed
	}
	return min(r.Closed, most+p.joints.ClosedSince(last.Began.Add(-sample.CounterLag)))
}

// diedAtWork counts the channels closed within a time that had not finished their work: each left behind a claim that nobody ended
// since, for much longer than work takes. A channel that works on one delivery after another then had no other one that was done. Claims may
// be left behind in other ways, as by a reject in mid-work; so it is believed only where each of them was born just before some channel was
// closed, and no more than were closed.
func (p *pipeline) diedAtWork(r estimate.Residual, e *dedup.StoreEvents) float64 {
	readings := p.joints.Readings
	if e == nil || p.MaxProcessing <= 0 || len(readings) < 2 {
		return 0
	}
	longest := p.MaxProcessing
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
