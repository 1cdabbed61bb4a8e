package estimate

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// traceLate is how much later than its delivery a trace may come: a marker that is older than the first delivery by more was set before.
	traceLate = 250 * time.Millisecond
	// muchLate is how much later where many come late.
	muchLate = time.Second
	// tie is how near to each other two times are that cannot be put in order: traces come a few milliseconds late.
	tie = 5 * time.Millisecond
	// silentGaps is for how many of its usual gaps a channel must have been silent to be known as closed.
	silentGaps = 4
	// fewestTaken is how many times of work tell what is usual.
	fewestTaken = 20
	// latestOrder is the most by which a delivery may seem to come before what it followed.
	latestOrder = 20 * time.Millisecond
)

// A SessionMarker is what a store said of one id during a session and at its end. Times are by our clock.
type SessionMarker struct {
	// State is that of the last reading; empty where there is no marker.
	State dedup.State
	// Set are the different times at which it was set to be done, or to be there in a scheme without states, in order.
	Set []time.Time
	// Open is the last time at which it was seen not to be done; zero where it never was.
	Open time.Time
	// Completed are the completions that the store's events told of, in order, Claimed the claims and Failed the claims that were deleted.
	Completed, Claimed []time.Time
	Failed             int64
	// Unread is true where it was delivered again before a reading that was due long before: a work in between may be hidden by one that followed.
	Unread bool
}

// A Session is a trace with what the store said of each id in it.
type Session struct {
	Scheme  dedup.Scheme
	Trace   *dedup.Trace
	Markers map[string]SessionMarker
	// Listened is true where the store's events were heard without a gap from before the trace began.
	Listened bool
	// Resolution is that of the times in Set.
	Resolution time.Duration
	// Work is about how long work takes, as other figures say; 0 where they do not.
	Work time.Duration
}

// SessionRefusal says in few words why markers of a scheme cannot tell what became of a delivery; empty where they can.
func SessionRefusal(s dedup.Scheme) string {
	switch {
	case s.Lock:
		return "a lock keeps no marker of done work"
	case s.Business:
		return "business rows are changed by other work too"
	}
	return ""
}

// A fate is what became of the deliveries of one id.
type fate struct {
	messages, duplicates, redelivered, inFlight, swallowed int64
	failures, retries, doubled, unsettled                  int64
	// over and under are how many fewer and more duplicates there may be.
	over, under int64
	// hidden is how many of the duplicates may have been works that no reading saw.
	hidden int64
	before bool
	// unordered is true where the delivery that did the work seems to have come after it.
	unordered bool
	// worker is the delivery whose work was done first, -1 where it is not known; done is when.
	worker int
	done   time.Time
	// repeats are the deliveries that were duplicates.
	repeats []int
}

// joined is a session while it is counted.
type joined struct {
	Session
	all []dedup.TracedDelivery
	// last is the last delivery of each consumer, gap the mean time between its deliveries.
	last map[string]int
	gap  map[string]time.Duration
	// next is the delivery after each on the same consumer, 0 where there is none.
	next []int
	// usual is how long work takes, where markers tell when it began alone; 0 where that is not known.
	usual time.Duration
	// back is the first delivery of each closed channel that came again.
	back map[string]int
	// late is true where many traces came long after their deliveries, as on a machine that is too busy: then the order of a delivery and of the work
	// on it does not show.
	late bool
	// soon is by how much a delivery may seem to come before the completion that it followed: less than any work takes.
	soon time.Duration
	// looked is when each delivery can have asked the store at the earliest: a consumer that acks each takes up one after the other.
	looked []time.Time
}

// SessionOf counts, id by id, what became of the deliveries of a session. Counting by time alone is off by 0.1 to 0.6 points, for traces come
// late and what returns after a lost ack comes soon: of each id it counts how many deliveries remain once those that came again are taken
// off, and how many of these did the work.
func SessionOf(s Session) *dedup.SessionResult {
	j := newJoined(s)
	t := newSessionTotals(j)
	for _, id := range j.ids() {
		t.add(id.name, id.at, j.fate(s.Markers[id.name], id.at))
	}
	return t.result()
}

// An idRun is an id with its deliveries in the order of the trace.
type idRun struct {
	name string
	at   []int
}

func newJoined(s Session) *joined {
	j := &joined{Session: s, all: s.Trace.Deliveries, last: map[string]int{}, gap: map[string]time.Duration{}, next: make([]int, len(s.Trace.Deliveries))}
	first, n := map[string]time.Time{}, map[string]int{}
	for i := range j.all {
		d := &j.all[i]
		if n[d.Consumer] == 0 {
			first[d.Consumer] = d.At
		} else {
			j.next[j.last[d.Consumer]] = i
		}
		n[d.Consumer]++
		j.last[d.Consumer] = i
	}
	for c, i := range j.last {
		j.gap[c] = j.all[i].At.Sub(first[c]) / time.Duration(max(1, n[c]-1))
	}
	j.looks()
	j.back, j.late = j.cameBack(), j.tracesLate()
	if s.Scheme.DatesClaim && !s.Listened {
		j.usual = j.usualWork()
	} else {
		j.soon = j.quickestWork() / 2
	}
	return j
}

// looks finds when each delivery can have asked the store at the earliest.
func (j *joined) looks() {
	j.looked = make([]time.Time, len(j.all))
	free := map[string]time.Time{}
	seen := map[string]bool{}
	for i := range j.all {
		d := &j.all[i]
		j.looked[i] = d.At
		if f := free[d.Consumer]; j.Scheme.AcksEach && f.After(d.At) {
			j.looked[i] = f
		}
		if seen[d.ID] || d.ID == "" {
			continue
		}
		seen[d.ID] = true
		if done, ok := j.firstDone(j.Markers[d.ID]); ok && done.After(d.At) && done.After(free[d.Consumer]) && done.Sub(d.At) < time.Minute {
			free[d.Consumer] = done
		}
	}
}

// ids returns each id with its deliveries, in the order in which they were first seen.
func (j *joined) ids() []idRun {
	var runs []idRun
	place := map[string]int{}
	for i := range j.all {
		id := j.all[i].ID
		if id == "" {
			continue
		}
		k, ok := place[id]
		if !ok {
			k = len(runs)
			place[id] = k
			runs = append(runs, idRun{name: id})
		}
		runs[k].at = append(runs[k].at, i)
	}
	return runs
}

// firstDone is when the work of an id was first done as far as is known.
func (j *joined) firstDone(m SessionMarker) (time.Time, bool) {
	if told := j.told(m); j.Listened && len(told) > 0 {
		// A notification comes a little later than what it tells of, and so can a delivery that follows come before it. A marker that keeps whole
		// seconds tells it worse.
		if len(m.Set) > 0 && j.Resolution <= coarsest && told[0].Sub(m.Set[0]).Abs() < traceLate {
			return m.Set[0], true
		}
		return told[0], true
	}
	if len(m.Set) == 0 {
		return time.Time{}, false
	}
	if m.Open.After(m.Set[0]) {
		return m.Open, true // its time is rounded
	}
	return m.Set[0], true
}

// tracesLate reports whether the work on many messages seems to be done before they were delivered, and yet not long before.
func (j *joined) tracesLate() bool {
	const few, share = 5, 50
	near := tie
	if j.claims() || j.Scheme.DatesClaim { // the work began then, soon after the delivery
		near = traceLate / 4
	}
	n, late := 0, 0
	for _, id := range j.ids() {
		first := &j.all[id.at[0]]
		done, dated := j.firstDone(j.Markers[id.name])
		if !dated || first.Redelivered || done.Before(j.Trace.Began) {
			continue
		}
		n++
		if early := first.At.Sub(done) - j.Resolution; early > near && early <= traceLate {
			late++
		}
	}
	return late > max(few, n/share)
}

// told are the events that say that a message is not to be worked on again.
func (j *joined) told(m SessionMarker) []time.Time {
	if j.claims() {
		return m.Claimed
	}
	return m.Completed
}

// claims reports whether markers are written before the work and do not change: what they tell is when the work began.
func (j *joined) claims() bool { return j.Scheme.Mark == "before" && !shows(j.Scheme, dedup.Done) }

func shows(s dedup.Scheme, state dedup.State) bool { return slices.Contains(s.States, state) }

// silent reports whether the channel of a delivery had nothing more from another delivery on, and whether that is sure: at the end of a
// session each channel looks so.
func (j *joined) silent(i, from int) (silent, sure bool) {
	c := j.all[i].Consumer
	last := &j.all[j.last[c]]
	goesOn := j.last[c] >= from && !(j.late && last.At.Sub(j.all[from].At) < muchLate)
	if j.all[from].Consumer == c || goesOn {
		return false, true
	}
	return true, j.Trace.Ended.Sub(last.At) > silentGaps*j.gap[c]
}

// fate says what became of the deliveries of an id.
func (j *joined) fate(m SessionMarker, at []int) fate {
	done, dated := j.firstDone(m)
	isDone := j.isDone(m, dated)
	s := j.settle(at, done, isDone && dated)
	f := fate{worker: -1, retries: s.returned + s.crashed + s.looped, failures: s.returned}
	if j.Listened && m.Failed > 0 {
		f.failures = m.Failed
	}
	switch {
	case isDone:
		j.done(&f, m, s, done, dated)
	case m.State == dedup.Failed:
		j.failed(&f, s)
	case m.State == dedup.Processing && j.Scheme.OnInFlight == "ack":
		j.underWay(&f, s)
	default:
		f.unsettled = int64(len(s.kept))
	}
	return f
}

// isDone reports whether the work of an id was done by the end: its marker says so, or events did before the marker was gone.
func (j *joined) isDone(m SessionMarker, dated bool) bool {
	switch m.State {
	case dedup.Done, dedup.Present:
		return dated || j.Listened
	}
	return j.Listened && len(j.told(m)) > 0 && !j.claims()
}

// done is the fate of deliveries whose work was done, before the session or in it. A marker without a time whose completion no event told of
// was done before.
func (j *joined) done(f *fate, m SessionMarker, s settling, done time.Time, dated bool) {
	remain := int64(len(s.kept))
	f.messages, f.done = remain, done
	first := j.all[s.kept[0]]
	if s.lost >= 0 && j.all[s.lost].At.Before(first.At) {
		first = j.all[s.lost]
	}
	early := dated && done.Before(first.At.Add(-traceLate-j.Resolution))
	switch {
	case early && j.late && done.After(j.Trace.Began): // the first of its deliveries may be the one that did it
		f.under++
		f.unordered = true
	case early || !dated:
		f.before, f.duplicates, f.repeats = true, remain, s.kept
		if s.again {
			f.redelivered = 1
		}
		return
	}
	works, unsureWorks := j.works(m, s, done)
	f.doubled = works - 1
	f.worker = s.kept[0]
	lost := int64(0)
	if s.lost >= 0 {
		lost, f.worker = 1, s.lost
		if s.unsure {
			f.over++
		}
	}
	f.under += unsureWorks
	f.duplicates = max(0, remain-works+lost)
	f.redelivered = min(lost, f.duplicates)
	rest := slices.DeleteFunc(slices.Clone(s.kept), func(i int) bool { return i == f.worker })
	f.repeats = rest[max(0, len(rest)-int(f.duplicates)):]
	if j.Scheme.OnInFlight == "ack" && !j.Scheme.Transactional && !j.claims() {
		if lost > 0 { // whoever worked on it is gone, and it is done
			rest = slices.DeleteFunc(rest, func(i int) bool { return i == s.cameAs })
		}
		j.metInFlight(f, rest, done)
	}
	if m.Unread && !j.Listened && !j.claims() && !j.Scheme.DatesClaim && !j.Scheme.Transactional {
		f.hidden = f.duplicates
	}
}

// failed is the fate of deliveries whose work failed and left a marker: whether they are acked is the scheme's.
func (j *joined) failed(f *fate, s settling) {
	remain := int64(len(s.kept))
	f.failures = max(1, f.failures)
	if j.Scheme.OnFail == "ack" || j.Scheme.GiveUp > 0 {
		f.messages++
	}
	switch {
	case j.Scheme.OnFailed == "ack":
		f.messages += remain - 1
		f.swallowed = remain - 1
	default:
		f.unsettled = remain - 1
	}
}

// underWay is the fate of deliveries whose work has no outcome, where consumers ack what meets it.
func (j *joined) underWay(f *fate, s settling) {
	remain := int64(len(s.kept))
	if s.crashed > 0 { // whoever worked on it is gone
		f.messages, f.swallowed = remain, remain
		return
	}
	f.messages, f.inFlight, f.unsettled = remain-1, remain-1, 1
}

// SessionTimesOff reports whether markers say that they were set before a time at which they were seen not to be: their lives are not those
// that the configuration gives, and no time taken from them holds.
func SessionTimesOff(s Session) bool {
	var seen, off int
	for _, m := range s.Markers {
		if m.Open.IsZero() || len(m.Set) == 0 {
			continue
		}
		seen++
		if m.Set[len(m.Set)-1].Before(m.Open.Add(-traceLate - s.Resolution)) {
			off++
		}
	}
	return off > 3 && 20*off > seen
}
