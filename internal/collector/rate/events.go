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
	EventsSource  = "store events"
	EventsFormula = "d / (d + U + G); d = calls - claims - returned, within A - U - G and A - U - G + B; U completions, G given up"
	BetterEvents  = "Set events: true for the store, and notify-keyspace-events K$gxe in Redis (docs/stores.md)."
	betterAlone   = "Give the store a Redis server of its own, or let its consumers ask with a command that nobody else on this server uses (docs/stores.md)."
	// AskSlip is how far apart the count of the calls and that of the claims of one reading may be taken, beside the store's
	// latency: a consumer that looks before it claims has called already.
	AskSlip = 50 * time.Millisecond
	// standsStill is how far the end of the window may lie behind the newest one that there could be, to where the doubt is less. More
	// makes no interval narrower.
	standsStill = 20 * time.Second
)

// An Events is everything that the estimate from store events is computed from.
type Events struct {
	Window, Interval time.Duration
	Frames           sample.Frames
	Scheme           dedup.Scheme
	// Readings are those of the newest epoch; Broke is when that began, if another one came before it.
	Readings []sample.EventReading
	Broke    time.Time
	Command  string
	// Sharers are other stores on the same server whose consumers ask with the same command: the server counts them together.
	Sharers []string
	// Slip bounds how far apart the counts of one reading were taken.
	Slip         time.Duration
	Disturbed    time.Time
	DisturbedWhy string
	// Prefetch is the most deliveries that one channel may hold unacked; 0 when there is no bound.
	Prefetch int64
	// Several says how it is known that consumers work on several deliveries of a channel at once; empty while nothing shows it.
	Several string
	// Vanishing is true when messages can leave a source queue by a time to live or a length limit, Limited when they can
	// because they were returned too often.
	Vanishing, Limited bool
	// Meter bounds the acks and publishes whose counts the broker lost.
	Meter sample.LostCounts
	// Own tells which closed channels were not of the pipeline.
	Own *sample.OwnClosures
	// Doubled is that of Residual.
	Doubled func(since time.Time) float64
	// OtherAcks bounds the acks between two times that are no duplicates although nothing was settled for them, as those of work that failed; nil where
	// nothing shows any.
	OtherAcks func(from, to time.Time) float64
}

// An eventCut is one end of the window: a reading of the store, and what the broker bounds at its time.
type eventCut struct {
	Cut
	sample.EventReading
	// Slipped bounds the calls between the two counts of the reading, Failing the failures whose delivery may not be
	// settled yet.
	Slipped, Failing float64
}

// An EventsResult is the estimate, and the bounds that it was made of. Told is false when there are none.
type EventsResult struct {
	Rate  dedup.Figure
	Told  bool
	Terms EventTerms
}

// Estimate estimates the duplicate rate from the events of the store and the calls of the scheme's command. It returns an
// unknown figure with one plain sentence when it cannot vouch for the bounds; see docs/figures.md.
func (s Events) Estimate() EventsResult {
	f := dedup.Figure{Unit: dedup.Ratio, Source: EventsSource, Formula: EventsFormula, Window: s.Window, Better: BetterReport}
	refuse := func(why string) EventsResult {
		f.Why = why
		return EventsResult{Rate: f}
	}
	if why := eventRefusal(s); why != "" {
		return refuse(why)
	}
	from, to, why := eventEnds(s)
	if why != "" {
		return refuse(why)
	}
	f.Covered, f.At = to.EventReading.At.Sub(from.EventReading.At), to.EventReading.At
	if why := s.spanRefusal(from, to); why != "" {
		return refuse(why)
	}
	t := s.terms(from, to)
	if why, better := s.strangers(t, from, to); why != "" {
		f.Better = better
		return refuse(why)
	}
	if s.Scheme.OnInFlight == "ack" {
		return answered(s, f, t)
	}
	if t.Duplicates[0] > t.Duplicates[1] {
		return refuse(fmt.Sprintf("the events of the store and the counts of the broker exclude each other: at least %s by the one, at most %s by the other",
			text.Counted(text.Whole(t.Duplicates[0]), "duplicate"), text.Grouped(text.Whole(t.Duplicates[1]))))
	}
	if t.Duplicates[1]+t.Settled() == 0 {
		return refuse("no message was settled in the window")
	}
	f = s.judge(f, t, from, to)
	f.Why = text.Reasons(f.Why, DoubledWords(t.Unshown), FailedWords(t.Failed))
	if f.Quality != dedup.Measured {
		f.Why = text.Reasons(f.Why, s.bounds().overruled(from.Cut))
	}
	return EventsResult{Rate: f, Told: true, Terms: t}
}

// eventRefusal names the reason for which no window can be judged.
func eventRefusal(s Events) string {
	n := len(s.Readings)
	switch {
	case s.Scheme.Refuses(dedup.MethodStoreEvents) != "":
		return s.Scheme.Refuses(dedup.MethodStoreEvents)
	case n == 0:
		return "store events have told nothing yet"
	case !s.Readings[n-1].AskedKnown:
		return "the store does not tell how often its consumers asked it"
	case !s.Broke.IsZero() && s.Broke.After(s.Readings[n-1].At.Add(-s.Window)):
		return "events of the store were missed in the window" + text.UntilAbout(s.Broke.Add(s.Window), s.Readings[n-1].At)
	case n < 2:
		return "the store's events were read only once yet"
	case len(s.Frames) < 2:
		return "the broker was not read often enough yet"
	}
	return ""
}

// bounds returns the sample as the functions of the residual interval read it.
func (s Events) bounds() Residual {
	return Residual{Window: s.Window, Interval: s.Interval, Frames: s.Frames, Scheme: s.Scheme, ClockError: s.Slip,
		Prefetch: s.Prefetch, Several: s.Several, Meter: s.Meter, Own: s.Own, Vanishing: s.Vanishing, Disturbed: s.Disturbed, DisturbedWhy: s.DisturbedWhy}
}

// spanRefusal names what happened between the cuts that spoils the arithmetic.
func (s Events) spanRefusal(from, to eventCut) string {
	if why := spanRefusal(s.bounds(), from.Cut, to.Cut); why != "" {
		return why
	}
	if to.Evicted > from.Evicted {
		return "the store evicted markers in the window"
	}
	return ""
}

// eventEnds chooses the ends of the window among the readings of the store: near the newest time that the broker can vouch
// for, and one window earlier, each where the doubt is least within a tenth of the window.
func eventEnds(s Events) (from, to eventCut, why string) {
	const seldom = "the broker was not read often enough since the store's events began to come"
	first, last := s.Readings[0].At, s.Readings[len(s.Readings)-1].At
	if s.Frames[0].Ended.After(first) {
		first = s.Frames[0].Ended
	}
	slack := min(s.Window, max(0, last.Sub(first))) / 10
	to, ok := s.calmest(last.Add(-slack-2*sample.CounterLag-2*sample.DepthLag-4*s.Interval), last, true)
	if !ok {
		return from, to, seldom
	}
	start := to.EventReading.At.Add(-s.Window)
	if start.Before(first) {
		start = first
	}
	there := to.EventReading.At.Sub(start)
	from, ok = s.calmest(start, start.Add(min(there/10+sample.DepthLag+sample.CounterLag, there/2)), false)
	if !ok || !from.EventReading.At.Before(to.EventReading.At) {
		return from, to, seldom
	}
	return from, to, ""
}

// calmest returns the cut of least doubt among the readings between two times; of equals the latest, or the earliest. The late one is
// among the newest, so that the end of the window goes along with the time.
func (s Events) calmest(from, to time.Time, late bool) (eventCut, bool) {
	if late {
		if newest := s.newestCut(from, to).Add(-standsStill); newest.After(from) {
			from = newest
		}
	}
	var best eventCut
	var least float64
	found := false
	for i := range s.Readings {
		at := s.Readings[i].At
		if at.Before(from) || at.After(to) {
			continue
		}
		c, ok := s.cutAt(i)
		if !ok || (late && !c.watch(s.bounds())) {
			continue
		}
		doubt := c.doubt() + c.After.Redeliveries - c.Before.Redeliveries + c.Slipped + c.Failing
		if calmer := doubt < least || late && doubt == least; !found || c.Worth > best.Worth || calmer && c.Worth == best.Worth {
			best, least, found = c, doubt, true
		}
	}
	return best, found
}

// newestCut returns the time of the newest reading between two times that can be a late end of the window; from where there is none.
func (s Events) newestCut(from, to time.Time) time.Time {
	for i := len(s.Readings) - 1; i >= 0 && !s.Readings[i].At.Before(from); i-- {
		if s.Readings[i].At.After(to) {
			continue
		}
		if c, ok := s.cutAt(i); ok && c.watch(s.bounds()) {
			return s.Readings[i].At
		}
	}
	return from
}

// cutAt bounds what had happened when the reading was taken.
func (s Events) cutAt(i int) (eventCut, bool) {
	r := s.Readings[i]
	slip := max(s.Slip, r.Took) // the counts are of some moment before the answer
	c, ok := CutBetween(s.Frames, r.At.Add(-slip), r.At.Add(slip+sample.SettleDelay))
	c.At = r.At
	c.rank(s.Meter, s.Own, s.Frames)
	return eventCut{Cut: c, EventReading: r,
		Slipped: s.around(i, s.Slip, func(r sample.EventReading) float64 { return r.Asked }),
		Failing: s.around(i, sample.GiveUpDelay, func(r sample.EventReading) float64 { return r.Failures }),
	}, ok
}

// around bounds what a count gained within a short time before or after a reading: nothing where it stood still, else what its pace
// between the neighbouring readings makes, m, with four standard deviations of as many chance arrivals, and at least twice that pace.
func (s Events) around(i int, within time.Duration, count func(sample.EventReading) float64) float64 {
	before, after := s.Readings[max(0, i-1)], s.Readings[min(len(s.Readings)-1, i+1)]
	gained := count(after) - count(before)
	elapsed := after.At.Sub(before.At)
	if gained <= 0 || elapsed <= 0 {
		return 0
	}
	m := gained * within.Seconds() / elapsed.Seconds()
	return min(gained, m+max(m, 4*math.Sqrt(m)+2))
}
