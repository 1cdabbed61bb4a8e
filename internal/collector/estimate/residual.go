package estimate

import (
	"math"
	"time"
)

// A Joint is one reading of a broker's counts and of a store's, taken together. Counts only rise, and are compared within one Run alone.
type Joint struct {
	At  time.Time
	Run int
	// Acked are at least the deliveries that consumers acked. Unsure is how many more there may be: the broker lost them from the counts
	// of single queues, and they may be of others. Open is how many more there may be until later readings tell; it falls again.
	Acked, Unsure, Open float64
	// Settled are the messages among Acked that are no duplicates, as the store knows them: work that was done, or given up.
	Settled float64
	// Redelivered are the deliveries that had been delivered before, Closed the channels that were closed and may have taken acks along.
	Redelivered, Closed float64
}

// A Residual is how many of the acks of a time were for messages whose work had been done before.
type Residual struct {
	// Acked are the acks of the time, at most Unsure more.
	Acked, Unsure float64
	// Sent are the duplicates that were messages of their own, sent again by a producer: acks less what the store knows as settled. Band
	// is the half width that holds 95 % of the truth.
	Sent, Band          float64
	Redelivered, Closed float64
	// Doubled are the times that work is known to have been done again without the store showing it: their acks look like those of
	// duplicates.
	Doubled float64
	// From and To bound the time, Covered is the part of it that was read: the rest was cut out.
	From, To time.Time
	Covered  time.Duration
	// openFrom and openTo are those of the ends.
	openFrom, openTo float64
}

const (
	// longestStep is the longest time between two readings across which counts are compared: no more than thinned out ones have.
	// Those up to fineStep apart tell how much the ends scatter.
	longestStep = 2 * time.Minute
	fineStep    = 3 * time.Second
	// fewestSteps is how many differences tell how much they scatter; with fewer, acks are taken to follow their markers by up to
	// supposedLag.
	fewestSteps = 10
	supposedLag = 50 * time.Millisecond
	// deviations is how many standard deviations the band holds, and leastVariance the least variance of one end, in messages.
	deviations    = 2.3
	leastVariance = 0.1
)

// ResidualOf compares the acks of the newest window with what the store settled in it; false while two readings do not follow one another.
// The error of A - U is that of its ends, however long the window is: the acks that were still on their way. How many these are shows in
// the scatter of the differences from reading to reading: of an error that does not last, the covariance of neighbours is minus its variance.
func ResidualOf(readings []Joint, window time.Duration) (Residual, bool) {
	var r Residual
	if len(readings) == 0 {
		return r, false
	}
	r.To = readings[len(readings)-1].At
	first := len(readings) - 1
	for first > 0 && !readings[first-1].At.Before(r.To.Add(-window)) {
		first--
	}
	var steps scatter
	for i := first + 1; i < len(readings); i++ {
		from, to := readings[i-1], readings[i]
		apart := to.At.Sub(from.At)
		if to.Run != from.Run || apart <= 0 || apart > longestStep {
			steps.cut()
			continue
		}
		if r.From.IsZero() {
			r.From, r.openFrom = from.At, from.Open
		}
		r.openTo = to.Open
		sent := to.Acked - from.Acked - (to.Settled - from.Settled)
		steps.add(sent, apart <= fineStep)
		r.Sent += sent
		r.Acked += to.Acked - from.Acked
		r.Unsure += to.Unsure - from.Unsure
		r.Redelivered += to.Redelivered - from.Redelivered
		r.Closed += to.Closed - from.Closed
		r.Covered += apart
	}
	if r.Covered == 0 {
		return r, false
	}
	steps.cut()
	least := leastVariance
	if steps.n < fewestSteps {
		least = max(least, r.Acked/r.Covered.Seconds()*supposedLag.Seconds())
	}
	r.Band = deviations*math.Sqrt(steps.endVariances(least)) + 0.5
	return r, true
}

// Duplicates are bounds that hold the duplicates of the time, and the likeliest number between them. What came again because its ack was
// lost is a duplicate beside Sent: at most lost, the acks that closed channels can have taken along, and at most Redelivered.
func (r Residual) Duplicates(lost float64) (low, likely, high float64) {
	low = min(max(0, r.Sent-r.Band-r.openFrom-r.Doubled), r.Acked)
	high = min(max(low, r.Sent+r.Band+r.openTo+r.Unsure+min(lost, r.Redelivered)), r.Acked+r.openTo+r.Unsure)
	return low, min(max(low, r.Sent), high), high
}

// Rate are the same bounds as shares of the acks. With the other numbers fixed the share rises with the acks that are unsure, since these
// would be of duplicates, so that the ends belong together.
func (r Residual) Rate(lost float64) (low, likely, high float64) {
	if r.Acked <= 0 {
		return 0, 0, 1
	}
	low, likely, high = r.Duplicates(lost)
	return low / r.Acked, likely / r.Acked, min(1, high/(r.Acked+r.openTo+r.Unsure))
}

// A scatter adds up how much differences scatter, and each with the one before it.
type scatter struct {
	n, pairs           float64
	sum, squares       float64
	before, neighbours float64
	// inside is true within a row of differences that follow one another, follows where the last of them was fine.
	inside, follows bool
	// ends counts the ends of such rows, beside are the fine differences next to them.
	ends   float64
	beside []float64
}

func (s *scatter) add(x float64, fine bool) {
	if !s.inside {
		s.inside = true
		s.ends++
		if fine {
			s.beside = append(s.beside, x)
		}
	}
	if fine {
		s.n++
		s.sum += x
		s.squares += x * x
	}
	if fine && s.follows {
		s.neighbours += x * s.before
		s.pairs++
	}
	s.before, s.follows = x, fine
}

// cut says that the next difference does not follow the one before it.
func (s *scatter) cut() {
	if s.inside {
		s.ends++
	}
	if s.follows {
		s.beside = append(s.beside, s.before)
	}
	s.inside, s.follows = false, false
}

// endVariances is the sum of the variances of the errors of all ends. An error that does not last is in two differences, with opposite
// signs: the variance is at least a quarter of that of a difference, of the one beside the end as well, which shows an end that is off.
func (s *scatter) endVariances(least float64) float64 {
	v, mean := least, 0.0
	if s.n > 0 {
		mean = s.sum / s.n
		v = max(v, (s.squares/s.n-mean*mean)/4)
	}
	if s.pairs > 0 {
		v = max(v, mean*mean-s.neighbours/s.pairs)
	}
	sum := v * s.ends
	for _, x := range s.beside {
		sum += max(0, (x-mean)*(x-mean)/4-v)
	}
	return sum
}
