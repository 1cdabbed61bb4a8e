package estimate

import (
	"math"
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
	// Settled are the messages among Acked that are no duplicates, as the store knows them: work that was done, or given up. Again are those
	// among them that are duplicates where consumers renew the marker of each.
	Settled, Again float64
	// Claims are the deliveries that began their work, Failed those that gave their claim back and are not known as given up, Retried those of Claims
	// whose marker had been given back before. DeliveredUnsure and DeliveredOpen are to Delivered what Unsure and Open are to Acked.
	Claims, Failed, Retried, DeliveredUnsure, DeliveredOpen float64
	// Delivered are all deliveries, Fetched those of them that somebody fetched one by one, Redelivered those that had been delivered before. Closed are the channels that were closed and may have taken acks along,
	// MayBeClosed how many more there may be until later readings tell.
	Delivered, Fetched, Redelivered, Closed, MayBeClosed float64
}

// Unacked is how many deliveries whose work may be done waited for their ack: on average, and at most at the end.
type Unacked struct{ Mean, Last float64 }

// A Residual is how many of the acks of a time were for messages whose work had been done before.
type Residual struct {
	// Acked are the acks of the time, at most Unsure more.
	Acked, Unsure float64
	// Sent are the duplicates that were messages of their own, sent again by a producer: acks less what the store knows as settled. Band
	// is the half width that holds 95 % of the truth.
	Sent, Band          float64
	Redelivered, Closed float64
	// Delivered are all deliveries of the time. Fetched are those of them that somebody fetched one by one, as those do who move messages or take
	// them away without asking the store: their acks may be of no duplicates.
	Delivered, Fetched float64
	// Claims are the deliveries that began their work, Retried those of them whose marker had been given back before, GaveBack those that gave their
	// claim back, DeliveredUnsure how many more deliveries there may be.
	Claims, Retried, GaveBack, DeliveredUnsure float64
	// Failing are at most the messages that had given their claim back and waited to be tried again when the time began.
	Failing float64
	// Waiting bounds the acks that are on their way at one moment, on average.
	Waiting float64
	// Doubled are the times that work is known to have been done again without the store showing it: their acks look like those of
	// duplicates.
	Doubled float64
	// Failed are at most the acks of work that failed, as of consumers that publish it anew somewhere else: they look like those of duplicates, too.
	Failed float64
	// Unasked are the deliveries that met no marker and settled none, as those that never asked the store: their acks are of no duplicates.
	Unasked float64
	// From and To bound the time, Covered is the part of it that was read: the rest was cut out.
	From, To time.Time
	Covered  time.Duration
	// Calmer is true where the last calm reading is a little too old for the end.
	Calmer bool
	// Again are the times that a marker of work that was done was written again, or may have been: the work was done again, or each duplicate renews its marker.
	Again float64
	// Fell and Rose bound how many more, or fewer, waited for their ack when the time began than when it ended.
	Fell, Rose float64
	// Stretches are the parts of the time between what was cut out. Ends bound how many waited for their ack when these began, and when they ended, all
	// added up, where that is known otherwise; nil else.
	Stretches []Stretch
	Ends      *[2]float64
	// openFrom is what is open where rows of readings that can be compared begin.
	openFrom float64
}

// A Stretch is a time without a gap.
type Stretch struct{ From, To time.Time }

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
// What grows or shrinks for as long as it is looked at scatters little: see trend.
func ResidualOf(readings []Joint, window time.Duration, unacked Unacked) (Residual, bool) {
	return ResidualUpTo(readings, window, calmReach, unacked)
}

// ResidualUpTo is a residual that ends less long before the newest reading: a calm one is looked for no further back than reach.
func ResidualUpTo(readings []Joint, window, reach time.Duration, unacked Unacked) (Residual, bool) {
	var r Residual
	kept, first, calmer := calmest(readings, window, reach)
	if len(kept) == 0 {
		return r, false
	}
	r.Calmer = calmer
	r.To = kept[len(kept)-1].At
	steps := jointSteps(kept[first:])
	for _, step := range steps {
		if r.From.IsZero() {
			r.From, r.Failing = step.from.At, step.from.Failed-step.from.Retried
		}
		if !step.follows {
			r.openFrom += step.from.Open
			r.Stretches = append(r.Stretches, Stretch{From: step.from.At})
		}
		r.Stretches[len(r.Stretches)-1].To = step.to.At
		if step.last {
			r.Closed += step.to.MayBeClosed
			r.DeliveredUnsure += step.to.DeliveredOpen
		}
		r.Sent += step.sent
		r.Acked += step.acked
		r.Again += step.to.Again - step.from.Again
		r.Delivered += step.to.Delivered - step.from.Delivered
		r.Claims += step.to.Claims - step.from.Claims
		r.GaveBack += step.to.Failed - step.from.Failed
		r.Retried += step.to.Retried - step.from.Retried
		r.DeliveredUnsure += step.to.DeliveredUnsure - step.from.DeliveredUnsure
		r.Fetched += step.to.Fetched - step.from.Fetched
		r.Redelivered += step.to.Redelivered - step.from.Redelivered
		r.Closed += step.to.Closed - step.from.Closed
		r.Covered += step.apart
	}
	if r.Covered == 0 {
		return r, false
	}
	rate := r.Acked / r.Covered.Seconds()
	inside := scatterOf(steps)
	around := inside
	if first > 0 { // what the ends come to shows the better the longer one looks, unless it changes
		around = scatterOf(jointSteps(kept))
	}
	each := max(min(leastVariance, unseenErrors/around.n), inside.variance(0, rate), around.variance(unacked.Mean, rate))
	if around.n < fewestSteps {
		each = max(each, rate*supposedLag.Seconds())
	}
	r.Waiting = each
	if r.Unsure = unsureAcks(steps, r, each); each > atOnce {
		r.Fell, r.Rose = trend(steps, unacked.Last)
	}
	r.Band = deviations*math.Sqrt(inside.endVariances(each)) + 0.5
	return r, true
}

// A jointStep is from a reading to the next one with which it can be compared.
type jointStep struct {
	from, to *Joint
	apart    time.Duration
	// acked are its acks, sent those less what was settled.
	acked, sent float64
	// follows is true where the reading before it could be compared too, last where the one after it cannot.
	follows, last bool
}

func jointSteps(readings []*Joint) []jointStep {
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
// lost is a duplicate beside Sent: at most lost, the acks that closed channels can have taken along, and at most Redelivered. Less than none
// says that acks are missing beyond the band, as where a starved broker handles them late: as many again may be.
func (r Residual) Duplicates(lost float64) (low, likely, high float64) {
	less, more := r.missing()
	low = min(max(0, r.Sent-less-r.openFrom-r.Doubled-r.Failed-r.Fetched-r.Unasked), r.Acked)
	if high = r.Sent + more; high < 0 {
		high = -r.Sent
	}
	high = min(max(low, high+r.Unsure+r.Again+min(lost, r.Redelivered)), r.MostAcked())
	return low, min(max(low, r.Sent-r.Unasked), high), high
}

// MostAcked is how many acks there were at most.
func (r Residual) MostAcked() float64 { return r.Acked + r.Unsure }

// Rate are the same bounds as shares of the acks. With the other numbers fixed the share rises with the acks that are unsure, since these
// would be of duplicates, so that the ends belong together.
func (r Residual) Rate(lost float64) (low, likely, high float64) {
	if r.Acked <= 0 {
		return 0, 0, 1
	}
	low, likely, high = r.Duplicates(lost)
	return low / r.Acked, likely / r.Acked, min(1, high/r.MostAcked())
}
