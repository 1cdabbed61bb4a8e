package rate

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	ResidualSource  = "residual interval"
	ResidualFormula = "[A - U - F, A - U - F + B] / A; A acks, U first completions, F given up, B redeliveries after a lost ack"
	BetterReport    = "Let the consumers report their outcomes (docs/consumers.md): the rate is then exact."
	// Widest is the width above which an interval counts as "cannot tell": 2 points.
	Widest = 0.02
)

// A PassNote is what is remembered of an earlier complete pass.
type PassNote struct {
	Ended   time.Time
	Undated int64
	// GaveUpAgain is that of the pass.
	GaveUpAgain int64
	// Dated are the completions that the pass dates between DatedFrom and DatedTo, by the store's clock.
	Dated              int64
	DatedFrom, DatedTo time.Time
}

// deletedSpan is over which time before its start the completions of a pass are held against those of the next one.
const deletedSpan = 10 * time.Minute

// NotePass is what is to be remembered of a pass.
func NotePass(p *dedup.Pass) PassNote {
	n := PassNote{Ended: p.Ended, Undated: p.UndatedCompletions, GaveUpAgain: p.GaveUpAgain, DatedTo: p.Started.Add(p.ClockOffset)}
	n.DatedFrom = n.DatedTo.Add(-deletedSpan)
	n.Dated = p.Completions.Between(n.DatedFrom, n.DatedTo)
	return n
}

// Deleted reports whether a later pass misses more of the completions that this one saw than work that was done again explains, although
// none of them can have expired: somebody emptied the store, or deletes done markers.
func (n PassNote) Deleted(p *dedup.Pass, life time.Duration) bool {
	if life > 0 && p.Ended.Add(p.ClockOffset).Sub(n.DatedFrom) >= life {
		return false
	}
	missing := n.Dated - p.Completions.Between(n.DatedFrom, n.DatedTo)
	return missing > 10 && missing > n.Dated/10
}

// A Residual is everything that the residual interval is computed from.
type Residual struct {
	Window time.Duration
	// Interval is the time between two readings of the broker.
	Interval time.Duration
	Frames   sample.Frames
	Scheme   dedup.Scheme
	// Pass is the last complete pass, Earlier the ones before it, oldest first.
	Pass    *dedup.Pass
	Earlier []PassNote
	// ClockError bounds the error of Pass.ClockOffset.
	ClockError time.Duration
	// Disturbed is when the store last lost markers (eviction, restart); zero when it never did.
	Disturbed    time.Time
	DisturbedWhy string
	// Prefetch is the most deliveries that one channel may hold unacked; 0 when there is no bound.
	Prefetch int64
	// Several says how it is known that consumers work on several deliveries of a channel at once, whatever the scheme says;
	// empty while nothing shows it.
	Several string
	// Meter tells how many acks and publishes the broker lost from its counts; empty where that is not known.
	Meter sample.LostCounts
	// Own tells which closed channels were not of the pipeline.
	Own *sample.OwnClosures
	// Vanishing is true when messages can leave a source queue without being redelivered: a time to live or a length limit.
	Vanishing bool
	// Doubled tells how many double effects are known since a time; nil where nothing shows any.
	Doubled func(since time.Time) float64
	// OtherAcks bounds the acks between two times that are no duplicates although nothing was settled for them, as those of work that failed; nil where
	// nothing shows any.
	OtherAcks func(from, to time.Time) float64
	// Conflated is that of IDGap.
	Conflated string
}

// A ResidualResult is the residual interval, and the bounds that it was made of: Separate are the acks less the completions and
// the messages given up, Repeats the completions whose ack was lost. Told is false when there are none.
type ResidualResult struct {
	Rate     dedup.Figure
	Told     bool
	Separate [2]float64
	Repeats  float64
}

// Estimate computes the residual interval of the duplicate rate. It returns an unknown figure with one plain sentence
// when it cannot vouch for the bounds; see docs/figures.md.
func (s Residual) Estimate() ResidualResult {
	f := dedup.Figure{Unit: dedup.Ratio, Source: ResidualSource, Formula: ResidualFormula, Window: s.Window, Better: BetterReport}
	if why := residualRefusal(s); why != "" {
		f.Why = why
		return ResidualResult{Rate: f}
	}
	from, to, why := residualEnds(s)
	if why != "" {
		f.Why = why
		return ResidualResult{Rate: f}
	}
	f.Covered = to.At.Sub(from.At)
	f.At = to.At
	if why := spanRefusal(s, from, to); why != "" {
		f.Why = why
		return ResidualResult{Rate: f}
	}
	acks, why := ackBounds(s.Meter, s.Own, from, to)
	if why != "" {
		if f.Why = why; len(s.Meter.Publishes) == 0 {
			f.Better = sample.BetterMeter
		}
		return ResidualResult{Rate: f}
	}
	switch {
	case acks[1] == 0:
		f.Why = "no message was acked in the window"
		return ResidualResult{Rate: f}
	case acks[0] < 1:
		f.Why = "too few messages were acked in the window to tell"
		return ResidualResult{Rate: f}
	}
	done, given := completions(s, from, to), giveUps(s, from, to)
	high := acks[1] - done[0] - given[0]
	doubled := doubledSince(s.Doubled, from.At)
	failed := failedBetween(s.OtherAcks, from.At, to.At)
	low := acks[0] - done[1] - given[1] - doubled - failed
	if s.Conflated != "" {
		low = 0
	}
	if high < -3*math.Sqrt(acks[1]) {
		f.Why = moreSettled(-high)
		return ResidualResult{Rate: f}
	}
	b, why := repeats(s, from, to)
	if why != "" {
		f.Why = why
		return ResidualResult{Rate: f}
	}
	if high+b < 0 { // as where the broker counted later than it does: the bounds do not hold
		f.Why = moreSettled(-high - b)
		return ResidualResult{Rate: f}
	}
	f = interval(f, low, high+b, acks)
	f.Why = text.Reasons(f.Why, s.Conflated, DoubledWords(doubled), FailedWords(failed), s.overruled(from))
	return ResidualResult{Rate: f, Told: true, Separate: [2]float64{low, high}, Repeats: b}
}

// moreSettled says that the store shows more completions than the broker acks.
func moreSettled(by float64) string {
	return fmt.Sprintf("the store shows %s more than the broker shows acks: it holds markers of other work, or acks were lost", text.Counted(text.Whole(by), "completed message"))
}

func doubledSince(known func(time.Time) float64, since time.Time) float64 {
	if known == nil {
		return 0
	}
	return known(since)
}

// DoubledWords says that an ack after work that was done again looks like one of a duplicate; empty where no such work is known.
func DoubledWords(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("up to %s of the duplicates may be double effects: acks and completions do not tell work that was done again from work that was left out", text.Grouped(text.Whole(n)))
}

// interval turns bounds on the duplicates and on the acks into bounds on the rate, and judges its width.
func interval(f dedup.Figure, low, high float64, acks [2]float64) dedup.Figure {
	low, high = min(max(low, 0), acks[0]), min(max(high, 0), acks[1])
	// With the other numbers fixed the rate rises with the acks, so that the ends of both intervals belong together.
	f.Low = low / acks[0]
	f.High = max(f.Low, high/acks[1])
	f.Value, f.Hits, f.N = f.Low, low, acks[0]
	if width := f.High - f.Low; width > Widest {
		f.Why = fmt.Sprintf("the interval is too wide: between %.2f %% and %.2f %% of %s were duplicates", 100*f.Low, 100*f.High, text.Counted(text.Whole(acks[0]), "message"))
		return f
	}
	f.Quality = dedup.Derived
	return f
}

// residualRefusal names the reason for which no window of this pipeline can be judged.
func residualRefusal(s Residual) string {
	switch {
	case s.Scheme.Refuses(dedup.MethodResidual) != "":
		return s.Scheme.Refuses(dedup.MethodResidual)
	case s.Pass == nil:
		return "no complete pass over the store yet"
	case len(s.Frames) < 2:
		return "the broker was not read often enough yet"
	case s.Pass.Completions.Total() == 0 && s.Pass.UndatedCompletions == 0:
		return NoneDone
	}
	return ""
}

// NoneDone is why acks are not held against a store that shows no completion at all: a duplicate is of work whose marker is there, so that such a
// store would make each of them one.
const NoneDone = "the store shows no work that was done: its markers are others than are configured (dashboard check)"

// residualEnds chooses the ends of the window: near the newest time that both sides can vouch for, and one window
// earlier, each where the doubt is least within a tenth of the window.
func residualEnds(s Residual) (from, to Cut, why string) {
	latest := s.Pass.Started
	newest := s.Frames[len(s.Frames)-1].Began
	if newest.Before(latest) {
		latest = newest
	}
	// A tenth of what there is: of few frames a tenth of a long window would reach back to before the traffic.
	slack := min(s.Window, max(0, latest.Sub(s.Frames[0].Ended))) / 10
	to, ok := bestCut(s, latest.Add(-slack-2*sample.CounterLag-2*sample.DepthLag-4*s.Interval), latest, true)
	if !ok {
		return from, to, "the last pass over the store began before the broker was read often enough"
	}
	// A marker that expired before the pass ended is not seen any more.
	seen := s.Pass.Ended.Add(-s.Scheme.DoneTTL)
	start := to.At.Add(-s.Window)
	for _, floor := range []time.Time{s.Frames[0].Ended, seen} {
		if start.Before(floor) {
			start = floor
		}
	}
	// Few frames hold less than the window: the search must not eat up what there is.
	there := to.At.Sub(start)
	until := start.Add(min(there/10+sample.DepthLag+sample.CounterLag, there/2))
	from, ok = bestCut(s, start, until, false)
	if !ok || !from.At.Before(to.At) {
		return from, to, "the broker was not read often enough yet"
	}
	return from, to, ""
}

// spanRefusal names what happened between the cuts that spoils the arithmetic.
func spanRefusal(s Residual, from, to Cut) string {
	first, last := from.Before, to.After
	switch {
	case last.Gaps != first.Gaps:
		return "the broker's counters were reset in the window" + s.untilAbout(s.Frames.LastGap(), to)
	case last.AutoAcks != first.AutoAcks:
		return "messages were delivered with automatic acks in the window, which the broker does not count as acks"
	case !s.Disturbed.IsZero() && s.Disturbed.After(from.At):
		return s.DisturbedWhy + s.untilAbout(s.Disturbed, to)
	}
	return ""
}

// untilAbout says when what happened at t leaves the window, whose end lags behind the newest reading as it does now.
func (s Residual) untilAbout(t time.Time, to Cut) string {
	now := s.Frames[len(s.Frames)-1].Began
	return text.UntilAbout(t.Add(s.Window+now.Sub(to.At)), now)
}

// ackBounds bounds the true acks between the cuts. The broker loses the last counts of channels that die, so that with closed
// channels its count is only a lower bound; the loss meter and the balance of messages then give the upper one.
func ackBounds(meter sample.LostCounts, own *sample.OwnClosures, from, to Cut) (acks [2]float64, why string) {
	acks = [2]float64{max(0, to.AcksLow-from.AcksHigh), to.AcksHigh - from.AcksLow}
	if noneClosed(own, from, to.After) {
		return acks, ""
	}
	most := math.Inf(1)
	if _, lost, metered := meter.Acks.Lost(from.Before.Ended, to.After.Began); metered {
		most = acks[1] + lost
	}
	left := left(meter, from, to)
	switch {
	case math.IsInf(most, 1) && math.IsInf(left[1], 1):
		return acks, "channels were closed in the window, which makes the broker lose counts, and nothing tells how many"
	case left[0] > most:
		return acks, fmt.Sprintf("the balance of messages does not close: at least %s left the queues, of which at most %s were acked", text.Counted(text.Whole(left[0]), "message"), text.Grouped(text.Whole(most)))
	case left[1] < acks[0]:
		return acks, "the balance of messages does not close: more acks than messages that left the queues"
	}
	return [2]float64{max(acks[0], left[0]), min(most, left[1])}, ""
}

// noneClosed reports whether no channel of the pipeline was closed between a cut and a later reading, so that no counts of
// deliveries, redeliveries and acks were lost. Publishers' channels are not the pipeline's: counts of publishes may be lost.
func noneClosed(own *sample.OwnClosures, from Cut, later *sample.Frame) bool {
	n, known := own.Most(from.Before, later)
	return known && n == 0
}

// completions bounds the first completions between the cuts.
func completions(s Residual, from, to Cut) [2]float64 {
	dated := float64(s.Pass.Completions.Between(from.Store, to.Store))
	grown := s.Pass.UndatedCompletions
	for _, p := range s.Earlier {
		if !p.Ended.After(from.At) {
			grown = max(0, s.Pass.UndatedCompletions-p.Undated)
		}
	}
	return [2]float64{dated, dated + float64(grown)}
}

// giveUps bounds the messages that were acked between the cuts because they had failed too often. Only the last time of each is
// dated; the ones before it may all lie in the window, but for those that a pass before the window had seen already.
func giveUps(s Residual, from, to Cut) [2]float64 {
	if s.Scheme.GiveUp == 0 {
		return [2]float64{}
	}
	low := s.Pass.GaveUp.Between(from.Store, to.Store.Add(-sample.GiveUpDelay))
	high := s.Pass.GaveUp.Between(from.Store.Add(-sample.GiveUpDelay), to.Store)
	again := s.Pass.GaveUpAgain
	for _, p := range s.Earlier {
		if !p.Ended.After(from.At) {
			again = max(0, s.Pass.GaveUpAgain-p.GaveUpAgain)
		}
	}
	return [2]float64{float64(low), float64(high + again)}
}

// Trusted reports whether what the scheme says of acks may be built on: nothing shows that it is not so.
func (s Residual) Trusted() bool { return s.Scheme.AcksEach && s.Several == "" }

// LostPerChannel returns the most completed deliveries whose ack one closed channel takes along; 0 when there is no bound. A consumer
// that settles each delivery of a channel before it takes up the next one (dedup.Scheme.AcksEach) has at most one completed delivery whose
// ack is not sent yet, however many it has prefetched.
func (s Residual) LostPerChannel() int64 {
	if s.Trusted() {
		return 1
	}
	return s.Prefetch
}

// UnackedWork bounds the completed deliveries that were unacked when the depth of a frame was taken.
func (s Residual) UnackedWork(f *sample.Frame) float64 {
	if f.Unacked == 0 || !s.Trusted() {
		return f.Unacked
	}
	later, ok := s.Frames.After(f.Ended.Add(sample.DepthLag))
	if !ok {
		return f.Unacked
	}
	if channels, ok := s.Frames.Channels(f.DepthFrom, later); ok {
		return min(f.Unacked, channels)
	}
	return f.Unacked
}

// overruled says, where channels were closed since a cut, why the scheme was not trusted; empty where it was, or says nothing.
func (s Residual) overruled(from Cut) string {
	if s.Scheme.AcksEach && !noneClosed(s.Own, from, &s.Frames[len(s.Frames)-1]) {
		return s.Several
	}
	return ""
}
