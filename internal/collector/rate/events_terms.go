package rate

import (
	"fmt"
	"math"
	"slices"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// EventTerms are what the estimate from store events is made of, over the time between its cuts. Pairs are bounds.
type EventTerms struct {
	// Asked are the calls of the scheme's command, Hits those that met a marker.
	Asked float64
	Hits  [2]float64
	// Completions, Failures, GaveUp and Again are those of the events.
	Claims, Completions, Failures, GaveUp, Again float64
	// Unclear are those of Completions that may be duplicates that renewed their marker.
	Unclear float64
	// Unshown are the double effects that are known beside those of the events: their acks may look like those of duplicates.
	Unshown float64
	// Failed are at most the acks of work that failed, beside those given up.
	Failed float64
	// Returned are the hits on work in flight, whose deliveries come back.
	Returned [2]float64
	// Acks are those of the broker. Repeats bounds the completions whose ack was lost. Where they cannot be told, the first
	// are 0 and +Inf, the second is +Inf.
	Acks    [2]float64
	Repeats float64
	// Separate are the duplicates that are separate messages of the broker: acks less completions and messages given up.
	Separate [2]float64
	// Duplicates are the hits on done work.
	Duplicates [2]float64
	// Strange bounds the calls that others made.
	Strange float64
}

// Settled are the messages other than duplicates that were acked.
func (t EventTerms) Settled() float64 { return t.Completions + t.GaveUp }

// terms bounds every term. Two ways lead to the duplicates, and both hold: hits less those that came back, and acks less
// completions, to which a completion whose ack was lost adds its hit later.
func (s Events) terms(from, to eventCut) EventTerms {
	t := EventTerms{
		Asked: to.Asked - from.Asked, Claims: to.Claims - from.Claims, Completions: to.Completions - from.Completions,
		Failures: to.Failures - from.Failures, GaveUp: to.GaveUp - from.GaveUp, Again: to.Again - from.Again, Unclear: to.Unclear - from.Unclear,
		Acks: [2]float64{0, math.Inf(1)}, Repeats: math.Inf(1), Separate: [2]float64{math.Inf(-1), math.Inf(1)},
	}
	t.Failed = failedBetween(s.OtherAcks, from.EventReading.At, to.EventReading.At)
	slip := from.Slipped + to.Slipped
	t.Strange = s.strange(t.Asked, from, to)
	t.Hits = [2]float64{max(0, t.Asked-t.Claims-slip-t.Strange), t.Asked - t.Claims + slip}
	t.Returned = [2]float64{s.returnedLeast(t, from, to), s.returnedMost(t, from, to)}
	if acks, ok := s.acks(from.Cut, to.Cut); ok {
		t.Acks = acks
	}
	if b, why := repeats(s.bounds(), from.Cut, to.Cut); why == "" {
		t.Repeats = b
	}
	failing := from.Failing + to.Failing
	given := [2]float64{max(0, t.GaveUp-failing), t.GaveUp + failing}
	if s.Scheme.GiveUp == 0 {
		given = [2]float64{}
	}
	t.Unshown = max(0, doubledSince(s.Doubled, from.EventReading.At)-t.Again)
	t.Separate = [2]float64{t.Acks[0] - t.Completions - t.Again - t.Unshown - t.Failed - given[1], t.Acks[1] - t.Completions + t.Unclear - given[0]}
	t.Duplicates = [2]float64{
		max(0, t.Hits[0]-t.Returned[1], t.Separate[0]),
		min(t.Hits[1]-t.Returned[0], t.Separate[1]+t.Repeats),
	}
	// What both ways say of the duplicates says of the hits which of them came back.
	t.Returned[0] = max(t.Returned[0], t.Hits[0]-t.Duplicates[1])
	t.Returned[1] = min(t.Returned[1], t.Hits[1]-t.Duplicates[0])
	return t
}

// acks bounds the true acks between the cuts. Where closed channels took counts along, the meter of lost counts gives them
// back, or the balance of messages stands in for them: it counts what left the queues, however it was counted.
func (s Events) acks(from, to Cut) ([2]float64, bool) {
	counted := [2]float64{max(0, to.AcksLow-from.AcksHigh), to.AcksHigh - from.AcksLow}
	if noneClosed(s.Own, from, to.After) {
		return counted, true
	}
	left := left(s.Meter, from, to)
	bounds := [2]float64{max(counted[0], left[0]), left[1]}
	// What was lost may all be of other queues, or all of these.
	if _, high, ok := s.Meter.Acks.Lost(from.Before.Ended, to.After.Began); ok {
		bounds[1] = min(bounds[1], counted[1]+high)
	}
	return bounds, bounds[0] <= bounds[1]
}

// returnedMost bounds the hits on work in flight from above: each was redelivered, or is still in the queue, or was
// dead-lettered for having come back too often. It is +Inf where nothing bounds them: a channel that dies takes the counts of
// its redeliveries along.
func (s Events) returnedMost(t EventTerms, from, to eventCut) float64 {
	best := math.Inf(1)
	if s.Vanishing {
		return best
	}
	failed := max(0, t.Failures-t.GaveUp-t.Failed-from.Failing-to.Failing)
	settled := to.EventReading.At.Add(s.Slip + sample.SettleDelay)
	span := s.Frames.Span(settled, s.Frames[len(s.Frames)-1].Began)
	for i := range span {
		f := &span[i]
		later, ok := s.Frames.Counted(f.Ended)
		if !ok || f.Blind || f.DepthFrom.Before(settled) {
			continue
		}
		if !noneClosed(s.Own, from.Cut, later) {
			continue
		}
		var buried float64
		if s.Limited {
			if buried, ok = s.Frames.DeadLetteredBetween(from.Before, f); !ok {
				continue
			}
		}
		best = min(best, later.Redeliveries-from.Before.Redeliveries+f.Depth+buried-failed)
	}
	return max(0, best)
}

// returnedLeast bounds them from below: a redelivery that neither a failure nor a closed channel nor a delivery without a call
// explains came after a hit on work in flight. It begins to count redeliveries where few messages wait, as these may have been
// returned before.
func (s Events) returnedLeast(t EventTerms, from, to eventCut) float64 {
	closed, known := s.Own.Most(from.Before, to.After)
	if s.Prefetch <= 0 || !known || to.After.Gets != from.Before.Gets || !s.Scheme.AcksEach { // what is returned with others may be done
		return 0
	}
	unasked := max(0, to.After.Deliveries-from.Before.Deliveries-t.Asked)
	explained := t.Failures + from.Failing + to.Failing + unasked + closed*float64(s.Prefetch)
	var best float64
	begun := from.EventReading.At
	span := s.Frames.Span(begun, begun.Add(to.EventReading.At.Sub(begun)/10))
	for i := range span {
		f := &span[i]
		later, ok := s.Frames.Counted(f.Ended)
		if !ok || f.Blind || f.DepthFrom.Before(begun) {
			continue
		}
		best = max(best, to.Before.Redeliveries-later.Redeliveries-f.Depth-explained)
	}
	return best
}

// deliveries bounds the deliveries between the cuts whose consumer called the store between them. A consumer may hold a
// delivery for long before it calls, and may reject it without a call.
func (s Events) deliveries(from, to eventCut) (low, high float64) {
	waiting := func(c eventCut) float64 { return max(c.Before.Unacked, c.After.Unacked) }
	last := &s.Frames[len(s.Frames)-1]
	if f, ok := s.Frames.DepthAfter(to.EventReading.At.Add(sample.SettleDelay + sample.TransitDelay)); ok {
		last = f
	}
	high = to.After.Deliveries - from.Before.Deliveries + waiting(from)
	own := s.Own
	if !from.Before.Whole || !last.Whole {
		own = nil // others may consume the dead letters, and their counts are lost too
	}
	rejected, ok := s.Frames.DeadLetteredBetween(from.Before, last)
	if !ok { // as well as it is known, and not yet counted ones besides: this is no bound of a figure, but a check with slack
		rejected = max(0, max(last.DeadNet(), s.Frames[len(s.Frames)-1].DeadNet())-from.Before.DeadNet())
	}
	if closed, known := own.Most(from.Before, to.After); known {
		low = max(0, to.Before.Deliveries-from.After.Deliveries-waiting(to)-closed*float64(s.Prefetch)-rejected)
	}
	return low, high
}

// strangers names a count that does not fit the broker's: then others use the command too, or consumers do not use it. It
// says what would help.
func (s Events) strangers(t EventTerms, from, to eventCut) (why, better string) {
	// lostMost is four times the largest share of its counts that a broker was seen to lose by channels that died.
	const lostMost = 0.25
	low, high := s.deliveries(from, to)
	allowed, closed := from.Slipped+to.Slipped, !noneClosed(s.Own, from.Cut, to.After)
	if closed {
		allowed += lostMost * t.Asked
	}
	unbounded := closed && s.Prefetch <= 0
	switch {
	case t.Hits[1] < 0:
		return fmt.Sprintf("the store shows %s, but %s was called only %s times: something else writes the markers",
			text.Counted(text.Whole(t.Claims), "claim"), s.Command, text.Grouped(text.Whole(t.Asked))), BetterReport
	case t.Asked > high+allowed:
		return fmt.Sprintf("%s was called %s times while the broker delivered %s: %s%s", s.Command, text.Grouped(text.Whole(t.Asked)), text.Counted(text.Whole(high), "message"),
			othersUse(s.Command, s.Scheme), sharing(s.Sharers)), betterAlone
	case low > t.Asked+allowed && !unbounded:
		return fmt.Sprintf("the broker delivered %s while %s was called %s times: some consumers do not ask this store",
			text.Counted(text.Whole(low), "message"), s.Command, text.Grouped(text.Whole(t.Asked))), BetterReport
	}
	return "", ""
}

// othersUse words who calls the command beside those who ask. Where work has a marker of its own when it is done, it may be written with the
// same command.
func othersUse(command string, s dedup.Scheme) string {
	if command == "SET" && slices.Contains(s.States, dedup.Processing) && slices.Contains(s.States, dedup.Done) {
		return "consumers complete their markers with it too (then leave ask empty), or others use the command too"
	}
	return "others use the command too"
}

// sharing names the other stores of this configuration whose calls are counted with those of the pipeline.
func sharing(stores []string) string {
	if len(stores) == 0 {
		return ""
	}
	noun := ", as the store %s on the same server does"
	if len(stores) > 1 {
		noun = ", as the stores %s on the same server do"
	}
	return fmt.Sprintf(noun, text.Names(stores))
}

// strange bounds the calls that were not made for deliveries of the pipeline: by the deliveries between the cuts, or by their
// share since an earlier time, because who calls at other times calls now too.
func (s Events) strange(asked float64, from, to eventCut) float64 {
	// tried is how many earlier times are looked at.
	const tried = 24
	low, _ := s.deliveries(from, to)
	best := max(0, asked-low)
	for k := range tried {
		i := k * len(s.Readings) / tried
		if best == 0 || !s.Readings[i].At.Before(from.EventReading.At) {
			break
		}
		c, ok := s.cutAt(i)
		n := to.Asked - c.Asked
		if !ok || n <= 0 || c.Before.Gaps != to.After.Gaps {
			continue
		}
		low, _ := s.deliveries(c, to)
		// Their pace may follow the traffic or the clock; 4 standard deviations allow for chance.
		pace := max(asked/n, to.EventReading.At.Sub(from.EventReading.At).Seconds()/to.EventReading.At.Sub(c.EventReading.At).Seconds())
		likely := max(0, n-low) * pace
		best = min(best, likely+4*math.Sqrt(likely))
	}
	return best
}

// share is a count of duplicates as a share of all messages.
func (t EventTerms) share(duplicates float64) float64 {
	if duplicates+t.Settled() == 0 {
		return 0
	}
	return duplicates / (duplicates + t.Settled())
}

// judge turns the bounds into the interval of the rate, and gives it the quality that it has.
func (s Events) judge(f dedup.Figure, t EventTerms, from, to eventCut) dedup.Figure {
	f.Low, f.High = t.share(t.Duplicates[0]), t.share(t.Duplicates[1])
	if t.Failed > 0 { // these are messages, too
		f.Low = t.Duplicates[0] / (t.Duplicates[0] + t.Settled() + t.Failed)
	}
	f.Value, f.Hits, f.N = f.Low, t.Duplicates[0], t.Duplicates[0]+t.Settled()
	doubted := s.distrusting().terms(from, to)
	s.grade(&f, doubted.share(doubted.Duplicates[1])-doubted.share(doubted.Duplicates[0]))
	return f
}

// distrusting returns the sample without what no count proves: that consumers work on one delivery after another, and which of the closed channels
// were of others. That they return none whose work is done stays assumed.
func (s Events) distrusting() Events {
	s.Several, s.Own = "nothing proves that each is settled before the next", nil
	return s
}

// grade gives an interval the quality that its width and its scheme allow; distrusting is how wide it is without trust in
// what no count proves.
func (s Events) grade(f *dedup.Figure, distrusting float64) {
	const rounding = 1e-12
	width := f.High - f.Low
	switch {
	case width > Widest && f.N < 1:
		f.Why = "too few messages were settled in the window to tell"
	case width > Widest:
		f.Why = fmt.Sprintf("the interval is too wide: between %.2f %% and %.2f %% of %s were duplicates", 100*f.Low, 100*f.High, text.Counted(text.Whole(f.N), "message"))
	case width > MeasuredWidest+rounding:
		f.Quality = dedup.Derived
	case !ProvenEvents(s.Scheme):
		f.Quality, f.Why = dedup.Derived, "derived: this scheme was not proved against a known truth"
	case distrusting > MeasuredWidest+rounding:
		f.Quality, f.Why = dedup.Derived, "derived: it rests on what the scheme says of acks (acks: each), or on which closed channels were of others"
	default:
		f.Quality = dedup.Measured
	}
}

// answered is the estimate for consumers that ack whatever they meet: hits are duplicates and lost messages alike, so that
// they bound the duplicates from above only.
func answered(s Events, f dedup.Figure, t EventTerms) EventsResult {
	f.Formula = "at most hits / acks; hits = calls - claims"
	hits := max(0, t.Hits[1])
	switch {
	case math.IsInf(t.Acks[1], 1):
		f.Why = "consumers of this scheme ack what they meet, and the broker's acks cannot be told"
		return EventsResult{Rate: f}
	case t.Acks[0] == 0:
		f.Why = "no message was acked in the window"
		return EventsResult{Rate: f}
	}
	f.High, f.N = min(1, hits/t.Acks[0]), t.Acks[0]
	t.Duplicates, t.Returned = [2]float64{0, hits}, [2]float64{}
	f.Why = fmt.Sprintf("at most %.2f %%: consumers ack what is in flight too, so that some of %s may be lost messages", 100*f.High, text.Counted(text.Whole(hits), "hit"))
	if f.High <= Widest {
		f.Quality = dedup.Derived
	}
	return EventsResult{Rate: f, Told: true, Terms: t}
}
