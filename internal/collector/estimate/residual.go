package estimate

import (
	"math"
	"sort"
	"time"
)

// A Joint is one reading of a broker's counts and of a store's, taken together. Counts only rise, and are compared within one Run alone.
type Joint struct {
	At  time.Time
	Run int
	// Calm is true where the store saw nothing for a moment before the reading and while it lasted, so that both sides are likely to tell of
	// the same messages.
	Calm bool
	// Acked are at least the deliveries that consumers acked. Unsure is how many more there may be: the broker lost them from the counts
	// of single queues, and they may be of others. Open is how many more there may be until later readings tell; it falls again.
	Acked, Unsure, Open float64
	// Settled are the messages among Acked that are no duplicates, as the store knows them: work that was done, or given up.
	Settled float64
	// Redelivered are the deliveries that had been delivered before, Closed the channels that were closed and may have taken acks along,
	// MayBeClosed how many more there may be until later readings tell.
	Redelivered, Closed, MayBeClosed float64
}

// A Residual is how many of the acks of a time were for messages whose work had been done before.
type Residual struct {
	// Acked are the acks of the time, at most Unsure more.
	Acked, Unsure float64
	// Sent are the duplicates that were messages of their own, sent again by a producer: acks less what the store knows as settled. Band
	// is the half width that holds 95 % of the truth.
	Sent, Band          float64
	Redelivered, Closed float64
	// Waiting bounds the acks that are on their way at one moment, on average.
	Waiting float64
	// Doubled are the times that work is known to have been done again without the store showing it: their acks look like those of
	// duplicates.
	Doubled float64
	// From and To bound the time, Covered is the part of it that was read: the rest was cut out.
	From, To time.Time
	Covered  time.Duration
	// openFrom and openTo are what is open at the ends of all rows of readings that can be compared.
	openFrom, openTo float64
}

const (
	// longestStep is the longest time between two readings across which counts are compared: no more than thinned out ones have.
	// Those up to fineStep apart, as of a broker that is read each 5 s, tell how much the ends scatter; those of scatterSpan do so for shorter
	// windows too.
	longestStep = 2 * time.Minute
	fineStep    = 10 * time.Second
	scatterSpan = 20 * time.Minute
	// fewestSteps is how many differences tell how much they scatter; with fewer, acks are taken to follow their markers by up to
	// supposedLag.
	// The scatter of sums of differences is told by fewestSums times as many, of sums of up to longestSum times the lag.
	fewestSteps = 10
	fewestSums  = 4
	longestSum  = 6
	supposedLag = 50 * time.Millisecond
	// deviations is how many standard deviations the band holds, and leastVariance the least variance of one end, in messages.
	deviations    = 2.3
	leastVariance = 0.1
	// unseenErrors is how many errors there may be, at 95 %, where none was seen.
	unseenErrors = 3
	// Where one reading in calmShare is calm, the others are left out, but for one each calmPatience, and the ends lie at calm ones not further
	// off than calmReach.
	calmShare    = 4
	calmPatience = 5 * time.Second
	calmReach    = 10 * time.Second
)

// ResidualOf compares the acks of the newest window with what the store settled in it; false while two readings do not follow one another.
// The error of A - U is that of its ends, however long the window is: the acks that were still on their way. How many these are shows in
// the scatter of the differences from reading to reading: of an error that does not last, the covariance of neighbours is minus its variance.
// Waiting bounds how many are on their way on average.
func ResidualOf(readings []Joint, window time.Duration, waiting float64) (Residual, bool) {
	var r Residual
	readings, first := calmest(readings, window)
	if len(readings) == 0 {
		return r, false
	}
	r.To = readings[len(readings)-1].At
	for _, step := range jointSteps(readings[first:]) {
		if r.From.IsZero() {
			r.From = step.from.At
		}
		if !step.follows {
			r.openFrom += step.from.Open
		}
		if step.last {
			r.openTo += step.to.Open
			r.Closed += step.to.MayBeClosed
		}
		r.Sent += step.sent
		r.Acked += step.acked
		r.Unsure += step.to.Unsure - step.from.Unsure
		r.Redelivered += step.to.Redelivered - step.from.Redelivered
		r.Closed += step.to.Closed - step.from.Closed
		r.Covered += step.apart
	}
	if r.Covered == 0 {
		return r, false
	}
	rate := r.Acked / r.Covered.Seconds()
	inside := scatterOf(jointSteps(readings[first:]))
	// What the ends come to shows the better the longer one looks, unless it changes.
	around := scatterOf(jointSteps(readings))
	each := max(min(leastVariance, unseenErrors/around.n), inside.variance(0, rate), around.variance(waiting, rate))
	if around.n < fewestSteps {
		each = max(each, rate*supposedLag.Seconds())
	}
	r.Waiting = each
	r.Band = deviations*math.Sqrt(inside.endVariances(each)) + 0.5
	return r, true
}

// calmest returns the readings of the window, which begins with the first one, and of scatterSpan before it: where enough are calm, these.
func calmest(readings []Joint, window time.Duration) (kept []Joint, first int) {
	n := len(readings)
	if n == 0 {
		return nil, 0
	}
	begin := readings[n-1].At.Add(-max(window, scatterSpan))
	from := sort.Search(n, func(i int) bool { return !readings[i].At.Before(begin) })
	readings = readings[from:]
	calm := 0
	for i := range readings {
		if readings[i].Calm {
			calm++
		}
	}
	since := readings[len(readings)-1].At.Add(-window)
	if calm*calmShare < len(readings) {
		return readings, sort.Search(len(readings), func(i int) bool { return !readings[i].At.Before(since) })
	}
	for i := range readings {
		k := len(kept)
		if r := &readings[i]; r.Calm || k == 0 || r.At.Sub(kept[k-1].At) >= calmPatience || r.Run != kept[k-1].Run {
			kept = append(kept, *r)
		}
	}
	last := len(kept) - 1
	for last > 0 && !kept[last].Calm {
		last--
	}
	if kept[last].Calm && readings[len(readings)-1].At.Sub(kept[last].At) <= calmReach {
		kept = kept[:last+1]
	}
	first = sort.Search(len(kept), func(i int) bool { return !kept[i].At.Before(since) })
	for i := first; i < len(kept) && kept[i].At.Sub(since) <= calmReach; i++ {
		if kept[i].Calm {
			return kept, i
		}
	}
	return kept, first
}

// A jointStep is from a reading to the next one with which it can be compared.
type jointStep struct {
	from, to Joint
	apart    time.Duration
	// acked are its acks, sent those less what was settled.
	acked, sent float64
	// follows is true where the reading before it could be compared too, last where the one after it cannot.
	follows, last bool
}

func jointSteps(readings []Joint) []jointStep {
	steps := make([]jointStep, 0, len(readings))
	follows := false
	for i := 1; i < len(readings); i++ {
		from, to := readings[i-1], readings[i]
		apart := to.At.Sub(from.At)
		if to.Run != from.Run || apart <= 0 || apart > longestStep {
			follows = false
			continue
		}
		if follows {
			steps[len(steps)-1].last = false
		}
		acked := to.Acked - from.Acked
		steps = append(steps, jointStep{from: from, to: to, apart: apart, acked: acked, sent: acked - (to.Settled - from.Settled), follows: follows, last: true})
		follows = true
	}
	return steps
}

// Duplicates are bounds that hold the duplicates of the time, and the likeliest number between them. What came again because its ack was
// lost is a duplicate beside Sent: at most lost, the acks that closed channels can have taken along, and at most Redelivered.
func (r Residual) Duplicates(lost float64) (low, likely, high float64) {
	low = min(max(0, r.Sent-r.Band-r.openFrom-r.Doubled), r.Acked)
	high = min(max(low, r.Sent+r.Band+r.openTo+r.Unsure+min(lost, r.Redelivered)), r.MostAcked())
	return low, min(max(low, r.Sent), high), high
}

// MostAcked is how many acks there were at most.
func (r Residual) MostAcked() float64 { return r.Acked + r.openTo + r.Unsure }

// Rate are the same bounds as shares of the acks. With the other numbers fixed the share rises with the acks that are unsure, since these
// would be of duplicates, so that the ends belong together.
func (r Residual) Rate(lost float64) (low, likely, high float64) {
	if r.Acked <= 0 {
		return 0, 0, 1
	}
	low, likely, high = r.Duplicates(lost)
	return low / r.Acked, likely / r.Acked, min(1, high/r.MostAcked())
}

// A scatter is how much differences scatter about what is usual in their time, and each with those before it.
type scatter struct {
	// n is how many differences there are, of fine steps, and seconds how long these take together; rows are those that follow one another.
	n, seconds float64
	squares    float64
	rows       [][]float64
	// ends counts the ends of rows of steps of any length, beside are the fine differences next to them.
	ends   float64
	beside []float64
}

func scatterOf(steps []jointStep) scatter {
	var s scatter
	var sent, seconds float64
	for i := range steps {
		sent, seconds = sent+steps[i].sent, seconds+steps[i].apart.Seconds()
	}
	follows := false
	for i := range steps {
		fine, x := steps[i].apart <= fineStep, steps[i].sent-sent/seconds*steps[i].apart.Seconds()
		for _, end := range []bool{!steps[i].follows, steps[i].last} {
			if end {
				s.ends++
			}
			if end && fine {
				s.beside = append(s.beside, x)
			}
		}
		if follows = follows && steps[i].follows; fine {
			if !follows {
				s.rows = append(s.rows, nil)
			}
			row := &s.rows[len(s.rows)-1]
			*row = append(*row, x)
			s.n++
			s.seconds += steps[i].apart.Seconds()
			s.squares += x * x
		}
		follows = fine
	}
	return s
}

// variance is that of the error of one end. An error that does not last is in two differences, with opposite signs: the variance is at least
// a quarter of that of a difference, and about what neighbours have in common. One that lasts longer, as of acks that follow their markers by
// half a minute or come in batches, shows so in sums of more differences only, of up to some times the lag of so many that wait at the rate.
func (s *scatter) variance(waiting, rate float64) float64 {
	if s.n == 0 {
		return 0
	}
	common, _ := s.neighbours(1)
	v := max(s.squares/s.n/4, -common)
	for length := 2; float64(length)*s.seconds/s.n*rate < longestSum*waiting; length *= 2 {
		common, pairs := s.neighbours(length)
		if pairs < fewestSums*float64(length) {
			return max(v, waiting) // as of those that come by chance
		}
		v = max(v, -common)
	}
	return v
}

// neighbours returns the covariance of neighbouring sums of so many differences, and how many pairs there are, which overlap.
func (s *scatter) neighbours(length int) (common, pairs float64) {
	for _, row := range s.rows {
		var before, after float64
		for i, x := range row {
			after += x
			if i >= length {
				after, before = after-row[i-length], before+row[i-length]
			}
			if i >= 2*length {
				before -= row[i-2*length]
			}
			if i >= 2*length-1 {
				common, pairs = common+before*after, pairs+1
			}
		}
	}
	return common / max(1, pairs), pairs
}

// endVariances is the sum of the variances of the errors of all ends. The difference beside an end shows one that is off by more.
func (s *scatter) endVariances(v float64) float64 {
	sum := v * s.ends
	for _, x := range s.beside {
		sum += max(0, x*x/4-v)
	}
	return sum
}
