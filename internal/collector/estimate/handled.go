package estimate

import (
	"math"
	"time"
)

// A Handled is one reading of what consumers say that they handled, with what the store and the broker came to by then. Counts only rise.
type Handled struct {
	At time.Time
	// Handled deliveries ended well, Failed ones did not and may have been acked or not. Unsure more may have been handled unseen, by
	// processes that ended.
	Handled, Failed, Unsure float64
	// Settled are the messages that are no duplicates, as the store knows them, compared within one Run alone; Run is 0 where it does
	// not tell. Spread is the variance of its error: processes are not all read at one time.
	Settled, Spread float64
	Run             int
	// AckedLow and AckedHigh bound the acks that the broker had counted by then, compared within one AckRun alone; AckRun is 0 where it
	// does not tell. Redelivered bounds the deliveries that came again by then, as one does whose ack was lost.
	AckedLow, AckedHigh, RedeliveredLow, RedeliveredHigh float64
	AckRun                                               int
}

// An Agreement compares what consumers handled with the acks of the broker over one span.
type Agreement struct {
	From, To time.Time
	// Handled is what consumers say; by the broker it is at least Low, and at most High.
	Handled, Low, High float64
	// Refuted: it cannot be so. Else Slack is the largest share of the deliveries that can be missing or too many because the broker's acks
	// are not known for the moments at which consumers were read. What more was handled than acked passes for lost acks as long as as
	// many messages came again.
	Refuted bool
	Slack   float64
}

const (
	// acksApart is how many acks may be on their way from consumers to the broker at either end.
	acksApart = 2
	// fewestAgreed is how many acks are needed to tell that two counts agree.
	fewestAgreed = 50
)

// Compare finds the span that refutes what consumers say most clearly, or else the one that proves it best: over a rest, at both ends of
// which nothing is on its way, two counts are equal or are of different things. It is false while nothing can be compared.
// Of failures any part may have been acked; an ack that was lost is handled, and its message comes again.
func Compare(readings []Handled) (Agreement, bool) {
	best, worst, found := Agreement{Slack: math.Inf(1)}, 0.0, false
	for k := range readings {
		to := &readings[k]
		for j := range k {
			from := &readings[j]
			if to.AckRun == 0 || to.AckRun != from.AckRun {
				continue
			}
			a := Agreement{From: from.At, To: to.At, Handled: to.Handled - from.Handled,
				Low:  to.AckedLow - from.AckedHigh - (to.Failed - from.Failed) - math.Abs(to.Unsure-from.Unsure) - acksApart,
				High: to.AckedHigh - from.AckedLow + max(0, to.RedeliveredHigh-from.RedeliveredLow) + acksApart}
			over := max(a.Handled-a.High, a.Low-a.Handled)
			if over > worst {
				a.Refuted = true
				worst, best, found = over, a, true
			}
			if acked := to.AckedLow - from.AckedHigh; worst == 0 && acked >= fewestAgreed {
				open := to.AckedHigh - to.AckedLow + from.AckedHigh - from.AckedLow + 2*acksApart
				if a.Slack = open / acked; a.Slack < best.Slack {
					best, found = a, true
				}
			}
		}
	}
	return best, found
}

// SentOf compares what consumers handled in the newest window with what the store settled in it: S - U, in which a delivery whose ack was
// lost is counted each time that it was handled. It is false while two readings cannot be compared. The error is that of the ends: what
// is handled and not settled yet, or the other way round, and what the store came to while the processes were read one after another.
func SentOf(readings []Handled, window time.Duration) (Residual, bool) {
	var r Residual
	n := len(readings)
	if n == 0 {
		return r, false
	}
	last := &readings[n-1]
	first := n - 1
	for first > 0 && readings[first-1].Run == last.Run && !readings[first-1].At.Before(last.At.Add(-window)) {
		first--
	}
	from := &readings[first]
	r.From, r.To, r.Covered = from.At, last.At, last.At.Sub(from.At)
	if last.Run == 0 || r.Covered <= 0 {
		return r, false
	}
	r.Acked, r.Unsure = last.Handled-from.Handled, max(0, last.Unsure-from.Unsure)
	r.Sent = r.Acked - (last.Settled - from.Settled)
	lag := r.Acked / r.Covered.Seconds() * supposedLag.Seconds()
	around := commonVariance(readings, last)
	ends := 0.0
	for _, end := range []*Handled{from, last} {
		ends += max(leastVariance, lag, end.Spread, around)
	}
	r.Band = deviations*math.Sqrt(ends) + 0.5
	return r, true
}

// commonVariance is the variance of an error that does not last, by what neighbouring differences have in common; 0 where too few tell.
func commonVariance(readings []Handled, last *Handled) float64 {
	var apart []float64
	sum := 0.0
	for i := 1; i < len(readings); i++ {
		from, to := &readings[i-1], &readings[i]
		if from.Run == last.Run && to.Run == last.Run && !from.At.Before(last.At.Add(-scatterSpan)) {
			x := (to.Handled - from.Handled) - (to.Settled - from.Settled)
			apart, sum = append(apart, x), sum+x
		}
	}
	if len(apart) < fewestSteps {
		return 0
	}
	for i := range apart {
		apart[i] -= sum / float64(len(apart))
	}
	s := scatter{rows: [][]float64{apart}}
	common, _ := s.neighbours(1)
	return max(0, -common)
}

// Widened is the residual where a count of deliveries may be off by a share of them unseen.
func (r Residual) Widened(slack float64) Residual {
	r.Band += slack * r.Acked
	return r
}
